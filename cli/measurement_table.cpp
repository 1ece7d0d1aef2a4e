// SPDX-License-Identifier: Apache-2.0
#include "cli/measurement_table.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/core.h>

#include "cli/console.hpp"

namespace zyfa::cli {

namespace {

bool measured(const Measurement* m) {
    return m->status == CandidateStatus::measured;
}

std::string value_of(const Schedule& schedule, const std::string& name) {
    const auto found = schedule.parameters.find(name);
    return found == schedule.parameters.end() ? "-" : to_string(found->second);
}

/// What all schedules have in common, and the parameters in which they differ.
struct Split {
    Schedule common;
    std::vector<std::string> varying;
};

Split split(const std::vector<const Measurement*>& measurements) {
    Split result;
    result.common = measurements.front()->schedule;
    std::set<std::string> names, templates;
    for (const Measurement* m : measurements) {
        templates.insert(m->schedule.template_name);
        for (const auto& [name, value] : m->schedule.parameters) {
            names.insert(name);
        }
    }
    for (const std::string& name : names) {
        const std::string first = value_of(result.common, name);
        if (std::any_of(measurements.begin(), measurements.end(),
                        [&](const Measurement* m) { return value_of(m->schedule, name) != first; })) {
            result.varying.push_back(name);
            result.common.parameters.erase(name);
        }
    }
    return result;
}

} // namespace

void print_measurements(const std::vector<Measurement>& measurements) {
    if (measurements.empty()) {
        return;
    }
    std::vector<const Measurement*> order;
    for (const Measurement& measurement : measurements) {
        order.push_back(&measurement);
    }
    const Split schedules = split(order);
    std::sort(order.begin(), order.end(), [](const Measurement* a, const Measurement* b) {
        if (measured(a) != measured(b)) {
            return measured(a);
        }
        return measured(a) && a->median_ms != b->median_ms ? a->median_ms < b->median_ms : a < b;
    });
    std::vector<Table::Column> columns{
        {order.front()->simulated ? "simulated" : "time", true}, {"relative RMS", true}, {"status"}};
    for (const std::string& name : schedules.varying) {
        columns.push_back({name});
    }
    columns.push_back({""});
    Table table(std::move(columns));
    for (const Measurement* m : order) {
        std::vector<std::string> row{measured(m) ? milliseconds(m->median_ms) : "-",
                                     m->relative_rms > 0 ? fmt::format("{:.2e}", m->relative_rms) : "-",
                                     to_string(m->status)};
        for (const std::string& name : schedules.varying) {
            row.push_back(value_of(m->schedule, name));
        }
        row.push_back(m->message);
        table.add(std::move(row));
    }
    fmt::print("{}\n", schedules.common.canonical());
    table.print();
}

} // namespace zyfa::cli
