// SPDX-License-Identifier: Apache-2.0
// The exception type: what() always starts with the argument at fault.
#include "zyfa/error.hpp"

#include <utility>

namespace zyfa {
inline namespace v0 {

namespace {

std::string compose(const std::string& argument, const std::string& message) {
    if (argument.empty() || message.starts_with(argument))
        return message;
    return argument + ": " + message;
}

} // namespace

const char* to_string(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::invalid_argument:
        return "invalid_argument";
    case ErrorCode::unsupported:
        return "unsupported";
    case ErrorCode::no_device:
        return "no_device";
    case ErrorCode::not_resident:
        return "not_resident";
    case ErrorCode::cache_miss:
        return "cache_miss";
    case ErrorCode::assemble_failed:
        return "assemble_failed";
    case ErrorCode::device_error:
        return "device_error";
    case ErrorCode::io_error:
        return "io_error";
    case ErrorCode::internal:
        return "internal";
    }
    return "unknown";
}

Error::Error(ErrorCode code, std::string argument, const std::string& message)
    : std::runtime_error(compose(argument, message)), code_(code), argument_(std::move(argument)) {}

} // namespace v0
} // namespace zyfa
