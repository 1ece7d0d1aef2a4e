// SPDX-License-Identifier: Apache-2.0
// Typed register ranges, and the flat numbering of everything an instruction can depend on.
#pragma once

#include <cstdint>
#include <string>

namespace zyfa::templates::isa {

enum class Bank : std::uint8_t { vgpr, agpr, sgpr };

/// Position in one numbering of all machine state that the scheduling passes track.
using Unit = std::uint16_t;

/// A run of units. Empty where count is 0.
struct Units {
    Unit first = 0;
    std::uint16_t count = 0;
    bool operator==(const Units&) const = default;
    bool empty() const { return count == 0; }
    bool overlaps(Units other) const {
        return count != 0 && other.count != 0 && first < other.first + other.count &&
               other.first < first + count;
    }
};

inline constexpr Unit agpr_unit = 256, sgpr_unit = 512, vcc_unit = 618, exec_unit = 620, m0_unit = 621,
                      scc_unit = 622, mode_unit = 623;
/// Tokens stand for memory (an LDS buffer, say) where an instruction must wait for an earlier transfer.
inline constexpr Unit token_unit = 640, unit_count = 656;
constexpr Units token(unsigned n) {
    return {static_cast<Unit>(token_unit + n), 1};
}

/// Reports a defect of a template (a register out of range, an operand that cannot be encoded).
[[noreturn]] void defect(const std::string& message);

/// A run of registers of one bank, with the name it was allocated under: "v[vO+16:vO+31]".
template <Bank B>
struct Registers {
    std::uint16_t first = 0, count = 0;
    std::uint16_t base = 0; ///< first register of the named range this was cut from
    const char* name = nullptr;

    /// Registers [offset, offset + n) of this range.
    Registers sub(unsigned offset, unsigned n = 1) const {
        if (offset + n > count)
            defect("register range " + std::string(name ? name : "?") + " has no part [" +
                   std::to_string(offset) + ", " + std::to_string(offset + n) + ")");
        return {static_cast<std::uint16_t>(first + offset), static_cast<std::uint16_t>(n), base, name};
    }
    Registers operator[](unsigned i) const { return sub(i, 1); }
    Units units() const {
        const Unit start = B == Bank::vgpr ? 0 : B == Bank::agpr ? agpr_unit : sgpr_unit;
        return {static_cast<Unit>(start + first), count};
    }
    /// As the assembler reads it; through the allocated name, which is an assembler symbol.
    std::string text() const;
};
using VReg = Registers<Bank::vgpr>;
using AReg = Registers<Bank::agpr>;
using SReg = Registers<Bank::sgpr>;

/// Scalar registers with a name of their own.
struct Special {
    const char* text;
    Units units;
};
inline constexpr Special vcc{"vcc", {vcc_unit, 2}}, exec{"exec", {exec_unit, 1}}, m0{"m0", {m0_unit, 1}};

} // namespace zyfa::templates::isa
