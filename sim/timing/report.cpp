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
    constexpr std::size_t fewest = 4;
    std::size_t longest = 0, longest_begin = 0, run_begin = 0;
    auto store = stores.begin();
    for (std::size_t n = 0; n + 1 < barriers.size(); ++n) {
        store = std::lower_bound(store, stores.end(), barriers[n]);
        if (barriers[n] < first_matrix || barriers[n + 1] > last_matrix ||
            (store != stores.end() && *store < barriers[n + 1])) {
            run_begin = n + 1;
        } else if (n + 1 - run_begin > longest) {
            longest = n + 1 - run_begin;
            longest_begin = run_begin;
        }
    }
    Steady result;
    const std::size_t count = std::min<std::size_t>(phases, longest / 2);
    if (count < fewest)
        return result;
    const std::size_t first = longest_begin + (longest - count) / 2;
    result.phases = static_cast<unsigned>(count);
    result.begin = barriers[first];
    result.end = barriers[first + count];
    result.matrix_busy = matrix_busy(result.begin, result.end);
    result.phase_cycles = static_cast<double>(result.end - result.begin) / static_cast<double>(count);
    return result;
}

} // namespace zyfa::sim::timing
