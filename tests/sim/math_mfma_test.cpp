// SPDX-License-Identifier: Apache-2.0
// Matrix operations against a naive product whose operands are found element by element through the layout
// formulas of the CDNA4 ISA; the same bits on every instruction set of the host.
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/math/mfma.hpp"
#include "tests/sim/math_formats.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

using Words = std::vector<std::uint32_t>;

std::vector<HostIsa> available() {
    std::vector<HostIsa> isas;
    const HostIsa best = host_isa();
    for (const HostIsa isa : {HostIsa::scalar, HostIsa::avx2, HostIsa::avx512})
        if (isa <= best)
            isas.push_back(isa);
    return isas;
}
/// Restores the host's choice.
struct IsaScope {
    HostIsa before = host_isa();
    ~IsaScope() { set_host_isa(before); }
};

struct Location {
    int reg, lane, bit;
};
/// Element (index, k) of block b of an operand with `dim` rows or columns.
Location operand_location(int dim, int k_size, int blocks, int bits, int index, int k, int b) {
    const int groups = 64 / (dim * blocks), per_lane = k_size / groups;
    int g = k / per_lane, e = k % per_lane;
    if (per_lane == 32 && bits == 8) { // two 16-byte chunks, each spread over the groups
        const int chunk = k / (16 * groups);
        g = k % (16 * groups) / 16;
        e = 16 * chunk + k % 16;
    }
    return {e * bits / 32, index + dim * (b + blocks * g), e * bits % 32};
}
std::uint32_t field(const Words& regs, Location at, int bits) {
    const std::size_t word = static_cast<std::size_t>(at.reg * 64 + at.lane);
    std::uint64_t wide = regs[word];
    if (at.bit + bits > 32)
        wide |= static_cast<std::uint64_t>(regs[word + 64]) << 32;
    return static_cast<std::uint32_t>(wide >> at.bit) & (bits == 32 ? ~0u : (1u << bits) - 1);
}
/// Word of D's element in 32-bit accumulators.
std::size_t result_word(int dim, int i, int j, int b) {
    const int reg = dim == 32 ? 16 * b + 4 * (i / 8) + i % 4 : dim == 16 ? 4 * b + i % 4 : i;
    const int lane = dim == 32 ? 32 * (i / 4 % 2) + j : dim == 16 ? 16 * (i / 4) + j : 4 * b + j;
    return static_cast<std::size_t>(reg * 64 + lane);
}

struct Shape {
    std::string name;
    int dim, k, blocks;
    SmallFormat a, b;
    int cbsz = 0, blgp = 0;
    bool scaled = false;
};

Words random_words(std::mt19937& random, std::size_t count, std::uint32_t mask = ~0u) {
    Words words(count);
    for (auto& w : words)
        w = static_cast<std::uint32_t>(random()) & mask;
    return words;
}

std::uint32_t rounded(double sum, float c) {
    const float r = static_cast<float>(sum + static_cast<double>(c));
    return std::isnan(r) ? 0x7FC00000u : std::bit_cast<std::uint32_t>(r);
}

std::uint32_t expected(const Shape& s, const Words& a, const Words& b, const Words& c, const Words& scale_a,
                       const Words& scale_b, int i, int j, int block) {
    const bool in_blocks = s.name.find("f8f6f4") != std::string::npos;
    double total = 0, sum = 0;
    for (int k = 0; k < s.k; ++k) {
        const double x =
            s.a.value(field(a, operand_location(s.dim, s.k, s.blocks, s.a.bits(), i, k, block), s.a.bits()));
        const double y =
            s.b.value(field(b, operand_location(s.dim, s.k, s.blocks, s.b.bits(), j, k, block), s.b.bits()));
        sum += x * y;
        if (in_blocks && k % 32 == 31) {
            if (s.scaled) {
                const auto scale = [&](const Words& reg, int index) {
                    const std::uint32_t code = reg[static_cast<std::size_t>(index + s.dim * (k / 32))] & 255;
                    return code == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(code) - 127);
                };
                sum *= scale(scale_a, i) * scale(scale_b, j);
            }
            total += sum;
            sum = 0;
        }
    }
    return rounded(in_blocks ? total : sum, std::bit_cast<float>(c[result_word(s.dim, i, j, block)]));
}

/// Mask that keeps 16-bit exponents moderate, so that most sums are finite.
std::uint32_t tame_mask(const SmallFormat& f) {
    return f.mantissa == 7 ? 0xBFFFBFFFu : f.mantissa == 10 ? 0xBFFFBFFFu : ~0u;
}

void check(const Shape& s, bool tame) {
    CAPTURE(s.name);
    CAPTURE(tame);
    const IsaScope restore;
    const std::vector<HostIsa> isas = available();
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>{}(s.name)));
    const std::size_t d_words = static_cast<std::size_t>(s.dim * s.dim * s.blocks);
    Words a = random_words(random, 8 * 64, tame ? tame_mask(s.a) : ~0u),
          b = random_words(random, 8 * 64, tame ? tame_mask(s.b) : ~0u);
    Words c = random_words(random, d_words, tame ? 0xBFFFFFFFu : ~0u), scale_a = random_words(random, 64),
          scale_b = random_words(random, 64);
    if (tame)
        for (auto* scale : {&scale_a, &scale_b})
            for (auto& w : *scale)
                w = 117 + w % 20;
    Words first;
    for (const HostIsa isa : isas) {
        set_host_isa(isa);
        const MfmaOp* op = find_mfma_op(s.name);
        REQUIRE(op);
        CHECK(op->m == s.dim);
        CHECK(op->k == s.k);
        CHECK(op->d_registers == s.dim * s.dim * s.blocks / 64);
        Words d(d_words, 0xDEADBEEF);
        MfmaCall call;
        call.d = d.data();
        call.a = a.data();
        call.b = b.data();
        call.c = c.data();
        call.scale_a = scale_a.data();
        call.scale_b = scale_b.data();
        call.cbsz = static_cast<std::uint8_t>(s.cbsz);
        call.blgp = static_cast<std::uint8_t>(s.blgp);
        op->function(call);
        if (first.empty())
            first = d;
        CHECK(first == d);
    }
    std::size_t wrong = 0;
    for (int block = 0; block < s.blocks; ++block)
        for (int i = 0; i < s.dim; ++i)
            for (int j = 0; j < s.dim; ++j)
                wrong += first[result_word(s.dim, i, j, block)] !=
                         expected(s, a, b, c, scale_a, scale_b, i, j, block);
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("math: MFMA with FP16, BF16, FP8 and BF8 equals the naive product") {
    const Shape shapes[] = {{"v_mfma_f32_32x32x16_bf16", 32, 16, 1, bf16, bf16},
                            {"v_mfma_f32_16x16x32_bf16", 16, 32, 1, bf16, bf16},
                            {"v_mfma_f32_32x32x16_f16", 32, 16, 1, fp16, fp16},
                            {"v_mfma_f32_16x16x32_f16", 16, 32, 1, fp16, fp16},
                            {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, bf16, bf16},
                            {"v_mfma_f32_16x16x16_f16", 16, 16, 1, fp16, fp16},
                            {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, bf16, bf16},
                            {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, fp16, fp16},
                            {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, bf16, bf16},
                            {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, fp16, fp16},
                            {"v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, e4m3, e4m3},
                            {"v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, e4m3, e5m2},
                            {"v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1, e5m2, e4m3},
                            {"v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1, e5m2, e5m2},
                            {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, e4m3, e4m3}};
    for (const Shape& s : shapes)
        for (const bool tame : {true, false})
            check(s, tame);
}

TEST_CASE("math: f8f6f4 MFMA in every pair of formats, plain and scaled") {
    const SmallFormat formats[] = {e4m3, e5m2, e2m3, e3m2, e2m1};
    for (int a = 0; a < 5; ++a)
        for (int b = 0; b < 5; ++b)
            for (const bool scaled : {false, true}) {
                const std::string prefix = scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_";
                check({prefix + "32x32x64_f8f6f4", 32, 64, 1, formats[a], formats[b], a, b, scaled},
                      (a + b) % 2 == 0);
                check({prefix + "16x16x128_f8f6f4", 16, 128, 1, formats[a], formats[b], a, b, scaled},
                      (a + b) % 2 == 1);
            }
}

TEST_CASE("math: places of single elements") {
    const auto product_at = [](const char* name, int bits_one, std::size_t a_word, int a_bit,
                               std::size_t b_word, int b_bit) {
        const MfmaOp* op = find_mfma_op(name);
        REQUIRE(op);
        Words a(8 * 64), b(8 * 64), d(16 * 64);
        a[a_word] = static_cast<std::uint32_t>(bits_one) << a_bit;
        b[b_word] = static_cast<std::uint32_t>(bits_one) << b_bit;
        MfmaCall call;
        call.d = d.data();
        call.a = a.data();
        call.b = b.data();
        op->function(call);
        std::vector<std::size_t> where;
        for (std::size_t w = 0; w < d.size(); ++w)
            if (d[w])
                where.push_back(w);
        return where;
    };
    // FP8 32x32x64: byte 0 of register 4 of lane 0 is A[0][32]; byte 3 of register 1 of lane 33 is A[1][23].
    CHECK(product_at("v_mfma_f32_32x32x64_f8f6f4", 0x38, 4 * 64 + 0, 0, 4 * 64 + 7, 0) ==
          std::vector<std::size_t>{7});
    CHECK(product_at("v_mfma_f32_32x32x64_f8f6f4", 0x38, 1 * 64 + 33, 24, 1 * 64 + 32 + 9, 24) ==
          std::vector<std::size_t>{64 + 9});
    CHECK(product_at("v_mfma_f32_32x32x64_f8f6f4", 0x38, 1 * 64 + 33, 24, 1 * 64 + 9, 24).empty());
    // BF16 32x32x16: lane 35, high half of register 1 is A[3][11].
    CHECK(product_at("v_mfma_f32_32x32x16_bf16", 0x3F80, 1 * 64 + 35, 16, 1 * 64 + 32, 16) ==
          std::vector<std::size_t>{3 * 64});
    // D 32x32: lane 40 register 5 is D[13][8]; lane 63 register 15 is D[31][31].
    CHECK(product_at("v_mfma_f32_32x32x16_bf16", 0x3F80, 13, 0, 8, 0) ==
          std::vector<std::size_t>{5 * 64 + 40});
    CHECK(product_at("v_mfma_f32_32x32x16_bf16", 0x3F80, 31, 0, 31, 0) ==
          std::vector<std::size_t>{15 * 64 + 63});
    // D 16x16: lane 37 register 2 is D[10][5].
    CHECK(product_at("v_mfma_f32_16x16x32_bf16", 0x3F80, 10, 0, 5, 0) ==
          std::vector<std::size_t>{2 * 64 + 37});
}

TEST_CASE("math: block scales come from the lanes of their k block") {
    const MfmaOp* op = find_mfma_op("v_mfma_scale_f32_32x32x64_f8f6f4");
    REQUIRE(op);
    Words one(8 * 64, 0x38383838), d(16 * 64), scale_a(64, 127), scale_b(64, 127);
    MfmaCall call;
    call.d = d.data();
    call.a = call.b = one.data();
    call.scale_a = scale_a.data();
    call.scale_b = scale_b.data();
    const auto element = [&](int i, int j) { return std::bit_cast<float>(d[result_word(32, i, j, 0)]); };

    for (std::size_t lane = 0; lane < 64; ++lane)
        scale_b[lane] = lane < 32 ? 128 : 126;
    op->function(call);
    CHECK(element(0, 0) == 80.0f);
    CHECK(element(31, 17) == 80.0f);

    scale_b.assign(64, 127);
    scale_b[5] = 0;
    scale_b[40] = 255;
    op->function(call);
    CHECK(element(3, 5) == 32.0f);
    CHECK(element(3, 6) == 64.0f);
    CHECK(std::isnan(element(3, 8)));

    // Byte select.
    scale_a.assign(64, 0x7F7E7D80);
    scale_b.assign(64, 127);
    const float by_byte[] = {128.0f, 16.0f, 32.0f, 64.0f};
    for (std::uint8_t byte = 0; byte < 4; ++byte) {
        call.scale_byte_a = byte;
        op->function(call);
        CHECK(element(0, 0) == by_byte[byte]);
    }
}

TEST_CASE("math: integer MFMA wraps") {
    const IsaScope restore;
    for (const HostIsa isa : available()) {
        set_host_isa(isa);
        struct I8 {
            const char* name;
            int dim, k, blocks;
        };
        for (const I8& s :
             {I8{"v_mfma_i32_32x32x32_i8", 32, 32, 1}, I8{"v_mfma_i32_16x16x64_i8", 16, 64, 1},
              I8{"v_mfma_i32_32x32x16_i8", 32, 16, 1}, I8{"v_mfma_i32_16x16x32_i8", 16, 32, 1},
              I8{"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2}, I8{"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4},
              I8{"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16}}) {
            CAPTURE(s.name);
            const MfmaOp* op = find_mfma_op(s.name);
            REQUIRE(op);
            std::mt19937 random(7);
            const Words a = random_words(random, 4 * 64), b = random_words(random, 4 * 64);
            Words c(static_cast<std::size_t>(s.dim * s.dim * s.blocks), 0x7FFFFFF0), d = c;
            MfmaCall call;
            call.d = d.data();
            call.a = a.data();
            call.b = b.data();
            call.c = c.data();
            op->function(call);
            std::size_t wrong = 0;
            for (int block = 0; block < s.blocks; ++block)
                for (int i = 0; i < s.dim; ++i)
                    for (int j = 0; j < s.dim; ++j) {
                        std::uint32_t sum = 0x7FFFFFF0;
                        for (int k = 0; k < s.k; ++k)
                            sum += static_cast<std::uint32_t>(
                                static_cast<std::int8_t>(
                                    field(a, operand_location(s.dim, s.k, s.blocks, 8, i, k, block), 8)) *
                                static_cast<std::int8_t>(
                                    field(b, operand_location(s.dim, s.k, s.blocks, 8, j, k, block), 8)));
                        wrong += sum != d[result_word(s.dim, i, j, block)];
                    }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("math: FP32 MFMA is a chain of fused multiply-adds that obeys MODE") {
    const IsaScope restore;
    for (const HostIsa isa : available()) {
        set_host_isa(isa);
        struct F32 {
            const char* name;
            int dim, k, blocks;
        };
        for (const F32& s :
             {F32{"v_mfma_f32_32x32x2_f32", 32, 2, 1}, F32{"v_mfma_f32_16x16x4_f32", 16, 4, 1},
              F32{"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2}, F32{"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4},
              F32{"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16}})
            for (const std::uint8_t denorm : {0, 3}) {
                CAPTURE(s.name);
                const MfmaOp* op = find_mfma_op(s.name);
                REQUIRE(op);
                CHECK_FALSE(op->xdl);
                std::mt19937 random(3);
                // Exponents around the smallest normal number, so that flushing shows.
                const auto draw = [&](std::uint32_t low, std::uint32_t high) {
                    Words w = random_words(random, 64, 0x807FFFFF);
                    for (auto& x : w)
                        x |= (low + static_cast<std::uint32_t>(random()) % (high - low)) << 23;
                    return w;
                };
                const Words a = draw(50, 70), b = draw(60, 80);
                Words c = random_words(random, static_cast<std::size_t>(s.dim * s.dim * s.blocks),
                                       0x80FFFFFF),
                      d = c;
                MfmaCall call;
                call.d = d.data();
                call.a = a.data();
                call.b = b.data();
                call.c = c.data();
                call.denorm32 = denorm;
                op->function(call);
                const auto flush = [&](float x) {
                    return denorm == 0 && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
                };
                std::size_t wrong = 0;
                for (int block = 0; block < s.blocks; ++block)
                    for (int i = 0; i < s.dim; ++i)
                        for (int j = 0; j < s.dim; ++j) {
                            float sum = flush(std::bit_cast<float>(c[result_word(s.dim, i, j, block)]));
                            for (int k = 0; k < s.k; ++k) {
                                const int first = s.dim * (block + s.blocks * k);
                                sum = flush(std::fma(
                                    std::bit_cast<float>(a[static_cast<std::size_t>(first + i)]),
                                    std::bit_cast<float>(b[static_cast<std::size_t>(first + j)]), sum));
                            }
                            wrong += std::bit_cast<std::uint32_t>(sum) != d[result_word(s.dim, i, j, block)];
                        }
                CHECK(wrong == 0);
            }
    }
}

TEST_CASE("math: FP64 MFMA layouts and signs") {
    const IsaScope restore;
    for (const HostIsa isa : available()) {
        set_host_isa(isa);
        std::mt19937 random(5);
        std::uniform_real_distribution<double> uniform(-2, 2);
        const auto draw = [&](std::size_t pairs) {
            Words w(pairs * 128);
            for (std::size_t p = 0; p < pairs; ++p)
                for (std::size_t lane = 0; lane < 64; ++lane) {
                    const auto bits = std::bit_cast<std::uint64_t>(uniform(random));
                    w[p * 128 + lane] = static_cast<std::uint32_t>(bits);
                    w[p * 128 + 64 + lane] = static_cast<std::uint32_t>(bits >> 32);
                }
            return w;
        };
        const auto get = [](const Words& w, int word) {
            const auto at = static_cast<std::size_t>(word);
            return std::bit_cast<double>(w[at] | static_cast<std::uint64_t>(w[at + 64]) << 32);
        };
        {
            const Words a = draw(1), b = draw(1), c = draw(4);
            Words d(8 * 64);
            MfmaCall call;
            call.d = d.data();
            call.a = a.data();
            call.b = b.data();
            call.c = c.data();
            call.blgp = 4; // negates C
            const MfmaOp* op = find_mfma_op("v_mfma_f64_16x16x4_f64");
            REQUIRE(op);
            op->function(call);
            for (int i = 0; i < 16; ++i)
                for (int j = 0; j < 16; ++j) {
                    const int word = 128 * (i / 4) + 16 * (i % 4) + j;
                    double sum = -get(c, word);
                    for (int k = 0; k < 4; ++k)
                        sum = std::fma(get(a, i + 16 * k), get(b, j + 16 * k), sum);
                    CHECK(sum == get(d, word));
                }
        }
        {
            const Words a = draw(1), b = draw(1), c = draw(1);
            Words d(2 * 64);
            MfmaCall call;
            call.d = d.data();
            call.a = a.data();
            call.b = b.data();
            call.c = c.data();
            const MfmaOp* op = find_mfma_op("v_mfma_f64_4x4x4_4b_f64");
            REQUIRE(op);
            op->function(call);
            for (int block = 0; block < 4; ++block)
                for (int i = 0; i < 4; ++i)
                    for (int j = 0; j < 4; ++j) {
                        const int word = 16 * i + 4 * block + j;
                        double sum = get(c, word);
                        for (int k = 0; k < 4; ++k)
                            sum =
                                std::fma(get(a, i + 4 * block + 16 * k), get(b, j + 4 * block + 16 * k), sum);
                        CHECK(sum == get(d, word));
                    }
        }
    }
}

TEST_CASE("math: cbsz and abid share blocks of A, blgp permutes lanes of B") {
    const MfmaOp* op = find_mfma_op("v_mfma_f32_4x4x1_16b_f32");
    REQUIRE(op);
    Words a(64), b(64), d(4 * 64);
    for (std::size_t lane = 0; lane < 64; ++lane) {
        a[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(lane));
        b[lane] = std::bit_cast<std::uint32_t>(1.0f);
    }
    MfmaCall call;
    call.d = d.data();
    call.a = a.data();
    call.b = b.data();
    const auto element = [&](int block, int i, int j) {
        return std::bit_cast<float>(d[result_word(4, i, j, block)]);
    };
    call.cbsz = 2;
    call.abid = 1; // blocks 0-3 take block 1, blocks 4-7 take block 5 ...
    op->function(call);
    for (int block = 0; block < 16; ++block)
        CHECK(element(block, 2, 0) == static_cast<float>(4 * (block / 4 * 4 + 1) + 2));
    call.cbsz = call.abid = 0;
    call.blgp = 3; // rotated by 16 lanes
    a.assign(64, std::bit_cast<std::uint32_t>(1.0f));
    for (std::size_t lane = 0; lane < 64; ++lane)
        b[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(lane));
    op->function(call);
    CHECK(element(0, 0, 1) == 17.0f);
    CHECK(element(15, 0, 3) == 15.0f);
    call.blgp = 6;
    op->function(call);
    CHECK(element(3, 0, 2) == 46.0f);
}

TEST_CASE("math: SMFMAC with all-ones B gives row sums, indices choose the k") {
    const IsaScope restore;
    for (const HostIsa isa : available()) {
        set_host_isa(isa);
        const MfmaOp* op = find_mfma_op("v_smfmac_f32_16x16x128_fp8_fp8");
        REQUIRE(op);
        Words a(4 * 64, 0x38383838), b(8 * 64, 0x38383838), index(64, 0x44444444), d(4 * 64);
        d.assign(4 * 64, std::bit_cast<std::uint32_t>(3.0f));
        MfmaCall call;
        call.d = d.data();
        call.a = a.data();
        call.b = b.data();
        call.index = index.data();
        op->function(call);
        for (const std::uint32_t w : d)
            CHECK(std::bit_cast<float>(w) == 67.0f);

        // 16-bit: A element 0 of lane 0 pairs with k = 0..3 as its index says.
        op = find_mfma_op("v_smfmac_f32_16x16x32_f16");
        REQUIRE(op);
        Words a16(2 * 64), b16(4 * 64);
        a16[0] = 0x3C00; // row 0, first element
        for (std::uint32_t k = 0; k < 4; ++k)
            b16[k / 2 * 64] |= (0x3C00 + 0x400 * k) << (16 * (k % 2)); // B[k][0] = 2^k
        for (std::uint32_t k = 0; k < 4; ++k) {
            d.assign(4 * 64, 0);
            index.assign(64, k << 8); // second index set
            call.a = a16.data();
            call.b = b16.data();
            call.cbsz = 0;
            call.abid = 1;
            op->function(call);
            CHECK(std::bit_cast<float>(d[0]) == static_cast<float>(1 << k));
            call.cbsz = 1; // abid ignored: first set, index 0
            d.assign(4 * 64, 0);
            op->function(call);
            CHECK(std::bit_cast<float>(d[0]) == 1.0f);
        }
    }
}
