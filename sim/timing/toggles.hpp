// SPDX-License-Identifier: Apache-2.0
// Bits of a SIMD's MFMA operands that change from one MFMA to the next.
#pragma once

#include <array>
#include <cstdint>

#include "sim/timing/clock_model.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim::timing {

MatrixKind matrix_kind(const Instruction& mfma);

class ToggleMeter {
  public:
    /// Before the instruction executes: it may overwrite its operands.
    void see(const Wave& wave, const Instruction& mfma);
    /// Share of bits that changed, by kind; 0 where nothing was seen.
    std::array<double, matrix_kinds> shares() const;

  private:
    struct Operands {
        bool seen = false;
        alignas(64) std::uint32_t bits[2][8 * lanes] = {}; ///< A, B
    };
    std::array<Operands, 4> last_{}; ///< by SIMD
    std::array<std::uint64_t, matrix_kinds> changed_{}, compared_{};
};

} // namespace zyfa::sim::timing
