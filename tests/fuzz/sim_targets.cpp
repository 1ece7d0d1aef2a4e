// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/sim_targets.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/launch_file.hpp"
#include "sim/elf.hpp"
#include "sim/hip/api.hpp"
#include "sim/hip/bundle.hpp"
#include "sim/metadata.hpp"
#include "zyfa/error.hpp"

namespace zyfa::sim::hip {
/// The library's own stands beside its logging, which the bundle reader does not need.
void fail(hipError_t code, std::string why) {
    throw Failure{code, std::move(why)};
}
} // namespace zyfa::sim::hip

namespace zyfa::fuzz {

namespace {

constexpr std::uint64_t small_buffer = 1u << 16;

void require(bool condition) {
    if (!condition)
        std::abort();
}

} // namespace

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

void read_as_launch_file(std::span<const std::byte> bytes) {
    try {
        const cli::LaunchFile launch =
            cli::parse_launch({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "");
        for (const cli::KernargSpec& argument : launch.kernargs)
            require(argument.offset + argument.value.size() <= launch.kernarg_bytes);
        for (const auto& [name, buffer] : launch.buffers) {
            const bool made = std::holds_alternative<cli::FillSource>(buffer.source) ||
                              std::holds_alternative<cli::GeneratorSource>(buffer.source);
            if (made && buffer.size <= small_buffer)
                require(cli::initial_content(name, buffer).bytes.size() == buffer.size);
        }
    } catch (const Error&) {
    }
}

} // namespace zyfa::fuzz
