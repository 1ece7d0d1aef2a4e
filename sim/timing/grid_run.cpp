// SPDX-License-Identifier: Apache-2.0
// Workgroups advance by stretches of instructions, always the one that is earliest in time, so that those
// which run side by side meet in the caches as they would. A stretch ends when its computation has ended and
// what it asked of memory has come: kernels ask at least a stretch ahead of use.
#include "sim/timing/grid_run.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <queue>

#include "sim/cost_model.hpp"
#include "sim/fault.hpp"
#include "sim/interpreter.hpp"
#include "sim/timing/caches.hpp"
#include "sim/timing/line_stream.hpp"
#include "sim/timing/slice_run.hpp"

namespace zyfa::sim::timing {

namespace {

constexpr std::uint64_t stretch_instructions = 2048; ///< of a workgroup
constexpr std::uint64_t wave_turn = 256;

struct ObserveMemory {
    static constexpr bool observes_memory = true;
    void before(Wave&, const Instruction&) noexcept {}
    void after(Wave&, const Instruction&) noexcept {}
};

/// Lines that the stretch under way asks for.
class Lines final : public LineObserver {
  public:
    using LineObserver::LineObserver;
    void load(const Wave&, std::span<const std::uint64_t> of_load) override {
        lines.insert(lines.end(), of_load.begin(), of_load.end());
    }
    std::vector<std::uint64_t> lines;
};

/// A path that moves so many bytes per cycle, one request after the other.
class Path {
  public:
    explicit Path(double bytes_per_cycle) : rate_(bytes_per_cycle) {}
    double move(double at, double bytes) {
        free_ = std::max(free_, at) + bytes / rate_;
        return free_;
    }

  private:
    double rate_, free_ = 0;
};

class Grid {
  public:
    Grid(const Dispatch& dispatch, const Memory& memory, const GridOptions& options)
        : dispatch_(dispatch), options_(options), thread_(std::make_unique<ThreadContext>(memory)),
          lines_(options.unit.l2_line),
          infinity_cache_(options.memory.infinity_cache_bytes, options.unit.l2_line,
                          options.memory.infinity_cache_ways),
          infinity_path_(options.memory.infinity_cache_bytes_per_cycle),
          hbm_path_(options.memory.hbm_bytes_per_cycle) {
        thread_->view.refresh();
        thread_->observer = &lines_;
        if (options.slice != nullptr)
            slice_.emplace(*options.slice, dispatch.waves, lines_);
        const unsigned xcds = std::max(1u, dispatch.device.xcds);
        for (unsigned xcd = 0; xcd < xcds; ++xcd) {
            l2_.emplace_back(options.unit.l2_bytes, options.unit.l2_line, options.unit.l2_ways);
            l2_path_.emplace_back(options.memory.l2_bytes_per_cycle);
        }
        next_.resize(xcds);
        report_.workgroups = std::uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
    }

    GridReport run() {
        const auto xcds = static_cast<unsigned>(l2_.size());
        const unsigned slots = std::max(1u, dispatch_.device.compute_units / xcds * options_.per_unit);
        for (unsigned slot = 0; slot < slots; ++slot)
            for (unsigned xcd = 0; xcd < xcds; ++xcd)
                launch(xcd, 0, 0, nullptr);
        while (!ready_.empty()) {
            Running running = std::move(const_cast<Running&>(ready_.top()));
            ready_.pop();
            advance(running);
            if (running.group->done()) {
                report_.cycles = std::max(report_.cycles, running.time);
                report_.compute_cycles = std::max(report_.compute_cycles, running.computed);
                launch(running.xcd, running.time, running.computed, std::move(running.group));
            } else {
                ready_.push(std::move(running));
            }
        }
        return report_;
    }

  private:
    struct Running {
        double time = 0;     ///< when its next stretch begins
        double computed = 0; ///< the same if memory were never waited for
        double estimate = 0; ///< of the cost model up to here
        unsigned xcd = 0;
        std::unique_ptr<Workgroup> group;
        bool operator<(const Running& other) const {
            return time != other.time ? time > other.time : group->index > other.group->index;
        }
    };

    /// The XCD's next workgroup: linear number i runs on XCD i mod 8 (paper Section II; HipKittens).
    void launch(unsigned xcd, double time, double computed, std::unique_ptr<Workgroup> storage) {
        const std::uint64_t id = next_[xcd] * l2_.size() + xcd;
        if (id >= report_.workgroups)
            return;
        ++next_[xcd];
        Running running;
        running.time = time + options_.start_cycles;
        running.computed = computed + options_.start_cycles;
        report_.work_cycles += options_.start_cycles;
        running.estimate = workgroup_start_cycles;
        running.xcd = xcd;
        running.group = storage ? std::move(storage) : std::make_unique<Workgroup>();
        start_workgroup(dispatch_, id, *running.group);
        running.group->wave_quantum = wave_turn;
        if (slice_)
            slice_->enter(*running.group);
        ready_.push(std::move(running));
    }

    void advance(Running& running) {
        lines_.lines.clear();
        if (slice_) {
            slice_->run(*running.group, *thread_, stretch_instructions);
        } else {
            ObserveMemory hooks;
            run_workgroup(*running.group, *thread_, stretch_instructions, hooks);
        }
        for (const Wave& wave : running.group->waves)
            if (wave.instructions + wave.idle > dispatch_.device.instruction_limit)
                throw FaultError{"hang", "a wave went on without end while only addresses were followed"};
        if (dispatch_.device.stopped())
            throw FaultError{"hang", "stopped while only addresses were followed"};
        const double estimate =
            std::max(running.estimate, workgroup_cycles(*running.group, dispatch_.device.simds));
        const double compute = (estimate - running.estimate) * options_.cycles_per_estimate;
        running.estimate = estimate;
        const Fetched fetched = fetch(running.xcd, running.time);
        const double late = compute * (fetched.infinity_share * options_.late_per_cycle[0] +
                                       fetched.hbm_share * options_.late_per_cycle[1]);
        const double end = std::max(running.time + compute + late, fetched.arrival);
        running.computed += compute;
        report_.work_cycles += compute;
        report_.memory_wait_cycles += end - running.time - compute;
        running.time = end;
    }

    struct Fetched {
        double arrival = 0;                       ///< of the stretch's last line
        double infinity_share = 0, hbm_share = 0; ///< of its lines, by where they came from
    };
    Fetched fetch(unsigned xcd, double at) {
        if (lines_.lines.empty())
            return {at};
        const double line = options_.unit.l2_line;
        std::uint64_t missed_l2 = 0, missed_all = 0;
        for (const std::uint64_t number : lines_.lines) {
            const std::uint64_t address = number * options_.unit.l2_line;
            if (l2_[xcd].touch(address))
                continue;
            ++missed_l2;
            if (!infinity_cache_.touch(address))
                ++missed_all;
        }
        const std::uint64_t count = lines_.lines.size();
        report_.lines += count;
        report_.l2_hits += count - missed_l2;
        report_.infinity_cache_hits += missed_l2 - missed_all;
        report_.hbm_bytes += static_cast<double>(missed_all) * line;
        double end = l2_path_[xcd].move(at, static_cast<double>(count) * line) + options_.unit.l2_latency;
        if (missed_l2 != 0)
            end = std::max(end, infinity_path_.move(at, static_cast<double>(missed_l2) * line) +
                                    options_.unit.infinity_cache_latency);
        if (missed_all != 0)
            end = std::max(end, hbm_path_.move(at, static_cast<double>(missed_all) * line) +
                                    options_.unit.hbm_latency);
        const auto all = static_cast<double>(count);
        return {end, static_cast<double>(missed_l2 - missed_all) / all,
                static_cast<double>(missed_all) / all};
    }

    const Dispatch& dispatch_;
    GridOptions options_;
    std::unique_ptr<ThreadContext> thread_;
    Lines lines_;
    std::optional<SliceRun> slice_;
    std::vector<TagArray> l2_;
    TagArray infinity_cache_;
    std::vector<Path> l2_path_;
    Path infinity_path_, hbm_path_;
    std::vector<std::uint64_t> next_; ///< by XCD: workgroups launched
    std::priority_queue<Running> ready_;
    GridReport report_;
};

} // namespace

GridReport run_grid(const Dispatch& dispatch, const Memory& memory, const GridOptions& options) {
    return Grid(dispatch, memory, options).run();
}

} // namespace zyfa::sim::timing
