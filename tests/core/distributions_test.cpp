// SPDX-License-Identifier: Apache-2.0
// Drawn numbers are reproducible, and each distribution is what its name says.
#include "core/distributions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "core/digest.hpp"
#include "core/random.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;

namespace {

std::vector<double> decode(const std::vector<std::byte>& memory) {
    std::vector<double> values(memory.size() / 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t code;
        std::memcpy(&code, memory.data() + 2 * i, 2);
        values[i] = bf16_to_float(code);
    }
    return values;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
    const double m = mean(values);
    double square = 0;
    for (const double v : values)
        square += (v - m) * (v - m);
    return std::sqrt(square / static_cast<double>(values.size()));
}

/// Scores in nats of one query row against every key of the first head.
std::vector<double> logits(const Problem& p, const DrawnInputs& inputs, std::int64_t row) {
    const std::vector<double> q = decode(inputs.q), k = decode(inputs.k);
    std::vector<double> result;
    for (std::int64_t j = 0; j < p.seq_kv; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < p.dim_qk; ++d)
            score +=
                q[static_cast<std::size_t>(row * p.q.seq + d)] * k[static_cast<std::size_t>(j * p.k.seq + d)];
        result.push_back(score * p.softmax_scale);
    }
    return result;
}

double block_mean(const std::vector<double>& values, std::size_t first, std::size_t count) {
    return mean(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(first),
                                    values.begin() + static_cast<std::ptrdiff_t>(first + count)));
}

const Problem one_head = Problem::contiguous(DType::bf16, 1, 1, 1, 512, 1024, 128, 128, Mask::none);

} // namespace

TEST_CASE("Philox gives the published known answers") {
    // Random123 distribution, kat_vectors, philox4x32 with 10 rounds.
    CHECK(philox({0, 0, 0, 0}, 0) ==
          std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, ~std::uint64_t{0}) ==
          std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("normal numbers have normal moments and tails") {
    Random random(1, 0, 0);
    std::vector<double> x(200000);
    for (double& value : x)
        value = random.normal();
    double cube = 0, fourth = 0;
    std::size_t beyond_two = 0;
    for (const double v : x) {
        cube += v * v * v;
        fourth += v * v * v * v;
        beyond_two += std::fabs(v) > 2;
    }
    const auto n = static_cast<double>(x.size());
    CHECK(std::fabs(mean(x)) < 0.01);
    CHECK(deviation(x) == doctest::Approx(1).epsilon(0.01));
    CHECK(std::fabs(cube / n) < 0.03);
    CHECK(fourth / n == doctest::Approx(3).epsilon(0.03));
    CHECK(static_cast<double>(beyond_two) / n == doctest::Approx(0.0455).epsilon(0.05));
}

TEST_CASE("Box and Muller agree with the C library") {
    Random random(5, 2, 9), again(5, 2, 9);
    double worst = 0;
    for (int i = 0; i < 20000; ++i) {
        const double radius = std::sqrt(-2 * std::log(again.uniform()));
        const double angle = 2 * std::acos(-1.0) * again.uniform();
        worst = std::max(worst, std::fabs(random.normal() - radius * std::cos(angle)));
        worst = std::max(worst, std::fabs(random.normal() - radius * std::sin(angle)));
    }
    CHECK(worst < 1e-14);
}

TEST_CASE("streams and seeds are independent") {
    Random a(1, 0, 0), b(2, 0, 0), c(1, 1, 0), d(1, 0, 1);
    const std::uint32_t first = a.bits();
    CHECK(first != b.bits());
    CHECK(first != c.bits());
    CHECK(first != d.bits());
}

TEST_CASE("drawn inputs are the same everywhere") {
    const Problem p = Problem::contiguous(DType::bf16, 1, 2, 1, 64, 64, 128, 128, Mask::causal);
    const DrawnInputs inputs = draw_inputs(p, Distribution::gaussian, 42);
    DigestBuilder all;
    all.add(inputs.q).add(inputs.k).add(inputs.v);
    CHECK(all.finish().hex() == "00d103ed69816e08b810486d3e327a8cdb6e9c8f769c78ddde16ca943dbfb151");
}

TEST_CASE("a value depends on its place, not on sizes or layout") {
    Problem large = Problem::contiguous(DType::bf16, 2, 4, 2, 64, 64, 128, 128, Mask::causal);
    const Problem small =
        Problem::contiguous(DType::bf16, 1, 2, 1, 16, 16, 128, 128, Mask::causal, Problem::Layout::bshd);
    const DrawnInputs a = draw_inputs(large, Distribution::logit_sd_4, 3),
                      b = draw_inputs(small, Distribution::logit_sd_4, 3);
    const std::vector<double> qa = decode(a.q), qb = decode(b.q);
    for (std::int64_t i = 0; i < 16; ++i)
        for (std::int64_t d = 0; d < 128; ++d)
            CHECK(qa[static_cast<std::size_t>(large.q.head + i * large.q.seq + d)] ==
                  qb[static_cast<std::size_t>(small.q.head + i * small.q.seq + d)]);
    CHECK(a.q != draw_inputs(large, Distribution::logit_sd_4, 4).q);
}

TEST_CASE("distributions are what their names say") {
    const auto drawn = [](Distribution d) { return draw_inputs(one_head, d, 11); };
    CHECK(deviation(decode(drawn(Distribution::gaussian).q)) == doctest::Approx(0.1).epsilon(0.02));
    CHECK(deviation(logits(one_head, drawn(Distribution::logit_sd_1), 7)) == doctest::Approx(1).epsilon(0.2));
    CHECK(deviation(logits(one_head, drawn(Distribution::logit_sd_4), 7)) == doctest::Approx(4).epsilon(0.2));
    CHECK(deviation(logits(one_head, drawn(Distribution::logit_sd_16), 7)) ==
          doctest::Approx(16).epsilon(0.2));

    const auto stepped = logits(one_head, drawn(Distribution::stepped_max), 7);
    for (std::size_t block = 4; block < 16; block += 4)
        CHECK(block_mean(stepped, block * 64, 64) - block_mean(stepped, 0, 64) ==
              doctest::Approx(0.5 * static_cast<double>(block)).epsilon(0.25));

    const auto rising = logits(one_head, drawn(Distribution::rising_logits), 6);
    CHECK(block_mean(rising, 960, 64) - block_mean(rising, 0, 64) == doctest::Approx(15).epsilon(0.05));
    const DrawnInputs alternating = drawn(Distribution::alternating_rows);
    const auto even = logits(one_head, alternating, 6), odd = logits(one_head, alternating, 7);
    CHECK(std::fabs(block_mean(even, 960, 64) - block_mean(even, 0, 64)) < 1);
    CHECK(block_mean(odd, 960, 64) - block_mean(odd, 0, 64) == doctest::Approx(15).epsilon(0.05));

    const auto flat = logits(one_head, drawn(Distribution::sink_flat_tail), 9);
    CHECK(flat[0] - block_mean(flat, 1, 1023) == doctest::Approx(12).epsilon(0.05));
    CHECK(deviation(std::vector<double>(flat.begin() + 1, flat.end())) < 0.2);

    const std::vector<double> k = decode(drawn(Distribution::sink_4).k);
    CHECK(deviation(std::vector<double>(k.begin(), k.begin() + 4 * 128)) == doctest::Approx(8).epsilon(0.15));
    CHECK(deviation(std::vector<double>(k.begin() + 4 * 128, k.end())) == doctest::Approx(1).epsilon(0.02));

    for (const double v : decode(drawn(Distribution::full_range).v)) {
        CHECK_UNARY(std::fabs(v) >= 0x1p-6);
        CHECK_UNARY(std::fabs(v) <= 0x1p8);
    }
}

TEST_CASE("names are read back") {
    CHECK(all_distributions().size() == 10);
    for (const Distribution d : all_distributions())
        CHECK(distribution_named(to_string(d)) == d);
    CHECK_THROWS_WITH_AS(distribution_named("uniform"), doctest::Contains("gaussian, logit-sd-1"), Error);
}

TEST_CASE("FP8 inputs are the BF16 ones, quantised per tensor") {
    Problem p = Problem::contiguous(DType::e4m3, 1, 2, 1, 50, 60, 192, 128, Mask::causal);
    const DrawnInputs fp8 = draw_inputs(p, Distribution::logit_sd_4, 5);
    p.dtype = DType::bf16;
    const std::vector<double> exact = decode(draw_inputs(p, Distribution::logit_sd_4, 5).k);
    REQUIRE(fp8.k.size() == exact.size());
    double error = 0, square = 0, largest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double value = e4m3_to_float(std::to_integer<std::uint8_t>(fp8.k[i])) * fp8.k_descale;
        error += (value - exact[i]) * (value - exact[i]);
        square += exact[i] * exact[i];
        largest = std::max(largest, std::fabs(exact[i]));
    }
    CHECK(std::sqrt(error / square) == doctest::Approx(0.026).epsilon(0.1)); // 3-bit mantissa
    CHECK(largest / fp8.k_descale <= 448);
    CHECK(largest / fp8.k_descale > 224);
    CHECK(std::exp2(std::round(std::log2(fp8.k_descale))) == fp8.k_descale);
}
