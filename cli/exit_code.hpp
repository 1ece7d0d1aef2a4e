// SPDX-License-Identifier: Apache-2.0
// Exit codes of the tool; documented in docs/cli.md and in `zyfa --help`.
#pragma once

#include "zyfa/error.hpp"

namespace zyfa::cli {

enum class ExitCode : int {
    ok = 0,
    check_failed = 1,    ///< the command ran and what it checked does not hold
    usage = 2,           ///< flags or arguments are wrong, or nothing here computes the problem
    no_device = 3,       ///< no usable device or HIP library
    cache_miss = 4,      ///< mode must_hit and nothing is stored
    assemble_failed = 5, ///< the toolchain refused generated assembly, or there is no toolchain
    device_error = 6,    ///< HIP reported an error, or the simulator found a fault
    io_error = 7,        ///< a file could not be read or written
    internal = 8,        ///< a defect of zyfa
    undecided = 9,       ///< a comparison is a tie, or its verdict was withheld
};

constexpr ExitCode exit_code(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
    case ErrorCode::not_resident:
        return ExitCode::usage;
    case ErrorCode::no_device:
        return ExitCode::no_device;
    case ErrorCode::cache_miss:
        return ExitCode::cache_miss;
    case ErrorCode::assemble_failed:
        return ExitCode::assemble_failed;
    case ErrorCode::device_error:
        return ExitCode::device_error;
    case ErrorCode::io_error:
        return ExitCode::io_error;
    case ErrorCode::internal:
        return ExitCode::internal;
    }
    return ExitCode::internal;
}

} // namespace zyfa::cli
