// SPDX-License-Identifier: Apache-2.0
// What HIP keeps per host thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <hip/hip_runtime_api.h>

namespace zyfa::sim::hip {

class Stream;

/// __hipPushCallConfiguration: what stands between <<< and >>>.
struct CallConfiguration {
    dim3 grid, block;
    std::size_t dynamic_lds = 0;
    hipStream_t stream = nullptr;
};

struct ThreadState {
    ThreadState() = default;
    ~ThreadState(); ///< the thread's streams end when their work has
    ThreadState(const ThreadState&) = delete;
    ThreadState& operator=(const ThreadState&) = delete;

    int device = 0;
    hipError_t last_error = hipSuccess; ///< last error, until hipGetLastError
    hipError_t last_call = hipSuccess;  ///< what the last call returned, for hipExtGetLastError
    hipStreamCaptureMode capture_mode = hipStreamCaptureModeGlobal;
    std::vector<CallConfiguration> call_configurations;
    std::vector<int> contexts; ///< hipCtxPushCurrent; devices, as HIP has primary contexts only
    std::map<int, std::shared_ptr<Stream>> streams; ///< hipStreamPerThread of each device
};

ThreadState& thread_state() noexcept;

} // namespace zyfa::sim::hip
