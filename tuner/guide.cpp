// SPDX-License-Identifier: Apache-2.0
// Candidates on the timing model, and what that leaves to be measured.
#include "tuner/guide.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tuner/inputs.hpp"
#include "tuner/representative.hpp"
#include "tuner/stopwatch.hpp"
#include "tuner/test_bed.hpp"
#include "tuner/timing.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

constexpr int guide_device = 0; ///< of the simulator

std::shared_ptr<runtime::Runtime> open_simulator() {
    try {
        return runtime::Runtime::open("sim", "");
    } catch (const Error& error) {
        throw Error(ErrorCode::no_device, "guide",
                    std::string("the guide is \"model\", which runs on the simulator: ") + error.what());
    }
}

runtime::DeviceInfo info_of(const runtime::Runtime& runtime) {
    for (const runtime::DeviceInfo& info : runtime.devices())
        if (info.ordinal == guide_device)
            return info;
    throw Error(ErrorCode::no_device, "guide", "the simulator has no device");
}

/// The modelled chip has another size while this lives.
class ChipSize {
  public:
    ChipSize(const runtime::Runtime& runtime, const runtime::DeviceInfo& own, std::uint32_t compute_units,
             std::uint32_t xcds)
        : set_(reinterpret_cast<Set>(runtime.extension("zyfaSimSetDevice"))), own_(own) {
        set(compute_units, xcds);
    }
    ~ChipSize() { set(own_.compute_units, own_.xcds); }
    ChipSize(const ChipSize&) = delete;
    ChipSize& operator=(const ChipSize&) = delete;

  private:
    using Set = const char* (*)(int, const char*, const char*);
    void set(std::uint32_t compute_units, std::uint32_t xcds) {
        if (!set_)
            return;
        set_(guide_device, "compute_units", std::to_string(compute_units).c_str());
        set_(guide_device, "xcds", std::to_string(xcds).c_str());
    }
    Set set_;
    runtime::DeviceInfo own_;
};

/// As much of the chip as of the heads and batch entries, in whole XCDs' shares.
std::uint32_t compute_units_for(const runtime::DeviceInfo& device, const Problem& whole, const Problem& cut) {
    const double share = static_cast<double>(cut.batch * cut.heads_q) /
                         static_cast<double>(std::max<std::int64_t>(whole.batch * whole.heads_q, 1));
    const double per_xcd = std::round(share * device.compute_units / std::max<std::uint32_t>(device.xcds, 1));
    return device.xcds * static_cast<std::uint32_t>(std::max(per_xcd, 1.0));
}

std::string milliseconds(double ms) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g ms", ms);
    return text;
}

} // namespace

Guidance model_times(const GuideInput& input, const std::vector<SearchPoint>& points) {
    const Stopwatch watch;
    const runtime::DeviceInfo& device = input.device;
    const std::shared_ptr<runtime::Runtime> simulator = open_simulator();
    const runtime::DeviceInfo own = info_of(*simulator);
    const Representative cut = representative(input.problem, true, input.budget_s);
    const bool own_strides = cut.problem.q == input.problem.q && cut.problem.k == input.problem.k &&
                             cut.problem.v == input.problem.v;
    const TuningInputs drawn = own_strides ? TuningInputs{} : drawn_inputs(cut.problem);
    const std::uint32_t units = compute_units_for(device, input.problem, cut.problem);
    const ChipSize size(*simulator, own, units, device.xcds);
    const runtime::DeviceGuard guard(*simulator, guide_device);
    Binaries binaries(simulator, guide_device, input.assembler, input.form, classify(input.problem));
    TestBed bed(simulator, guide_device, input.form, cut.problem, own_strides ? input.inputs : drawn, 1);
    const auto go_on = [&] {
        return input.go_on() && (input.budget_s <= 0 || watch.seconds() < input.budget_s / 2);
    };

    Guidance guidance;
    guidance.ms.assign(points.size(), 0.0);
    guidance.note = "the timing model, on " + std::to_string(units) + " compute units";
    if (!cut.note.empty())
        guidance.note += ", " + cut.note;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].rejection)
            continue;
        if (!go_on())
            break;
        input.progress(points[i].schedule.canonical(), i);
        guidance.ms[i] = std::numeric_limits<double>::infinity();
        Measurement measurement;
        Binary* const binary = binaries.get(points[i].schedule, measurement);
        if (!binary)
            continue;
        try {
            BoundLaunch launch =
                bed.bind(*binary, points[i].schedule, {units, device.xcds, device.lds_bytes});
            const double left_s =
                input.budget_s > 0 ? std::max(0.001, input.budget_s / 2 - watch.seconds()) : 0;
            guidance.ms[i] = event_ms(
                simulator, guide_device, bed.stream(), 1, [&](void* stream) { launch(stream); }, left_s);
        } catch (const Error& error) {
            const bool late = error.argument() == hang_argument;
            if (late)
                runtime::stop_kernels(*simulator, guide_device);
            runtime::clear_fault(*simulator, guide_device);
            if (late) { // it may hang, or be slow: not reached
                guidance.ms[i] = 0;
                break;
            }
        }
        ++guidance.modelled;
    }
    return guidance;
}

std::vector<SearchPoint> prune(std::vector<SearchPoint> points, const Guidance& guidance, double margin) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t leader = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (guidance.ms[i] > 0 && guidance.ms[i] < best) {
            best = guidance.ms[i];
            leader = i;
        }
    struct Place {
        int group;
        double ms;
        std::size_t index;
        bool operator<(const Place& other) const {
            return group != other.group ? group < other.group
                   : ms != other.ms     ? ms < other.ms
                                        : index < other.index;
        }
    };
    std::vector<Place> order;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double ms = guidance.ms[i];
        const bool hint = i == leader || points[i].distance == 0;
        if (i > 0 && !points[i].rejection && ms > best * (1 + margin)) {
            points[i].pruned = true;
            points[i].rejection = std::isfinite(ms)
                                      ? "left out by " + guidance.note + ": " + milliseconds(ms) +
                                            " against " + milliseconds(best) + " of its best (simulated)"
                                      : "left out by " + guidance.note + ": it does not run there";
        }
        if (hint && !points[i].rejection)
            points[i].distance = 0;
        order.push_back({i == 0 ? 0 : points[i].rejection ? 4 : hint ? 1 : ms > 0 ? 2 : 3, ms, i});
    }
    std::sort(order.begin(), order.end());
    std::vector<SearchPoint> ordered;
    ordered.reserve(points.size());
    for (const Place& place : order)
        ordered.push_back(std::move(points[place.index]));
    return ordered;
}

} // namespace zyfa::tuner
