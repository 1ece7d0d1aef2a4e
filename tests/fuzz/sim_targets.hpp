// SPDX-License-Identifier: Apache-2.0
// As targets.hpp, for what the simulator and its tool read: code objects, offload bundles, LAUNCH.json.
#pragma once

#include <cstddef>
#include <span>

namespace zyfa::fuzz {

/// As a gfx950 ELF with its metadata, and as metadata alone.
void read_as_code_object(std::span<const std::byte> bytes);

/// As the code of a kernel, every word of it: names and text by LLVM's disassembler, operands, and what the
/// sanitizer asks of them.
void read_as_instructions(std::span<const std::byte> bytes);

/// As what hipModuleLoadData and __hipRegisterFatBinary are given: ELF, bundle or compressed bundle.
void read_as_bundle(std::span<const std::byte> bytes);

/// As LAUNCH.json, and the contents of small buffers made; it names no file.
void read_as_launch_file(std::span<const std::byte> bytes);

} // namespace zyfa::fuzz
