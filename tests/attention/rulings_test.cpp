// SPDX-License-Identifier: Apache-2.0
// Pins, bans and roll backs as a caller meets them.
#include <string>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "tests/attention/rig.hpp"
#include "zyfa/error.hpp"
#include "zyfa/winners.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const Problem problem = bf16(1, 2, 1, 128, 128);

std::vector<Schedule> space() {
    return templates::enumerate(templates::template_for(problem), problem);
}
std::string fallback() {
    return space().at(0).canonical();
}

} // namespace

TEST_CASE(
    "a pinned schedule runs from the next call on, in this context and in others, and survives tuning") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::replay, folder.path()));
    CHECK(context.prepare(problem).schedule == fallback());
    const std::string other = space().at(1).canonical();
    CHECK(pin(context, problem, other, "seen to be stable") == other);
    call_and_check(context, problem);
    const Explanation now = context.explain(problem);
    CHECK(now.schedule == other);
    CHECK(now.pinned);
    CHECK(now.reason.find("pinned by hand (seen to be stable)") != std::string::npos);
    CHECK(now.resident);
    {
        Context tuner(simulator(Mode::tune, folder.path()));
        CHECK(tuner.prepare(problem).schedule == other); // no tuning: the answer is known
        CHECK(tuner.counters().timed == 0);
        const Explanation tuned = tune_shortly(tuner, problem, true);
        CHECK(tuner.counters().timed > 0);
        CHECK(tuned.schedule == other);
        CHECK(tuned.pinned);
        call_and_check(tuner, problem);
    }
    {
        Context off(simulator(Mode::off, folder.path()));
        CHECK(off.prepare(problem).schedule == fallback());
    }
    CHECK(rulings(context, problem).size() == 1);
    CHECK(unpin(context, problem));
    CHECK_FALSE(unpin(context, problem));
    CHECK(context.prepare(problem).schedule != ""); // whatever the tuning has left or the default
    CHECK_FALSE(context.explain(problem).pinned);
    CHECK_THROWS_AS(pin(context, problem, "another_template{tau=1.0}"), Error);
}

TEST_CASE("a banned default makes way for its neighbour, in every mode but off, and does not take part in a "
          "tuning") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::replay, folder.path()));
    context.prepare(problem);
    ban(context, problem, fallback(), "crashes on driver X");
    const Explanation now = context.prepare(problem);
    CHECK(now.schedule != fallback());
    CHECK(now.banned == std::vector<std::string>{fallback()});
    CHECK(now.reason.find("the default schedule is banned") != std::string::npos);
    call_and_check(context, problem);
    const Explanation tuned = tune_shortly(context, problem);
    CHECK(tuned.schedule != fallback());
    const std::string winner = tuned.schedule;
    ban(context, problem, winner);
    CHECK(context.explain(problem).schedule != winner);
    CHECK(context.prepare(problem).schedule != fallback());
    CHECK(context.prepare(problem).schedule != winner);
    {
        Context must(simulator(Mode::must_hit, folder.path()));
        CHECK(error_of([&] { must.prepare(problem); }).code() == ErrorCode::cache_miss);
    }
    CHECK(unban(context, problem, winner));
    CHECK_FALSE(unban(context, problem, winner));
    CHECK(context.prepare(problem).schedule == winner);
    CHECK(context.prepare(problem).cache == CacheResult::hit);
}

TEST_CASE("a choice that was begun before a ruling does not outlast it") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::tune, folder.path()));
    struct Ruling : tuner::MeasurementSink {
        explicit Ruling(Context& on) : context(on) {}
        void measured(const Measurement&) override { context.impl().forget(); }
        Context& context;
    } in_the_middle(context);
    call::PrepareRequest request;
    request.tuning.emplace().budget_s = 0;
    request.tuning->candidates = std::vector<Schedule>{space().at(1)};
    request.sink = &in_the_middle;
    const Explanation chosen = context.impl().prepare(problem, 0, request);
    CHECK(chosen.resident); // for the call that asked
    CHECK_FALSE(context.explain(problem).resident);
    pin(context, problem, space().at(2).canonical());
    call_and_check(context, problem);
    CHECK(context.explain(problem).schedule == space().at(2).canonical());
}

TEST_CASE("a roll back brings the former winner back") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::replay, folder.path()));
    cache::Cache& cache = context.impl().services().cache();
    const Explanation tuned = tune_shortly(context, problem);
    CHECK_THROWS_AS(roll_back(context, problem), Error);
    const WinnerKey key = winner_key(problem, call::identity_of(context.impl().services().device(0)));
    cache::Found found = cache.find(key.digest()).value();
    for (const Schedule& schedule :
         space()) // another schedule that this build makes the same binary of or not
        if (schedule.canonical() != tuned.schedule) {
            found.winner.schedule = schedule.canonical();
            break;
        }
    cache.publish(found.winner, found.binary);
    REQUIRE(former_winners(context, problem).size() == 1);
    CHECK(former_winners(context, problem)[0].schedule == tuned.schedule);
    CHECK(roll_back(context, problem) == tuned.schedule);
    CHECK(context.prepare(problem).schedule == tuned.schedule);
    call_and_check(context, problem);
}
