// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/sim_targets.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/hip/api.hpp"
#include "sim/hip/bundle.hpp"
#include "tests/fuzz/require.hpp"

namespace zyfa::sim::hip {
/// The library's own stands beside its logging, which the bundle reader does not need.
void fail(hipError_t code, std::string why) {
    throw Failure{code, std::move(why)};
}
} // namespace zyfa::sim::hip

namespace zyfa::fuzz {

void read_as_bundle(std::span<const std::byte> bytes) {
    // A copy of exactly this length, so that AddressSanitizer sees a byte too many.
    const std::vector<std::byte> copy(bytes.begin(), bytes.end());
    try {
        const sim::hip::FoundImage found = sim::hip::find_code_object(copy.data(), copy.size());
        // Touches every byte of what was found.
        require(std::count(found.elf.begin(), found.elf.end(), std::byte{}) <=
                static_cast<std::ptrdiff_t>(found.elf.size()));
    } catch (const sim::hip::Failure&) {
    }
}

} // namespace zyfa::fuzz
