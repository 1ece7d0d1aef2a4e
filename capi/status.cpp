// SPDX-License-Identifier: Apache-2.0
// Statuses, their names, and what a thread remembers of its last failure.
#include "capi/status.hpp"

#include <new>

namespace zyfa::capi {
namespace {

struct LastFailure {
    std::string message, argument;
    const char* fallback = nullptr; ///< where there was no memory for the message
};
thread_local LastFailure last_failure;

zyfa_status keep(ErrorCode code, const std::string& argument, const char* message) noexcept {
    try {
        LastFailure failure;
        failure.message = message;
        failure.argument = argument;
        last_failure = std::move(failure);
    } catch (...) {
        last_failure.fallback = "out of host memory";
    }
    return static_cast<zyfa_status>(code);
}

} // namespace

zyfa_status keep_current_exception() noexcept {
    static const std::string none;
    try {
        throw;
    } catch (const Error& error) {
        return keep(error.code(), error.argument(), error.what());
    } catch (const std::bad_alloc&) {
        last_failure.fallback = "out of host memory";
        return ZYFA_INTERNAL;
    } catch (const std::exception& error) {
        return keep(ErrorCode::internal, none, error.what());
    } catch (...) {
        return keep(ErrorCode::internal, none, "an exception of unknown type");
    }
}

void refuse(const char* argument, const std::string& value, const std::string& accepted) {
    throw Error(ErrorCode::invalid_argument, argument,
                std::string(argument) + " is " + value + "; accepted: " + accepted);
}

} // namespace zyfa::capi

using zyfa::capi::last_failure;

const char* zyfa_version(void) {
    return ZYFA_VERSION;
}

const char* zyfa_status_name(zyfa_status status) {
    return status == ZYFA_OK ? "ok" : zyfa::to_string(static_cast<zyfa::ErrorCode>(status));
}

const char* zyfa_last_message(void) {
    return last_failure.fallback ? last_failure.fallback : last_failure.message.c_str();
}

const char* zyfa_last_argument(void) {
    return last_failure.fallback ? "" : last_failure.argument.c_str();
}
