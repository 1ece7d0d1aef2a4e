// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/toggles.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace zyfa::sim::timing {

MatrixKind matrix_kind(const Instruction& mfma) {
    const MfmaOp& op = *mfma.mfma;
    const bool wide = op.m == 32;
    if (op.f8f6f4) {
        constexpr unsigned fp6 = 2; // formats 0 and 1 are FP8 and BF8 (CDNA4 ISA, CBSZ and BLGP)
        const bool narrow = (mfma.control & 0xff) >= fp6 && (mfma.control >> 16 & 0xff) >= fp6;
        return narrow ? MatrixKind::fp4_16x16 : wide ? MatrixKind::fp8_32x32 : MatrixKind::fp8_16x16;
    }
    if (op.mnemonic.ends_with("bf16") || op.mnemonic.ends_with("_f16"))
        return wide ? MatrixKind::bf16_32x32 : MatrixKind::bf16_16x16;
    return MatrixKind::other;
}

std::array<ElementFormat, 2> element_formats(const Instruction& mfma) {
    static constexpr ElementFormat e4m3{8, 4, 3}, e5m2{8, 5, 2};
    const MfmaOp& op = *mfma.mfma;
    if (op.f8f6f4) {
        static constexpr ElementFormat formats[] = {
            e4m3, e5m2, {6, 2, 3}, {6, 3, 2}, {4, 2, 1}}; // CDNA4 ISA, CBSZ
        const auto named = [](unsigned code) { return formats[std::min<std::size_t>(code, 4)]; };
        return {named(mfma.control & 0xff), named(mfma.control >> 16 & 0xff)};
    }
    const std::string_view name = op.mnemonic;
    const auto both = [](ElementFormat format) { return std::array{format, format}; };
    const auto fp8 = [](std::string_view letters) { return letters == "bf8" ? e5m2 : e4m3; };
    if (name.ends_with("fp8") || name.ends_with("bf8")) // ..._fp8_bf8: A's, then B's
        return {fp8(name.substr(name.size() - 7, 3)), fp8(name.substr(name.size() - 3))};
    if (name.ends_with("bf16") || name.ends_with("bf16_1k"))
        return both({16, 8, 7});
    if (name.ends_with("f16"))
        return both({16, 5, 10});
    if (name.ends_with("i8"))
        return both({8, 0, 7});
    if (name.ends_with("f64"))
        return both({64, 11, 15});
    return both({32, 8, 15}); // FP32: the leading bits of the fraction
}

namespace {

struct Element {
    bool negative = false;
    int exponent = 0;
    std::uint64_t significand = 0;
};

Element element(const std::uint32_t* lane_words, unsigned at, ElementFormat format) {
    // Elements of at most 32 bits may straddle two words (FP6).
    const unsigned used = 1 + format.exponent + format.fraction;
    const unsigned begin = at * format.bits + format.bits - used, word = begin / 32;
    const std::uint64_t two = lane_words[word] | std::uint64_t{lane_words[word + 1]} << 32;
    const std::uint64_t raw = two >> (begin % 32) & ((std::uint64_t{1} << used) - 1);
    Element out;
    out.negative = (raw >> (used - 1)) != 0;
    const std::uint64_t fraction = raw & ((std::uint64_t{1} << format.fraction) - 1);
    if (format.exponent == 0) { // two's complement
        out.significand = out.negative ? (std::uint64_t{1} << format.fraction) - fraction : fraction;
        return out;
    }
    const auto biased = static_cast<int>(raw >> format.fraction & ((1u << format.exponent) - 1));
    out.exponent = std::max(biased, 1);
    out.significand = biased == 0 ? fraction : fraction | std::uint64_t{1} << format.fraction;
    return out;
}

} // namespace

ToggleMeter::Products ToggleMeter::products(const Operands& operands, unsigned lane, unsigned turn) {
    std::array<std::array<std::uint32_t, most_words + 1>, 2> words{};
    // A's lane holds a row and B's a column; they meet where they hold the same elements of k.
    const unsigned first = lane / operands.rows * operands.rows;
    const unsigned from[2] = {lane, first + ((lane - first) ^ (turn % operands.rows))};
    Products out;
    out.count = most_elements;
    for (unsigned n = 0; n < 2; ++n) {
        for (unsigned w = 0; w < operands.words[n]; ++w)
            words[n][w] = operands.bits[n][w * lanes + from[n]];
        out.count = std::min(out.count, operands.words[n] * 32 / operands.format[n].bits);
    }
    std::array<int, most_elements> exponents{};
    std::array<std::uint64_t, most_elements> magnitudes{};
    std::array<bool, most_elements> negative{};
    int largest = 0;
    const unsigned width = operands.format[0].significand() + operands.format[1].significand();
    for (unsigned k = 0; k < out.count; ++k) {
        const Element a = element(words[0].data(), k, operands.format[0]),
                      b = element(words[1].data(), k, operands.format[1]);
        const std::uint64_t product = a.significand * b.significand;
        magnitudes[k] = width <= magnitude_bits ? product << (magnitude_bits - width)
                                                : product >> (width - magnitude_bits);
        exponents[k] = a.exponent + b.exponent;
        negative[k] = a.negative != b.negative;
        if (product != 0)
            largest = std::max(largest, exponents[k]);
    }
    for (unsigned k = 0; k < out.count; ++k) {
        const int shift = std::clamp(largest - exponents[k], 0, 63);
        const auto magnitude = static_cast<std::uint32_t>(magnitudes[k] >> shift);
        out.aligned[k] = (negative[k] ? 0 - magnitude : magnitude) & ((1u << product_bits) - 1);
    }
    return out;
}

void ToggleMeter::see(const Wave& wave, const Instruction& mfma) {
    Operands& last = last_[wave.id % 4];
    now_.seen = true;
    now_.rows = mfma.mfma->m;
    now_.format = element_formats(mfma);
    for (unsigned n = 0; n < 2; ++n) {
        const Operand& operand = mfma.src[n];
        // A and B always are registers (CDNA4 ISA, VOP3P-MAI).
        now_.words[n] = operand.kind == OperandKind::vgpr ? std::min<unsigned>(operand.words, most_words) : 0;
        std::memcpy(now_.bits[n].data(), wave.v + operand.value,
                    sizeof(std::uint32_t) * lanes * now_.words[n]);
    }
    if (last.seen) {
        const auto kind = static_cast<unsigned>(matrix_kind(mfma));
        ++turn_;
        for (unsigned sample = 0; sample < 4; ++sample) { // a lane of each quarter
            const unsigned lane = 16 * sample + (5 * turn_ + 3 * sample) % 16;
            const Products before = products(last, lane, turn_), after = products(now_, lane, turn_);
            const unsigned count = std::min(before.count, after.count);
            for (unsigned k = 0; k < count; ++k)
                changed_[kind] += static_cast<unsigned>(std::popcount(before.aligned[k] ^ after.aligned[k]));
            compared_[kind] += count;
        }
    }
    std::swap(last, now_);
}

std::array<double, matrix_kinds> ToggleMeter::per_product() const {
    std::array<double, matrix_kinds> bits{};
    for (unsigned kind = 0; kind < matrix_kinds; ++kind)
        if (compared_[kind] != 0)
            bits[kind] = static_cast<double>(changed_[kind]) / static_cast<double>(compared_[kind]);
    return bits;
}

} // namespace zyfa::sim::timing
