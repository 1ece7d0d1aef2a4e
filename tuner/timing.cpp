// SPDX-License-Identifier: Apache-2.0
// Event timing, the ABBA final, and the verdicts.
#include "tuner/timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

std::string faster_by(double ratio) {
    char text[48];
    std::snprintf(text, sizeof text, "faster by %.1f%%", 100 * (1 / ratio - 1));
    return text;
}

} // namespace

double event_ms(const std::shared_ptr<runtime::Runtime>& runtime, int device, const runtime::Stream& stream,
                std::uint32_t launches, const std::function<void(void*)>& launch, double limit_s) {
    runtime::Event start(runtime, device), stop(runtime, device);
    start.record(stream.handle());
    for (std::uint32_t i = 0; i < launches; ++i)
        launch(stream.handle());
    stop.record(stream.handle());
    if (limit_s <= 0)
        stop.synchronize();
    else if (!stop.reached_within(limit_s)) {
        char text[48];
        std::snprintf(text, sizeof text, "not done within %.3g s", limit_s);
        throw Error(ErrorCode::device_error, hang_argument, text);
    }
    return runtime::Event::elapsed_ms(start, stop) / std::max<std::uint32_t>(launches, 1);
}

std::uint32_t launches_for(double target_ms, double launch_ms, std::uint32_t most) {
    if (!(launch_ms > 0))
        return most;
    return static_cast<std::uint32_t>(
        std::clamp(std::ceil(target_ms / launch_ms), 1.0, static_cast<double>(most)));
}

std::vector<FinalistTimes> race(BlockTimer& timer, std::span<const double> screened_ms,
                                const RaceLimits& limits, std::uint32_t rounds,
                                const std::function<bool()>& go_on) {
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < screened_ms.size(); ++i)
        if (screened_ms[i] > 0 && screened_ms[i] < screened_ms[0])
            order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(screened_ms[a], a) < std::pair(screened_ms[b], b);
    });
    order.resize(std::min(order.size(), limits.finalists));

    std::vector<FinalistTimes> finals;
    for (const std::size_t candidate : order)
        finals.push_back({candidate, {}, {}, 0, 0, {}});
    // Round by round over all finalists, so that an early end leaves them equally well known.
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (FinalistTimes& final : finals) {
            if (!go_on())
                return finals;
            const std::uint32_t of_default =
                launches_for(limits.block_ms, screened_ms[0], limits.most_launches);
            const std::uint32_t of_candidate =
                launches_for(limits.block_ms, screened_ms[final.candidate], limits.most_launches);
            const double a1 = timer.block_ms(0, of_default),
                         b1 = timer.block_ms(final.candidate, of_candidate);
            const double b2 = timer.block_ms(final.candidate, of_candidate),
                         a2 = timer.block_ms(0, of_default);
            final.default_ms.push_back(0.5 * (a1 + a2));
            final.candidate_ms.push_back(0.5 * (b1 + b2));
            final.launches += 2 * of_candidate;
            final.default_launches += 2 * of_default;
            final.ratio = paired_ratio(final.candidate_ms, final.default_ms);
        }
    }
    return finals;
}

Verdict choose_by_model(std::span<const double> times_ms, double tie) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < times_ms.size(); ++i)
        if (times_ms[i] > 0 && (!(times_ms[best] > 0) || times_ms[i] < times_ms[best]))
            best = i;
    if (best == 0)
        return {0, "default"};
    if (!(times_ms[0] > 0))
        return {best, "default failed"};
    const double ratio = times_ms[best] / times_ms[0];
    if (ratio > 1 - tie)
        return {0, "tie"};
    return {best, faster_by(ratio)};
}

Verdict choose_by_race(std::span<const FinalistTimes> finalists, double tie) {
    Verdict verdict{0, finalists.empty() ? "default" : "tie"};
    double best = 1 - tie;
    for (const FinalistTimes& final : finalists) {
        const PairedRatio& ratio = final.ratio;
        if (ratio.pairs >= 2 && ratio.high < 1 && ratio.median <= best) {
            best = ratio.median;
            verdict = {final.candidate, faster_by(ratio.median)};
        }
    }
    return verdict;
}

} // namespace zyfa::tuner
