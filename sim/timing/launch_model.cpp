// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/launch_model.hpp"

#include <algorithm>
#include <numeric>

#include "sim/cost_model.hpp"

namespace zyfa::sim::timing {

namespace {

/// Both models know a start that does not grow with the work.
void refine(std::span<double> estimates, std::span<const std::shared_ptr<const TimingReport>> reports) {
    double measured = 0, estimated = 0;
    for (const auto& report : reports) {
        measured += std::max(0.0, static_cast<double>(report->cycles) - workgroup_start_cycles);
        estimated += std::max(0.0, estimates[report->workgroup] - workgroup_start_cycles);
    }
    if (estimated > 0)
        for (double& estimate : estimates)
            estimate = workgroup_start_cycles +
                       std::max(0.0, estimate - workgroup_start_cycles) * measured / estimated;
    for (const auto& report : reports)
        estimates[report->workgroup] = static_cast<double>(report->cycles);
}

/// Activity over the measured workgroups' own time.
Activity average(std::span<const std::shared_ptr<const TimingReport>> reports) {
    Activity sum;
    double cycles = 0;
    for (const auto& report : reports) {
        const Activity a = report->activity();
        const auto weight = static_cast<double>(report->cycles);
        cycles += weight;
        sum.vector += weight * a.vector;
        sum.lds += weight * a.lds;
        for (unsigned kind = 0; kind < matrix_kinds; ++kind) {
            sum.matrix[kind] += weight * a.matrix[kind];
            sum.toggles[kind] += weight * a.matrix[kind] * a.toggles[kind];
        }
    }
    for (unsigned kind = 0; kind < matrix_kinds; ++kind) {
        if (sum.matrix[kind] > 0)
            sum.toggles[kind] /= sum.matrix[kind];
        sum.matrix[kind] /= cycles;
    }
    sum.vector /= cycles;
    sum.lds /= cycles;
    return sum;
}

} // namespace

LaunchTime model_launch(std::span<double> estimates,
                        std::span<const std::shared_ptr<const TimingReport>> reports,
                        const DeviceConfig& device, unsigned per_unit, double memory_stretch) {
    refine(estimates, reports);
    LaunchTime time;
    time.activity = average(reports);
    // Workgroups that share a compute unit hide each other's waits until a pipe is full.
    const std::uint64_t units = std::max(1u, device.compute_units);
    const auto sharing = static_cast<unsigned>(
        std::clamp<std::uint64_t>((estimates.size() + units - 1) / units, 1, std::max(1u, per_unit)));
    const double busiest = std::max({time.activity.matrix_total(), time.activity.vector, time.activity.lds});
    const double stretch = std::max(1.0, sharing * busiest);
    const double work = std::accumulate(estimates.begin(), estimates.end(), 0.0);
    for (double& estimate : estimates)
        estimate *= stretch;
    time.cycles = launch_cycles(estimates, device, sharing) * memory_stretch;

    const double busy_share = time.cycles > 0 ? work / (static_cast<double>(units) * time.cycles) : 0;
    for (double& share : time.activity.matrix)
        share *= busy_share;
    time.activity.vector *= busy_share;
    time.activity.lds *= busy_share;
    time.load = current_load(time.activity);
    time.clock_ghz = sustained_ghz(time.activity) * device.clock_ghz / ClockParameters{}.maximum_ghz;
    return time;
}

} // namespace zyfa::sim::timing
