// SPDX-License-Identifier: Apache-2.0
// The one exception type of zyfa. An error is raised before any launch and names what was wrong, with which
// value, and what would have been accepted.
#pragma once

#include <stdexcept>
#include <string>

#include "zyfa/export.hpp"

namespace zyfa {
inline namespace v0 {

enum class ErrorCode {
    invalid_argument = 1, ///< an argument is malformed (null pointer, wrong stride, sizes that disagree)
    unsupported = 2,      ///< well-formed, but nothing here computes it (head dimension, dtype, extent)
    no_device = 3,        ///< no usable device or HIP library; the message says how to run on the simulator
    not_resident = 4,     ///< a stream is capturing and the shape was not prepared (call zyfa::prepare first)
    cache_miss = 5,       ///< mode must_hit and no cache layer has the key; the message names the key
    assemble_failed = 6,  ///< the toolchain refused generated assembly; the message shows the line
    device_error = 7,     ///< HIP reported an error, or the simulator found a fault
    io_error = 8,         ///< a file could not be read or written
    internal = 9,         ///< a defect of zyfa
};

/// Short stable name, e.g. "invalid_argument".
ZYFA_API const char* to_string(ErrorCode code) noexcept;

class ZYFA_API Error : public std::runtime_error {
  public:
    /// `argument` is the name of the argument at fault as the caller wrote it ("q.strides[2]"), or empty.
    Error(ErrorCode code, std::string argument, const std::string& message);

    ErrorCode code() const noexcept { return code_; }
    const std::string& argument() const noexcept { return argument_; }

  private:
    ErrorCode code_;
    std::string argument_;
};

} // namespace v0
} // namespace zyfa
