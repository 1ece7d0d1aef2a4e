// SPDX-License-Identifier: Apache-2.0
#include "sweep/html_report.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "sweep/agreement.hpp"
#include "sweep/progress.hpp"

namespace zyfa::sweep {

namespace {

constexpr const char* style = R"(
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--accent:#2a78d6;--bad:#c8372d;--good:#1a8a4a}
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1200px;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{font-weight:600;background:var(--soft)}td.n,th.n{text-align:right;white-space:nowrap}
code{font-size:.85em;overflow-wrap:anywhere}.bad{color:var(--bad)}.good{color:var(--good)}.dim{opacity:.7}
.tiles{display:flex;flex-wrap:wrap;gap:.7rem;margin:1rem 0}
.tile{border:1px solid var(--line);border-radius:.5rem;padding:.5rem .9rem}.tile b{display:block;font-size:1.4rem}
.wide{overflow-x:auto}svg text{font:11px system-ui,sans-serif;fill:currentColor}
)";

std::string escape(std::string_view text) {
    std::string out;
    for (const char c : text)
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    return out;
}

std::string percent(double share) {
    return fmt::format("{:.1f}%", 100 * share);
}

std::string microseconds(double ms) {
    return ms > 0 ? fmt::format("{:.1f}", 1000 * ms) : "-";
}

double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Row {
    std::string cells;
    Row& text(std::string_view value) {
        cells += "<td>" + escape(value) + "</td>";
        return *this;
    }
    Row& code(std::string_view value) {
        cells += "<td><code>" + escape(value) + "</code></td>";
        return *this;
    }
    Row& number(std::string_view value) {
        cells += "<td class=n>" + escape(value) + "</td>";
        return *this;
    }
    template <class Number>
    Row& count(Number value) {
        return number(std::to_string(value));
    }
    Row& marked(std::string_view value, const char* mark) {
        cells += fmt::format("<td class={}>{}</td>", mark, escape(value));
        return *this;
    }
};

struct Column {
    const char* name;
    bool number = false;
};

std::string table(const std::vector<Column>& columns, const std::vector<Row>& rows) {
    std::string html = "<div class=wide><table><thead><tr>";
    for (const Column& column : columns)
        html += fmt::format("<th{}>{}</th>", column.number ? " class=n" : "", column.name);
    html += "</tr></thead><tbody>";
    for (const Row& row : rows)
        html += "<tr>" + row.cells + "</tr>\n";
    return html + "</tbody></table></div>\n";
}

/// Bars of how many winners lie in each interval of spread.
std::string histogram(const std::vector<double>& shares) {
    constexpr int bins = 20, width = 28, height = 90;
    const double most = std::max(0.01, *std::max_element(shares.begin(), shares.end()));
    std::vector<int> counts(bins);
    for (const double share : shares)
        ++counts[std::min(bins - 1, static_cast<int>(share / most * bins))];
    const int tallest = *std::max_element(counts.begin(), counts.end());
    std::string svg = fmt::format("<svg width={} height={} role=img aria-label='Histogram of the spread'>",
                                  bins * width + 40, height + 40);
    for (int i = 0; i < bins; ++i) {
        const int bar = counts[i] * height / tallest;
        svg += fmt::format("<rect x={} y={} width={} height={} fill='var(--accent)'/>", i * width + 20,
                           height - bar + 14, width - 2, bar);
        if (counts[i] > 0)
            svg += fmt::format("<text x={} y={} text-anchor=middle>{}</text>", i * width + 20 + width / 2,
                               height - bar + 11, counts[i]);
        if (i % 5 == 0)
            svg += fmt::format("<text x={} y={}>{}</text>", i * width + 20, height + 30,
                               percent(most * i / bins));
    }
    return svg + fmt::format("<text x={} y={} text-anchor=end>{}</text></svg>\n", bins * width + 20,
                             height + 30, percent(most));
}

class Page {
  public:
    explicit Page(const Board& board) : board_(board), plan_(board.plan()), progress_(progress_of(board)) {}

    std::string run() {
        head();
        versions();
        for (const LaneProgress& lane : progress_.lanes)
            lane_section(lane);
        failures();
        workers();
        left_out();
        if (!damage_.empty()) {
            html_ += "<h2>Damaged results</h2>";
            for (const std::string& line : damage_)
                html_ += "<p class=bad>" + escape(line) + "</p>";
        }
        return std::move(html_) + "</body></html>\n";
    }

  private:
    void tile(const std::string& value, const std::string& name) {
        html_ += "<div class=tile><b>" + escape(value) + "</b>" + escape(name) + "</div>";
    }

    void head() {
        html_ += "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
                 "content='width=device-width'><title>Sweep " +
                 escape(plan_.spec.name) + "</title><style>" + style + "</style></head><body>\n<h1>Sweep " +
                 escape(plan_.spec.name) + "</h1>";
        const bool simulated =
            std::any_of(progress_.lanes.begin(), progress_.lanes.end(),
                        [](const LaneProgress& lane) { return lane.lane.device.simulated; });
        html_ += fmt::format(
            "<p class=dim>Planned {:%Y-%m-%d %H:%M} UTC with zyfa {}, plan {}.{}</p>",
            fmt::gmtime(static_cast<std::time_t>(plan_.unix_time)), escape(plan_.version), escape(plan_.id),
            simulated ? " <b>Lanes marked simulated ran on the simulator: their times are computed, not "
                        "measured.</b>"
                      : "");
        std::uint64_t complete = 0, partial = 0, failed = 0, changed = 0, all = 0;
        double busy = 0;
        for (const LaneProgress& lane : progress_.lanes) {
            complete += lane.complete;
            partial += lane.partial;
            failed += lane.failed;
            changed += lane.changed;
            all += lane.tasks;
            busy += lane.busy_s;
        }
        html_ += "<div class=tiles>";
        tile(std::to_string(plan_.problems), "problems");
        tile(std::to_string(plan_.tasks.size()), "tasks");
        tile(fmt::format("{} / {}", complete, all), "complete, over lanes");
        tile(std::to_string(partial), "seen on too few sites");
        tile(std::to_string(failed), "failed");
        tile(std::to_string(changed), "changed winners");
        tile(fmt::format("{:.1f} h", busy / 3600), "GPU time");
        html_ += "</div>\n";
    }

    void versions() {
        html_ += "<h2>Versions</h2>";
        if (progress_.mixed_versions)
            html_ += "<p class=bad><b>Mixed versions.</b> Nodes run unlike drivers, firmware or HIP. Their "
                     "measurements are kept apart: each lane ran the sweep for itself and has a pack of its "
                     "own.</p>";
        std::vector<Row> rows;
        for (const LaneProgress& lane : progress_.lanes) {
            std::string sites;
            for (const std::string& site : lane.sites)
                sites += (sites.empty() ? "" : ", ") + site;
            const Versions& v = lane.lane.versions;
            const DeviceIdentity& d = lane.lane.device;
            rows.push_back(Row()
                               .code(lane.lane.id())
                               .text(fmt::format("{}, {} CUs, {} XCDs{}{}", d.target, d.compute_units, d.xcds,
                                                 d.partition.empty() ? "" : ", " + d.partition,
                                                 d.simulated ? ", simulated" : ""))
                               .text(v.hip)
                               .text(v.driver)
                               .text(v.firmware)
                               .text(v.toolchain)
                               .text(sites)
                               .number(fmt::format("{} / {}", lane.complete, lane.tasks))
                               .count(lane.partial)
                               .count(lane.failed));
        }
        html_ += table({{"Lane"},
                        {"Device"},
                        {"HIP"},
                        {"Driver"},
                        {"Firmware"},
                        {"Toolchain"},
                        {"Sites"},
                        {"Complete", true},
                        {"Few sites", true},
                        {"Failed", true}},
                       rows);
    }

    void lane_section(const LaneProgress& lane) {
        std::vector<Winner> winners;
        const std::string id = lane.lane.id();
        for (std::size_t task = 0; task < plan_.tasks.size(); ++task)
            if (const auto results = read_results(board_, id, task, damage_); !results.empty())
                winners.push_back(settle(plan_, task, results));
        html_ += "<h2>Lane " + escape(id) + "</h2><p class=dim>" + escape(lane.lane.text()) + "</p>";
        if (winners.empty()) {
            html_ += "<p>Nothing is measured yet.</p>";
            return;
        }
        spread(winners);
        changed(winners);
        all_winners(winners);
    }

    void spread(const std::vector<Winner>& winners) {
        std::vector<double> shares;
        std::map<std::string, std::vector<double>> speed; // site -> its time over the median site's
        for (const Winner& winner : winners) {
            std::vector<double> times;
            for (const SiteView& site : winner.sites)
                if (site.fallback_ms > 0)
                    times.push_back(site.fallback_ms);
            if (times.size() < 2)
                continue;
            shares.push_back(winner.spread);
            const double middle = median(times);
            for (const SiteView& site : winner.sites)
                if (site.fallback_ms > 0)
                    speed[site.site].push_back(site.fallback_ms / middle - 1);
        }
        html_ += "<h3>Spread between sites</h3>";
        if (shares.empty()) {
            html_ += "<p>No problem was measured on two sites.</p>";
            return;
        }
        html_ += fmt::format(
            "<p>The default schedule's time differs between sites by {} in the median and {} "
            "at most, over {} problems.</p>",
            percent(median(shares)), percent(*std::max_element(shares.begin(), shares.end())), shares.size());
        html_ += histogram(shares);
        std::vector<Row> rows;
        for (const auto& [site, ratios] : speed)
            rows.push_back(
                Row()
                    .text(site)
                    .count(ratios.size())
                    .number(fmt::format("{:+.1f}%", 100 * median(ratios)))
                    .number(fmt::format("{:+.1f}%", 100 * *std::max_element(ratios.begin(), ratios.end()))));
        html_ += table(
            {{"Site"}, {"Problems", true}, {"Time against the middle, median", true}, {"Slowest", true}},
            rows);
    }

    void changed(const std::vector<Winner>& winners) {
        std::vector<Row> rows;
        for (const Winner& winner : winners)
            if (winner.changed)
                for (const SiteView& site : winner.sites)
                    rows.push_back(
                        Row()
                            .text(to_string(plan_.tasks[winner.task].problem))
                            .text(site.site)
                            .code(site.choice)
                            .number(microseconds(site.choice_ms))
                            .number(microseconds(site.winner_ms))
                            .number(std::isfinite(site.behind) ? percent(site.behind) : "failed")
                            .marked(site.holds ? "holds" : "does not hold", site.holds ? "good" : "bad"));
        html_ += "<h3>Changed winners</h3>";
        if (rows.empty()) {
            html_ += "<p>None: all sites chose alike.</p>";
            return;
        }
        html_ += "<p>Problems for which sites chose differently, and how the winner fares on each.</p>";
        html_ += table({{"Problem"},
                        {"Site"},
                        {"The site's own choice"},
                        {"Its time, us", true},
                        {"Winner there, us", true},
                        {"Behind", true},
                        {"Winner"}},
                       rows);
    }

    void all_winners(const std::vector<Winner>& winners) {
        std::vector<Row> rows;
        for (const Winner& winner : winners) {
            std::string times, standard;
            for (const SiteView& site : winner.sites) {
                times += (times.empty() ? "" : ", ") + site.site + " " + microseconds(site.winner_ms);
                standard += (standard.empty() ? "" : ", ") + microseconds(site.fallback_ms);
            }
            rows.push_back(
                Row()
                    .text(to_string(plan_.tasks[winner.task].problem))
                    .code(winner.schedule.canonical())
                    .marked(to_string(winner.hold), winner.hold == Hold::everywhere ? "good" : "bad")
                    .text(times)
                    .text(standard)
                    .number(winner.sites.size() > 1 ? percent(winner.spread) : "-")
                    .text(winner.evidence.verdict)
                    .text(winner.evidence.data_profile));
        }
        html_ += "<h3>Winners</h3>";
        html_ += table({{"Problem"},
                        {"Winner"},
                        {"Holds"},
                        {"Times, us"},
                        {"Default, us"},
                        {"Spread", true},
                        {"Verdict"},
                        {"Data"}},
                       rows);
    }

    void failures() {
        if (progress_.failures.empty())
            return;
        std::vector<Row> rows;
        for (const Failure& failure : progress_.failures)
            rows.push_back(Row()
                               .text(failure.problem)
                               .text(to_string(failure.stage))
                               .text(failure.site)
                               .marked(failure.reason, "bad"));
        html_ += "<h2>Failures</h2>" + table({{"Problem"}, {"Stage"}, {"Site"}, {"Reason"}}, rows);
    }

    void workers() {
        std::vector<Row> rows;
        for (const WorkerProgress& work : progress_.workers) {
            const WorkerState& worker = board_.workers()[work.worker];
            rows.push_back(Row()
                               .code(worker.info.id)
                               .text(worker.info.site)
                               .text(worker.info.job)
                               .code(worker.info.lane.id())
                               .text(worker.ended   ? worker.end_reason
                                     : worker.alive ? "alive"
                                                    : "lost")
                               .count(work.done)
                               .count(work.failed)
                               .count(work.lost)
                               .number(fmt::format("{:.0f}", work.busy_s)));
        }
        html_ += "<h2>Workers</h2>" + table({{"Worker"},
                                             {"Site"},
                                             {"Job"},
                                             {"Lane"},
                                             {"State"},
                                             {"Done", true},
                                             {"Failed", true},
                                             {"Lost", true},
                                             {"Busy, s", true}},
                                            rows);
    }

    void left_out() {
        const auto list = [&](const char* title, const std::vector<LeftOut>& entries) {
            if (entries.empty())
                return;
            std::vector<Row> rows;
            for (const LeftOut& entry : entries)
                rows.push_back(Row().text(entry.problem).text(entry.reason));
            html_ += fmt::format("<h2>{}</h2>", title) + table({{"Problem"}, {"Reason"}}, rows);
        };
        list("Excluded by the sweep", plan_.excluded);
        list("Not computed by this build", plan_.refused);
        list("Tuned on drawn data", plan_.drawn);
    }

    const Board& board_;
    const Plan& plan_;
    Progress progress_;
    std::vector<std::string> damage_;
    std::string html_;
};

} // namespace

std::string html_report(const Board& board) {
    return Page(board).run();
}

} // namespace zyfa::sweep
