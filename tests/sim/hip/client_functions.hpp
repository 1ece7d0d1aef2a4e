// SPDX-License-Identifier: Apache-2.0
// Functions of HIP that programs and libraries in use call.
#pragma once

namespace zyfa::sim::hip::test {

// clang-format off
inline constexpr const char* client_functions[] = {
    "__hipPopCallConfiguration", "__hipPushCallConfiguration", "__hipRegisterFatBinary",
    "__hipRegisterFunction", "__hipUnregisterFatBinary", "hipCreateChannelDesc", "hipCreateTextureObject",
    "hipDestroyExternalMemory", "hipDestroyExternalSemaphore", "hipDestroyTextureObject",
    "hipDeviceCanAccessPeer", "hipDeviceDisablePeerAccess", "hipDeviceEnablePeerAccess",
    "hipDeviceGetAttribute", "hipDeviceSynchronize", "hipDriverGetVersion", "hipDrvGetErrorString",
    "hipDrvLaunchKernelEx", "hipEventCreate", "hipEventCreateWithFlags", "hipEventDestroy",
    "hipEventElapsedTime", "hipEventQuery", "hipEventRecord", "hipEventSynchronize",
    "hipExtMallocWithFlags", "hipExtModuleLaunchKernel", "hipExtStreamGetCUMask",
    "hipExternalMemoryGetMappedBuffer", "hipFree", "hipFreeArray", "hipFreeAsync", "hipFuncGetAttribute",
    "hipFuncSetAttribute", "hipGLGetDevices", "hipGetDevice", "hipGetDeviceCount", "hipGetDeviceProperties",
    "hipGetDevicePropertiesR0600", "hipGetErrorName", "hipGetErrorString", "hipGetFuncBySymbol",
    "hipGetLastError", "hipGetProcAddress", "hipGetSymbolAddress", "hipGetSymbolSize", "hipGraphDestroy",
    "hipGraphExecDestroy", "hipGraphInstantiate", "hipGraphLaunch", "hipGraphicsGLRegisterBuffer",
    "hipGraphicsMapResources", "hipGraphicsResourceGetMappedPointer", "hipGraphicsUnmapResources",
    "hipGraphicsUnregisterResource", "hipHostFree", "hipHostGetDevicePointer", "hipHostMalloc",
    "hipHostRegister", "hipHostUnregister", "hipImportExternalMemory", "hipImportExternalSemaphore",
    "hipInit", "hipIpcCloseMemHandle", "hipIpcGetMemHandle", "hipIpcOpenMemHandle",
    "hipLaunchCooperativeKernel", "hipLaunchKernel", "hipMalloc", "hipMallocArray", "hipMallocAsync",
    "hipMallocManaged", "hipMemAddressFree", "hipMemAddressReserve", "hipMemCreate",
    "hipMemExportToShareableHandle", "hipMemGetAllocationGranularity", "hipMemGetInfo",
    "hipMemImportFromShareableHandle", "hipMemMap", "hipMemRelease", "hipMemSetAccess", "hipMemUnmap",
    "hipMemcpy", "hipMemcpy2DAsync", "hipMemcpy2DToArray", "hipMemcpyAsync", "hipMemcpyDtoH",
    "hipMemcpyFromSymbol", "hipMemcpyHtoD", "hipMemcpyToSymbol", "hipMemcpyWithStream", "hipMemset",
    "hipMemsetAsync", "hipMemsetD16Async", "hipMemsetD32Async", "hipModuleGetFunction",
    "hipModuleLaunchCooperativeKernel", "hipModuleLaunchKernel", "hipModuleLoad", "hipModuleLoadData",
    "hipModuleLoadDataEx", "hipModuleUnload", "hipOccupancyMaxActiveBlocksPerMultiprocessor",
    "hipOccupancyMaxPotentialBlockSize", "hipPeekAtLastError", "hipPointerGetAttribute",
    "hipRuntimeGetVersion", "hipSetDevice", "hipSignalExternalSemaphoresAsync", "hipStreamBeginCapture",
    "hipStreamCreate", "hipStreamDestroy", "hipStreamEndCapture", "hipStreamGetDevice",
    "hipStreamIsCapturing", "hipStreamSynchronize", "hipStreamWaitEvent",
    "hipThreadExchangeStreamCaptureMode", "hipWaitExternalSemaphoresAsync"};
// clang-format on

} // namespace zyfa::sim::hip::test
