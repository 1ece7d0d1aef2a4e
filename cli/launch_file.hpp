// SPDX-License-Identifier: Apache-2.0
// LAUNCH.json: one launch of any gfx950 code object, as a value. The format is documented in docs/cli.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/element.hpp"

namespace zyfa::cli {

struct FillSource {
    std::uint8_t byte = 0;
};
struct FileSource {
    std::string path;
};
struct TensorSource {
    std::string path, tensor;
    std::optional<ElementType> as; ///< converted on the way; by default as the file has it
    double scale = 1;              ///< multiplied before the conversion
};
struct GeneratorSource {
    enum class Kind { gaussian, constant, ramp } kind = Kind::constant;
    ElementType type = ElementType::f32;
    std::uint64_t seed = 1;
    double mean = 0, sd = 1;                ///< gaussian
    double value = 0;                       ///< constant
    double start = 0, step = 1, modulo = 0; ///< ramp: start + step * (i mod modulo); modulo 0: not at all
};

struct BufferSpec {
    std::uint64_t size = 0; ///< bytes; 0: that of the source
    std::variant<FillSource, FileSource, TensorSource, GeneratorSource> source;
};

struct KernargSpec {
    std::uint32_t offset = 0;
    std::vector<std::byte> value; ///< little endian; eight zero bytes for a buffer
    std::string buffer;           ///< name, or empty
    std::uint64_t buffer_offset = 0;
};

struct OutputSpec {
    std::string buffer;
    std::string file;   ///< write the bytes here, or empty
    std::string equals; ///< compare with the bytes of this file, or empty
    ElementType type = ElementType::u8;
    double tolerance = 0;    ///< largest accepted absolute difference
    std::uint64_t print = 0; ///< elements to show
};

struct LaunchFile {
    std::string kernel;
    std::array<std::uint32_t, 3> grid{1, 1, 1};   ///< workgroups
    std::array<std::uint32_t, 3> block{64, 1, 1}; ///< work-items
    std::uint32_t dynamic_lds = 0;
    std::vector<KernargSpec> kernargs;
    std::uint32_t kernarg_bytes = 0; ///< at least to the end of the last argument
    std::map<std::string, BufferSpec> buffers;
    std::vector<OutputSpec> outputs;
};

/// Throws Error{invalid_argument} whose argument is the place in the file ("buffers.q.generator.kind").
/// Relative paths in the file are meant from `folder`.
LaunchFile parse_launch(std::string_view text, const std::string& folder);

/// The bytes that a buffer starts with. Throws Error{io_error} or Error{invalid_argument}.
std::vector<std::byte> initial_content(const std::string& name, const BufferSpec& spec);

} // namespace zyfa::cli
