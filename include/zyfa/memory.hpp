// SPDX-License-Identifier: Apache-2.0
// Device memory for programs that do not call HIP themselves: bindings, and whoever runs on the simulator
// without HIP's headers. What it returns is hipMalloc memory of the HIP library that the context has loaded;
// a program that uses HIP goes on using HIP.
#pragma once

#include <cstddef>
#include <string>

#include "zyfa/context.hpp"

namespace zyfa {
inline namespace v0 {

/// `bytes` of device memory, aligned to 256 bytes at least; 0 bytes give a null pointer. Throws
/// Error{no_device}, Error{device_error} where the device has no room.
ZYFA_API void* device_allocate(Context& context, std::size_t bytes, int device = 0);
/// Waits for the device's work, as hipFree does. Null is ignored.
ZYFA_API void device_release(Context& context, void* pointer);

/// Synchronous copies between host and device memory.
ZYFA_API void copy_to_device(Context& context, void* to, const void* from, std::size_t bytes, int device = 0);
ZYFA_API void copy_to_host(Context& context, void* to, const void* from, std::size_t bytes, int device = 0);

/// Waits for everything that was launched on `device`. On the simulator this is where a kernel's fault is
/// reported: Error{device_error} with PC, lane and allocation.
ZYFA_API void synchronize(Context& context, int device = 0);

/// Path of the HIP library that the context has loaded; opens it.
ZYFA_API std::string hip_library(Context& context);

} // namespace v0
} // namespace zyfa
