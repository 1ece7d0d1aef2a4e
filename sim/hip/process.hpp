// SPDX-License-Identifier: Apache-2.0
// The one state of the library in a process: memory, devices, handles, virtual time. Made at first use and
// never destroyed, as programs call HIP from their own static destructors.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/hip/api.hpp"
#include "sim/hip/device.hpp"
#include "sim/hip/sanitizer_log.hpp"
#include "sim/hip/thread_state.hpp"

namespace zyfa::sim::hip {

/// Live objects by the address that the caller holds as handle.
template <class Object>
class Handles {
  public:
    void* insert(std::shared_ptr<Object> object) {
        void* key = object.get();
        std::unique_lock lock(mutex_);
        objects_.emplace(key, std::move(object));
        return key;
    }
    std::shared_ptr<Object> find(const void* handle) const {
        std::shared_lock lock(mutex_);
        auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }
    std::shared_ptr<Object> remove(const void* handle) {
        std::unique_lock lock(mutex_);
        auto found = objects_.find(handle);
        if (found == objects_.end())
            return nullptr;
        auto object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

  private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
};

/// One mutex for all queues: commands are few and long, and events join devices.
class Scheduler {
  public:
    std::mutex mutex;
    std::condition_variable changed; ///< something was enqueued or has ended
    double host_time = 0;            ///< virtual seconds
    std::uint64_t serial = 0, stream_id = 0;
    bool stopping = false;

    void start(Device& device); ///< its worker, if it does not run yet; mutex held
    void wait(std::unique_lock<std::mutex>& lock, const CompletionPtr& completion);
};

struct Module;
struct Function;
struct Graph;
struct GraphExec;

class Process {
  public:
    static Process& get();

    Memory memory;
    Scheduler scheduler;
    std::mutex graph_mutex;
    Handles<Stream> streams;
    Handles<Event> events;
    Handles<Module> modules;
    Handles<Function> functions;
    Handles<Graph> graphs;
    Handles<GraphExec> graph_execs;
    SanitizerLog sanitizer;

    int device_count();
    Device& device(int ordinal); ///< throws Failure{hipErrorInvalidDevice}
    Device& current_device();    ///< of this thread

    /// Before the first device is used; false afterwards.
    bool set_device_count(int count);
    std::string set_device_option(int ordinal, const std::string& option, const std::string& value);

    /// Text of the last fault of any device.
    std::string last_fault();
    void keep_fault(const std::string& text);

  private:
    Process();
    void create_devices(); ///< mutex_ held

    std::mutex mutex_;
    int count_ = 1;
    std::vector<DeviceOptions> configured_;
    std::vector<std::unique_ptr<Device>> devices_;
    std::string last_fault_;
};

} // namespace zyfa::sim::hip
