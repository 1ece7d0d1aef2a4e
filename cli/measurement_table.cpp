// SPDX-License-Identifier: Apache-2.0
#include "cli/measurement_table.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "cli/console.hpp"

namespace zyfa::cli {

void print_measurements(const std::vector<Measurement>& measurements) {
    std::vector<const Measurement*> order;
    for (const Measurement& measurement : measurements) {
        order.push_back(&measurement);
    }
    const auto measured = [](const Measurement* m) { return m->status == CandidateStatus::measured; };
    std::stable_sort(order.begin(), order.end(), [&](const Measurement* a, const Measurement* b) {
        return measured(a) != measured(b) ? measured(a) : measured(a) && a->median_ms < b->median_ms;
    });
    const bool simulated = !order.empty() && order.front()->simulated;
    Table table(
        {{simulated ? "time (simulated)" : "time", true}, {"relative RMS", true}, {"status"}, {"schedule"}});
    for (const Measurement* m : order) {
        table.add({measured(m) ? milliseconds(m->median_ms) : "-",
                   m->relative_rms > 0 ? fmt::format("{:.2e}", m->relative_rms) : "-", to_string(m->status),
                   m->schedule.canonical() + (m->message.empty() ? "" : "  # " + m->message)});
    }
    table.print();
}

} // namespace zyfa::cli
