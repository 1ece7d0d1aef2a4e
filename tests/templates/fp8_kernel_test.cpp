// SPDX-License-Identifier: Apache-2.0
// The FP8 kernels, head dimension 128 and 192/128, on the simulator against fp64.
#include <doctest/doctest.h>

#include "core/reference.hpp"
#include "tests/templates/kernel_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>

using namespace zyfa;
using namespace zyfa::test;

namespace {

struct Shape {
    std::int64_t batch, heads_q, heads_kv, seq_q, seq_kv;
    Mask mask = Mask::causal;
};

/// The kernels: query-key dimension (the value dimension is 128).
struct F128 {
    static constexpr std::int64_t qk = 128;
};
struct F192 {
    static constexpr std::int64_t qk = 192;
};

template <typename D>
Problem problem_of(const Shape& s, Problem::Layout layout = Problem::Layout::bhsd) {
    return Problem::contiguous(DType::e4m3, s.batch, s.heads_q, s.heads_kv, s.seq_q, s.seq_kv, D::qk, 128,
                               s.mask, layout);
}

Schedule default_schedule(const Problem& p) {
    return templates::template_for(p).default_schedule(p);
}

Schedule with(Schedule schedule, const std::string& name, ParameterValue value) {
    schedule.parameters[name] = std::move(value);
    return schedule;
}

/// The limits on the relative RMS error are set by hand, for coarse mistakes; the gate's (tuner/gate.cpp)
/// follow an emulation. LSE: a rounded probability is off by up to 7.5% (paper Section IV-B), and so is the
/// sum of a row with few keys; ln 1.075 is 0.0723, the rest is FP32's.
void check(const Problem& p, const Inputs8& inputs, const Outputs& out, double limit = 0.03) {
    INFO(to_string(p));
    REQUIRE(out.fault == "");
    CHECK(out.gaps_intact);
    const Comparison c = compare(p, inputs.view(), out);
    CHECK(c.mismatch == "");
    CHECK(c.relative_rms <= limit);
    CHECK(c.lse_max_abs <= 0.0724);
}

bool same_bits(const Outputs& a, const Outputs& b) {
    return a.o == b.o && a.lse.size() == b.lse.size() &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

/// Values of the parameter matrix_work.
std::vector<ParameterValue> matrix_works(const Problem& p) {
    for (const templates::ParameterSpec& spec : templates::template_for(p).space(p))
        if (spec.name == "matrix_work")
            return spec.grid;
    return {};
}

constexpr std::uint8_t nan_code = 0x7f, minus_nan_code = 0xff;

} // namespace

TYPE_TO_STRING(F128);
TYPE_TO_STRING(F192);

TEST_CASE_TEMPLATE("fp8: lengths, heads, groups, batches, layouts with padded strides", D, F128, F192) {
    const std::vector<Shape> shapes{{1, 1, 1, 1, 1},
                                    {1, 3, 1, 31, 31},
                                    {3, 3, 3, 65, 65},
                                    {1, 4, 1, 256, 256},
                                    {2, 4, 2, 257, 257},
                                    {1, 3, 1, 700, 700},
                                    {2, 2, 2, 300, 300, Mask::none},
                                    {1, 4, 2, 129, 129, Mask::none},
                                    {1, 4, 2, 100, 500},
                                    {1, 4, 2, 1, 77},
                                    {1, 2, 1, 77, 1},
                                    {1, 2, 2, 500, 100},
                                    {1, 3, 1, 300, 64},
                                    {2, 2, 1, 5, 130, Mask::none},
                                    {1, 1, 1, 300, 1, Mask::none}};
    unsigned turn = 0;
    for (const Shape& shape : shapes) {
        const auto layout = turn++ % 2 ? Problem::Layout::bshd : Problem::Layout::bhsd;
        Problem p = padded(problem_of<D>(shape, layout), layout);
        p.probability = turn % 3 ? Probability::lean : Probability::exact;
        const Inputs8 inputs = draw8(p, turn);
        const Outputs out = run(p, inputs);
        check(p, inputs, out);
        if (p.mask == Mask::causal && p.seq_q > p.seq_kv) { // bottom-right: the first rows see nothing
            CHECK(lse_at(p, out, 0, 0, 0) == -std::numeric_limits<float>::infinity());
            CHECK(o_at(p, out, 0, 0, 0, 5) == 0);
            CHECK(std::isfinite(lse_at(p, out, 0, 0, p.seq_q - p.seq_kv)));
        }
    }
}

TEST_CASE_TEMPLATE("fp8: every schedule within the error limit; grid and chiplet map change no bit", D, F128,
                   F192) {
    Problem p = problem_of<D>({2, 3, 1, 300, 300});
    const Inputs8 inputs = draw8(p, 3, 2.0, 2.0);
    for (const Probability probability : {Probability::lean, Probability::exact}) {
        p.probability = probability;
        const templates::Template& t = templates::template_for(p);
        std::map<std::string, Outputs> by_bits; // what may change bits -> first result
        unsigned turn = 0;
        for (const Schedule& schedule : templates::enumerate(t, p)) {
            INFO(schedule.canonical());
            RunOptions options;
            options.compute_units = 3; // several items per workgroup of a persistent grid
            options.seed = turn++;
            std::string key;
            for (const templates::ParameterSpec& spec : t.space(p))
                if (spec.changes_bits && !(spec.name == "matrix_work" && // only fold does
                                           schedule.text("matrix_work") == "maximum"))
                    key += to_string(schedule.parameters.at(spec.name)) + " ";
                else if (spec.changes_bits)
                    key += "none ";
            const auto known = by_bits.find(key);
            // Beside each first one every thirteenth; with 192 the code but for the products is the same.
            if (known != by_bits.end() && (D::qk == 192 || turn % 13 != 0))
                continue;
            const Outputs out = run(p, schedule, inputs, options);
            if (known == by_bits.end()) {
                check(p, inputs, out, 0.035);
                by_bits.emplace(key, out);
            } else {
                CHECK(same_bits(known->second, out));
            }
        }
        // six taus, two key orders; exact P: what the matrix phase takes over
        const std::size_t works = probability == Probability::exact && D::qk == 128 ? 2 : 1;
        CHECK(by_bits.size() == 12 * works);
    }
}

TEST_CASE("fp8: tau beyond the format's range is refused") {
    Problem p = problem_of<F128>({1, 1, 1, 300, 300});
    const templates::Template& t = templates::template_for(p);
    for (const char* probability : {"lean", "exact"}) {
        p.probability = probability[0] == 'l' ? Probability::lean : Probability::exact;
        const Schedule s = t.default_schedule(p);
        CHECK_FALSE(t.reject(p, with(s, "tau", 2.75)));
        CHECK(t.reject(p, with(s, "tau", 2.9)));
        CHECK(t.reject(p, with(s, "tau", -0.1)));
        CHECK(t.reject(p, with(with(s, "tau", 2.0), "sigma", 7.0)));
        CHECK_FALSE(t.reject(p, with(with(s, "tau", 2.75), "sigma", 5.0)));
    }
}

TEST_CASE("fp8: what overlaps a tile's end, who rescales and who issues first, change no bit") {
    Problem p = problem_of<F128>({1, 1, 1, 900, 900}); // waves 0-3 have a dead block at each tile's end
    const Inputs8 inputs = draw8(p, 31, 2.0, 1.0);
    for (const Probability probability : {Probability::lean, Probability::exact}) {
        p.probability = probability;
        const templates::Template& t = templates::template_for(p);
        const Schedule s = with(t.default_schedule(p), "matrix_work", std::string("none"));
        const Outputs expected = run(p, s, inputs);
        check(p, inputs, expected);
        for (const char* epilogue : {"idle_matrix", "next_softmax"})
            for (const char* order : {"matrix_first", "vector_first"})
                for (const std::uint32_t units : {1u, 16u}) {
                    INFO(epilogue, " ", order, " ", units);
                    RunOptions options;
                    options.compute_units = units;
                    options.seed = units;
                    const Schedule other =
                        with(with(s, "epilogue", std::string(epilogue)), "issue_order", std::string(order));
                    REQUIRE_FALSE(t.reject(p, other));
                    CHECK(same_bits(run(p, other, inputs, options), expected));
                }
        const Schedule at_once = with(s, "rescale_work", std::string("softmax"));
        for (const double tau : {0.0, 2.75})
            for (const char* order : {"from_first", "from_diagonal"}) {
                INFO(tau, " ", order);
                const auto both = [&](const Schedule& schedule) {
                    return run(p, with(with(schedule, "tau", tau), "key_order", std::string(order)), inputs);
                };
                CHECK(same_bits(both(at_once), both(s)));
            }
        const Schedule plain = with(s, "epilogue", std::string("next_softmax"));
        CHECK(t.reject(p, with(plain, "key_order", std::string("from_diagonal"))));
        CHECK(t.reject(p, with(with(s, "issue_order", std::string("vector_first")), "matrix_work",
                               std::string("maximum"))));
    }
    const Problem pairs = problem_of<F128>({1, 4, 1, 300, 300}),
                  full = problem_of<F128>({1, 1, 1, 300, 300, Mask::none});
    for (const Problem& other : {pairs, full})
        CHECK(default_schedule(other).text("epilogue") == "next_softmax");
}

TEST_CASE("fp8: a maximum that stays stale by nearly tau gives no NaN") {
    // Scores of key block n exceed those of block n - 1 by 2.7 base-2 units: below tau = 2.75 once, then the
    // maximum moves.
    Problem p = problem_of<F128>({1, 1, 1, 512, 512});
    Inputs8 inputs = draw8(p, 11, 0.0, 0.0);
    p.softmax_scale = 1;
    p.q_descale = p.k_descale = static_cast<float>(std::sqrt(2.7 / (std::log2(std::exp(1.0)))) / 8);
    for (std::int64_t row = 0; row < 512; ++row) {
        inputs.q[static_cast<std::size_t>(row * 128)] = float_to_e4m3(64);
        inputs.k[static_cast<std::size_t>(row * 128)] = float_to_e4m3(static_cast<float>(row / 128));
    }
    for (const Probability probability : {Probability::lean, Probability::exact}) {
        p.probability = probability;
        const Outputs out = run(p, with(default_schedule(p), "tau", 2.75), inputs);
        check(p, inputs, out);
    }
}

TEST_CASE_TEMPLATE("fp8: two heads per workgroup, all maps, grids and seeds", D, F128, F192) {
    Problem p = padded(problem_of<D>({3, 4, 1, 300, 300}), Problem::Layout::bshd);
    const Inputs8 inputs = draw8(p, 4);
    const Outputs expected = run(p, inputs);
    check(p, inputs, expected);
    unsigned turn = 0;
    for (const char* map : {"none", "runs", "head_first"})
        for (const bool persistent : {true, false}) {
            RunOptions options;
            options.compute_units = turn % 2 ? 5 : 16;
            options.seed = ++turn; // another order of workgroups and waves
            const Schedule s =
                with(with(default_schedule(p), "chiplet_map", std::string(map)), "persistent", persistent);
            CHECK(same_bits(run(p, s, inputs, options), expected));
        }
}

TEST_CASE_TEMPLATE("fp8: rows do not depend on the other batch entries", D, F128, F192) {
    Problem one = problem_of<D>({1, 2, 1, 300, 300}), three = problem_of<D>({3, 2, 1, 300, 300});
    Inputs8 inputs = draw8(three, 5);
    one.q_descale = one.k_descale = one.v_descale = three.q_descale;
    Inputs8 first;
    first.q.assign(inputs.q.begin(), inputs.q.begin() + 2 * 300 * D::qk);
    first.k.assign(inputs.k.begin(), inputs.k.begin() + 300 * D::qk);
    first.v.assign(inputs.v.begin(), inputs.v.begin() + 300 * 128);
    std::fill(inputs.q.begin() + 2 * 300 * D::qk, inputs.q.end(), nan_code);
    std::fill(inputs.v.begin() + 300 * 128, inputs.v.end(), minus_nan_code);
    const Outputs alone = run(one, first), together = run(three, inputs);
    CHECK(std::equal(alone.o.begin(), alone.o.end(), together.o.begin()));
    CHECK(std::equal(alone.lse.begin(), alone.lse.end(), together.lse.begin()));
}

TEST_CASE_TEMPLATE("fp8: large scores, through the fast path and the one that subtracts first", D, F128,
                   F192) {
    Problem p = problem_of<D>({1, 2, 1, 200, 200});
    const Inputs8 inputs = draw8(p, 6, 1.0, 1.0);
    for (const Probability probability : {Probability::lean, Probability::exact}) {
        p.probability = probability;
        for (const ParameterValue& work : matrix_works(p))
            // the largest score of standard normal q and k is about 60 before scaling
            for (const double target : {1e3, 1e5, 16777216.0, 1e9})
                for (const char* order : {"from_first", "from_diagonal"}) {
                    p.softmax_scale = static_cast<float>(target / (60 * std::log2(std::exp(1.0))));
                    INFO(to_string(work), " ", order, " ", target);
                    const Schedule schedule = with(default_schedule(p), "matrix_work", work);
                    const Outputs out = run(p, with(schedule, "key_order", std::string(order)), inputs);
                    REQUIRE(out.fault == "");
                    const Comparison c = compare(p, inputs.view(), out);
                    CHECK(c.mismatch == "");
                    CHECK(c.relative_rms <= 0.03);
                    CHECK(c.lse_max_abs <= 0.0724 + target * 0x1p-22);
                }
    }
}

TEST_CASE_TEMPLATE("fp8: up to 2^24 base-2 units the fast path agrees with fp64 where QK itself is exact", D,
                   F128, F192) {
    // 80 channels give all keys of a row one large score, five others a small integer of their own, which
    // also grows along the keys: FP32 holds every score, 2^23.94 and a few units.
    Problem p = problem_of<D>({1, 2, 2, 300, 300});
    Inputs8 inputs = draw8(p, 21, 0.0, 1.0);
    p.q_descale = p.k_descale = 1;
    constexpr double score = 80.0 * 448 * 448;
    for (std::int64_t row = 0; row < 2 * 300; ++row) {
        std::uint8_t *q = inputs.q.data() + row * D::qk, *k = inputs.k.data() + row * D::qk;
        for (std::int64_t channel = 0; channel < 80; ++channel)
            q[channel] = k[channel] = float_to_e4m3(448);
        for (const std::int64_t channel : {90, 91, 100, 110}) {
            q[channel] = float_to_e4m3(static_cast<float>(row % 3));
            k[channel] = float_to_e4m3(static_cast<float>((row * 7 + channel) % 5));
        }
        q[120] = float_to_e4m3(1);
        k[120] = float_to_e4m3(static_cast<float>(row % 300 / 50));
    }
    for (const Probability probability : {Probability::lean, Probability::exact}) {
        p.probability = probability;
        for (const ParameterValue& work : matrix_works(p))
            for (const char* order : {"from_first", "from_diagonal"})
                for (const double scale : {0x1p-8, 0.3, 0.9, 1.0, 1.04, 1.5}) { // the last one beyond 2^24
                    p.softmax_scale = static_cast<float>(scale / std::log2(std::exp(1.0)));
                    INFO(to_string(work), " ", order, " ", scale);
                    Schedule schedule = with(with(default_schedule(p), "matrix_work", work), "issue_order",
                                             std::string("matrix_first"));
                    if (scale == 0.9) // parts are merged by their maxima, not by the bases
                        schedule = with(schedule, "key_parts", std::int64_t{2});
                    const Outputs out = run(p, with(schedule, "key_order", std::string(order)), inputs);
                    REQUIRE(out.fault == "");
                    const Comparison c = compare(p, inputs.view(), out);
                    CHECK(c.mismatch == "");
                    CHECK(c.relative_rms <= 0.03);
                    CHECK(c.lse_max_abs <= 0.0724 + scale * score * 0x1p-23);
                }
    }
}

TEST_CASE_TEMPLATE("fp8: NaN reaches the rows that see it, and no other row by a bit", D, F128, F192) {
    for (const Shape& shape :
         std::vector<Shape>{{1, 2, 1, 300, 300}, {1, 3, 1, 140, 200}, {1, 2, 1, 100, 150, Mask::none}}) {
        if (D::qk == 192 && shape.seq_q == 300)
            continue;
        Problem p = problem_of<D>(shape);
        const bool causal = p.mask == Mask::causal;
        const std::int64_t group = p.heads_q / p.heads_kv, shift = p.seq_kv - p.seq_q;
        const Inputs8 clean = draw8(p, 7);
        for (const Probability probability : {Probability::lean, Probability::exact}) {
            p.probability = probability;
            const Schedule schedule =
                with(default_schedule(p), "key_order",
                     std::string(probability == Probability::lean ? "from_first" : "from_diagonal"));
            const Outputs expected = run(p, schedule, clean);
            auto verify = [&](const Inputs8& inputs, auto&& is_nan) {
                const Outputs out = run(p, schedule, inputs);
                REQUIRE(out.fault == "");
                std::int64_t wrong = 0;
                for (std::int64_t h = 0; h < p.heads_q; ++h)
                    for (std::int64_t row = 0; row < p.seq_q; ++row)
                        for (std::int64_t d = 0; d < 128; ++d) {
                            const std::uint16_t bits = o_at(p, out, 0, h, row, d);
                            wrong += is_nan(h, row, d) ? !std::isnan(bf16_to_float(bits))
                                                       : bits != o_at(p, expected, 0, h, row, d);
                        }
                CHECK(wrong == 0);
                return out;
            };
            for (const std::int64_t i : {0, 99}) {
                Inputs8 inputs = clean;
                inputs.q[static_cast<std::size_t>(i * D::qk + 5)] = nan_code;
                const Outputs out = verify(inputs, [&](std::int64_t h, std::int64_t row, std::int64_t) {
                    return h == 0 && row == i;
                });
                CHECK(std::isnan(lse_at(p, out, 0, 0, i)));
            }
            for (const std::int64_t j : {0, 63, 131}) {
                auto sees = [&](std::int64_t h, std::int64_t row) {
                    return h / group == 0 && (!causal || j <= row + shift);
                };
                Inputs8 inputs = clean;
                inputs.k[static_cast<std::size_t>((j + 1) * D::qk - 28)] = nan_code;
                verify(inputs, [&](std::int64_t h, std::int64_t row, std::int64_t) { return sees(h, row); });
                inputs = clean;
                inputs.v[static_cast<std::size_t>(j * 128 + 77)] = minus_nan_code;
                verify(inputs, [&](std::int64_t h, std::int64_t row, std::int64_t d) {
                    return d == 77 && sees(h, row);
                });
            }
        }
    }
}

TEST_CASE("fp8: without nan_exact the other sequences stay clean") {
    Problem p = problem_of<F128>({2, 2, 1, 200, 200});
    p.nan_exact = false;
    const Schedule schedule = with(default_schedule(p), "nan_exact", false);
    const Inputs8 clean = draw8(p, 8);
    Inputs8 inputs = clean;
    inputs.v[150 * 128] = nan_code;
    const Outputs expected = run(p, schedule, clean), out = run(p, schedule, inputs);
    CHECK(std::isnan(bf16_to_float(o_at(p, out, 0, 0, 170, 0))));
    for (std::int64_t row = 0; row < 200; ++row)
        CHECK(o_at(p, out, 1, 0, row, 0) == o_at(p, expected, 1, 0, row, 0));
}

TEST_CASE("fp8: exact P with a score scale that is a power of two needs no multiplication per score") {
    for (const Shape& shape :
         std::vector<Shape>{{2, 4, 2, 300, 300}, {1, 3, 1, 200, 77}, {1, 2, 1, 130, 400, Mask::none}}) {
        Problem p = problem_of<F128>(shape);
        p.probability = Probability::exact;
        const Inputs8 inputs = draw8(p, 12, 3.0, 1.0);
        // log2(e) times it and the descales, 2^-4 each, is 2^-11 (zyfa::folded_descale finds such values).
        p.softmax_scale = 0.0866433976f;
        for (const double tau : {0.0, 2.75})
            for (const char* order : {"from_first", "from_diagonal"}) {
                INFO(tau, " ", order);
                const Schedule schedule =
                    with(with(default_schedule(p), "tau", tau), "key_order", std::string(order));
                const templates::LaunchPlan plan = templates::template_for(p).plan(p, schedule, {});
                for (const templates::KernargPatch& patch : plan.patches)
                    if (patch.field == templates::KernargField::score_scale) {
                        float scale = 0;
                        std::memcpy(&scale, plan.kernarg.data() + patch.offset, sizeof scale);
                        REQUIRE(scale == 0x1p-11f);
                    }
                const Outputs folded = run(p, schedule, inputs),
                              plain = run(p, with(schedule, "matrix_work", std::string("none")), inputs);
                check(p, inputs, folded);
                CHECK(compare(p, inputs.view(), folded).relative_rms <=
                      1.05 * compare(p, inputs.view(), plain).relative_rms);
            }
    }
}
