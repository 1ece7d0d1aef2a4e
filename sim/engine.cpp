// SPDX-License-Identifier: Apache-2.0
// Launches: workgroups over host threads, resident ones in turn, faults completed into reports.
#include "sim/engine.hpp"

#include "sim/cost_model.hpp"
#include "sim/dispatch.hpp"
#include "sim/fault.hpp"
#include "sim/interpreter.hpp"
#include "sim/launch_memo.hpp"
#include "sim/sanitizer/sanitizer.hpp"
#include "sim/timing/grid_launch.hpp"
#include "sim/timing/launch_model.hpp"
#include "sim/timing/timed_run.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

namespace zyfa::sim {

namespace {

/// Instructions of one workgroup before another resident one gets its turn. Only kernels whose workgroups
/// wait for each other notice.
constexpr std::uint64_t workgroup_quantum = 1u << 20;
constexpr std::uint32_t lds_per_unit = 163840; ///< paper Table I
constexpr std::uint32_t lds_granule = 1280;    ///< LLVM, gfx950
constexpr std::uint32_t waves_per_simd_limit = 8;
constexpr std::uint32_t registers_per_simd = 512;

std::string triple(const std::array<std::uint32_t, 3>& v) {
    return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

std::uint32_t round_up(std::uint32_t value, std::uint32_t granule) {
    return (value + granule - 1) / granule * granule;
}

/// Workgroups that a compute unit holds at once.
std::uint32_t occupancy(const Dispatch& d) {
    const std::uint32_t registers = std::max(8u, round_up(d.kernel->vgprs + d.kernel->agprs, 8));
    const std::uint32_t waves =
        std::min(waves_per_simd_limit, registers_per_simd / registers) * d.device.simds;
    const std::uint32_t by_waves = std::max(1u, waves / std::max(1u, d.waves));
    const std::uint32_t by_lds =
        d.lds_bytes == 0 ? by_waves : std::max(1u, lds_per_unit / round_up(d.lds_bytes, lds_granule));
    return std::min(by_waves, by_lds);
}

/// Whether workgroups of the kernel can be run one to its end before another begins: none waits for another.
/// Waiting takes a compare-and-swap or an exchange, or loads that go beyond the caches (sc1) beside atomics.
/// Counting by atomics alone, as by whoever merges last, is none.
bool independent_workgroups(const CodeObjectImpl& code) {
    const auto any = [&code](auto&& of) {
        return std::any_of(code.instructions().begin(), code.instructions().end(), of);
    };
    const auto named = [](const Instruction& i, std::string_view part) {
        return i.mnemonic && std::string_view(i.mnemonic).find(part) != std::string_view::npos;
    };
    if (any([&](const Instruction& i) { return named(i, "s_sleep"); }))
        return false;
    if (!any([](const Instruction& i) { return (i.flags & flag::atomic) != 0; }))
        return true;
    return !any([&](const Instruction& i) {
        if ((i.flags & flag::atomic) != 0)
            return named(i, "swap") || i.kind == InstructionClass::smem;
        return (i.flags & flag::load) != 0 && code.disassemble(i).find(" sc1") != std::string::npos;
    });
}

/// The state that the host threads of one launch share.
class Run {
  public:
    /// `spare`: storage of workgroups that have ended, kept from launch to launch.
    Run(const Dispatch& dispatch, const Memory& memory, const Launch& launch,
        std::vector<std::unique_ptr<Workgroup>>& spare, sanitizer::Session* session)
        : dispatch_(dispatch), memory_(memory), spare_(spare), session_(session),
          keep_events_(launch.keep_events),
          total_(std::uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2]), costs_(total_) {
        resident_limit_ = std::uint64_t{dispatch.device.compute_units} * occupancy(dispatch);
        if (const std::uint64_t timed = std::min<std::uint64_t>(launch.timed_workgroups, total_);
            timed != 0 && session == nullptr && independent_workgroups(*dispatch.code)) {
            timed_every_ = (total_ + timed - 1) / timed;
            first_timed_ = timed_every_ / 2; // of a causal grid one of average length
        }
        if (const std::uint64_t seed = dispatch.device.seed; seed != 0) {
            order_.resize(total_);
            for (std::uint64_t i = 0; i < total_; ++i)
                order_[i] = i;
            random_.seed(seed);
            std::shuffle(order_.begin(), order_.end(), random_);
            vary_waves_ = true;
        }
    }

    void work() {
        auto thread = std::make_unique<ThreadContext>(memory_);
        thread->view.refresh();
        std::optional<sanitizer::Sanitizer> watcher;
        if (session_ != nullptr)
            thread->observer = &watcher.emplace(*session_);
        run_workgroups(*thread, watcher ? &*watcher : nullptr);
        const std::scoped_lock lock(mutex_);
        thread->view.take_uses(uses_);
    }

    void run_workgroups(ThreadContext& thread, sanitizer::Sanitizer* watcher) {
        while (std::unique_ptr<Workgroup> group = take()) {
            NoHooks hooks;
            try {
                if (watcher != nullptr)
                    run_workgroup(*group, thread, workgroup_quantum, *watcher);
                else if (timed_every_ != 0 && group->index % timed_every_ == first_timed_)
                    run_on_cycle_model(*group, thread);
                else
                    run_workgroup(*group, thread, workgroup_quantum, hooks);
                check_limit(*group);
            } catch (const FaultError& error) {
                stop(describe(*group, error));
                return;
            } catch (const std::exception& error) { // the host's memory gave out, or a defect here
                stop(describe(*group, {"internal error", error.what(), -1, false}));
                return;
            }
            give_back(std::move(group));
        }
    }

    std::uint64_t workgroups() const noexcept { return total_; }
    std::optional<Fault> fault() { return fault_; }
    std::uint64_t instructions() const noexcept { return instructions_; }
    std::span<double> costs() noexcept { return costs_; }

    /// Of the timed workgroups, in linear order.
    std::vector<std::shared_ptr<const timing::TimingReport>> take_reports() {
        std::sort(reports_.begin(), reports_.end(),
                  [](const auto& a, const auto& b) { return a->workgroup < b->workgroup; });
        return std::move(reports_);
    }
    /// The first timed workgroup, for the grid model; before its cost is refined. Nothing: none was timed, or
    /// there is no other.
    std::optional<timing::MeasuredWorkgroup> measured() const {
        if (measured_ == nullptr || total_ == 1)
            return std::nullopt;
        return timing::MeasuredWorkgroup{*measured_, *lines_, measured_instructions_,
                                         costs_[measured_->workgroup]};
    }
    std::vector<MemoryView::Use> take_uses() { return std::move(uses_); }

  private:
    void run_on_cycle_model(Workgroup& group, ThreadContext& thread) {
        timing::TimedRunOptions options;
        options.keep_events = keep_events_;
        options.instruction_limit = dispatch_.device.instruction_limit;
        const bool first = group.index == first_timed_;
        if (first)
            thread.observer = &lines_.emplace(dispatch_.waves, options.parameters.l2_line);
        options.stop = dispatch_.device.stop;
        auto report = std::make_shared<const timing::TimingReport>(timing::run_timed(group, thread, options));
        const std::scoped_lock lock(mutex_);
        if (first) {
            thread.observer = nullptr;
            measured_ = report;
            for (const Wave& wave : group.waves)
                measured_instructions_ += wave.instructions;
        }
        reports_.push_back(std::move(report));
    }

    /// The next workgroup to run: a new one while the device has room, else the one that waited longest.
    std::unique_ptr<Workgroup> take() {
        std::unique_lock lock(mutex_);
        while (true) {
            if (stopped_)
                return nullptr;
            const bool room = next_ < total_ && resident_ < resident_limit_;
            if (room) {
                const std::uint64_t id = order_.empty() ? next_ : order_[next_];
                ++next_;
                ++resident_;
                std::unique_ptr<Workgroup> group;
                if (!spare_.empty()) {
                    group = std::move(spare_.back());
                    spare_.pop_back();
                } else {
                    group = std::make_unique<Workgroup>();
                }
                const std::size_t first = vary_waves_ ? random_() % dispatch_.waves : 0;
                const std::uint64_t quantum = vary_waves_
                                                  ? 1 + random_() % (2 * dispatch_.device.wave_quantum)
                                                  : dispatch_.device.wave_quantum;
                lock.unlock();
                start_workgroup(dispatch_, id, *group);
                group->next_wave = first;
                group->wave_quantum = quantum;
                if (session_ != nullptr)
                    session_->begin(*group);
                return group;
            }
            if (!waiting_.empty()) {
                std::unique_ptr<Workgroup> group = std::move(waiting_.front());
                waiting_.pop_front();
                return group;
            }
            if (finished_ == total_)
                return nullptr;
            changed_.wait(lock);
        }
    }

    void give_back(std::unique_ptr<Workgroup> group) {
        if (!group->done()) {
            const std::scoped_lock lock(mutex_);
            waiting_.push_back(std::move(group));
            changed_.notify_one();
            return;
        }
        std::uint64_t instructions = 0;
        for (const Wave& wave : group->waves)
            instructions += wave.instructions;
        group->shadow.reset();
        const double cost = workgroup_cycles(*group, dispatch_.device.simds);
        const std::scoped_lock lock(mutex_);
        costs_[group->index] = cost;
        instructions_ += instructions;
        ++finished_;
        --resident_;
        spare_.push_back(std::move(group));
        changed_.notify_all();
    }

    void check_limit(Workgroup& group) const {
        const bool stopped = dispatch_.device.stopped();
        const std::uint64_t limit = dispatch_.device.instruction_limit;
        for (const Wave& wave : group.waves) {
            if (wave.state == WaveState::ended || (!stopped && wave.instructions + wave.idle <= limit))
                continue;
            group.next_wave = wave.id;
            std::string text = "wave " + std::to_string(wave.id) + " has executed " +
                               std::to_string(wave.instructions) + " instructions without ending";
            if (stopped)
                text += " and was stopped";
            if (group.at_barrier != 0)
                text += "; " + std::to_string(group.at_barrier) + " of " +
                        std::to_string(group.waves.size()) + " waves wait at a barrier";
            throw FaultError{"hang", text, -1, true};
        }
    }

    void stop(Fault fault) {
        const std::scoped_lock lock(mutex_);
        if (!fault_)
            fault_ = std::move(fault);
        stopped_ = true;
        changed_.notify_all();
    }

    /// Which wave was at fault: the one whose turn it is (its turn was not passed on).
    Fault describe(const Workgroup& group, const FaultError& error) const {
        const Wave& wave = group.waves[group.next_wave];
        const Instruction& at = *(error.between_instructions ? wave.next : wave.next - 1);
        std::string text =
            error.kind + " in kernel " + dispatch_.kernel->name + "\n  at " + dispatch_.code->location(at) +
            " (pc " + hexadecimal(dispatch_.code->base() + at.pc) + "): " + dispatch_.code->disassemble(at) +
            "\n  workgroup " + triple(group.id) + ", wave " + std::to_string(wave.id);
        if (error.lane >= 0)
            text += ", lane " + std::to_string(error.lane);
        text += "\n  " + error.detail;
        return {error.kind, text, dispatch_.code->base() + at.pc};
    }

    const Dispatch& dispatch_;
    const Memory& memory_;
    std::vector<std::unique_ptr<Workgroup>>& spare_;
    sanitizer::Session* const session_; ///< null: nothing watches
    const bool keep_events_;
    const std::uint64_t total_;
    std::uint64_t resident_limit_ = 0;
    std::uint64_t timed_every_ = 0; ///< every n-th workgroup runs on the cycle model; 0: none
    std::uint64_t first_timed_ = 0;
    std::vector<MemoryView::Use> uses_; ///< allocations read and written
    std::vector<std::shared_ptr<const timing::TimingReport>> reports_;
    bool vary_waves_ = false; ///< a seed: other orders and turns of the waves
    std::mt19937_64 random_;
    std::vector<std::uint64_t> order_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0, resident_ = 0, finished_ = 0, instructions_ = 0;
    std::deque<std::unique_ptr<Workgroup>> waiting_;
    std::vector<double> costs_;
    std::optional<timing::LineStream> lines_; ///< of the first timed workgroup
    std::shared_ptr<const timing::TimingReport> measured_;
    std::uint64_t measured_instructions_ = 0;
    std::optional<Fault> fault_;
    bool stopped_ = false;
};

/// A range of simulated memory for the time of a launch.
class Loan {
  public:
    Loan(Memory& memory, std::uint64_t size, int device) : memory_(memory) {
        address_ = memory.allocate(size, AllocationKind::kernarg, device);
    }
    ~Loan() { memory_.release(address_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    std::uint64_t address() const noexcept { return address_; }
    template <class T>
    void put(std::uint64_t offset, T value) {
        std::memcpy(reinterpret_cast<void*>(address_ + offset), &value, sizeof value);
    }

  private:
    Memory& memory_;
    std::uint64_t address_;
};

/// hsa_kernel_dispatch_packet_t (LLVM AMDGPUUsage, "Kernel Dispatch").
void write_packet(Loan& packet, const Dispatch& d) {
    packet.put<std::uint16_t>(0, 2); // header: kernel dispatch
    packet.put<std::uint16_t>(2, 3); // setup: dimensions
    for (unsigned axis = 0; axis < 3; ++axis) {
        packet.put(4 + 2 * axis, static_cast<std::uint16_t>(d.block[axis]));
        packet.put(12 + 4 * axis, d.grid[axis] * d.block[axis]);
    }
    packet.put(24, d.scratch_bytes);
    packet.put(28, d.lds_bytes);
    packet.put(32, d.kernel->descriptor_address);
    packet.put(40, d.kernarg);
}

/// The fields of amd_queue_t that compiled code reads: the upper halves of the apertures.
void write_queue(Loan& queue) {
    queue.put(64, static_cast<std::uint32_t>(shared_aperture >> 32));
    queue.put(68, static_cast<std::uint32_t>(private_aperture >> 32));
}

std::optional<Fault> refuse(const Launch& launch, const Dispatch& d) {
    const auto say = [&](const std::string& text) {
        return Fault{"invalid launch", d.kernel->name + ": " + text};
    };
    for (unsigned axis = 0; axis < 3; ++axis)
        if (launch.grid[axis] == 0 || launch.block[axis] == 0)
            return say("grid " + triple(launch.grid) + " and block " + triple(launch.block) +
                       " must not hold 0");
    const std::uint64_t items = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (items > 1024)
        return say("block " + triple(launch.block) + " has more than 1024 work-items");
    if (d.lds_bytes > lds_per_unit)
        return say(std::to_string(d.lds_bytes) + " bytes of LDS, a compute unit has " +
                   std::to_string(lds_per_unit));
    const std::uint32_t waves = static_cast<std::uint32_t>((items + lanes - 1) / lanes);
    const std::uint32_t registers = round_up(d.kernel->vgprs + d.kernel->agprs, 8);
    const std::uint32_t held =
        std::min(waves_per_simd_limit, registers_per_simd / std::max(8u, registers)) * 4;
    if (waves > held)
        return say(std::to_string(waves) + " waves of " + std::to_string(registers) +
                   " registers do not fit on a compute unit");
    return std::nullopt;
}

void set_time(LaunchResult& result, std::span<double> costs, const Dispatch& d, double memory_stretch) {
    result.clock_ghz = d.device.clock_ghz;
    if (result.timing.empty()) {
        result.cycles = launch_cycles(costs, d.device, 1);
    } else {
        const timing::LaunchTime time =
            timing::model_launch(costs, result.timing, d.device, occupancy(d), memory_stretch);
        result.cycles = time.cycles;
        result.clock_ghz = time.clock_ghz;
        result.load = time.load;
    }
    result.seconds = result.cycles / (result.clock_ghz * 1e9);
}

} // namespace

struct Engine::Impl {
    Memory& memory;
    DeviceConfig config;
    std::mutex mutex; ///< one launch at a time
    std::vector<std::unique_ptr<Workgroup>> spare;
    /// What the sanitizer asks of the code that ran last.
    std::weak_ptr<CodeObject> traits_of;
    std::shared_ptr<const std::vector<sanitizer::Traits>> traits;
    LaunchMemo memo;
};

Engine::Engine(Memory& memory, DeviceConfig config)
    : impl_(new Impl{memory, config, {}, {}, {}, {}, LaunchMemo(memory)}) {}
Engine::~Engine() = default;
const DeviceConfig& Engine::config() const noexcept {
    return impl_->config;
}

LaunchResult Engine::run(const Launch& launch) {
    const std::scoped_lock lock(impl_->mutex);
    LaunchResult result;
    Dispatch d;
    d.device = impl_->config;
    d.code = dynamic_cast<const CodeObjectImpl*>(launch.code.get());
    d.kernel = launch.kernel;
    d.grid = launch.grid;
    d.block = launch.block;
    d.lds_bytes = launch.kernel->static_lds + launch.dynamic_lds;
    const bool dynamic_stack = (launch.kernel->properties >> 11 & 1) != 0; // LLVM AMDGPUUsage
    d.scratch_bytes = round_up(
        dynamic_stack ? std::max(launch.kernel->scratch, launch.stack_size) : launch.kernel->scratch, 16);
    if (result.fault = refuse(launch, d); result.fault)
        return result;
    // Another order of workgroups and waves is a new experiment even on the same data, and a sanitizer must
    // see.
    const bool remember = launch.repeat && !launch.sanitize && !launch.grid_model && d.device.seed == 0;
    if (const LaunchResult* earlier = remember ? impl_->memo.find(launch) : nullptr) {
        result = *earlier;
        result.repeated = true;
        return result;
    }
    d.work_items = launch.block[0] * launch.block[1] * launch.block[2];
    d.waves = (d.work_items + lanes - 1) / lanes;
    d.entry = d.code->at(launch.kernel->entry);

    Loan kernarg(impl_->memory, std::max<std::uint64_t>(launch.kernarg.size(), launch.kernel->kernarg_size),
                 d.device.ordinal);
    if (!launch.kernarg.empty())
        std::memcpy(reinterpret_cast<void*>(kernarg.address()), launch.kernarg.data(), launch.kernarg.size());
    d.kernarg = kernarg.address();
    Loan packet(impl_->memory, 64, d.device.ordinal), queue(impl_->memory, 256, d.device.ordinal);
    d.packet = packet.address();
    d.queue = queue.address();
    write_packet(packet, d);
    write_queue(queue);
    if (launch.grid_model)
        return timing::time_grid(d, impl_->memory, launch, occupancy(d));

    std::optional<sanitizer::Session> session;
    if (launch.sanitize) {
        if (impl_->traits == nullptr || impl_->traits_of.lock() != launch.code) {
            impl_->traits = std::make_shared<const std::vector<sanitizer::Traits>>(
                sanitizer::traits_of(d.code->instructions()));
            impl_->traits_of = launch.code;
        }
        session.emplace(d, impl_->memory, impl_->traits);
    }
    Run run(d, impl_->memory, launch, impl_->spare, session ? &*session : nullptr);
    const unsigned wanted =
        d.device.threads != 0 ? d.device.threads : std::max(1u, std::thread::hardware_concurrency());
    const auto helpers = static_cast<unsigned>(std::min<std::uint64_t>(wanted, run.workgroups())) - 1;
    std::vector<std::thread> threads;
    for (unsigned n = 0; n < helpers; ++n)
        threads.emplace_back([&run] { run.work(); });
    run.work();
    for (std::thread& thread : threads)
        thread.join();

    if (impl_->spare.size() > wanted) // of kernels whose workgroups took turns
        impl_->spare.resize(wanted);

    result.fault = run.fault();
    if (session)
        result.sanitizer = std::make_shared<const sanitizer::Report>(session->finish(result.fault));
    result.instructions = run.instructions();
    if (!result.fault) {
        result.timing = run.take_reports();
        const std::optional<timing::MeasuredWorkgroup> measured = run.measured();
        set_time(result, run.costs(), d,
                 measured ? timing::memory_stretch(d, impl_->memory, *measured, occupancy(d)) : 1);
        if (remember)
            impl_->memo.store(launch, run.take_uses(), result);
    }
    return result;
}

} // namespace zyfa::sim
