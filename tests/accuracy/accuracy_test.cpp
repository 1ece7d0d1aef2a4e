// SPDX-License-Identifier: Apache-2.0
// The accuracy suite in short form: bench/accuracy has the whole one.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/accuracy/call.hpp"
#include "bench/accuracy/chart.hpp"
#include "bench/accuracy/score.hpp"

using namespace zyfa;
using namespace zyfa::accuracy;

namespace {

ContextOptions simulator() {
    ContextOptions options = ContextOptions::from_environment();
    options.device = "sim";
    options.mode = Mode::off;
    options.cache_dir = ":memory:";
    options.cache_layers.clear();
    return options;
}

} // namespace

TEST_CASE("every distribution of Figure 15 keeps 30 dB") {
    Context context(simulator());
    for (const Distribution distribution : all_distributions()) {
        CAPTURE(std::string(to_string(distribution)));
        const Codes codes = quantised(context, drawn(distribution, 1, 384, 1), {});
        const Exact wanted = exact(codes.problem, codes.tensors());
        const ErrorSummary lean = error_of(run(context, codes, Probability::lean, "from_first"), wanted),
                           exact_p =
                               error_of(run(context, codes, Probability::exact, "from_diagonal"), wanted);
        CHECK(lean.snr_db >= 30);
        CHECK(exact_p.snr_db >= 30);
        CHECK(lean.lse_max_abs <= 0.045);
        CHECK(exact_p.lse_max_abs <= 0.03);
    }
}

TEST_CASE("block scales earn their place beside an attention sink") {
    Context context(simulator());
    const std::map<Distribution, double> limits{{Distribution::sink_4, 0.006},
                                                {Distribution::sink_flat_tail, 0.003}};
    for (const auto& [distribution, limit] : limits) {
        CAPTURE(std::string(to_string(distribution)));
        const Codes codes = quantised(context, drawn(distribution, 1, 2048, 1), {});
        const Exact wanted = exact(codes.problem, codes.tensors());
        const double scaled =
                         error_of(run(context, codes, Probability::lean, "from_first"), wanted).relative_rms,
                     without = emulation(codes, wanted, Unscaled::lean).relative_rms;
        CHECK(scaled <= limit);
        CHECK(without >= 2 * scaled);
    }
}

TEST_CASE("a rotation makes the input error of outlier channels at least three times smaller") {
    Context context(simulator());
    const Values values = with_outliers(1024, 1);
    const Exact wanted = exact(values.problem, values.tensors());
    const auto input_error = [&](Transform transform) {
        const Codes codes = quantised(context, values, transform);
        return relative_rms(exact(codes.problem, codes.tensors()), wanted);
    };
    const double without = input_error({}), with = input_error({.rotate = true});
    CHECK(without > 0.08);
    CHECK(without / with >= 3);
}

TEST_CASE("a NaN in O or LSE does not pass for a small error") {
    const Exact wanted{{1.0, 2.0}, {0.5, 0.25}};
    const auto summary = [&](std::array<float, 2> o, std::array<float, 2> lse) {
        const std::array bits{float_to_bf16(o[0]), float_to_bf16(o[1])};
        Output output;
        output.o.resize(sizeof bits), output.lse.resize(sizeof lse);
        std::memcpy(output.o.data(), bits.data(), sizeof bits);
        std::memcpy(output.lse.data(), lse.data(), sizeof lse);
        return error_of(output, wanted);
    };
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(summary({1, 2}, {0.5f, 0.25f}).lse_max_abs == 0);
    CHECK(std::isnan(summary({1, 2}, {0.5f, nan}).lse_max_abs));
    CHECK(std::isnan(summary({1, 2}, {nan, 0.25f}).lse_max_abs));
    CHECK(std::isnan(summary({nan, 2}, {0.5f, 0.25f}).relative_rms));
    CHECK(std::isnan(summary({nan, 2}, {0.5f, 0.25f}).max_abs));
}

TEST_CASE("figures survive the way through CSV, and the picture shows every one") {
    const std::vector<Figure> figures{{"sink-4", "lean", "from_first", 2048, 1, 0.0045, 0.1, 46.9, 0.02},
                                      {"sink-4", "plain emulation", "-", 2048, 1, 0.023, 0.2, 32.8, 0.01}};
    std::string text = csv_head();
    for (const Figure& figure : figures)
        text += to_csv(figure);
    const std::vector<Figure> read = from_csv(text);
    REQUIRE(read.size() == 2);
    CHECK(read[1].variant == figures[1].variant);
    CHECK(read[0].relative_rms == figures[0].relative_rms);
    CHECK_THROWS_WITH(from_csv("nonsense\n"), doctest::Contains("first line"));
    const std::string picture = chart(read, "title");
    std::size_t marks = 0;
    for (std::size_t at = 0; (at = picture.find("<circle", at)) != std::string::npos; ++at)
        ++marks;
    CHECK(marks == 2 + 5); // and five in the legend
}
