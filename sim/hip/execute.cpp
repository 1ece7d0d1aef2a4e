// SPDX-License-Identifier: Apache-2.0
// What the operations do, and what they cost. Copies and fills are costed with nominal rates:
//   device memory  8 TB/s peak (paper Table I)
//   host link      PCIe 5.0 x16, 64 GB/s each way (AMD Instinct MI355X data sheet)
//   peer link      76.8 GB/s each way per Infinity Fabric link (AMD Instinct MI355X data sheet: 153.6 both)
// and the fixed overhead of a launch.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <sstream>

#include "sim/hip/module.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

constexpr double device_memory_rate = 8e12, host_link_rate = 64e9,
                 peer_link_rate = 76.8e9; // bytes per second

enum class Place { host, device };

/// Where the bytes lie. Faults where the range begins in an allocation and leaves it, or in a freed one.
Place place(std::uint64_t address, std::uint64_t bytes, const char* what, int* device) {
    const Memory& memory = Process::get().memory;
    const auto allocation = memory.find(address);
    if (!allocation) {
        const auto gone = memory.nearest(address);
        if (gone && gone->freed && address >= gone->address && address < gone->address + gone->size) {
            std::ostringstream text;
            text << what << " touches freed memory at 0x" << std::hex << address << std::dec
                 << " (allocation #" << gone->serial << ", " << gone->size << " bytes)";
            throw DeviceFault{hipErrorIllegalAddress, text.str()};
        }
        return Place::host;
    }
    if (bytes > allocation->address + allocation->size - address) {
        std::ostringstream text;
        text << what << " of " << bytes << " bytes at 0x" << std::hex << address << std::dec
             << " leaves its allocation (#" << allocation->serial << ", " << allocation->size << " bytes)";
        throw DeviceFault{hipErrorIllegalAddress, text.str()};
    }
    if (device)
        *device = allocation->device;
    return allocation->kind == AllocationKind::device || allocation->kind == AllocationKind::code
               ? Place::device
               : Place::host;
}

std::uint64_t extent(std::uint64_t row, std::uint64_t height, std::uint64_t depth, std::uint64_t pitch,
                     std::uint64_t slice) {
    return (depth - 1) * slice + (height - 1) * pitch + row;
}

/// What grid synchronisation of a cooperative launch works on (ROCm device libraries: mg_info of
/// ockl/src/cg.cl).
struct GridSync {
    std::uint64_t multi_grid = 0;
    std::uint32_t grid_id = 0, grids = 1;
    std::uint64_t previous_work_items = 0, all_work_items = 0;
    std::uint32_t arrived[2] = {};
    std::uint32_t workgroups = 0;
};

/// Fresh GridSync in device memory for one cooperative launch, its address in the hidden argument.
class GridSyncMemory {
  public:
    GridSyncMemory(Device& device, const KernelOperation& kernel, std::vector<std::byte>& kernarg) {
        if (!kernel.cooperative)
            return;
        for (const KernelArgument& argument : kernel.function->kernel->arguments) {
            if (argument.value_kind != "hidden_multigrid_sync_arg")
                continue;
            GridSync sync;
            sync.workgroups = kernel.grid[0] * kernel.grid[1] * kernel.grid[2];
            sync.all_work_items = static_cast<std::uint64_t>(sync.workgroups) * kernel.block[0] *
                                  kernel.block[1] * kernel.block[2];
            address_ = Process::get().memory.allocate(sizeof sync, AllocationKind::kernarg, device.ordinal);
            if (address_ == 0)
                throw DeviceFault{hipErrorOutOfMemory, "no memory for a cooperative launch"};
            std::memcpy(reinterpret_cast<void*>(address_), &sync, sizeof sync);
            std::memcpy(kernarg.data() + argument.offset, &address_, sizeof address_);
        }
    }
    ~GridSyncMemory() {
        if (address_ != 0)
            Process::get().memory.release(address_);
    }
    GridSyncMemory(const GridSyncMemory&) = delete;
    GridSyncMemory& operator=(const GridSyncMemory&) = delete;

  private:
    std::uint64_t address_ = 0;
};

struct Executor {
    Device& device;

    Cost operator()(const EmptyOperation&) const { return {}; }
    Cost operator()(const RecordOperation&) const { return {}; }
    Cost operator()(const WaitOperation&) const { return {}; }

    Cost operator()(const HostOperation& host) const {
        host.call();
        return {};
    }

    Cost operator()(const KernelOperation& kernel) const {
        Launch launch;
        launch.code = kernel.function->code;
        launch.kernel = kernel.function->kernel;
        launch.grid = kernel.grid;
        launch.block = kernel.block;
        launch.dynamic_lds = kernel.dynamic_lds;
        std::vector<std::byte> kernarg = kernel.kernarg;
        const GridSyncMemory grid_sync(device, kernel, kernarg);
        launch.kernarg = kernarg;
        const DeviceOptions options = device.options();
        launch.stack_size = device.stack_size;
        launch.timed_workgroups =
            options.timed_workgroups.value_or(device.kernels_watched() ? sampled_workgroups : 0);
        launch.keep_events = options.events;
        launch.grid_model = options.grid;
        launch.sanitize = options.sanitize;
        const LaunchResult result = device.engine().run(launch);
        {
            std::lock_guard lock(Process::get().scheduler.mutex);
            device.last_launch = {.ran = true,
                                  .instructions = result.instructions,
                                  .cycles = result.cycles,
                                  .seconds = result.seconds,
                                  .clock_ghz = result.clock_ghz,
                                  .load = result.load,
                                  .repeated = result.repeated,
                                  .timing = result.timing,
                                  .grid = result.grid,
                                  .code = result.timing.empty() ? nullptr : launch.code};
        }
        if (result.sanitizer)
            Process::get().sanitizer.add(*result.sanitizer);
        if (result.fault) {
            const std::string& kind = result.fault->kind;
            const bool address = kind.find("memory") != std::string::npos ||
                                 kind.find("bounds") != std::string::npos ||
                                 kind.find("address") != std::string::npos;
            const hipError_t code = address                                  ? hipErrorIllegalAddress
                                    : kind.find("hang") != std::string::npos ? hipErrorLaunchTimeOut
                                                                             : hipErrorLaunchFailure;
            const std::string& text = result.fault->text;
            throw DeviceFault{code, text.starts_with(kind) ? text : kind + ": " + text};
        }
        return {options.launch_overhead + result.seconds * chip_factor(options, kernel.function->code_digest),
                Cost::Unit::compute};
    }

    Cost operator()(const CopyOperation& copy) const {
        if (copy.width == 0 || copy.height == 0 || copy.depth == 0)
            return {};
        int from = 0, to = 0;
        const Place source =
            place(copy.src, extent(copy.width, copy.height, copy.depth, copy.src_pitch, copy.src_slice),
                  "a copy from", &from);
        const Place target =
            place(copy.dst, extent(copy.width, copy.height, copy.depth, copy.dst_pitch, copy.dst_slice),
                  "a copy to", &to);
        for (std::uint64_t z = 0; z < copy.depth; ++z)
            for (std::uint64_t y = 0; y < copy.height; ++y) {
                const std::uint64_t to_row = copy.dst + z * copy.dst_slice + y * copy.dst_pitch,
                                    from_row = copy.src + z * copy.src_slice + y * copy.src_pitch;
                std::memmove(reinterpret_cast<void*>(to_row), reinterpret_cast<const void*>(from_row),
                             copy.width);
                Process::get().memory.copy_initialisation(from_row, to_row, copy.width);
            }
        const double bytes = static_cast<double>(copy.width * copy.height * copy.depth);
        double seconds = device.options().launch_overhead;
        if (source == Place::device && target == Place::device)
            seconds += from == to ? 2 * bytes / device_memory_rate : bytes / peer_link_rate;
        else
            seconds += bytes / host_link_rate;
        return {seconds, Cost::Unit::copy};
    }

    Cost operator()(const FillOperation& fill) const {
        if (fill.width == 0 || fill.height == 0 || fill.depth == 0)
            return {};
        const std::uint64_t row = fill.width * fill.element;
        place(fill.dst, extent(row, fill.height, fill.depth, fill.pitch, fill.slice), "a fill", nullptr);
        for (std::uint64_t z = 0; z < fill.depth; ++z)
            for (std::uint64_t y = 0; y < fill.height; ++y) {
                const std::uint64_t address = fill.dst + z * fill.slice + y * fill.pitch;
                if (fill.element == 1)
                    std::memset(reinterpret_cast<void*>(address), static_cast<int>(fill.value & 0xff), row);
                else if (fill.element == 2)
                    std::fill_n(reinterpret_cast<std::uint16_t*>(address), fill.width,
                                static_cast<std::uint16_t>(fill.value));
                else
                    std::fill_n(reinterpret_cast<std::uint32_t*>(address), fill.width, fill.value);
                Process::get().memory.mark_initialised(address, row);
            }
        const double bytes = static_cast<double>(row * fill.height * fill.depth);
        return {device.options().launch_overhead + bytes / device_memory_rate, Cost::Unit::compute};
    }

    Cost operator()(const WriteValueOperation& write) const {
        place(write.address, write.bytes, "a value write", nullptr);
        Process::get().memory.mark_initialised(write.address, write.bytes);
        if (write.bytes == 4)
            std::atomic_ref(*reinterpret_cast<std::uint32_t*>(write.address))
                .store(static_cast<std::uint32_t>(write.value), std::memory_order_release);
        else
            std::atomic_ref(*reinterpret_cast<std::uint64_t*>(write.address))
                .store(write.value, std::memory_order_release);
        return {};
    }

    Cost operator()(const WaitValueOperation&) const { return {}; } // ready() held

    Cost operator()(const AllocateOperation&) const { return {}; }

    Cost operator()(const FreeOperation& operation) const {
        if (!operation.memory)
            release_now(operation.address);
        return {};
    }
};

} // namespace

Cost execute(Device& device, const Operation& operation) {
    return std::visit(Executor{device}, operation);
}

bool ready(const Operation& operation) {
    const auto* wait = std::get_if<WaitValueOperation>(&operation);
    if (!wait)
        return true;
    std::uint64_t value = 0;
    if (wait->bytes == 4)
        value =
            std::atomic_ref(*reinterpret_cast<std::uint32_t*>(wait->address)).load(std::memory_order_acquire);
    else
        value =
            std::atomic_ref(*reinterpret_cast<std::uint64_t*>(wait->address)).load(std::memory_order_acquire);
    value &= wait->mask;
    switch (wait->condition) { // HIP: hipStreamWaitValue32
    case hipStreamWaitValueEq:
        return value == wait->value;
    case hipStreamWaitValueAnd:
        return (value & wait->value) != 0;
    case hipStreamWaitValueNor:
        return (~(value | wait->value) & (wait->bytes == 4 ? 0xffffffffull : ~0ull)) != 0;
    default: // hipStreamWaitValueGte
        return value >= wait->value;
    }
}

} // namespace zyfa::sim::hip
