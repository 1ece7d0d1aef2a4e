// SPDX-License-Identifier: Apache-2.0
// Winners that were measured with another generator of code, another driver, or that somebody else is at.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "attention/freshness.hpp"
#include "core/keys.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const Problem problem = bf16(1, 4, 2, 200, 200);

cache::Cache store_in(const TemporaryFolder& folder) {
    return cache::Cache({.user_dir = folder.path(), .read_only = {}});
}

Digest key_on(Context& context) {
    return winner_key(problem, call::identity_of(context.impl().services().device(0))).digest();
}

/// Stores a winner that is not the default schedule, with a binary that this build does not make: what an
/// older zyfa leaves behind. Returns its schedule.
std::string leave_stale_winner(const TemporaryFolder& folder) {
    Digest key;
    {
        Context context(simulator(Mode::tune, folder.path()));
        tune_shortly(context, problem);
        key = key_on(context);
    }
    cache::Cache store = store_in(folder);
    cache::Found found = store.find(key).value();
    const templates::Template& form = templates::template_for(problem);
    found.winner.schedule = templates::enumerate(form, problem).back().canonical();
    BinaryKey older = BinaryKey::parse(found.binary.key_text);
    older.assembly = digest("what an older generator wrote");
    found.binary.key_text = older.canonical();
    found.binary.key = older.digest();
    found.winner.binary = found.binary.key;
    store.publish(found.winner, found.binary);
    return found.winner.schedule;
}

void set_driver(Context& context, const char* version) {
    using SetDevice = const char* (*)(int, const char*, const char*);
    const auto set = reinterpret_cast<SetDevice>(runtime_of(context)->extension("zyfaSimSetDevice"));
    REQUIRE(bool(set));
    CHECK(set(0, "driver", version) == nullptr);
}

} // namespace

TEST_CASE("a stale winner's schedule is assembled anew in mode replay, without tuning") {
    const TemporaryFolder folder;
    const std::string schedule = leave_stale_winner(folder);
    Context context(simulator(Mode::replay, folder.path()));
    CHECK(context.explain(problem).schedule == schedule);
    call_and_check(context, problem);
    const Explanation explanation = context.prepare(problem);
    CHECK(explanation.schedule == schedule);
    CHECK(explanation.cache == CacheResult::miss);
    CHECK_MESSAGE(explanation.reason.find("stale") != std::string::npos, explanation.reason);
    CHECK(context.counters().stale == 1);
    CHECK(context.counters().assembled == 1);
    CHECK(context.counters().timed == 0);
    Context next(simulator(Mode::replay, folder.path())); // the binary was kept
    call_and_check(next, problem);
    CHECK(next.counters().stale == 1);
    CHECK(next.counters().assembled == 0);
}

TEST_CASE("a stale winner is no hit in mode must_hit, and is not rebuilt") {
    const TemporaryFolder folder;
    leave_stale_winner(folder);
    Context context(simulator(Mode::must_hit, folder.path()));
    const Error error = error_of([&] { context.prepare(problem); });
    CHECK(error.code() == ErrorCode::cache_miss);
    CHECK(std::string(error.what()).find("stale") != std::string::npos);
    CHECK(context.counters().stale == 1);
    CHECK(context.counters().assembled == 0);
}

TEST_CASE("a stale winner is where mode tune starts, after the default, and a new winner replaces it") {
    const TemporaryFolder folder;
    const std::string schedule = leave_stale_winner(folder);
    {
        Context context(simulator(Mode::tune, folder.path()));
        call::PrepareRequest request;
        request.tuning.emplace();
        request.tuning->budget_s = 0;
        request.tuning->candidates.emplace(); // the default and what the store suggests
        context.impl().prepare(problem, 0, request);
        CHECK(context.counters().stale == 1);
        CHECK(context.counters().timed == 1); // the default is known from the first tuning
        const auto measured = store_in(folder).measurements(key_on(context));
        CHECK(std::any_of(measured.begin(), measured.end(), [&](const cache::MeasurementRecord& record) {
            return record.schedule == schedule;
        }));
    }
    Context context(simulator(Mode::must_hit, folder.path()));
    call_and_check(context, problem);
    CHECK(context.counters().hits == 1);
    CHECK(context.counters().stale == 0);
}

TEST_CASE("evidence of another driver is called old, and the winner is served") {
    const TemporaryFolder folder;
    {
        Context context(simulator(Mode::tune, folder.path()));
        set_driver(context, "6.12");
        tune_shortly(context, problem);
        CHECK(context.counters().old == 0);
    }
    Context context(simulator(Mode::must_hit, folder.path()));
    set_driver(context, "6.14");
    call_and_check(context, problem);
    const Explanation explanation = context.prepare(problem);
    CHECK(explanation.cache == CacheResult::hit);
    CHECK_MESSAGE(explanation.reason.find("driver 6.12 -> 6.14") != std::string::npos, explanation.reason);
    CHECK(context.counters().old == 1);
    CHECK(context.counters().hits == 1);
    CHECK(context.counters().assembled == 0);

    call::Freshener freshener;
    const cache::WinnerRecord winner = store_in(folder).find_winner(key_on(context)).value();
    const auto now = runtime::versions(*runtime_of(context), 0);
    CHECK(freshener.ask(winner, now).freshness == call::Freshness::old);
    CHECK(freshener.ask(winner, std::nullopt).freshness == call::Freshness::valid);
    set_driver(context, "sim");
}

TEST_CASE("versions that either side does not know are not a change") {
    const runtime::Versions now{.hip = "7.2", .driver = "6.14", .firmware = ""};
    CHECK(call::changed_versions(R"({"hip":"7.2","driver":"6.14","firmware":"mec 3"})", now).empty());
    CHECK(call::changed_versions(R"({"zyfa":"0.1"})", now).empty());
    CHECK(call::changed_versions("not json", now).empty());
    CHECK(call::changed_versions(R"({"hip":"7.1","driver":"6.12"})", now) ==
          "hip 7.1 -> 7.2, driver 6.12 -> 6.14");
}

TEST_CASE("who waits longer than the bound runs the default schedule from memory, unpublished and counted") {
    const TemporaryFolder folder;
    cache::Cache other = store_in(folder); // stands for a process that does not come to an end
    SUBCASE("for a binary") {
        ContextOptions options = simulator(Mode::replay, folder.path());
        options.wait_s = 0.05;
        Context context(options);
        const Digest binary = Digest::from_hex(context.explain(problem).binary_digest);
        const auto held = other.lock(binary, 1);
        call_and_check(context, problem);
        CHECK(context.counters().timed_out == 1);
        CHECK(context.counters().unpublished == 1);
        CHECK(context.counters().assembled == 1);
        CHECK_FALSE(store_in(folder).find_binary(binary));
    }
    SUBCASE("for a tuning") {
        ContextOptions options = simulator(Mode::tune, folder.path());
        options.tune_budget_s = options.wait_s = 0.05;
        Context context(options);
        const auto held = other.lock(key_on(context), 1);
        call_and_check(context, problem);
        const Explanation explanation = context.prepare(problem);
        CHECK(explanation.schedule == templates::template_for(problem).default_schedule(problem).canonical());
        CHECK(context.counters().timed_out == 1);
        CHECK(context.counters().unpublished == 1);
        CHECK(context.counters().timed == 0);
        CHECK(store_in(folder).winners().empty());
    }
}
