// SPDX-License-Identifier: Apache-2.0
#include "sim/hip/thread_state.hpp"

#include "sim/hip/device.hpp"

namespace zyfa::sim::hip {

ThreadState::~ThreadState() {
    for (auto& [ordinal, stream] : streams)
        try {
            stream->device.destroy_stream(stream);
        } catch (...) { // after fork() there is no device to tell
        }
}

ThreadState& thread_state() noexcept {
    thread_local ThreadState state;
    return state;
}

} // namespace zyfa::sim::hip
