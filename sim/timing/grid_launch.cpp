// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/grid_launch.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sim/cost_model.hpp"
#include "sim/fault.hpp"
#include "sim/timing/address_slice.hpp"
#include "sim/timing/clock_model.hpp"
#include "sim/timing/grid_run.hpp"
#include "sim/timing/line_stream.hpp"
#include "sim/timing/slice_run.hpp"
#include "sim/timing/timed_run.hpp"

namespace zyfa::sim::timing {

namespace {

/// Of the measured workgroup: some pairs of query tiles at 8K, a few changes of tiles at 32K.
constexpr Cycle measured_cycles = 400'000;

/// Why the slice does not stand for the kernel; empty: it asked for what the measured workgroup asked for.
std::string compare(const Dispatch& dispatch, const Memory& memory, std::uint64_t workgroup,
                    const LineStream& measured, const AddressSlice& slice, std::uint64_t instructions) {
    if (!slice.refused.empty())
        return slice.refused;
    const auto thread = std::make_unique<ThreadContext>(memory);
    thread->view.refresh();
    LineStream stream(dispatch.waves, Parameters{}.l2_line);
    thread->observer = &stream;
    Workgroup group;
    start_workgroup(dispatch, workgroup, group);
    SliceRun run(slice, dispatch.waves, stream);
    run.enter(group);
    group.wave_quantum = 4096;
    try {
        // Twice the instructions, since the ways that it goes at branches may be longer.
        for (std::uint64_t done = 0; done <= 2 * instructions && !group.done();
             done += 8 * group.wave_quantum) {
            run.run(group, *thread, 8 * group.wave_quantum);
            if (measured.begins(stream))
                return {};
        }
    } catch (const FaultError&) { // what it needs was cut away
        return "addresses that depend on data";
    }
    return measured.begins(stream) ? "" : "addresses that depend on data";
}

/// All workgroups in time, at a clock; without permission to execute whole kernels, nothing if that takes it.
std::optional<GridReport> follow(const Dispatch& dispatch, const Memory& memory,
                                 const MeasuredWorkgroup& measured, unsigned per_unit, double clock_ghz,
                                 bool may_execute) {
    const std::span<const Instruction> code = dispatch.code->instructions();
    const TimingReport& report = measured.report;
    const AddressSlice slice = address_slice(code, static_cast<std::size_t>(dispatch.entry - code.data()),
                                             dispatch.work_items % lanes == 0, report.profile);
    const std::string whole =
        compare(dispatch, memory, report.workgroup, measured.lines, slice, measured.instructions);
    if (!whole.empty() && !may_execute)
        return std::nullopt;
    // The measured workgroup pays its start once more than the estimate's constant says.
    const auto start = static_cast<double>(report.first_matrix);
    const double work = static_cast<double>(report.cycles) - start,
                 estimate = measured.estimate - workgroup_start_cycles;
    GridOptions grid;
    grid.per_unit = per_unit;
    // L2 runs at the shader clock, what lies behind it does not.
    grid.memory.infinity_cache_bytes_per_cycle *= ClockParameters{}.maximum_ghz / clock_ghz;
    grid.memory.hbm_bytes_per_cycle *= ClockParameters{}.maximum_ghz / clock_ghz;
    grid.start_cycles = start;
    grid.cycles_per_estimate = estimate > 0 ? work / estimate : 1;
    for (unsigned n = 0; n < farther; ++n)
        grid.late_per_cycle[n] = static_cast<double>(report.late[n]) / std::max(1.0, work);
    grid.slice = whole.empty() ? &slice : nullptr;
    GridReport outcome = run_grid(dispatch, memory, grid);
    outcome.executed_whole = whole;
    return outcome;
}

} // namespace

double memory_stretch(const Dispatch& dispatch, const Memory& memory, const MeasuredWorkgroup& measured,
                      unsigned per_unit) {
    try {
        const std::optional<GridReport> grid =
            follow(dispatch, memory, measured, per_unit, sustained_ghz(measured.report.activity()), false);
        return grid && grid->compute_cycles > 0 ? std::max(1.0, grid->cycles / grid->compute_cycles) : 1;
    } catch (const FaultError&) { // an address out of data that the launch has changed
        return 1;
    }
}

LaunchResult time_grid(const Dispatch& dispatch, const Memory& memory, const Launch& launch,
                       unsigned per_unit) {
    LaunchResult result;
    try {
        const std::uint64_t workgroups =
            std::uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
        const auto thread = std::make_unique<ThreadContext>(memory);
        thread->view.refresh();
        Workgroup group;
        start_workgroup(dispatch, workgroups / 2, group);
        LineStream stream(dispatch.waves, Parameters{}.l2_line);
        thread->observer = &stream;
        TimedRunOptions options;
        options.keep_events = launch.keep_events;
        options.instruction_limit = dispatch.device.instruction_limit;
        options.stop = dispatch.device.stop;
        options.cycle_limit = measured_cycles;
        auto report = std::make_shared<const TimingReport>(run_timed(group, *thread, options));
        for (const Wave& wave : group.waves)
            result.instructions += wave.instructions;

        const MeasuredWorkgroup measured{*report, stream, result.instructions,
                                         workgroup_cycles(group, dispatch.device.simds)};
        const GridReport outcome =
            *follow(dispatch, memory, measured, per_unit, ClockParameters{}.maximum_ghz, true);

        Activity activity = report->activity();
        const double busy =
            outcome.work_cycles / (outcome.cycles * std::max(1u, dispatch.device.compute_units));
        for (double& share : activity.matrix)
            share *= busy;
        activity.vector *= busy;
        activity.lds *= busy;
        result.cycles = outcome.cycles;
        result.load = current_load(activity);
        result.clock_ghz =
            sustained_ghz(activity) * dispatch.device.clock_ghz / ClockParameters{}.maximum_ghz;
        result.seconds = result.cycles / (result.clock_ghz * 1e9);
        result.timing.push_back(std::move(report));
        result.grid = std::make_shared<const GridReport>(outcome);
    } catch (const FaultError& error) {
        result.fault =
            Fault{error.kind, error.kind + " in kernel " + dispatch.kernel->name + "\n  " + error.detail};
    }
    return result;
}

} // namespace zyfa::sim::timing
