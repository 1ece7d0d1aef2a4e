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

void print_measurements(const std::vector<Measurement>& measurements, const char* first, std::size_t most) {
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
    const std::size_t passed = static_cast<std::size_t>(std::count_if(order.begin(), order.end(), measured));
    // What all of them were taken on is said once.
    const std::string note = passed > 1 ? order.front()->message : "";
    const bool shared = !note.empty() && std::all_of(order.begin(), order.end(), [&](const Measurement* m) {
        return !measured(m) || m->message == note;
    });
    std::vector<Table::Column> columns{
        {order.front()->simulated ? "simulated" : "time", true}, {"relative RMS", true}, {"status"}};
    for (const std::string& name : schedules.varying) {
        columns.push_back({name});
    }
    columns.push_back({""});
    Table table(std::move(columns));
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Measurement* m = order[i];
        const bool is_first = m == &measurements.front();
        if (measured(m) && i >= most && !is_first) {
            ++left_out;
            continue;
        }
        std::vector<std::string> row{measured(m) ? milliseconds(m->median_ms) : "-",
                                     m->relative_rms > 0 ? fmt::format("{:.2e}", m->relative_rms) : "-",
                                     to_string(m->status)};
        for (const std::string& name : schedules.varying) {
            row.push_back(value_of(m->schedule, name));
        }
        std::string last = is_first && first ? first : "";
        if (!m->provenance.empty()) { // "FILE (edited assembly, BLAKE2b ...)"
            last += (last.empty() ? "" : "; ") + m->provenance.substr(0, m->provenance.rfind(", BLAKE2b")) +
                    (m->provenance.find(", BLAKE2b") == std::string::npos ? "" : ")");
        }
        if (!(shared && measured(m)) && !m->message.empty()) {
            last += (last.empty() ? "" : "; ") + m->message;
        }
        row.push_back(std::move(last));
        table.add(std::move(row));
    }
    fmt::print("{}\n", schedules.common.canonical());
    table.print();
    if (left_out > 0) {
        fmt::print("and {} slower ones, up to {}; --json lists all\n", left_out,
                   milliseconds(order[passed - 1]->median_ms));
    }
    if (shared) {
        fmt::print("{}\n", note);
    }
}

} // namespace zyfa::cli
