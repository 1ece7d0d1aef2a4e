// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/grid_launch.hpp"

#include <algorithm>
#include <memory>

#include "sim/cost_model.hpp"
#include "sim/fault.hpp"
#include "sim/timing/grid_run.hpp"
#include "sim/timing/timed_run.hpp"

namespace zyfa::sim::timing {

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
        TimedRunOptions options;
        options.keep_events = launch.keep_events;
        options.instruction_limit = dispatch.device.instruction_limit;
        auto report = std::make_shared<const TimingReport>(run_timed(group, *thread, options));
        for (const Wave& wave : group.waves)
            result.instructions += wave.instructions;

        // The measured workgroup pays its start once more than the estimate's constant says.
        const double start = static_cast<double>(report->first_matrix != 0 ? report->first_matrix : 0);
        const double estimate = workgroup_cycles(group, dispatch.device.simds) - workgroup_start_cycles;
        GridOptions grid;
        grid.per_unit = per_unit;
        grid.start_cycles = start;
        grid.cycles_per_estimate =
            estimate > 0 ? (static_cast<double>(report->cycles) - start) / estimate : 1;
        const GridReport outcome = run_grid(dispatch, memory, grid);

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
