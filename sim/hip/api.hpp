// SPDX-License-Identifier: Apache-2.0
// What every entry point goes through: exceptions become hipError_t, the thread's last error is kept as HIP
// keeps it, and nothing escapes into C.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include <hip/hip_runtime_api.h>

/// Entry points that the public headers do not declare need C linkage and visibility said here.
#define ZYFA_HIP_API extern "C" __attribute__((visibility("default")))

namespace zyfa::sim::hip {

/// Ends an entry point with an error code; `why` is shown with ZYFA_SIM_LOG=1.
struct Failure {
    hipError_t code;
    std::string why;
};

[[noreturn]] void fail(hipError_t code, std::string why = {});

/// fail(code, why) unless the condition holds.
inline void require(bool condition, hipError_t code, const char* why = "") {
    if (!condition)
        fail(code, why);
}

/// Last error of this thread. hipErrorNotReady is an answer, not an error (HIP: hipGetLastError).
hipError_t finish(const char* function, hipError_t status, const std::string& why = {}) noexcept;

template <class Body>
hipError_t api(const char* function, Body&& body) noexcept {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return finish(function, hipSuccess);
        } else {
            return finish(function, body());
        }
    } catch (const Failure& failure) {
        return finish(function, failure.code, failure.why);
    } catch (const std::bad_alloc&) {
        return finish(function, hipErrorOutOfMemory, "host memory exhausted");
    } catch (const std::exception& error) {
        return finish(function, hipErrorUnknown, error.what());
    }
}

const char* error_name(hipError_t code) noexcept;
const char* error_text(hipError_t code) noexcept;

} // namespace zyfa::sim::hip
