// SPDX-License-Identifier: Apache-2.0
// A split over keys, all four kernels: the parts and their merge on the simulator against fp64.
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

/// The kernels; limits as in bf16_kernel_test.cpp and fp8_kernel_test.cpp.
template <std::int64_t Dim>
struct Bf16 {
    static constexpr std::int64_t qk = Dim;
    static constexpr DType dtype = DType::bf16;
    static constexpr double rms_limit = 2.6e-3, lse_limit = 1e-4;
    static constexpr std::uint16_t nan = 0x7fc0;
    using Drawn = Inputs;
    static Drawn draw(Problem& p, std::uint64_t seed, double sd = 1) { return test::draw(p, seed, sd, sd); }
};
template <std::int64_t Dim>
struct Fp8 {
    static constexpr std::int64_t qk = Dim;
    static constexpr DType dtype = DType::e4m3;
    static constexpr double rms_limit = 0.03, lse_limit = 0.0724;
    static constexpr std::uint8_t nan = 0x7f;
    using Drawn = Inputs8;
    static Drawn draw(Problem& p, std::uint64_t seed, double sd = 1) { return draw8(p, seed, sd, sd); }
};
using Bf16D128 = Bf16<128>;
using Bf16D192 = Bf16<192>;
using Fp8D128 = Fp8<128>;
using Fp8D192 = Fp8<192>;

template <class K>
Problem problem_of(const Shape& s, Problem::Layout layout = Problem::Layout::bhsd) {
    return Problem::contiguous(K::dtype, s.batch, s.heads_q, s.heads_kv, s.seq_q, s.seq_kv, K::qk, 128,
                               s.mask, layout);
}

Schedule with(Schedule schedule, const std::string& name, ParameterValue value) {
    schedule.parameters[name] = std::move(value);
    return schedule;
}

Schedule in_parts(const Problem& p, std::int64_t parts, const char* order = "from_first") {
    return with(with(templates::template_for(p).default_schedule(p), "key_parts", parts), "key_order",
                std::string(order));
}

std::int64_t default_parts(const Problem& p) {
    return std::get<std::int64_t>(templates::template_for(p).default_schedule(p).parameters.at("key_parts"));
}

template <class K>
void check(const Problem& p, const typename K::Drawn& inputs, const Outputs& out) {
    INFO(to_string(p));
    REQUIRE(out.fault == "");
    CHECK(out.gaps_intact);
    const Comparison c = compare(p, inputs.view(), out);
    CHECK(c.mismatch == "");
    CHECK(c.relative_rms <= K::rms_limit);
    CHECK(c.lse_max_abs <= K::lse_limit);
}

bool same_bits(const Outputs& a, const Outputs& b) {
    return a.o == b.o && a.lse.size() == b.lse.size() &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

} // namespace

TYPE_TO_STRING(Bf16D128);
TYPE_TO_STRING(Bf16D192);
TYPE_TO_STRING(Fp8D128);
TYPE_TO_STRING(Fp8D192);

TEST_CASE_TEMPLATE("keys in parts, merged: lengths, masks, orders, layouts, heads", K, Bf16D128, Bf16D192,
                   Fp8D128, Fp8D192) {
    unsigned turn = 0;
    for (const Shape& shape : std::vector<Shape>{{1, 2, 1, 300, 1000},
                                                 {2, 3, 1, 70, 70}, // fewer blocks than parts
                                                 {1, 2, 2, 257, 513},
                                                 {1, 1, 1, 600, 600}, // a pair, and the middle tile alone
                                                 {1, 1, 1, 300, 100}, // rows without keys
                                                 {2, 2, 1, 33, 1030, Mask::none},
                                                 {1, 1, 1, 300, 200, Mask::none},
                                                 {1, 1, 1, 5, 1, Mask::none}})
        for (const auto& [parts, order] : {std::pair<std::int64_t, const char*>{2, "from_diagonal"},
                                           {4, "from_first"},
                                           {16, K::qk == 128 ? "from_first" : "from_diagonal"}}) {
            const auto layout = parts == 4 ? Problem::Layout::bshd : Problem::Layout::bhsd;
            Problem p = padded(problem_of<K>(shape, layout), layout);
            p.probability = ++turn % 2 ? Probability::lean : Probability::exact;
            const auto inputs = K::draw(p, 21);
            const Schedule schedule = in_parts(p, parts, order);
            RunOptions options;
            options.compute_units = parts == 2 ? 3 : 256;
            const Outputs out = run(p, schedule, inputs, options);
            check<K>(p, inputs, out);
            if (parts == 4)
                continue;
            options.seed = 7; // another order of workgroups
            options.compute_units = 256;
            const Schedule other =
                with(with(schedule, "chiplet_map", std::string("head_first")), "persistent", parts != 2);
            CHECK(same_bits(run(p, other, inputs, options), out));
        }
}

TEST_CASE_TEMPLATE("keys in parts: NaN reaches the rows that see it, and no other row by a bit", K, Bf16D128,
                   Bf16D192, Fp8D128, Fp8D192) {
    Problem p = problem_of<K>({1, 2, 1, 300, 300});
    const auto clean = K::draw(p, 7);
    const Schedule schedule = in_parts(p, 4);
    const Outputs expected = run(p, schedule, clean);
    for (const std::int64_t key : {70, 299})
        for (const bool in_v : {false, true}) {
            auto inputs = clean;
            if (in_v)
                inputs.v[static_cast<std::size_t>(key * 128 + 77)] = K::nan;
            else
                inputs.k[static_cast<std::size_t>(key * K::qk + 5)] = K::nan;
            const Outputs out = run(p, schedule, inputs);
            REQUIRE(out.fault == "");
            std::int64_t wrong = 0;
            for (std::int64_t h = 0; h < p.heads_q; ++h)
                for (std::int64_t row = 0; row < p.seq_q; ++row)
                    for (std::int64_t d = 0; d < 128; ++d) {
                        const std::uint16_t bits = o_at(p, out, 0, h, row, d);
                        wrong += key <= row && (!in_v || d == 77) ? !std::isnan(bf16_to_float(bits))
                                                                  : bits != o_at(p, expected, 0, h, row, d);
                    }
            CHECK(wrong == 0);
        }
}

TEST_CASE_TEMPLATE("keys in parts: large scores, where one part outweighs all others", K, Bf16D128, Bf16D192,
                   Fp8D128, Fp8D192) {
    Problem p = problem_of<K>({1, 1, 1, 200, 900, Mask::none});
    const auto inputs = K::draw(p, 6);
    for (const double target : {1e3, 1e6}) {
        p.probability = target == 1e3 ? Probability::lean : Probability::exact;
        p.softmax_scale = static_cast<float>(target / (60 * std::log2(std::exp(1.0))));
        const Outputs out = run(p, in_parts(p, 8), inputs);
        REQUIRE(out.fault == "");
        const Comparison c = compare(p, inputs.view(), out);
        CHECK(c.mismatch == "");
        // A score of 2^20 units is known to 2^-4 in FP32, so its BF16 probability relative to others is not.
        if (K::dtype == DType::e4m3 || target == 1e3) {
            CHECK(c.relative_rms <= K::rms_limit);
            CHECK(c.lse_max_abs <= K::lse_limit + target * 0x1p-22);
        }
    }
}

TEST_CASE_TEMPLATE("keys in parts: rows, heads and batch entries beyond 4 GiB, in both orders", K, Bf16D128,
                   Bf16D192, Fp8D128, Fp8D192) {
    constexpr std::int64_t gib = std::int64_t{1} << 30, rows = gib / 32 / 2, heads = 10 * gib / 2;
    for (const std::int64_t group : {1, 2}) {
        Problem p = problem_of<K>({2, 2, 2 / group, 200, 300});
        const auto inputs = K::draw(p, 9);
        Problem far = p;
        for (Strides* s : {&far.q, &far.k, &far.v, &far.o})
            *s = {2 * heads, heads, rows};
        far.lse_head_stride = gib, far.lse_batch_stride = 3 * gib;
        for (const char* order : {"from_first", "from_diagonal"})
            for (const std::int64_t parts : {1, 4}) {
                const Schedule schedule = in_parts(p, parts, order);
                RunOptions options;
                options.placed = far;
                const Outputs out = run(p, schedule, inputs, options);
                CHECK(out.fault == "");
                CHECK(same_bits(out, run(p, schedule, inputs)));
            }
    }
}

TEST_CASE_TEMPLATE("a split is clean under the sanitizer", K, Bf16D128, Bf16D192, Fp8D128, Fp8D192) {
    RunOptions options;
    options.sanitize = true;
    for (const auto& [shape, parts] : {std::pair<Shape, std::int64_t>{{1, 2, 1, 100, 330}, 2},
                                       {{1, 1, 1, 300, 320}, 4},
                                       {{1, 1, 1, 40, 600, Mask::none}, 16}}) {
        Problem p = problem_of<K>(shape);
        p.probability = parts == 4 ? Probability::lean : Probability::exact;
        const auto inputs = K::draw(p, 23);
        check<K>(p, inputs,
                 run(p, in_parts(p, parts, parts == 2 ? "from_diagonal" : "from_first"), inputs, options));
    }
}

TEST_CASE_TEMPLATE("parts are chosen for few heads and many keys, not where the chip is full", K, Bf16D128,
                   Bf16D192, Fp8D128, Fp8D192) {
    CHECK(default_parts(problem_of<K>({1, 4, 4, 300, 300})) == 1);
    CHECK(default_parts(problem_of<K>({1, 64, 8, 8192, 8192})) == 1);
    CHECK(default_parts(problem_of<K>({1, 4, 4, 4096, 4096})) == 8);
    for (const std::int64_t heads : {1, 2, 4})
        CHECK(default_parts(problem_of<K>({1, heads, 1, 8192, 8192})) > 1);
    const Problem p = problem_of<K>({1, 4, 4, 4096, 4096});
    const templates::Template& t = templates::template_for(p);
    for (const auto& wrong : {ParameterValue(std::int64_t{3}), ParameterValue(std::int64_t{32}),
                              ParameterValue(std::int64_t{0}), ParameterValue(2.0)})
        CHECK(t.reject(p, with(t.default_schedule(p), "key_parts", wrong)).value().find("16") !=
              std::string::npos);
}

// The pipelines have other registers free when they merge.
TEST_CASE("keys in parts, merged by the pipeline of eight stages") {
    RunOptions options;
    options.sanitize = true;
    for (const std::int64_t parts : {4, 16}) {
        const Problem p = problem_of<Bf16D192>({1, 2, 1, 300, 1100, parts == 4 ? Mask::causal : Mask::none});
        Problem drawn = p;
        const auto inputs = Bf16D192::draw(drawn, 37);
        check<Bf16D192>(
            p, inputs,
            run(p, with(in_parts(p, parts), "pipeline", std::string("eight_stage")), inputs, options));
    }
}

// With `fold` a part's maximum is kept in another unit than without; the merge has to know it.
TEST_CASE("keys in parts: exact FP8 probabilities, with the maximum folded into the product or not") {
    Problem p = problem_of<Fp8D128>({1, 1, 1, 300, 700});
    p.probability = Probability::exact;
    const auto inputs = Fp8D128::draw(p, 31, 5);
    for (const char* order : {"from_first", "from_diagonal"})
        for (const char* work : {"fold", "none"}) {
            CAPTURE(order);
            CAPTURE(work);
            check<Fp8D128>(p, inputs,
                           run(p, with(in_parts(p, 4, order), "matrix_work", std::string(work)), inputs));
        }
}
