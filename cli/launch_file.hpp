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
#include "zyfa/problem.hpp"

namespace zyfa::cli {

struct FillSource {
    std::uint8_t byte = 0;
};
struct FileSource {
    std::string path;
};
/// Half-open range of one dimension of a tensor.
struct Cut {
    std::int64_t begin = 0, end = 0;
};
struct TensorSource {
    std::string path, tensor;
    std::vector<Cut> cut; ///< one per dimension, or empty: the whole tensor
};
/// One FP32 element: what another buffer's codes are to be multiplied with.
struct DescaleSource {
    std::string of;
};
struct GeneratorSource {
    enum class Kind { gaussian, constant, ramp } kind = Kind::constant;
    ElementType type = ElementType::f32;
    std::uint64_t seed = 1;
    double mean = 0, sd = 1;                ///< gaussian
    double value = 0;                       ///< constant
    double start = 0, step = 1, modulo = 0; ///< ramp: start + step * ((i / repeat) mod modulo); modulo 0: not
                                            ///< at all
    std::uint64_t repeat = 1;
};

/// How the source's values become the buffer's elements.
struct Conversion {
    std::optional<ElementType> as; ///< by default as the source has it
    double scale = 1;              ///< multiplied before the conversion
    bool automatic = false; ///< scale = the largest power of two that keeps the largest magnitude within e4m3
};

struct BufferSpec {
    std::uint64_t size = 0; ///< bytes; 0: that of the source
    std::variant<FillSource, FileSource, TensorSource, GeneratorSource, DescaleSource> source;
    Conversion conversion; ///< of a tensor or a generator
};

struct KernargSpec {
    std::uint32_t offset = 0;
    std::vector<std::byte> value; ///< little endian; eight zero bytes for a buffer
    std::string buffer;           ///< name, or empty
    std::uint64_t buffer_offset = 0;
    std::string descale_of; ///< the FP32 value is this buffer's descale, or empty
};

struct OutputSpec {
    std::string buffer;
    std::string file;   ///< write the bytes here, or empty
    std::string equals; ///< compare with the bytes of this file, or empty
    ElementType type = ElementType::u8;
    double tolerance = 0;    ///< largest accepted absolute difference
    std::uint64_t print = 0; ///< elements to show
};

/// Where a tensor of the reference check lies. Strides are the problem's.
struct TensorPlace {
    std::string buffer;
    std::uint64_t offset = 0; ///< bytes
};

/// The launch computed attention: its result is compared with fp64 attention on the same inputs.
struct AttentionSpec {
    Problem problem; ///< descales: the buffers' own are multiplied in when known
    TensorPlace q, k, v, o, lse;
    double relative_rms = 0;                    ///< largest accepted, over all of O
    double row_relative_rms = 0;                ///< largest accepted of a row; 0: any
    double lse_max_abs = 0;                     ///< largest accepted
    std::optional<ElementType> probabilities{}; ///< for the emulation's figure: bf16 or e4m3
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
    std::optional<AttentionSpec> attention;
};

/// Throws Error{invalid_argument} whose argument is the place in the file ("buffers.q.generator.kind").
/// Relative paths in the file are meant from `folder`.
LaunchFile parse_launch(std::string_view text, const std::string& folder);

/// What a buffer starts with.
struct Content {
    std::vector<std::byte> bytes;
    double descale = 1; ///< value = element * descale
};

/// Throws Error{io_error} or Error{invalid_argument}. `descale_of` knows the buffers that are already there.
Content initial_content(const std::string& name, const BufferSpec& spec,
                        const std::map<std::string, double>& descales = {});
/// Of all buffers, those that need another's descale after it.
std::map<std::string, Content> initial_contents(const LaunchFile& launch);

} // namespace zyfa::cli
