// SPDX-License-Identifier: Apache-2.0
// How many bits of the matrix units' products change from one MFMA of a SIMD to the next.
//
// Current flows where bits change (paper arXiv 2611.07496, Section III-C). What changes most wires in a
// dot-product unit is not the operand but the product on its way into the adder tree: of two significands,
// shifted by its exponent to the largest of its block, and negated if negative. A product with a zero changes
// nothing, whatever the other operand does; a product whose exponent moves changes more bits than its
// operands do. So the meter forms such products from the operands of successive MFMAs and counts the bits
// that differ. It takes samples: four lanes per MFMA, all elements that they hold.
#pragma once

#include <array>
#include <cstdint>

#include "sim/timing/clock_model.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim::timing {

MatrixKind matrix_kind(const Instruction& mfma);

/// An element of an MFMA operand: `bits` wide, of which the upper ones are the sign, the exponent (none: an
/// integer) and the leading bits of the fraction.
struct ElementFormat {
    unsigned bits, exponent, fraction;
    unsigned significand() const noexcept { return fraction + (exponent != 0 ? 1 : 0); }
};

/// A's and B's format of an MFMA.
std::array<ElementFormat, 2> element_formats(const Instruction& mfma);

class ToggleMeter {
  public:
    /// Before the instruction executes: it may overwrite its operands.
    void see(const Wave& wave, const Instruction& mfma);
    /// Changed bits per product, of product_bits, by kind; 0 where nothing was seen.
    std::array<double, matrix_kinds> per_product() const;

    static constexpr unsigned most_elements = 32; ///< of one lane, which stand next to each other in k
    /// Magnitude of an aligned product, as wide as the significand of the FP32 result; a sign comes on top.
    static constexpr unsigned magnitude_bits = 24, product_bits = magnitude_bits + 1;

  private:
    static constexpr unsigned most_words = 8; ///< of one lane's operand
    struct Operands {
        bool seen = false;
        unsigned rows = 0; ///< lanes that hold the same elements of k
        std::array<ElementFormat, 2> format{};
        std::array<unsigned, 2> words{};
        std::array<std::array<std::uint32_t, most_words * lanes>, 2>
            bits{}; ///< A, B: word by word, as in registers
    };
    struct Products {
        unsigned count = 0;
        std::array<std::uint32_t, most_elements> aligned{};
    };
    static Products products(const Operands& operands, unsigned lane, unsigned turn);

    std::array<Operands, 4> last_{}; ///< by SIMD
    Operands now_{};
    unsigned turn_ = 0;
    std::array<std::uint64_t, matrix_kinds> changed_{}, compared_{};
};

} // namespace zyfa::sim::timing
