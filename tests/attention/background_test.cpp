// SPDX-License-Identifier: Apache-2.0
// Sustained tuning while a context is idle, and what it may change.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "attention/background.hpp"
#include "attention/context_impl.hpp"
#include "core/measurement.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

using call::BackgroundJob;
using call::BackgroundTuner;

const Problem problem = bf16(1, 2, 1, 128, 128);

ContextOptions idle_tuning(const std::string& folder) {
    ContextOptions options = simulator(Mode::tune, folder);
    options.background_tuning = true;
    options.background_idle_s = 0.05;
    options.tune_budget_s = 1;
    return options;
}

template <class Condition>
bool comes_true(Condition condition) {
    for (int i = 0; i < 12000 && !condition(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
}

std::string policy_of(const Explanation& explanation) {
    return Evidence::from_json(explanation.evidence_json).winner.policy;
}

} // namespace

TEST_CASE(
    "what a short tuning has decided is tuned again in the background, and serves from the next call on") {
    const TemporaryFolder folder;
    Context context(idle_tuning(folder.path()));
    CHECK(policy_of(tune_shortly(context, problem)) == "model");
    call_and_check(context, problem);
    REQUIRE(comes_true([&] { return context.counters().retuned == 1; }));
    const Explanation now = context.prepare(problem);
    CHECK(policy_of(now) == "sustained");
    CHECK(now.resident);
    call_and_check(context, problem);
    Context other(simulator(Mode::must_hit, folder.path()));
    CHECK(policy_of(other.prepare(problem)) == "sustained");
}

TEST_CASE("what a race on measured time has decided is tuned again too") {
    const TemporaryFolder folder;
    Context context(idle_tuning(folder.path()));
    call::PrepareRequest request;
    request.tuning.emplace().budget_s = 0;
    request.tuning->policy = "race";
    request.tuning->candidates.emplace();
    request.tuning->race.most_launches = 2;
    CHECK(policy_of(context.impl().prepare(problem, 0, request)) == "race");
    REQUIRE(comes_true([&] { return context.counters().retuned == 1; }));
    CHECK(policy_of(context.prepare(problem)) == "sustained");
}

TEST_CASE("stable: the verdict is stored, and what serves the shape stays") {
    const TemporaryFolder folder;
    ContextOptions options = idle_tuning(folder.path());
    options.stable = true;
    Context context(options);
    tune_shortly(context, problem);
    REQUIRE(comes_true([&] { return context.counters().retuned == 1; }));
    CHECK(policy_of(context.prepare(problem)) == "model");
    call_and_check(context, problem);
    Context other(simulator(Mode::must_hit, folder.path()));
    CHECK(policy_of(other.prepare(problem)) == "sustained");
}

TEST_CASE("a job begins when nobody calls, is given up when somebody does, and begins again") {
    std::atomic<int> begun{0}, finished{0};
    std::atomic<bool> hold{true};
    BackgroundTuner tuner(
        0.01,
        [&](const BackgroundJob&, const std::function<bool()>& interrupted) {
            ++begun;
            while (hold && !interrupted())
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (interrupted())
                return BackgroundTuner::Done::interrupted;
            ++finished;
            return BackgroundTuner::Done::finished;
        },
        [](const std::string&) {});
    tuner.offer({problem, 0, "key"});
    tuner.offer({problem, 0, "key"}); // known
    REQUIRE(comes_true([&] { return begun == 1; }));
    tuner.called();
    REQUIRE(comes_true([&] { return begun == 2; }));
    CHECK(finished == 0);
    hold = false;
    REQUIRE(comes_true([&] { return finished == 1; }));
    tuner.offer({problem, 0, "key"});
    tuner.offer({problem, 0, "another"});
    REQUIRE(comes_true([&] { return finished == 2; }));
}

TEST_CASE("a context that ends gives its background tuning up") {
    const TemporaryFolder folder;
    Context context(idle_tuning(folder.path()));
    call_and_check(context, problem);
    std::this_thread::sleep_for(std::chrono::milliseconds(150)); // most likely in the middle of it
}
