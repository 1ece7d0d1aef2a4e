// SPDX-License-Identifier: Apache-2.0
// The winner of sites that do not quite agree.
#include "sweep/agreement.hpp"

#include "fixture.hpp"

using namespace zyfa;
using namespace zyfa::sweep;

namespace {

Winner winner_of(const std::vector<std::pair<double, double>>& times, double tolerance = 0.02) {
    Plan plan = three_tasks();
    plan.spec.agreement.tolerance = tolerance;
    std::vector<SiteResult> results;
    for (std::size_t i = 0; i < times.size(); ++i) {
        WorkerInfo worker;
        worker.site = worker.node = std::string(1, static_cast<char>('a' + i));
        worker.lane = FakeWorker::lane("6.14");
        results.push_back({worker, found(plan.tasks[0], i == 0 ? Stage::search : Stage::confirm,
                                         times[i].first, times[i].second)});
    }
    return settle(plan, 0, results);
}

} // namespace

TEST_CASE("sites that choose alike agree, however unlike their times are") {
    const Winner winner = winner_of({{1.0, 0.8}, {1.08, 0.9}});
    CHECK(winner.schedule == other);
    CHECK(winner.hold == Hold::everywhere);
    CHECK_FALSE(winner.changed);
    CHECK(winner.spread == doctest::Approx(0.08));
    CHECK(winner.evidence.verdict == "faster; holds on a, b");
    CHECK(winner.evidence.versions_json.find("\"driver\":\"6.14\"") != std::string::npos);
    CHECK(winner.evidence.versions_json.find("\"hip\":\"7.2\"") != std::string::npos);
}

TEST_CASE("a winner of one site says so") {
    const Winner winner = winner_of({{1.0, 0.8}});
    CHECK(winner.hold == Hold::alone);
    CHECK(winner.evidence.verdict == "faster; seen on a alone");
}

TEST_CASE("where sites differ, a choice that holds on all of them wins") {
    const Winner winner = winner_of({{1.0, 0.8}, {1.0, 0.99}}); // b: a tie, the default stays
    CHECK(winner.changed);
    CHECK(winner.schedule == other);
    CHECK(winner.hold == Hold::everywhere);
    CHECK(winner.sites[1].choice == standard.canonical());
}

TEST_CASE("the default schedule stays where it holds on all sites") {
    const Winner winner = winner_of({{1.0, 0.94}, {1.0, 1.0}}, 0.1);
    CHECK(winner.changed);
    CHECK(winner.schedule == standard);
    CHECK(winner.hold == Hold::everywhere);
    CHECK(winner.evidence.verdict == "default; holds on a, b");
}

TEST_CASE("where nothing holds on all sites the least bad one is taken and marked") {
    const Winner winner = winner_of({{1.0, 0.8}, {1.0, 1.1}});
    CHECK(winner.changed);
    CHECK(winner.schedule == other); // 10% behind on b; the default would be 25% behind on a
    CHECK(winner.hold == Hold::partly);
    CHECK(winner.evidence.verdict == "faster; holds on a, not on b");
}
