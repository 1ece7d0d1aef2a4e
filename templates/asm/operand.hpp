// SPDX-License-Identifier: Apache-2.0
// Source operands: a register, a special register, an inline constant or a literal.
#pragma once

#include <cstdint>
#include <string>

#include "templates/asm/registers.hpp"

namespace zyfa::templates::isa {

/// Bit pattern of a 32-bit literal. FP32 values that have an inline form (0, +-0.5, +-1, +-2, +-4) are
/// written as such by the assembler's own rules.
struct Literal {
    std::uint32_t bits;
};

/// An FP32 constant; inline where the encoding has it.
struct Float {
    float value;
};

/// A source of a vector or scalar instruction.
class Source {
  public:
    Source(VReg r) : text_(r.text()), units_(r.units()) {}
    Source(AReg r) : text_(r.text()), units_(r.units()) {}
    Source(SReg r) : text_(r.text()), units_(r.units()), scalar_(true) {}
    Source(Special s) : text_(s.text), units_(s.units), scalar_(true) {}
    Source(int value) : text_(std::to_string(value)), literal_(value < -16 || value > 64) {}
    Source(unsigned value) : text_(std::to_string(value)), literal_(value > 64) {}
    Source(Literal literal);
    Source(Float constant);

    Source operator-() const; ///< neg modifier (VOP3)
    Source magnitude() const; ///< abs modifier (VOP3)

    const std::string& text() const { return text_; }
    Units units() const { return units_; }
    bool scalar() const { return scalar_; }
    bool literal() const { return literal_; }

  private:
    std::string text_;
    Units units_;
    bool scalar_ = false, literal_ = false;
};

} // namespace zyfa::templates::isa
