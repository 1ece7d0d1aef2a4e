// SPDX-License-Identifier: Apache-2.0
// The safetensors container (github.com/huggingface/safetensors, "Format"): 8 bytes of little-endian header
// length, a JSON header, then the tensors' bytes. Works on bytes; who has a file reads or maps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zyfa/problem.hpp"

namespace zyfa {

struct SafeTensor {
    std::string dtype; ///< as in the file: "BF16", "F8_E4M3", "F32", ...
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data; ///< into the parsed bytes
};

struct SafeTensors {
    std::map<std::string, SafeTensor> tensors;
    std::map<std::string, std::string> metadata;

    /// Throws Error{invalid_argument} that lists what there is.
    const SafeTensor& at(const std::string& name) const;
};

/// Parses untrusted bytes; the result refers to them. Throws Error{invalid_argument} saying what is
/// malformed: lengths, offsets (inside the file, without overlap or holes), sizes that do not match shape and
/// dtype.
SafeTensors parse_safetensors(std::span<const std::byte> bytes);

/// Writes tensors in the order of their names. parse(write(x)) equals x.
std::vector<std::byte> write_safetensors(const SafeTensors& content);

/// The dtype's name in the container ("BF16", "F8_E4M3", "F8_E4M3FNUZ", "F32"), and back; throws
/// Error{unsupported} for a name that zyfa has no dtype for.
const char* safetensors_name(DType dtype) noexcept;
DType dtype_of_safetensors(std::string_view name);

} // namespace zyfa
