// SPDX-License-Identifier: Apache-2.0
// The BF16 kernels, head dimension 128 and 192/128, on the simulator against fp64.
#include <doctest/doctest.h>

#include "core/reference.hpp"
#include "tests/templates/kernel_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

using namespace zyfa;
using namespace zyfa::test;

namespace {

struct Shape {
    std::int64_t batch, heads_q, heads_kv, seq_q, seq_kv;
    Mask mask = Mask::causal;
};

/// The kernels: query-key dimension (the value dimension is 128).
struct D128 {
    static constexpr std::int64_t qk = 128;
};
struct D192 {
    static constexpr std::int64_t qk = 192;
};

template <typename D>
Problem problem_of(const Shape& s, Problem::Layout layout = Problem::Layout::bhsd) {
    return Problem::contiguous(DType::bf16, s.batch, s.heads_q, s.heads_kv, s.seq_q, s.seq_kv, D::qk, 128,
                               s.mask, layout);
}

Schedule default_schedule(const Problem& p) {
    return templates::template_for(p).default_schedule(p);
}

Schedule with(Schedule schedule, const std::string& name, ParameterValue value) {
    schedule.parameters[name] = std::move(value);
    return schedule;
}

/// The paper's BF16 kernels have a relative RMS error of 1.7e-3 to 2.3e-3; the row sum is of unrounded
/// probabilities, so LSE is within FP32 rounding and the exponential's.
void check(const Problem& p, const Inputs& inputs, const Outputs& out, double lse_limit = 1e-4) {
    INFO(to_string(p));
    REQUIRE(out.fault == "");
    CHECK(out.gaps_intact);
    const Comparison c = compare(p, inputs.view(), out);
    CHECK(c.mismatch == "");
    CHECK(c.relative_rms <= 2.6e-3);
    CHECK(c.lse_max_abs <= lse_limit);
}

bool same_bits(const Outputs& a, const Outputs& b) {
    return a.o == b.o && a.lse.size() == b.lse.size() &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

constexpr std::uint16_t quiet_nan = 0x7fc0, infinity = 0x7f80, minus_infinity = 0xff80;

} // namespace

TYPE_TO_STRING(D128);
TYPE_TO_STRING(D192);

TEST_CASE_TEMPLATE("bf16: lengths, heads, groups, batches, layouts with padded strides", D, D128, D192) {
    const std::vector<Shape> shapes{
        {1, 1, 1, 1, 1},
        {1, 3, 1, 31, 31},
        {3, 3, 3, 33, 33},
        {1, 12, 3, 255, 255},
        {1, 4, 1, 256, 256},
        {3, 8, 2, 257, 257},
        {1, 8, 1, 1000, 1000},
        {1, 3, 1, 1000, 1000},
        {2, 2, 2, 300, 300, Mask::none},
        {1, 4, 2, 129, 129, Mask::none},
    };
    unsigned turn = 0;
    for (const Shape& shape : shapes)
        for (const auto layout : {Problem::Layout::bhsd, Problem::Layout::bshd}) {
            if (shape.seq_q == 1000 && turn++ % 2 != 0)
                continue; // the long ones in one layout each
            const Problem p = padded(problem_of<D>(shape, layout), layout);
            const Inputs inputs = draw(p, 1);
            check(p, inputs, run(p, inputs));
        }
}

TEST_CASE_TEMPLATE("bf16: query and key lengths that differ, rows without keys", D, D128, D192) {
    for (const Shape& shape : std::vector<Shape>{{1, 4, 2, 100, 700},
                                                 {1, 4, 2, 1, 77},
                                                 {1, 2, 1, 77, 1},
                                                 {1, 2, 2, 700, 100},
                                                 {1, 3, 1, 300, 64},
                                                 {2, 2, 1, 5, 130, Mask::none},
                                                 {1, 1, 1, 300, 1, Mask::none}}) {
        const Problem p = padded(problem_of<D>(shape), Problem::Layout::bhsd);
        const Inputs inputs = draw(p, 2);
        const Outputs out = run(p, inputs);
        check(p, inputs, out);
        if (p.mask == Mask::causal && p.seq_q > p.seq_kv) { // bottom-right: the first rows see nothing
            CHECK(lse_at(p, out, 0, 0, 0) == -std::numeric_limits<float>::infinity());
            CHECK(o_at(p, out, 0, 0, 0, 5) == 0);
            CHECK(std::isfinite(lse_at(p, out, 0, 0, p.seq_q - p.seq_kv)));
        }
    }
}

TEST_CASE_TEMPLATE("bf16: every schedule within the error limit; grid and chiplet map change no bit", D, D128,
                   D192) {
    // At 192 the code but for the products is the same; fewer calls will do.
    const Problem p = problem_of<D>(D::qk == 128 ? Shape{2, 6, 2, 530, 530} : Shape{2, 3, 1, 300, 300});
    const Inputs inputs = draw(p, 3, 2.0, 2.0);
    const templates::Template& t = templates::template_for(p);
    std::map<std::string, Outputs> by_bits; // what may change bits -> first result
    for (const Schedule& schedule : templates::enumerate(t, p)) {
        INFO(schedule.canonical());
        RunOptions options;
        options.compute_units = 8; // several items per workgroup of a persistent grid
        const Outputs out = run(p, schedule, inputs, options);
        std::string key;
        for (const templates::ParameterSpec& spec : t.space(p))
            if (spec.changes_bits)
                key += to_string(schedule.parameters.at(spec.name)) + " ";
        const auto [first, fresh] = by_bits.emplace(key, out);
        if (fresh)
            check(p, inputs, out);
        else
            CHECK(same_bits(first->second, out));
    }
    CHECK(by_bits.size() == 12); // six taus, two key orders
}

TEST_CASE_TEMPLATE("bf16: two heads per workgroup, all maps and grids", D, D128, D192) {
    const Problem p = padded(problem_of<D>({3, 8, 2, 300, 300}), Problem::Layout::bshd);
    const Inputs inputs = draw(p, 4);
    const Outputs expected = run(p, inputs);
    check(p, inputs, expected);
    for (const char* map : {"none", "runs", "head_first"})
        for (const bool persistent : {true, false})
            for (const std::uint32_t units : {5u, 16u}) {
                RunOptions options;
                options.compute_units = units;
                options.seed = units; // another order of workgroups and waves
                const Schedule s = with(with(default_schedule(p), "chiplet_map", std::string(map)),
                                        "persistent", persistent);
                CHECK(same_bits(run(p, s, inputs, options), expected));
            }
}

TEST_CASE_TEMPLATE("bf16: rows do not depend on the other batch entries", D, D128, D192) {
    const Problem one = problem_of<D>({1, 2, 1, 300, 300}), three = problem_of<D>({3, 2, 1, 300, 300});
    Inputs inputs = draw(three, 5);
    Inputs first;
    first.q.assign(inputs.q.begin(), inputs.q.begin() + 2 * 300 * D::qk);
    first.k.assign(inputs.k.begin(), inputs.k.begin() + 300 * D::qk);
    first.v.assign(inputs.v.begin(), inputs.v.begin() + 300 * 128);
    std::fill(inputs.q.begin() + 2 * 300 * D::qk, inputs.q.end(), quiet_nan);
    std::fill(inputs.v.begin() + 300 * 128, inputs.v.end(), infinity);
    const Outputs alone = run(one, first), together = run(three, inputs);
    CHECK(std::equal(alone.o.begin(), alone.o.end(), together.o.begin()));
    CHECK(std::equal(alone.lse.begin(), alone.lse.end(), together.lse.begin()));
}

TEST_CASE("bf16: eight stages give the bits of the two-phase kernel") {
    auto same = [](const Problem& p, const Inputs& inputs, double tau, const char* order,
                   std::int64_t parts = 1, const RunOptions& options = {}) {
        INFO(to_string(p));
        Schedule schedule = with(with(default_schedule(p), "tau", tau), "key_order", std::string(order));
        schedule.parameters["key_parts"] = parts;
        const Outputs expected = run(p, with(schedule, "pipeline", std::string("two_phase")), inputs),
                      out = run(p, with(schedule, "pipeline", std::string("eight_stage")), inputs, options);
        REQUIRE(out.fault == "");
        CHECK(out.gaps_intact);
        CHECK(same_bits(out, expected));
        CHECK(std::any_of(out.o.begin(), out.o.end(), [](std::uint16_t bits) { return bits != 0; }));
    };
    unsigned turn = 0;
    for (const Shape& shape : std::vector<Shape>{{1, 1, 1, 1, 1},
                                                 {3, 3, 3, 33, 33},
                                                 {1, 12, 3, 255, 255},
                                                 {1, 3, 1, 700, 700},
                                                 {1, 4, 2, 100, 700},
                                                 {1, 4, 2, 1, 77},
                                                 {1, 2, 2, 700, 100},
                                                 {1, 2, 1, 77, 1},
                                                 {2, 2, 2, 300, 300, Mask::none}}) {
        const auto layout = ++turn % 2 == 0 ? Problem::Layout::bhsd : Problem::Layout::bshd;
        const Problem p = padded(problem_of<D192>(shape, layout), layout);
        same(p, draw(p, 20 + turn, 2.0, 2.0), turn % 3 == 0 ? 0.0 : 0.5,
             turn % 2 == 0 ? "from_first" : "from_diagonal");
    }
    SUBCASE("keys split") {
        const Problem p = problem_of<D192>({1, 1, 1, 600, 600});
        same(p, draw(p, 31, 2.0, 2.0), 0.0, "from_first", 4);
    }
    SUBCASE("rows, heads and batch entries beyond 4 GiB") {
        constexpr std::int64_t gib = std::int64_t{1} << 30, rows = gib / 32 / 2, heads = 10 * gib / 2;
        const Problem p = problem_of<D192>({2, 2, 1, 100, 200});
        RunOptions options;
        options.placed = p;
        for (Strides* stride :
             {&options.placed->q, &options.placed->k, &options.placed->v, &options.placed->o})
            *stride = {2 * heads, heads, rows};
        for (const char* order : {"from_first", "from_diagonal"})
            same(p, draw(p, 33, 2.0, 2.0), 0.5, order, 1, options);
    }
    SUBCASE("Inf and NaN") {
        const Problem p = problem_of<D192>({1, 2, 1, 150, 200});
        RunOptions sanitized;
        sanitized.sanitize = true;
        for (const char* order : {"from_first", "from_diagonal"}) {
            Inputs inputs = draw(p, 32);
            inputs.q[77 * 192 + 5] = quiet_nan;
            inputs.k[190 * 192 + 100] = infinity;
            for (const std::int64_t key : {0, 60, 70, 129, 140, 180})
                inputs.v[static_cast<std::size_t>(key * 128 + key % 128)] = key % 3 == 0   ? quiet_nan
                                                                            : key % 4 == 0 ? minus_infinity
                                                                                           : infinity;
            same(p, inputs, 8.0, order, 1, sanitized);
        }
    }
}

TEST_CASE_TEMPLATE("bf16: scores up to 2^24 base-2 units give finite output", D, D128, D192) {
    Problem p = problem_of<D>({1, 2, 1, 200, 200});
    Inputs inputs = draw(p, 6, 1.0, 1.0);
    for (const double target : {1e3, 1e5, 16777216.0}) {
        // the largest score of standard normal q and k is about 60 before scaling
        p.softmax_scale = static_cast<float>(target / (60 * std::log2(std::exp(1.0))));
        const Outputs out = run(p, inputs);
        REQUIRE(out.fault == "");
        for (std::int64_t row = 0; row < p.seq_q; ++row) {
            CHECK(std::isfinite(lse_at(p, out, 0, 1, row)));
            for (std::int64_t d = 0; d < 128; d += 17)
                CHECK(std::isfinite(bf16_to_float(o_at(p, out, 0, 1, row, d))));
        }
    }
    // Far apart scores: the first keys' weight vanishes, none of it turns into NaN.
    p.softmax_scale = 30.0f;
    const Outputs out = run(p, inputs);
    check(p, inputs, out, 1e-3); // LSE is about 2000, where FP32 is 1.2e-4 apart
}

TEST_CASE_TEMPLATE("bf16: NaN and Inf reach the rows that see them, and no other row by a bit", D, D128,
                   D192) {
    for (const Shape& shape :
         std::vector<Shape>{{1, 2, 1, 300, 300}, {1, 3, 1, 140, 200}, {1, 2, 1, 100, 150, Mask::none}}) {
        if (D::qk == 192 && shape.seq_q == 300)
            continue;
        const Problem p = problem_of<D>(shape);
        const bool causal = p.mask == Mask::causal;
        const std::int64_t group = p.heads_q / p.heads_kv, shift = p.seq_kv - p.seq_q;
        for (const char* order : {"from_first", "from_diagonal"}) {
            const Schedule schedule = with(default_schedule(p), "key_order", std::string(order));
            const Inputs clean = draw(p, 7);
            const Outputs expected = run(p, schedule, clean);
            // expect: the value an element must have, or nothing where it must keep its bits
            enum class Want { same, nan, plus, minus };
            auto verify = [&](const Inputs& inputs, auto&& want) {
                const Outputs out = run(p, schedule, inputs);
                REQUIRE(out.fault == "");
                std::int64_t wrong = 0;
                for (std::int64_t h = 0; h < p.heads_q; ++h)
                    for (std::int64_t row = 0; row < p.seq_q; ++row)
                        for (std::int64_t d = 0; d < 128; ++d) {
                            const std::uint16_t bits = o_at(p, out, 0, h, row, d);
                            const float value = bf16_to_float(bits);
                            switch (want(h, row, d)) {
                            case Want::same:
                                wrong += bits != o_at(p, expected, 0, h, row, d);
                                break;
                            case Want::nan:
                                wrong += !std::isnan(value);
                                break;
                            case Want::plus:
                                wrong += bits != infinity;
                                break;
                            case Want::minus:
                                wrong += bits != minus_infinity;
                                break;
                            }
                        }
                CHECK(wrong == 0);
                return out;
            };
            for (const std::int64_t i : {0, 45, 99}) {
                Inputs inputs = clean;
                inputs.q[static_cast<std::size_t>(i * D::qk + 5)] = quiet_nan;
                const Outputs out = verify(inputs, [&](std::int64_t h, std::int64_t row, std::int64_t) {
                    return h == 0 && row == i ? Want::nan : Want::same;
                });
                CHECK(std::isnan(lse_at(p, out, 0, 0, i)));
            }
            for (const std::int64_t j : {0, 37, 63, 64, 131}) {
                const auto at = static_cast<std::size_t>(j * 128), k_at = static_cast<std::size_t>(j * D::qk);
                auto sees = [&](std::int64_t h, std::int64_t row, std::int64_t key) {
                    return h / group == 0 && (!causal || key <= row + shift);
                };
                Inputs inputs = clean;
                inputs.k[k_at + D::qk - 28] = quiet_nan;
                verify(inputs, [&](std::int64_t h, std::int64_t row, std::int64_t) {
                    return sees(h, row, j) ? Want::nan : Want::same;
                });
                for (const auto& [bits, outcome] : {std::pair{quiet_nan, Want::nan},
                                                    {infinity, Want::plus},
                                                    {minus_infinity, Want::minus}}) {
                    inputs = clean;
                    inputs.v[at + 77] = bits;
                    verify(inputs, [&, wanted = outcome](std::int64_t h, std::int64_t row, std::int64_t d) {
                        return d == 77 && sees(h, row, j) ? wanted : Want::same;
                    });
                }
                inputs = clean; // Inf - Inf in one column, for the rows that see both
                inputs.v[at + 3] = infinity;
                inputs.v[at + 128 + 3] = minus_infinity;
                verify(inputs, [&](std::int64_t h, std::int64_t row, std::int64_t d) {
                    return d != 3 || !sees(h, row, j) ? Want::same
                           : sees(h, row, j + 1)      ? Want::nan
                                                      : Want::plus;
                });
            }
        }
    }
}

TEST_CASE_TEMPLATE("bf16: without nan_exact the other sequences stay clean", D, D128, D192) {
    Problem p = problem_of<D>({2, 2, 1, 200, 200});
    p.nan_exact = false;
    const Schedule schedule = with(default_schedule(p), "nan_exact", false);
    const Inputs clean = draw(p, 8);
    Inputs inputs = clean;
    inputs.v[150 * 128] = quiet_nan;
    const Outputs expected = run(p, schedule, clean), out = run(p, schedule, inputs);
    CHECK(std::isnan(bf16_to_float(o_at(p, out, 0, 0, 170, 0))));
    for (std::int64_t row = 0; row < 200; ++row)
        CHECK(o_at(p, out, 1, 0, row, 0) == o_at(p, expected, 1, 0, row, 0));
}
