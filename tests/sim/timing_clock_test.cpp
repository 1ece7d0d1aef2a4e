// SPDX-License-Identifier: Apache-2.0
// The clock model against the measurements that it was fitted on (paper arXiv 2611.07496, Table V and Section
// III-C).

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/math/mfma.hpp"
#include "sim/timing/clock_model.hpp"
#include "sim/timing/toggles.hpp"
#include "tests/sim/math_formats.hpp"

using namespace zyfa::sim::timing;

namespace {

Activity matrix_loop(MatrixKind kind, double toggles) {
    Activity activity;
    activity.matrix[static_cast<unsigned>(kind)] = 1;
    activity.toggles[static_cast<unsigned>(kind)] = toggles;
    return activity;
}

} // namespace

TEST_CASE("sustained clock: loops of one kind of work run at Table V's clocks") {
    const auto ghz = [](MatrixKind kind) {
        return sustained_ghz(
            matrix_loop(kind, ClockParameters{}.changing_toggles[static_cast<unsigned>(kind)]));
    };
    CHECK(ghz(MatrixKind::bf16_32x32) == doctest::Approx(1.71).epsilon(ClockParameters::fit_error));
    CHECK(ghz(MatrixKind::bf16_16x16) == doctest::Approx(1.92).epsilon(ClockParameters::fit_error));
    CHECK(ghz(MatrixKind::fp8_32x32) == doctest::Approx(2.07).epsilon(ClockParameters::fit_error));
    CHECK(ghz(MatrixKind::fp8_16x16) == doctest::Approx(2.20).epsilon(ClockParameters::fit_error));
    CHECK(ghz(MatrixKind::fp4_16x16) == doctest::Approx(1.91).epsilon(ClockParameters::fit_error));
    Activity vector, lds;
    vector.vector = 1;
    lds.lds = 1;
    CHECK(sustained_ghz(vector) == doctest::Approx(2.39).epsilon(ClockParameters::fit_error));
    CHECK(sustained_ghz(lds) == doctest::Approx(2.40).epsilon(ClockParameters::fit_error));
}

namespace {

/// Registers of one wave and an MFMA that reads A and B from its first and next ones.
struct Operands {
    explicit Operands(const char* mnemonic, std::uint32_t control = 0) {
        wave.v = registers.data();
        mfma.mfma = zyfa::sim::find_mfma_op(mnemonic);
        REQUIRE(mfma.mfma != nullptr);
        mfma.control = control;
        const unsigned words = zyfa::sim::mfma_operand_registers(*mfma.mfma, control);
        for (unsigned n = 0; n < 2; ++n)
            mfma.src[n] = {zyfa::sim::OperandKind::vgpr, static_cast<std::uint8_t>(words),
                           static_cast<std::uint16_t>(words * n), words * n * zyfa::sim::lanes};
    }
    /// Bits per product over MFMAs whose elements of A and B come from two functions, `per_word` to a
    /// register.
    template <class A, class B>
    double toggles(unsigned per_word, A&& a, B&& b) {
        ToggleMeter meter;
        for (unsigned n = 0; n < 64; ++n) {
            for (unsigned operand = 0; operand < 2; ++operand)
                for (unsigned at = 0; at < mfma.src[0].words * zyfa::sim::lanes; ++at) {
                    std::uint32_t word = 0;
                    for (unsigned element = 0; element < per_word; ++element)
                        word |= (operand == 0 ? a(n) : b(n)) << (32 / per_word * element);
                    registers[mfma.src[operand].value + at] = word;
                }
            meter.see(wave, mfma);
        }
        return meter.per_product()[static_cast<unsigned>(matrix_kind(mfma))];
    }

    std::vector<std::uint32_t> registers = std::vector<std::uint32_t>(16 * zyfa::sim::lanes);
    zyfa::sim::Wave wave;
    zyfa::sim::Instruction mfma;
};

std::uint32_t nearest_e4m3(double value) {
    const auto distance = [&](std::uint32_t code) {
        return std::abs(zyfa::sim::test::e4m3.value(code) - std::abs(value));
    };
    std::uint32_t nearest = 0;
    for (std::uint32_t code = 1; code < 0x7f; ++code)
        if (distance(code) < distance(nearest))
            nearest = code;
    return nearest | (value < 0 ? 0x80u : 0);
}

} // namespace

TEST_CASE("sustained clock: the operand experiment, by the bits that change in the products") {
    Operands fp8("v_mfma_f32_32x32x64_f8f6f4");
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    std::vector<std::uint32_t> draws(4096);
    for (std::uint32_t& code : draws)
        code = nearest_e4m3(normal(random));
    const auto gaussian = [&](unsigned) { return draws[random() % draws.size()]; };
    const auto bits = [&](unsigned) { return static_cast<std::uint32_t>(random() & 0xff); };
    const auto ghz = [](double toggles) {
        return sustained_ghz(matrix_loop(MatrixKind::fp8_32x32, toggles));
    };
    CHECK(ghz(fp8.toggles(
              4, [](unsigned) { return 0x39u; }, [](unsigned) { return 0xb5u; })) ==
          doctest::Approx(2.34).epsilon(0.005));
    CHECK(ghz(fp8.toggles(4, gaussian, gaussian)) == doctest::Approx(2.07).epsilon(0.005));
    const double at_random = ghz(fp8.toggles(4, bits, bits));
    CHECK(at_random > 1.91);
    CHECK(at_random < 1.97);

    Operands bf16("v_mfma_f32_32x32x16_bf16");
    const auto half = [&](unsigned) {
        return std::bit_cast<std::uint32_t>(static_cast<float>(normal(random))) >> 16;
    };
    CHECK(bf16.toggles(2, half, half) ==
          doctest::Approx(ClockParameters{}.changing_toggles[0]).epsilon(0.02));
    Operands fp4("v_mfma_f32_16x16x128_f8f6f4", 4 | 4 << 16);
    const auto nibble = [&](unsigned) { return static_cast<std::uint32_t>(random() & 0xf); };
    CHECK(fp4.toggles(8, nibble, nibble) ==
          doctest::Approx(ClockParameters{}.changing_toggles[static_cast<unsigned>(MatrixKind::fp4_16x16)])
              .epsilon(0.02));
}

TEST_CASE("sustained clock: which bits of a product change") {
    Operands fp8("v_mfma_f32_32x32x64_f8f6f4");
    std::mt19937 random(2);
    const auto bits = [&](unsigned) { return static_cast<std::uint32_t>(random() & 0xff); };
    const auto always = [](std::uint32_t code) { return [code](unsigned) { return code; }; };
    const auto turns = [](std::uint32_t even, std::uint32_t odd) {
        return [=](unsigned n) { return n % 2 == 0 ? even : odd; };
    };
    // A product with zero changes none, whatever the other operand does.
    CHECK(fp8.toggles(4, always(0x00), bits) == 0);
    CHECK(fp8.toggles(4, bits, always(0x80)) == 0); // minus zero
    // 1 and -1 stand in bit 22 of 24 and differ in the bits above it, of which one is the sign.
    CHECK(fp8.toggles(4, turns(0x38, 0xb8), always(0x38)) == 2);
    // Where all products of a block grow alike, the alignment takes it out.
    CHECK(fp8.toggles(4, turns(0x38, 0x58), always(0x38)) == 0);
    // 1.0 and 1.75: two more bits of the significand.
    CHECK(fp8.toggles(4, turns(0x38, 0x3e), always(0x38)) == 2);
}

TEST_CASE("sustained clock: an idle device runs at the maximum") {
    CHECK(sustained_ghz(Activity{}) == 2.4);
}
