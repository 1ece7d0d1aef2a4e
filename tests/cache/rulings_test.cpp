// SPDX-License-Identifier: Apache-2.0
// Pins, bans and former winners: what they keep out, what they survive, and that they are as durable as a
// winner.
#include <doctest/doctest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/store.hpp"
#include "cache/transfer.hpp"
#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

namespace {

/// Another winner of entry n's key: schedule and binary of entry m.
WinnerRecord rival(std::uint64_t n, std::uint64_t m) {
    WinnerRecord winner = some_winner(n);
    winner.schedule = some_winner(m).schedule;
    winner.binary = some_binary(m).key;
    winner.unix_time += m;
    return winner;
}

bool publish_rival(Cache& cache, std::uint64_t n, std::uint64_t m) {
    return cache.publish(rival(n, m), some_binary(m));
}

RulingRecord ruling(std::uint64_t n, std::uint64_t schedule, RulingRecord::Kind kind) {
    return {some_winner(n).key,
            some_winner(n).key_text,
            some_winner(schedule).schedule,
            kind,
            "the reason that was given",
            1'700'000'000};
}

RulingRecord pin(std::uint64_t n, std::uint64_t schedule) {
    return ruling(n, schedule, RulingRecord::Kind::pin);
}
RulingRecord ban(std::uint64_t n, std::uint64_t schedule) {
    return ruling(n, schedule, RulingRecord::Kind::ban);
}

std::string schedule_of(Cache& cache, std::uint64_t n) {
    const auto found = cache.find(some_winner(n).key);
    return found ? found->winner.schedule : std::string();
}

void execute(const std::string& file, const char* sql) {
    sqlite3* handle = nullptr;
    REQUIRE(sqlite3_open(file.c_str(), &handle) == SQLITE_OK);
    REQUIRE(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(handle);
}

} // namespace

TEST_CASE("a pinned winner survives publication and pruning, and another process sees the pin") {
    const Folder folder;
    {
        Cache cache({folder / "c", {}});
        publish(cache, 1);
        publish(cache, 2);
        cache.rule(pin(1, 1));
        CHECK_FALSE(publish_rival(cache, 1, 7));
        CHECK(has(cache, 1));
        CHECK(cache.find_binary(some_binary(7).key)); // what was measured is stored all the same
    }
    Cache cache({folder / "c", {}});
    REQUIRE(cache.rulings(some_winner(1).key).size() == 1);
    CHECK(cache.rulings(some_winner(1).key)[0].reason == "the reason that was given");
    CHECK(cache.rulings(some_winner(2).key).empty());
    CHECK(cache.statistics().at(0).pins == 1);
    cache.prune({1, 1});
    CHECK(has(cache, 1));
    CHECK_FALSE(cache.find(some_winner(2).key));
    CHECK_FALSE(cache.find_binary(some_binary(7).key));

    cache.rule(pin(1, 7)); // another one in its place: the winner that is stored does not count any more
    CHECK(cache.rulings(some_winner(1).key).size() == 1);
    CHECK_FALSE(cache.find(some_winner(1).key));
    CHECK(publish_rival(cache, 1, 7));
    CHECK(schedule_of(cache, 1) == some_winner(7).schedule);
    CHECK(cache.repeal(some_winner(1).key, some_winner(7).schedule));
    CHECK_FALSE(cache.repeal(some_winner(1).key, some_winner(7).schedule));
    publish(cache, 1);
    CHECK(has(cache, 1));
}

TEST_CASE("a banned schedule neither is found nor stored, in any layer, until the ban is repealed") {
    const Folder folder;
    {
        Cache other({folder / "site", {}});
        publish(other, 1);
    }
    Cache cache({folder / "c", {folder / "site"}});
    CHECK(schedule_of(cache, 1) == some_winner(1).schedule);
    cache.rule(ban(1, 1));
    CHECK(schedule_of(cache, 1).empty());
    CHECK_FALSE(cache.find_winner(some_winner(1).key));
    CHECK(cache.winners().empty());
    CHECK_FALSE(cache.publish(some_winner(1), some_binary(1)));
    CHECK(publish_rival(cache, 1, 4));
    CHECK(schedule_of(cache, 1) == some_winner(4).schedule);
    CHECK(cache.repeal(some_winner(1).key, some_winner(1).schedule));
    publish(cache, 1);
    CHECK(has(cache, 1));

    RulingRecord everywhere = ban(1, 4);
    everywhere.key_text = RulingRecord::every_key_text;
    everywhere.key = every_key();
    cache.rule(everywhere);
    CHECK_FALSE(publish_rival(cache, 3, 4));
    CHECK(cache.rulings(some_winner(3).key).size() == 1);
    everywhere.kind = RulingRecord::Kind::pin;
    CHECK_THROWS_AS(cache.rule(everywhere), Error);
}

TEST_CASE("a schedule is not pinned and banned at once") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    cache.rule(pin(1, 1));
    CHECK_THROWS_WITH_AS(cache.rule(ban(1, 1)), doctest::Contains("is pinned"), Error);
    cache.rule(ban(1, 2));
    CHECK_THROWS_WITH_AS(cache.rule(pin(1, 2)), doctest::Contains("is banned"), Error);
    CHECK(cache.rulings(some_winner(1).key).size() == 2);
}

TEST_CASE("winners that were replaced are kept, and rolled back to one after the other") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    for (const std::uint64_t m : {1, 2, 3, 4, 5, 6})
        publish_rival(cache, 1, m);
    publish_rival(cache, 1, 6); // measured again: the same winner
    const Digest key = some_winner(1).key;
    REQUIRE(cache.former_winners(key).size() == 4); // the oldest is gone
    CHECK(cache.former_winners(key)[0].winner.schedule == some_winner(5).schedule);
    CHECK(cache.statistics().at(0).former_winners == 4);

    CHECK(cache.roll_back(key).schedule == some_winner(5).schedule);
    CHECK(schedule_of(cache, 1) == some_winner(5).schedule);
    CHECK(cache.roll_back(key).schedule == some_winner(4).schedule); // not to 6, where this came from
    CHECK(cache.roll_back(key, some_winner(6).schedule).schedule == some_winner(6).schedule);
    cache.rule(ban(1, 3));
    CHECK(cache.roll_back(key).schedule == some_winner(2).schedule); // 5 and 4 were rolled back from
    CHECK_THROWS_WITH_AS(cache.roll_back(key), doctest::Contains("no former winner"), Error);
    CHECK_THROWS_WITH_AS(cache.roll_back(key, some_winner(3).schedule), doctest::Contains("is banned"),
                         Error);
    cache.rule(pin(1, 2));
    CHECK_THROWS_WITH_AS(cache.roll_back(key, some_winner(6).schedule), doctest::Contains("is pinned"),
                         Error);
    CHECK(schedule_of(cache, 1) == some_winner(2).schedule);
}

TEST_CASE("in a folder that may be read but not written rulings count, and cannot be changed") {
    if (::geteuid() != 0)
        return; // needs a second user to be
    const Folder folder;
    ::chmod((folder / "").c_str(), 0755);
    {
        Cache cache({folder / "c", {}});
        publish(cache, 1);
        publish(cache, 2);
        publish_rival(cache, 2, 5);
        cache.rule(ban(1, 1));
    }
    ::chmod((folder / "c").c_str(), 0755);
    const auto as_another_user = [&](const auto& body) {
        return run_process([&] {
            if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                return 1;
            Cache cache({folder / "c", {}});
            return body(cache);
        });
    };
    CHECK(as_another_user([](Cache& cache) {
              if (cache.find(some_winner(1).key) || cache.rulings().size() != 1)
                  return 2;
              if (schedule_of(cache, 2) != some_winner(5).schedule ||
                  cache.former_winners(some_winner(2).key).size() != 1)
                  return 3;
              try {
                  cache.repeal(some_winner(1).key, some_winner(1).schedule);
              } catch (const Error& error) {
                  return error.code() == ErrorCode::io_error ? 0 : 4;
              }
              return 5;
          }) == 0);
    execute(folder / "c/zyfa-cache-v1.sqlite",
            "DROP TABLE rulings; DROP TABLE former_winners; PRAGMA user_version = 1");
    CHECK(as_another_user([](Cache& cache) {
              return has(cache, 1) && cache.rulings().empty() && cache.damaged() == 0 ? 0 : 2;
          }) == 0);
}

TEST_CASE("an import leaves pins, bans and what they protect alone") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    cache.rule(pin(1, 1));
    Cache other({folder / "other", {}});
    publish_rival(other, 1, 9);
    cache.rule(ban(2, 2));
    publish(other, 2);
    const TransferReport report = cache.take(other.collect({}), {});
    CHECK(report.ignored == 2);
    CHECK(has(cache, 1));
    CHECK_FALSE(cache.find(some_winner(2).key));
}

TEST_CASE("a store of before rulings takes them") {
    const Folder folder;
    {
        Cache cache({folder / "c", {}});
        publish(cache, 1);
    }
    execute(folder / "c/zyfa-cache-v1.sqlite",
            "DROP TABLE rulings; DROP TABLE former_winners; PRAGMA user_version = 1");
    {
        Cache site({folder / "user", {folder / "c"}}); // as a layer that is only read, it stays as it is
        CHECK(has(site, 1));
    }
    Cache cache({folder / "c", {}});
    CHECK(has(cache, 1));
    cache.rule(pin(1, 1));
    CHECK_FALSE(publish_rival(cache, 1, 2));
    CHECK(cache.damaged() == 0);
}

TEST_CASE("a damaged ruling is quarantined and counted; broken pages leave the others") {
    const Folder folder;
    const std::string file = folder / "c/zyfa-cache-v1.sqlite";
    {
        Cache cache({folder / "c", {}});
        publish(cache, 1);
        cache.rule(pin(1, 1));
        cache.rule(ban(1, 2));
        publish_rival(cache, 3, 4);
        publish_rival(cache, 3, 5);
    }
    execute(file, "UPDATE rulings SET schedule = 'another{}' WHERE kind = 'ban'");
    {
        Cache cache({folder / "c", {}});
        CHECK(cache.rulings(some_winner(1).key).size() == 1);
        CHECK(cache.damaged() == 1);
        CHECK(cache.statistics().at(0).quarantined == 1);
    }
    execute(file, "DROP INDEX winners_used; PRAGMA writable_schema = ON; "
                  "UPDATE sqlite_schema SET sql = 'CREATE TABLE totals(id)' WHERE name = 'totals'");
    Cache cache({folder / "c", {}});
    publish(cache, 6);
    cache.verify();
    CHECK(cache.rulings(some_winner(1).key).size() == 1);
    CHECK(cache.former_winners(some_winner(3).key).size() == 1);
    CHECK_FALSE(publish_rival(cache, 1, 2));
}

TEST_CASE("a ruling that was answered survives a kill") {
    for (int i = 0; i < repetitions(4, 200); ++i) {
        const Folder folder;
        {
            Cache cache({folder / "c", {}});
            publish(cache, 1);
        }
        const pid_t child = start_process([&]() -> int {
            Cache cache({folder / "c", {}});
            cache.rule(i % 2 ? pin(1, 1) : ban(1, 1));
            ::raise(SIGKILL);
            return 1;
        });
        CHECK(wait_for(child) == -SIGKILL);
        Cache cache({folder / "c", {}});
        CHECK(cache.rulings(some_winner(1).key).size() == 1);
        CHECK(has(cache, 1) == (i % 2 == 1));
    }
}
