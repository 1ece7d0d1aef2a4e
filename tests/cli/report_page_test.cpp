// SPDX-License-Identifier: Apache-2.0
// The report's page and its plots, on made-up measurements.
#include "cli/report_page.hpp"

#include <doctest/doctest.h>

#include "cli/plot.hpp"
#include "core/profile_key.hpp"

using namespace zyfa;
using namespace zyfa::cli;

namespace {

Measurement candidate(double tau, const char* map, double ms) {
    Measurement m;
    m.schedule = Schedule::parse("t{map=" + std::string(map) + ",tau=" + std::to_string(tau) + "}");
    m.median_ms = m.min_ms = m.max_ms = ms;
    m.relative_rms = 1e-3;
    m.clock_ghz = 2.1;
    m.simulated = true;
    return m;
}

ReportEntry entry() {
    ReportEntry e;
    e.measurements = {candidate(1, "runs", 2.0), candidate(2, "runs", 1.5), candidate(1, "none", 2.4),
                      candidate(2, "none", 1.51)};
    e.measurements.push_back(candidate(4, "none", 0));
    e.measurements.back().status = CandidateStatus::wrong;
    e.measurements.back().message = "O <b> & more";
    e.evidence.winner = e.measurements[1];
    e.evidence.winner.block_ms = {1.5, 1.51, 1.49};
    e.evidence.fallback = e.measurements[0];
    e.evidence.fallback.block_ms = {2.0, 2.01, 1.99};
    e.evidence.verdict = "faster by 33.3%";
    e.evidence.settled_ms = 700;
    e.evidence.block_ms = 1000;
    for (int i = 0; i < 50; ++i)
        e.evidence.series.push_back({40.0 * i, i < 20 ? 1.8 : 2.0, 0});
    e.schedule = e.measurements[1].schedule.canonical();
    e.title = "one";
    return e;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++n;
    return n;
}

} // namespace

TEST_CASE("what an axis does: best and median of the measured candidates that have a value") {
    const std::vector<AxisValue> values =
        axis_values(entry().measurements, entry().evidence.fallback.schedule);
    REQUIRE(values.size() == 4);
    CHECK(values[0].axis == "map");
    CHECK(values[0].value == "none");
    CHECK(values[0].best_ms == 1.51);
    CHECK(values[0].candidates == 2);
    CHECK(values[0].pairs == 2); // against map=runs, the default's, at either tau
    CHECK(values[0].least_ratio == doctest::Approx(1.51 / 1.5));
    CHECK(values[0].most_ratio == doctest::Approx(2.4 / 2.0));
    CHECK(values[1].pairs == 0);
    CHECK(values[3].best_ms == 1.5);
    CHECK(share_near_best(entry().measurements, 0.01) == doctest::Approx(0.5));
    CHECK(share_near_best({}, 0.01) == 0);
}

TEST_CASE("the page is one file that loads nothing, with plots, the settled part, and text escaped") {
    const std::string page = report_page({entry()});
    CHECK(count(page, "<svg") == 4);
    CHECK(count(page, "</svg>") == 4);
    CHECK(page.find("class=\"unsettled\"") != std::string::npos);
    CHECK(page.find("O &lt;b&gt; &amp; more") != std::string::npos);
    CHECK(page.find("<b>") == std::string::npos);
    for (const char* loads : {"http://", "https://", "src=", "href=", "<script", "@import", "url("})
        CHECK(page.find(loads) == std::string::npos);
    CHECK(page.find("2 ms") != std::string::npos);
    CHECK(page.find("(simulated)") != std::string::npos);
    CHECK(page.find("nan") == std::string::npos);
    CHECK(count(page, "<section>") == count(page, "</section>"));
}

TEST_CASE("a winner on one profile's data is shown on another's") {
    ReportEntry real = entry(), drawn = entry();
    drawn.key_text = key_with_profile("zyfa.winner/1 a=1", "gaussian");
    drawn.profile = "gaussian";
    real.key_text = key_with_profile("zyfa.winner/1 a=1", "captured:x");
    real.profile = "captured:x";
    real.schedule = real.measurements[3].schedule.canonical();
    real.measurements[3].median_ms = 1.0;
    const std::vector<OtherData> rows = on_other_data({drawn, real});
    REQUIRE(rows.size() == 2);
    CHECK(rows[1].winner_of == "gaussian");
    CHECK(rows[1].on == "captured:x");
    CHECK(rows[1].ms == 1.5);
    CHECK(rows[1].best_ms == 1.0);
    CHECK(rows[1].default_ms == 2.0);
    CHECK(report_page({drawn, real}).find("Winners on other data") != std::string::npos);
    real.key_text = key_with_profile("zyfa.winner/1 a=2", "captured:x"); // another shape
    CHECK(on_other_data({drawn, real}).empty());
}

TEST_CASE("a plot of nothing is nothing; of one point it has axes") {
    CHECK(Plot{}.svg().empty());
    Plot plot;
    plot.points.push_back({1, 1, 0, "a"});
    CHECK(plot.svg().find("nan") == std::string::npos);
    CHECK(count(plot.svg(), "<circle") == 1);
}
