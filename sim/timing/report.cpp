// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/report.hpp"

#include <algorithm>

namespace zyfa::sim::timing {

double TimingReport::matrix_busy(Cycle begin, Cycle end) const {
    if (end <= begin)
        return 0;
    Cycle busy = 0;
    auto it = std::lower_bound(
        matrix_intervals.begin(), matrix_intervals.end(), begin,
        [](const auto& interval, Cycle at) { return interval.first + interval.second <= at; });
    for (; it != matrix_intervals.end() && it->first < end; ++it)
        busy += std::min(end, it->first + it->second) - std::max(begin, it->first);
    return static_cast<double>(busy) / static_cast<double>(end - begin);
}

Activity TimingReport::activity() const {
    Activity result;
    if (cycles == 0)
        return result;
    const auto elapsed = static_cast<double>(cycles);
    for (unsigned kind = 0; kind < matrix_kinds; ++kind)
        result.matrix[kind] = static_cast<double>(matrix[kind]) / (4 * elapsed);
    result.toggles = toggles;
    for (const PipeCycles& pipes : simd)
        result.vector += static_cast<double>(pipes.vector) / (4 * elapsed);
    result.lds = static_cast<double>(simd[0].lds) / (2 * elapsed); // two ports
    return result;
}

TimingReport::Steady TimingReport::steady(unsigned phases) const {
    Steady result;
    if (barriers.size() < 3)
        return result;
    result.phases = std::min<unsigned>(phases, static_cast<unsigned>(barriers.size()) - 1);
    const std::size_t first = (barriers.size() - 1 - result.phases) / 2;
    const Cycle begin = barriers[first], end = barriers[first + result.phases];
    result.matrix_busy = matrix_busy(begin, end);
    result.phase_cycles = static_cast<double>(end - begin) / result.phases;
    return result;
}

} // namespace zyfa::sim::timing
