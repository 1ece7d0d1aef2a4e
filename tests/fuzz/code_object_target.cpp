// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/sim_targets.hpp"

#include <stdexcept>
#include <vector>

#include "sim/elf.hpp"
#include "sim/metadata.hpp"

namespace zyfa::fuzz {

void read_as_code_object(std::span<const std::byte> bytes) {
    const std::vector<std::byte> copy(bytes.begin(), bytes.end());
    try {
        const sim::ElfImage image = sim::parse_elf(copy);
        if (!image.metadata.empty())
            static_cast<void>(sim::parse_metadata(image.metadata));
    } catch (const std::runtime_error&) {
    }
    try {
        static_cast<void>(sim::parse_metadata(copy));
    } catch (const std::runtime_error&) {
    }
}

} // namespace zyfa::fuzz
