// SPDX-License-Identifier: Apache-2.0
// What a stream or a graph node can be asked to do, as values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace zyfa::sim::hip {

struct Function;
class Event;
class Device;
struct GraphMemory;

struct KernelOperation {
    std::shared_ptr<const Function> function;
    std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}; ///< workgroups, work-items
    std::uint32_t dynamic_lds = 0;
    bool cooperative = false;
    std::vector<std::byte> kernarg; ///< whole block, hidden arguments filled in
};

/// A box of bytes; pitches and slices in bytes.
struct CopyOperation {
    std::uint64_t dst = 0, src = 0;
    std::uint64_t width = 0, height = 1, depth = 1;
    std::uint64_t dst_pitch = 0, dst_slice = 0, src_pitch = 0, src_slice = 0;
};

struct FillOperation {
    std::uint64_t dst = 0;
    std::uint64_t width = 0, height = 1, depth = 1; ///< width in elements
    std::uint64_t pitch = 0, slice = 0;             ///< bytes
    std::uint32_t value = 0, element = 1;           ///< element size in bytes: 1, 2 or 4
};

struct HostOperation {
    std::function<void()> call;
    void (*function)(void*) = nullptr; ///< hipLaunchHostFunc, for hipGraphHostNodeGetParams
    void* user = nullptr;
};

struct EmptyOperation {}; ///< a marker; also a wait, through what it comes after

struct RecordOperation {
    std::shared_ptr<Event> event;
    bool external = false; ///< a node of its own when captured (hipEventRecordExternal)
};

struct WaitOperation {
    std::shared_ptr<Event> event;
    bool external = false; ///< a node of its own when captured (hipEventWaitExternal)
};

struct WriteValueOperation {
    std::uint64_t address = 0, value = 0;
    unsigned bytes = 4;
};

struct WaitValueOperation {
    std::uint64_t address = 0, value = 0, mask = ~0ull;
    unsigned bytes = 4, condition = 0; ///< hipStreamWaitValueGte ...
};

/// Memory that a graph allocates: its address is fixed when the node is made, and it lives as long as a copy
/// of the node does. Running the node does nothing.
struct AllocateOperation {
    std::shared_ptr<GraphMemory> memory;
};

/// Stream-ordered free: runs when the work before it has ended. Of a graph's own memory: does nothing.
struct FreeOperation {
    std::uint64_t address = 0;
    std::shared_ptr<GraphMemory> memory;
};

using Operation = std::variant<EmptyOperation, KernelOperation, CopyOperation, FillOperation, HostOperation,
                               RecordOperation, WaitOperation, WriteValueOperation, WaitValueOperation,
                               AllocateOperation, FreeOperation>;

/// Modelled duration and which unit of the device it occupies.
struct Cost {
    double seconds = 0;
    enum class Unit { none, compute, copy } unit = Unit::none;
};

/// Runs an operation to its end on this thread. Throws DeviceFault.
Cost execute(Device& device, const Operation& operation);

/// False while a WaitValueOperation's condition does not hold.
bool ready(const Operation& operation);

} // namespace zyfa::sim::hip
