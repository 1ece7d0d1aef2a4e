// SPDX-License-Identifier: Apache-2.0
// Export, import, merge and diff between stores and packs.
#include "cache/transfer.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

namespace {

WinnerRecord variant(std::uint64_t n, const char* policy, std::uint64_t time,
                     const char* schedule = "other{}") {
    WinnerRecord r = some_winner(n);
    r.policy = policy;
    r.unix_time = time;
    r.schedule = schedule;
    return r;
}

} // namespace

TEST_CASE("an export holds what was selected, with its binaries and measurements") {
    const Folder folder;
    {
        Cache site({folder / "site", {}});
        publish(site, 1);
        publish(site, 2);
    }
    Cache cache({folder / "c", {folder / "site"}});
    publish(cache, 3);
    cache.publish_binary(some_binary(9));
    const Content all = cache.collect({});
    CHECK(all.winners.size() == 3);
    CHECK(all.binaries.size() == 3);
    CHECK(all.measurements.size() == 6);
    const Content two = cache.collect(
        {.select = [](const WinnerRecord& winner) { return winner.key_text == some_winner(2).key_text; },
         .measurements = false});
    CHECK(two.winners.size() == 1);
    CHECK(two.binaries.size() == 1);
    CHECK(two.binaries[0].key == some_binary(2).key);
    CHECK(two.measurements.empty());
    CHECK(cache.collect({.select = {}, .unused_binaries = true}).binaries.size() == 4);
}

TEST_CASE("an import adds, and says what it did with what was there") {
    const Folder folder;
    Cache source({folder / "a", {}}), target({folder / "b", {}});
    for (std::uint64_t n = 1; n <= 3; ++n)
        publish(source, n);
    publish(target, 2);
    target.publish(variant(3, "sustained", 5), some_binary(3));
    const TransferReport report = target.take(source.collect({}), {});
    CHECK(report.added == 1);
    CHECK(report.same == 1);
    CHECK(report.kept == 1);
    CHECK(report.replaced == 0);
    CHECK(has(target, 1));
    CHECK(has(target, 2));
    CHECK(target.find(some_winner(3).key)->winner.schedule == "other{}");
    CHECK(target.measurements(some_winner(1).key).size() == 2);
    for (const Decision& decision : report.decisions)
        if (decision.action == Decision::Action::kept)
            CHECK(decision.reason == "measured by policy model, present: sustained");
    CHECK(target.take(source.collect({}), {}).added == 0);
}

TEST_CASE("which winner survives does not depend on the order of merging") {
    const WinnerRecord contestants[] = {variant(1, "model", 9),
                                        variant(1, "race", 3),
                                        variant(1, "sustained", 1),
                                        variant(1, "sustained", 2),
                                        variant(1, "sustained", 2, "third{}"),
                                        variant(1, "", 100)};
    for (const WinnerRecord& a : contestants)
        for (const WinnerRecord& b : contestants) {
            if (a.schedule == b.schedule && a.unix_time == b.unix_time && a.policy == b.policy)
                continue;
            CHECK(compare(a, b).take_new != compare(b, a).take_new);
        }
    CHECK(compare(contestants[0], contestants[1]).take_new);
    CHECK(compare(contestants[1], contestants[2]).take_new);
    CHECK(compare(contestants[2], contestants[3]).take_new);
    CHECK_FALSE(compare(contestants[0], contestants[5]).take_new);
    const std::string winner = [&] {
        Cache cache({":memory:", {}});
        for (const WinnerRecord& c : contestants)
            cache.take({{c}, {some_binary(1)}, {}}, {});
        return cache.find(some_winner(1).key)->winner.schedule;
    }();
    Cache backwards({":memory:", {}});
    for (std::size_t i = std::size(contestants); i-- > 0;)
        backwards.take({{contestants[i]}, {some_binary(1)}, {}}, {});
    CHECK(backwards.find(some_winner(1).key)->winner.schedule == winner);
}

TEST_CASE("of two measurements of a schedule the later one stays, in whichever order they come") {
    const WinnerRecord winner = some_winner(1);
    const auto measured = [&](const char* json, std::uint64_t time) {
        return MeasurementRecord{winner.key, "s{}", json, time};
    };
    const auto kept = [&](const std::vector<MeasurementRecord>& order) {
        Cache cache({":memory:", {}});
        for (const MeasurementRecord& m : order)
            cache.take({{winner}, {some_binary(1)}, {m}}, {});
        const std::vector<MeasurementRecord> stored = cache.measurements(winner.key);
        REQUIRE(stored.size() == 1);
        return stored[0].measurement_json;
    };
    const MeasurementRecord early = measured("early", 1), late = measured("late", 2),
                            twin = measured("twin", 2);
    CHECK(kept({early, late}) == "late");
    CHECK(kept({late, early}) == "late");
    CHECK(kept({late, twin}) == kept({twin, late}));
}

TEST_CASE("entries that are not for here are ignored with the reason, the others are taken") {
    Cache cache({":memory:", {}});
    Content content;
    for (std::uint64_t n = 1; n <= 4; ++n) {
        content.winners.push_back(some_winner(n));
        content.binaries.push_back(some_binary(n));
    }
    content.binaries[0].target = "gfx942";
    content.binaries.pop_back();            // winner 4 lacks its binary
    content.winners[2].key_text += " more"; // winner 3 is not what its key says
    const TransferReport report = cache.take(content, {.binary =
                                                           [](const BinaryRecord& binary) {
                                                               return binary.target == "gfx950"
                                                                          ? std::string()
                                                                          : "for " + binary.target;
                                                           },
                                                       .winner = {}});
    CHECK(report.added == 1);
    CHECK(report.ignored == 4);
    CHECK(has(cache, 2));
    CHECK(report.decisions.at(0).reason == "for gfx942");
    CHECK_FALSE(cache.find(some_winner(3).key));
}

TEST_CASE("an import that cannot be stored leaves nothing") {
    const Folder folder;
    CHECK(run_process([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              Cache cache({folder / "c", {}});
              publish(cache, 1);
              const rlimit full{300'000, RLIM_INFINITY};
              ::setrlimit(RLIMIT_FSIZE, &full);
              Content content;
              for (std::uint64_t n = 2; n < 100; ++n) {
                  content.winners.push_back(some_winner(n));
                  content.binaries.push_back(some_binary(n));
              }
              try {
                  cache.take(content, {});
                  return 1;
              } catch (const Error& error) {
                  return error.code() == ErrorCode::io_error ? 0 : 2;
              }
          }) == 0);
    Cache cache({folder / "c", {}});
    CHECK(has(cache, 1));
    CHECK(cache.winners().size() == 1);
    CHECK(cache.verify().at(0).damaged == 0);
}

TEST_CASE("diff names what is on one side only and what differs") {
    const Folder folder;
    Cache a({folder / "a", {}}), b({folder / "b", {}});
    publish(a, 1);
    publish(a, 2);
    publish(b, 2);
    publish(b, 3);
    publish(a, 4);
    b.publish(variant(4, "race", 7), some_binary(4));
    const auto left = open_source(folder / "a", {}), right = open_source(folder / "b", {});
    const DiffReport report = diff(*left, *right);
    CHECK(report.same_winners == 1);
    CHECK(report.same_binaries == 2);
    REQUIRE(report.winners.size() == 3);
    int only_left = 0, only_right = 0, both = 0;
    for (const Difference& d : report.winners) {
        only_left += d.right.empty();
        only_right += d.left.empty();
        both += d.right == "other{} (race, 7)";
    }
    CHECK(only_left == 1);
    CHECK(only_right == 1);
    CHECK(both == 1);
    CHECK(report.binaries.size() == 2);
    CHECK_THROWS_AS(open_source(folder / "absent", {}), Error);
}

TEST_CASE("what came through a pack differs in nothing but its origin") {
    const Folder folder;
    Cache a({folder / "a", {}});
    publish(a, 1);
    const SecretKey key = SecretKey::generate();
    PackTrust trust;
    trust.signers.trust(key.public_key(), "me");
    const Pack pack = Pack::open(write_pack(a.collect({}), &key, 1), trust);
    std::vector<std::string> damage;
    {
        Cache b({folder / "b", {}});
        CHECK(b.take(pack.content(damage), {}).added == 1);
        CHECK(b.find(some_winner(1).key)->winner.origin == pack.origin());
        CHECK(b.find(some_winner(1).key)->binary.origin == pack.origin());
    }
    const DiffReport report = diff(*open_source(folder / "a", {}), *open_source(folder / "b", {}));
    CHECK(report.winners.empty());
    CHECK(report.binaries.empty());
}
