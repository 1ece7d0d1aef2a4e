// SPDX-License-Identifier: Apache-2.0
// Which bits of a wave's registers have ever been written: bytes per lane of vector registers, bits of scalar
// ones. Uninitialised bits may be moved about freely; what reports them is where they matter.
#pragma once

#include "sim/sanitizer/traits.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim::sanitizer {

/// One vector register: per byte, the lanes in which it is initialised.
struct LaneBytes {
    std::uint64_t byte[4] = {};

    std::uint64_t all() const noexcept { return byte[0] & byte[1] & byte[2] & byte[3]; }
    void assign(std::uint64_t lanes_written, std::uint64_t valid) noexcept {
        for (std::uint64_t& b : byte)
            b = (b & ~lanes_written) | (valid & lanes_written);
    }
};

class Validity {
  public:
    /// What the ABI hands to a wave that has just started: registers that still hold the engine's poison are
    /// uninitialised.
    void start(const Wave& wave);
    /// Before a vector, scalar or matrix instruction executes: its results as its sources make them.
    void flow(Wave& wave, const Traits& t);

    LaneBytes& vector(unsigned index) noexcept { return v_[index]; }
    /// Lanes in which all of a use is initialised.
    std::uint64_t lanes_of(const Use& use) const noexcept;
    /// Of scalar registers: whether all of them are.
    bool whole(const Use& use) const noexcept;
    std::uint32_t& scalar(unsigned code) noexcept { return s_[code]; }
    /// Whether a branch on the condition goes the same way whatever the uninitialised bits are.
    bool decides(const Wave& wave, const Use& condition) const noexcept;
    void set(const Use& use) noexcept;

  private:
    void vector_flow(Wave& wave, const Traits& t);
    void vector_slowly(Wave& wave, const Traits& t);
    void scalar_flow(Wave& wave, const Traits& t);
    void swap_lanes(const Wave& wave, const Traits& t);
    LaneBytes source(const Wave& wave, const Traits& t, unsigned n) const;
    void finish_mask(const Wave& wave, const Traits& t, std::uint64_t valid);

    LaneBytes v_[512];
    std::uint32_t s_[128] = {};
    bool scc_ = false;
};

} // namespace zyfa::sim::sanitizer
