// SPDX-License-Identifier: Apache-2.0
// The simulator's engine: loads gfx950 code objects into simulated memory and runs launches. The HIP library
// in sim/hip is its only client.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zyfa::sim {

namespace timing {
struct GridReport;
struct TimingReport;
} // namespace timing
namespace sanitizer {
struct Report;
}

enum class AllocationKind : std::uint8_t { device, host_pinned, managed, code, kernarg };

struct Allocation {
    std::uint64_t address = 0, size = 0;
    AllocationKind kind = AllocationKind::device;
    int device = 0;
    std::uint64_t serial = 0; ///< the n-th allocation of this process
    bool freed = false;       ///< kept for reports of use after free
};

/// One address space for all devices and the host: a simulated device address is the host address of the byte
/// behind it, backed on demand. Allocations lie apart with unmapped red zones between them. Thread-safe.
class Memory {
  public:
    Memory();
    ~Memory();
    /// Address, aligned to at least 256 bytes; 0 if the nominal size is exhausted.
    std::uint64_t allocate(std::uint64_t size, AllocationKind kind, int device);
    /// Host memory that becomes visible to devices (hipHostRegister).
    void adopt(std::uint64_t address, std::uint64_t size, AllocationKind kind, int device);
    bool release(std::uint64_t address);
    /// The live allocation that holds the address, as it is now: another thread may release it.
    std::optional<Allocation> find(std::uint64_t address) const;
    /// For reports: the nearest allocation, live or freed.
    std::optional<Allocation> nearest(std::uint64_t address) const;
    std::uint64_t used(int device) const;

    /// From here on device allocations start as uninitialised, byte by byte (the sanitizer's shadow); those
    /// that are there already count as written.
    void track_initialisation();
    /// Of a copy, fill or store that did not come from a kernel under the sanitizer.
    void mark_initialised(std::uint64_t address, std::uint64_t size) noexcept;
    /// As a copy moves the bytes: uninitialised ones stay so.
    void copy_initialisation(std::uint64_t from, std::uint64_t to, std::uint64_t size) noexcept;
    /// One bit per byte, set: never written. Null where nothing is tracked; bit `address % 8` of the byte.
    std::uint8_t* uninitialised(std::uint64_t address) const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    friend class MemoryView;
};

struct KernelArgument {
    std::string name, value_kind; ///< "global_buffer", "by_value", "hidden_block_count_x", ...
    std::uint32_t offset = 0, size = 0;
};

/// One kernel of a loaded code object: descriptor and metadata.
struct Kernel {
    std::string name;
    std::uint64_t descriptor_address = 0, entry = 0; ///< simulated addresses
    std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    std::uint16_t properties = 0, kernarg_preload = 0;
    std::uint32_t static_lds = 0, scratch = 0, kernarg_size = 0;
    std::uint32_t vgprs = 0, agprs = 0, sgprs = 0, max_workgroup_size = 1024;
    std::vector<KernelArgument> arguments;
};

struct Variable {
    std::string name;
    std::uint64_t address = 0, size = 0;
};

/// A code object in simulated memory, predecoded.
class CodeObject {
  public:
    /// Throws std::runtime_error that says what is wrong with the ELF or that its target is not gfx950.
    static std::shared_ptr<CodeObject> load(Memory& memory, std::span<const std::byte> elf, int device);
    virtual ~CodeObject() = default;
    virtual const Kernel* kernel(const std::string& name) const = 0;
    virtual std::vector<const Kernel*> kernels() const = 0;
    virtual const Variable* variable(const std::string& name) const = 0;
};

struct DeviceConfig {
    int ordinal = 0;
    std::uint32_t compute_units = 256, xcds = 8, simds = 4;
    double clock_ghz = 2.4; ///< shader clock of the cost model (paper Table I: maximum)
    std::uint64_t seed = 0; ///< 0: fixed order
    /// Few, so that waves between two barriers advance about together, as they do on a compute unit: AITER's
    /// FP8 and 192/128 kernels refill an LDS buffer that only such timing keeps from being read. It costs
    /// nothing measurable. Instructions of one wave before the next of its workgroup gets its turn; with a
    /// seed, each workgroup draws its own between 1 and twice this.
    std::uint64_t wave_quantum = 16;
    unsigned threads = 0; ///< host threads; 0: hardware_concurrency
    /// Instructions of one wave after which the launch is taken to hang.
    std::uint64_t instruction_limit = 2'000'000'000;
    /// Set from elsewhere while a launch runs, it ends as one that hangs. Null: nobody will.
    const std::atomic<bool>* stop = nullptr;

    bool stopped() const noexcept { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

struct Launch {
    std::shared_ptr<CodeObject> code;
    const Kernel* kernel = nullptr;
    std::array<std::uint32_t, 3> grid{1, 1, 1};  ///< workgroups
    std::array<std::uint32_t, 3> block{1, 1, 1}; ///< work-items
    std::uint32_t dynamic_lds = 0;
    std::span<const std::byte> kernarg; ///< copied before run() returns control
    /// Scratch bytes per work-item of kernels whose stack depth the compiler does not know (recursion, calls
    /// through pointers), where it is more than the descriptor's: hipLimitStackSize.
    std::uint32_t stack_size = 16384;
    /// How many workgroups, spread over the grid, run on the cycle model instead of the plain interpreter;
    /// the others' cost is scaled by what these say. 0: the cost model (sim/cost_model.hpp) alone. Kernels
    /// with atomics or sleeps are never timed this way: their workgroups may wait for each other.
    std::uint32_t timed_workgroups = 0;
    /// Time the whole grid by the addresses of all its workgroups (sim/timing/grid_run.hpp), computing
    /// nothing: outputs hold no results.
    bool grid_model = false;
    bool repeat = true;       ///< a launch that would change nothing need not run; its figures are remembered
    bool keep_events = false; ///< every instruction of the timed workgroups in time
    /// Run under the sanitizer: LaunchResult::sanitizer says what it found. Excludes timed workgroups.
    bool sanitize = false;
};

/// Why a launch stopped. The text holds kernel, PC, disassembly, wave and lane, and the allocation.
struct Fault {
    std::string kind; ///< "unknown instruction", "global memory fault", "lds out of bounds", "hang", ...
    std::string text;
    std::uint64_t pc = 0; ///< simulated address of the instruction at fault; 0: none
};

struct LaunchResult {
    std::optional<Fault> fault;
    std::uint64_t instructions = 0; ///< wave instructions executed (an MFMA counts once)
    double cycles = 0;              ///< modelled shader cycles of the whole launch
    double seconds = 0;             ///< cycles / clock
    double clock_ghz = 0;           ///< at which the launch would run if it went on for seconds
    double load = 0;                ///< of the current limit at the maximum clock; 0 if nothing was timed
    std::shared_ptr<const timing::GridReport> grid; ///< null without Launch::grid_model
    bool repeated = false; ///< nothing ran: code, arguments and data were those of an earlier launch
    std::vector<std::shared_ptr<const timing::TimingReport>> timing; ///< of the timed workgroups
    std::shared_ptr<const sanitizer::Report> sanitizer;              ///< null without Launch::sanitize
};

class Engine {
  public:
    Engine(Memory& memory, DeviceConfig config);
    ~Engine();
    /// Runs a launch to its end on this thread and its helpers. Launches of one engine run one at a time.
    LaunchResult run(const Launch& launch);
    const DeviceConfig& config() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace zyfa::sim
