// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/sim_targets.hpp"

#include <cstdint>
#include <string_view>
#include <variant>

#include "cli/launch_file.hpp"
#include "tests/fuzz/require.hpp"
#include "zyfa/error.hpp"

namespace zyfa::fuzz {

namespace {

constexpr std::uint64_t small_buffer = 1u << 16;

} // namespace

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
