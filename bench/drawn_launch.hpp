// SPDX-License-Identifier: Apache-2.0
// Gaussian tensors in simulated memory, and their addresses in a launch's arguments.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/random.hpp"
#include "core/reference.hpp"
#include "sim/engine.hpp"
#include "templates/template.hpp"

namespace zyfa::bench {

inline constexpr double paper_sd = 0.1;          ///< of Gaussian inputs (paper Section V-B)
inline constexpr double largest_code_sd = 102.4; ///< of e4m3 codes: 448 is 4.4 of it

/// What an e4m3 tensor of this standard deviation is to be descaled by.
inline float descale_of(double sd) {
    return static_cast<float>(sd / largest_code_sd);
}

/// BF16 values of SD `sd`, or e4m3 codes that descale_of(sd) makes such values of.
inline std::uint64_t gaussian(sim::Memory& memory, DType dtype, std::int64_t elements, std::uint32_t which,
                              double sd = paper_sd) {
    const auto count = static_cast<std::size_t>(elements);
    const std::uint64_t address = memory.allocate(2 * count, sim::AllocationKind::device, 0);
    const float scale = 1 / descale_of(sd);
    Random random(1, which, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<float>(sd * random.normal());
        if (dtype == DType::e4m3)
            reinterpret_cast<std::uint8_t*>(address)[i] = float_to_e4m3(scale * value);
        else
            reinterpret_cast<std::uint16_t*>(address)[i] = float_to_bf16(value);
    }
    return address;
}

struct Addresses {
    std::uint64_t q = 0, k = 0, v = 0, o = 0, lse = 0, workspace = 0, counters = 0;
};

/// Writes them into the plan's arguments; the scales are there already.
inline void set_addresses(templates::LaunchPlan& plan, const Addresses& at) {
    using Field = templates::KernargField;
    for (const templates::KernargPatch& patch : plan.patches) {
        const std::uint64_t pointer = patch.field == Field::q           ? at.q
                                      : patch.field == Field::k         ? at.k
                                      : patch.field == Field::v         ? at.v
                                      : patch.field == Field::o         ? at.o
                                      : patch.field == Field::lse       ? at.lse
                                      : patch.field == Field::workspace ? at.workspace
                                      : patch.field == Field::counters  ? at.counters
                                                                        : 0;
        if (pointer != 0)
            std::memcpy(plan.kernarg.data() + patch.offset, &pointer, sizeof pointer);
    }
}

} // namespace zyfa::bench
