// SPDX-License-Identifier: Apache-2.0
// Tables and plots of each winner.
#include "cli/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "cli/plot.hpp"
#include "core/profile_key.hpp"
#include "tuner/statistics.hpp"

namespace zyfa::cli {

namespace {

constexpr const char* head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>zyfa: tuning report</title><style>
body{font:14px/1.45 system-ui,sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#1f2328}
h1{font-size:1.6em}h2{margin-top:2.5em;border-bottom:1px solid #d0d7de;font-size:1.2em}
table{border-collapse:collapse;margin:1em 0}th,td{padding:.2em .7em;text-align:left;border-bottom:1px solid #eaeef2}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:.9em;word-break:break-all}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(430px,1fr));gap:1em}
svg{width:100%;height:auto}.title{font-weight:600;font-size:13px}.tick,.name{font-size:11px;fill:#57606a}
.grid{stroke:#eaeef2}.unsettled{fill:#fff1c2}.winner{background:#dafbe1}.failed{color:#9a2b32}
</style></head><body>
<h1>Tuning report</h1>
)";

bool measured(const Measurement& m) {
    return m.status == CandidateStatus::measured && m.median_ms > 0;
}

std::string known(double value, const char* unit, int digits = 3) {
    return value > 0 ? fmt::format("{:.{}g} {}", value, digits, unit) : "not known";
}

std::string interval(const Measurement& m) {
    if (m.gain_low == 0 && m.gain_high == 0)
        return "";
    return fmt::format("{:+.2f}% ({:+.2f}% to {:+.2f}%)", 100 * m.gain, 100 * m.gain_low, 100 * m.gain_high);
}

std::string label(const Measurement& m) {
    return fmt::format("{}: {:.4g} ms", m.schedule.canonical(), m.median_ms);
}

std::string facts(const ReportEntry& entry) {
    const Evidence& e = entry.evidence;
    const char* simulated = e.winner.simulated ? " (simulated)" : "";
    std::string out = "<table>";
    const auto row = [&out](const char* name, const std::string& value) {
        if (!value.empty())
            out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, value);
    };
    row("winner", "<code>" + escaped(entry.schedule) + "</code>");
    row("verdict", escaped(e.verdict));
    row("winner against default", fmt::format("{:.4g} ms against {:.4g} ms{} {}", e.winner.median_ms,
                                              e.fallback.median_ms, simulated, interval(e.winner)));
    row("measured with", escaped(entry.policy) + ", data: " + escaped(entry.profile));
    row("blocks and launches", fmt::format("{} blocks, {} launches", e.winner.blocks, e.winner.launches));
    row("clock, slowest chiplet", known(e.winner.clock_ghz, "GHz") + simulated);
    row("power", known(e.winner.power_w, "W"));
    row("temperature", known(e.winner.temperature_c, "&deg;C"));
    row("throttle state", e.winner.power_w > 0 ? fmt::format("{:#x}", e.winner.throttle) : "not known");
    row("throughput", known(e.winner.tflops, "TFLOP/s", 4) + simulated);
    row("efficiency", known(e.winner.tflop_per_joule, "TFLOP/J"));
    row("telemetry", escaped(e.telemetry));
    if (e.block_ms > 0)
        row("protocol", fmt::format("settled after {}, {}, blocks of {:.0f} ms, {:.1f} s of device time",
                                    e.settled_ms < 0 ? "never" : fmt::format("{:.0f} ms", e.settled_ms),
                                    e.period_ms > 0 ? fmt::format("slow swing of {:.0f} ms", e.period_ms)
                                                    : std::string("no slow swing"),
                                    e.block_ms, 1e-3 * e.device_ms));
    row("accuracy", fmt::format("relative RMS {:.3g} on {} rows; a plain emulation: {:.3g}",
                                e.winner.relative_rms, e.winner.gate_rows, e.winner.emulation_relative_rms));
    row("versions", "<code>" + escaped(e.versions_json) + "</code>");
    row("key", "<code>" + escaped(entry.key_text) + "</code>");
    return out + "</table>\n";
}

std::string plots(const ReportEntry& entry) {
    Plot error{"Candidates by time and error",
               "ms per launch",
               "relative RMS",
               {"candidate", "winner", "default"},
               {},
               0};
    Plot clock{"Candidates by time and clock",
               "ms per launch",
               "GHz, slowest chiplet",
               {"candidate", "winner", "default"},
               {},
               0};
    for (const Measurement& m : entry.measurements) {
        if (!measured(m))
            continue;
        const std::size_t kind = m.schedule.canonical() == entry.schedule         ? 1
                                 : m.schedule == entry.evidence.fallback.schedule ? 2
                                                                                  : 0;
        error.points.push_back({m.median_ms, m.relative_rms, kind, label(m)});
        if (m.clock_ghz > 0)
            clock.points.push_back({m.median_ms, m.clock_ghz, kind, label(m)});
    }
    Plot series{"Launch times under load",
                "s of device time",
                "ms per launch",
                {"default", "finalist 1", "finalist 2", "finalist 3"},
                {},
                0};
    for (const SeriesPoint& point : entry.evidence.series)
        series.points.push_back({1e-3 * point.at_ms, point.ms, point.finalist,
                                 fmt::format("{:.2f} s: {:.4g} ms", 1e-3 * point.at_ms, point.ms)});
    if (entry.evidence.settled_ms > 0)
        series.shaded_to = 1e-3 * entry.evidence.settled_ms;
    Plot blocks{"Block means: winner and default", "block", "ms per launch", {"default", "winner"}, {}, 0};
    const auto add = [&blocks](const Measurement& m, std::size_t kind) {
        for (std::size_t i = 0; i < m.block_ms.size(); ++i)
            blocks.points.push_back({static_cast<double>(i + 1), m.block_ms[i], kind, label(m)});
    };
    add(entry.evidence.fallback, 0);
    if (!(entry.evidence.winner.schedule == entry.evidence.fallback.schedule))
        add(entry.evidence.winner, 1);
    return "<div class=\"plots\">\n" + error.svg() + clock.svg() + series.svg() + blocks.svg() + "</div>\n";
}

std::string axes_table(const ReportEntry& entry) {
    const std::vector<AxisValue> values = axis_values(entry.measurements, entry.evidence.fallback.schedule);
    if (values.empty())
        return {};
    double best = values.front().best_ms;
    for (const AxisValue& value : values)
        best = std::min(best, value.best_ms);
    std::string out =
        "<h3>What matters</h3><p>Best and median time of the candidates that have a value, against the "
        "best of all; and what changing the default's value to it does, all else being equal.</p><table><tr>"
        "<th>parameter</th><th>value</th><th class=\"n\">candidates</th><th class=\"n\">best</th><th "
        "class=\"n\">median</th><th class=\"n\">against the default's value</th></tr>\n";
    const auto percent = [](double ratio) { return fmt::format("{:+.2f}%", 100 * (ratio - 1)); };
    for (const AxisValue& value : values)
        out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
                           "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                           escaped(value.axis), escaped(value.value), value.candidates,
                           percent(value.best_ms / best), percent(value.median_ms / best),
                           value.pairs == 0 ? ""
                                            : fmt::format("{} ({} to {}; {} pairs)", percent(value.ratio),
                                                          percent(value.least_ratio),
                                                          percent(value.most_ratio), value.pairs));
    return out + fmt::format("</table><p>{:.0f}% of the measured candidates are within 1% of the best.</p>\n",
                             100 * share_near_best(entry.measurements, 0.01));
}

std::string other_data_table(const std::vector<ReportEntry>& entries) {
    const std::vector<OtherData> rows = on_other_data(entries);
    if (rows.empty())
        return {};
    std::string out =
        "<section><h2>Winners on other data</h2>\n<p>How the winner of one data profile does on "
        "the data of another one.</p><table><tr><th>key</th><th>winner of</th><th>on</th><th "
        "class=\"n\">ms</th><th class=\"n\">against that data's own winner</th><th "
        "class=\"n\">against the default</th></tr>\n";
    for (const OtherData& row : rows)
        out += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td class=\"n\">{:.4g}</td><td "
                           "class=\"n\">{:+.2f}%</td><td class=\"n\">{}</td></tr>\n",
                           escaped(row.key), escaped(row.winner_of), escaped(row.on), row.ms,
                           100 * (row.ms / row.best_ms - 1),
                           row.default_ms > 0 ? fmt::format("{:+.2f}%", 100 * (row.ms / row.default_ms - 1))
                                              : std::string("not measured"));
    return out + "</table></section>\n";
}

std::string candidates_table(const ReportEntry& entry) {
    std::vector<const Measurement*> order;
    for (const Measurement& m : entry.measurements)
        order.push_back(&m);
    std::sort(order.begin(), order.end(), [](const Measurement* a, const Measurement* b) {
        if (measured(*a) != measured(*b))
            return measured(*a);
        return measured(*a) && a->median_ms != b->median_ms ? a->median_ms < b->median_ms : a < b;
    });
    std::string out = "<details><summary>All " + std::to_string(order.size()) +
                      " candidates</summary><table><tr><th>schedule</th><th class=\"n\">ms</th><th "
                      "class=\"n\">range</th><th class=\"n\">against default</th><th class=\"n\">relative "
                      "RMS</th><th>status</th></tr>\n";
    for (const Measurement* const one : order) {
        const Measurement& m = *one;
        const bool winner = m.schedule.canonical() == entry.schedule;
        out += fmt::format(
            "<tr class=\"{}\"><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td class=\"n\">{}</td><td>{}{}{}</td></tr>\n",
            winner        ? "winner"
            : measured(m) ? ""
                          : "failed",
            escaped(m.schedule.canonical()), measured(m) ? fmt::format("{:.5g}", m.median_ms) : "",
            measured(m) ? fmt::format("{:.5g} to {:.5g}", m.min_ms, m.max_ms) : "", interval(m),
            measured(m) ? fmt::format("{:.2e}", m.relative_rms) : "", to_string(m.status),
            m.message.empty() ? "" : ": ", escaped(m.message));
    }
    return out + "</table></details>\n";
}

} // namespace

std::vector<AxisValue> axis_values(const std::vector<Measurement>& measurements, const Schedule& fallback) {
    std::map<std::string, std::map<std::string, std::vector<double>>> times, ratios;
    std::map<std::string, double> by_schedule;
    for (const Measurement& m : measurements)
        if (measured(m))
            by_schedule[m.schedule.canonical()] = m.median_ms;
    for (const Measurement& m : measurements) {
        if (!measured(m))
            continue;
        for (const auto& [name, value] : m.schedule.parameters) {
            times[name][to_string(value)].push_back(m.median_ms);
            const auto usual = fallback.parameters.find(name);
            if (usual == fallback.parameters.end() || usual->second == value)
                continue;
            Schedule twin = m.schedule;
            twin.parameters[name] = usual->second;
            if (const auto its = by_schedule.find(twin.canonical()); its != by_schedule.end())
                ratios[name][to_string(value)].push_back(m.median_ms / its->second);
        }
    }
    std::vector<AxisValue> result;
    for (const auto& [axis, values] : times) {
        if (values.size() < 2)
            continue;
        for (const auto& [value, ms] : values) {
            AxisValue& one = result.emplace_back();
            one.axis = axis;
            one.value = value;
            one.best_ms = *std::min_element(ms.begin(), ms.end());
            one.median_ms = tuner::spread(ms).median;
            one.candidates = ms.size();
            const std::vector<double>& pairs = ratios[axis][value];
            if (pairs.empty())
                continue;
            const tuner::Spread spread = tuner::spread(pairs);
            one.pairs = pairs.size();
            one.ratio = spread.median;
            one.least_ratio = spread.min;
            one.most_ratio = spread.max;
        }
    }
    return result;
}

std::vector<OtherData> on_other_data(const std::vector<ReportEntry>& entries) {
    const auto shape = [](const ReportEntry& entry) {
        return std::string(key_without_profile(entry.key_text));
    };
    const auto time = [](const ReportEntry& entry, const std::string& schedule) {
        for (const Measurement& m : entry.measurements)
            if (measured(m) && m.schedule.canonical() == schedule)
                return m.median_ms;
        return 0.0;
    };
    std::vector<OtherData> result;
    std::set<std::tuple<std::string, std::string, std::string>> seen;
    for (const ReportEntry& on : entries)
        for (const ReportEntry& of : entries) {
            if (on.profile == of.profile || shape(on) != shape(of) ||
                !seen.insert({shape(on), of.profile, on.profile}).second)
                continue;
            const double ms = time(on, of.schedule), best = time(on, on.schedule);
            if (ms > 0 && best > 0)
                result.push_back({shape(on), of.profile, on.profile, ms, best,
                                  time(on, on.evidence.fallback.schedule.canonical())});
        }
    return result;
}

double share_near_best(const std::vector<Measurement>& measurements, double tolerance) {
    std::vector<double> times;
    for (const Measurement& m : measurements)
        if (measured(m))
            times.push_back(m.median_ms);
    if (times.empty())
        return 0;
    const double limit = *std::min_element(times.begin(), times.end()) * (1 + tolerance);
    return static_cast<double>(
               std::count_if(times.begin(), times.end(), [&](double t) { return t <= limit; })) /
           static_cast<double>(times.size());
}

std::string report_page(const std::vector<ReportEntry>& entries) {
    std::string out = head;
    out += fmt::format("<p>{} {}.</p>\n", entries.size(), entries.size() == 1 ? "winner" : "winners");
    for (const ReportEntry& entry : entries)
        out += "<section><h2>" + escaped(entry.title) + "</h2>\n" + facts(entry) + plots(entry) +
               axes_table(entry) + candidates_table(entry) + "</section>\n";
    out += other_data_table(entries);
    return out + "</body></html>\n";
}

} // namespace zyfa::cli
