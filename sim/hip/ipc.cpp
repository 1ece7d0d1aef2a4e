// SPDX-License-Identifier: Apache-2.0
// Sharing memory and events with other processes: refused, as simulated memory is the process's own.
#include "sim/hip/api.hpp"

using namespace zyfa::sim::hip;

namespace {
hipError_t refuse(const char* function) {
    return api(function,
               [] { fail(hipErrorNotSupported, "the simulator does not share between processes"); });
}
} // namespace

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t*, void*) {
    return refuse("hipIpcGetMemHandle");
}
hipError_t hipIpcOpenMemHandle(void**, hipIpcMemHandle_t, unsigned int) {
    return refuse("hipIpcOpenMemHandle");
}
hipError_t hipIpcCloseMemHandle(void*) {
    return refuse("hipIpcCloseMemHandle");
}
hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t*, hipEvent_t) {
    return refuse("hipIpcGetEventHandle");
}
hipError_t hipIpcOpenEventHandle(hipEvent_t*, hipIpcEventHandle_t) {
    return refuse("hipIpcOpenEventHandle");
}
