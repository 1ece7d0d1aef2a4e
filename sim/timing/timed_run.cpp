// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/timed_run.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/fault.hpp"
#include "sim/timing/toggles.hpp"

namespace zyfa::sim::timing {

namespace {

/// Instructions of a wave between two looks at TimedRunOptions::stop.
constexpr std::uint64_t stop_interval = 4096;

/// Remembers the access of the instruction under way, and tells who watched before.
class Access final : public Observer {
  public:
    explicit Access(Observer* before) : before_(before) {}
    void access(Wave& wave, const Instruction& i, const std::uint64_t* addresses, std::uint64_t active,
                unsigned bytes) override {
        executed.addresses = addresses;
        executed.active = active;
        if (before_ != nullptr)
            before_->access(wave, i, addresses, active, bytes);
    }
    Executed executed;

  private:
    Observer* const before_;
};

void account(TimingReport& report, const Event& event, const Instruction& i, bool branch_taken) {
    PipeCycles& pipes = report.simd[event.wave % 4];
    // s_nop n stands for n + 1 instructions (CDNA4 ISA, S_NOP).
    const bool nop = i.kind == InstructionClass::control && i.mnemonic != nullptr &&
                     std::string_view(i.mnemonic) == "s_nop";
    pipes.issue += nop ? 4 * ((i.imm & 15u) + 1) : 4;
    switch (event.kind) {
    case InstructionClass::matrix:
        pipes.matrix += event.busy;
        report.matrix[static_cast<unsigned>(matrix_kind(i))] += event.busy;
        if (report.first_matrix == 0)
            report.first_matrix = event.issue;
        report.last_matrix = std::max(report.last_matrix, event.issue + event.busy);
        if (event.wave % 4 == 0)
            report.matrix_intervals.emplace_back(event.issue, event.busy);
        break;
    case InstructionClass::packed_fp32:
        pipes.packed += event.busy;
        pipes.matrix += event.busy;
        pipes.vector += event.busy;
        break;
    case InstructionClass::valu:
    case InstructionClass::transcendental:
        pipes.vector += event.busy;
        break;
    case InstructionClass::salu:
        pipes.scalar += 4;
        break;
    case InstructionClass::lds:
        report.simd[0].lds += event.busy;
        break;
    case InstructionClass::vmem:
    case InstructionClass::flat:
        report.simd[0].memory += event.busy;
        if ((i.flags & flag::store) != 0)
            report.stores.push_back(event.issue);
        break;
    default:
        break;
    }
    InstructionProfile& profile = report.profile[i.pc];
    ++profile.count;
    profile.taken += branch_taken ? 1 : 0;
    profile.busy += event.busy;
    profile.stalled[static_cast<unsigned>(event.stall)] += event.stalled;
    WaveProfile& wave = report.waves[event.wave];
    ++wave.instructions;
    wave.end = event.issue;
    wave.stalled[static_cast<unsigned>(event.stall)] += event.stalled;
}

/// Where SIMD 0's matrix pipe idles although a wave waits for it.
class IdleWatch {
  public:
    void see(const Event& event) {
        if (event.wave % 4 != 0)
            return;
        Wave& wave = waves_[event.wave / 4 % waves_.size()];
        wave.exists = true;
        if (event.kind == InstructionClass::matrix || event.kind == InstructionClass::packed_fp32) {
            close(event.issue);
            busy_until_ = std::max(busy_until_, event.issue + event.busy);
            wave.softmax = event.kind == InstructionClass::packed_fp32;
        } else if (event.kind == InstructionClass::valu || event.kind == InstructionClass::transcendental) {
            close(event.issue);
            wave.softmax = true;
        } else if (event.kind == InstructionClass::barrier) {
            close(event.issue);
            wave.waiting = true;
        }
    }
    void release(Cycle at) {
        close(at);
        for (Wave& wave : waves_)
            wave.waiting = false;
    }
    Cycle idle() const noexcept { return idle_; }

  private:
    struct Wave {
        bool exists = false, softmax = false, waiting = false;
    };
    /// Accounts the time since the last change of state.
    void close(Cycle now) {
        bool waiting = false, computing = false;
        for (const Wave& wave : waves_) {
            waiting |= wave.waiting;
            computing |= wave.exists && !wave.waiting && wave.softmax;
        }
        const Cycle begin = std::max(since_, busy_until_);
        if (waiting && computing && now > begin)
            idle_ += now - begin;
        since_ = std::max(since_, now);
    }
    std::array<Wave, 4> waves_{};
    Cycle since_ = 0, busy_until_ = 0, idle_ = 0;
};

} // namespace

TimingReport run_timed(Workgroup& group, ThreadContext& thread, const TimedRunOptions& options) {
    const auto count = static_cast<unsigned>(group.waves.size());
    CuModel model(options.parameters, count);
    IdleWatch idle;
    ToggleMeter toggles;
    std::size_t releases = 0;
    TimingReport report;
    report.workgroup = group.index;
    report.waves.resize(count);
    Observer* const before = thread.observer;
    Access access(before);
    thread.observer = &access;
    struct Restore {
        ThreadContext& thread;
        Observer* observer;
        ~Restore() { thread.observer = observer; }
    } restore{thread, before};
    for (Wave& wave : group.waves)
        wave.thread = &thread;

    while (!group.done()) {
        // The earliest issue; then the higher s_setprio; then the older wave (paper Section III-A).
        unsigned chosen = count;
        Readiness at;
        for (unsigned w = 0; w < count; ++w) {
            Wave& wave = group.waves[w];
            if (wave.state == WaveState::sleeping)
                wave.state = WaveState::running;
            if (wave.state != WaveState::running)
                continue;
            const Readiness r = model.ready(w, *wave.next);
            if (chosen == count || r.cycle < at.cycle ||
                (r.cycle == at.cycle && model.priority(w) > model.priority(chosen))) {
                chosen = w;
                at = r;
            }
        }
        group.next_wave = chosen == count ? 0 : chosen;
        if (chosen == count)
            throw FaultError{"hang", "every wave waits at a barrier that cannot be reached"};
        Wave& wave = group.waves[chosen];
        const Instruction& i = *wave.next++;
        ++wave.instructions;
        wave.cycles[static_cast<unsigned>(i.pipe)] += i.cycles; // what the cost model would have counted
        if (wave.instructions > options.instruction_limit)
            throw FaultError{"hang", "wave " + std::to_string(chosen) + " has executed " +
                                         std::to_string(wave.instructions) + " instructions without ending"};
        if (options.stop != nullptr && wave.instructions % stop_interval == 0 &&
            options.stop->load(std::memory_order_relaxed))
            throw FaultError{"hang", "wave " + std::to_string(chosen) + " has executed " +
                                         std::to_string(wave.instructions) +
                                         " instructions without ending and was stopped"};
        access.executed = Executed{};
        if (i.kind == InstructionClass::matrix)
            toggles.see(wave, i);
        if (!(wave.skipping && (i.flags & flag::vector) != 0))
            (i.execute_observed ? i.execute_observed : i.execute)(wave, i);
        access.executed.branch_taken = i.kind == InstructionClass::branch && wave.next != &i + 1;
        if (i.kind == InstructionClass::smem && i.mnemonic != nullptr) { // clocks read the model's time
            if (std::string_view(i.mnemonic) == "s_memtime")
                wave.set_s64(i.dst.index, at.cycle);
            else if (std::string_view(i.mnemonic) == "s_memrealtime")
                wave.set_s64(i.dst.index, static_cast<std::uint64_t>(static_cast<double>(at.cycle) /
                                                                     (10 * options.clock_ghz)));
        }
        const Event event = model.issue(chosen, i, at, access.executed);
        account(report, event, i, access.executed.branch_taken);
        idle.see(event);
        if (model.barrier_releases().size() != releases) {
            releases = model.barrier_releases().size();
            idle.release(model.barrier_releases().back());
        }
        if (options.keep_events)
            report.events.push_back(event);
        if (wave.state == WaveState::barrier)
            ++group.at_barrier;
        else if (wave.state == WaveState::ended)
            ++group.ended;
        if (group.at_barrier != 0 && group.at_barrier + group.ended == count) {
            for (Wave& waiting : group.waves)
                if (waiting.state == WaveState::barrier)
                    waiting.state = WaveState::running;
            group.at_barrier = 0;
        }
        if (at.cycle >= options.cycle_limit)
            break;
    }
    report.complete = group.done();
    report.barriers = model.barrier_releases();
    report.cycles = model.end();
    report.late = model.late();
    report.idle_beside_softmax = idle.idle();
    report.toggles = toggles.per_product();
    return report;
}

} // namespace zyfa::sim::timing
