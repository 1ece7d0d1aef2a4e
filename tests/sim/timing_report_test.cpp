// SPDX-License-Identifier: Apache-2.0
// What is read off a timed workgroup: the steady state lies inside one tile.
#include <doctest/doctest.h>

#include "sim/timing/report.hpp"

using namespace zyfa::sim::timing;

namespace {

/// Phases of 100 cycles, the matrix pipe busy for `busy` of them, and a barrier after each.
void phases(TimingReport& report, unsigned count, std::uint32_t busy) {
    for (unsigned n = 0; n < count; ++n) {
        const Cycle begin = report.barriers.back();
        report.matrix_intervals.emplace_back(begin, busy);
        report.barriers.push_back(begin + 100);
    }
    report.last_matrix = report.barriers.back();
}

TimingReport start() {
    TimingReport report;
    report.barriers = {1000};
    report.first_matrix = 1000;
    return report;
}

} // namespace

TEST_CASE("steady state: the middle of the longest tile, not the change of tiles in the middle of the loop") {
    TimingReport report = start();
    phases(report, 12, 90);
    report.stores.push_back(report.barriers.back() + 10); // a tile's results
    phases(report, 2, 20);
    phases(report, 11, 90);
    report.stores.push_back(report.barriers.back() + 10);
    phases(report, 1, 20);
    const TimingReport::Steady steady = report.steady();
    CHECK(steady.matrix_busy == doctest::Approx(0.9));
    CHECK(steady.phase_cycles == 100);
    CHECK(steady.phases == 6);
    CHECK(steady.begin >= 1000);
    CHECK(steady.end <= report.stores.front());
}

TEST_CASE("steady state: at most 40 phases, none where no tile is long enough") {
    TimingReport report = start();
    phases(report, 200, 60);
    CHECK(report.steady().phases == 40);
    CHECK(report.steady().matrix_busy == doctest::Approx(0.6));
    CHECK(report.steady(10).phases == 10);

    TimingReport brief = start();
    phases(brief, 7, 60);
    CHECK(brief.steady().phases == 0);
    CHECK(brief.steady().matrix_busy == 0);
    CHECK(TimingReport{}.steady().phases == 0);
}
