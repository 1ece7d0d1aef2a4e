// SPDX-License-Identifier: Apache-2.0
// What a single process sees: publishing, finding, layers, limits, trust, fallbacks.
#include "cache/store.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cache/database.hpp"
#include "cache/files.hpp"
#include "cache/sqlite_layer.hpp"
#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

TEST_CASE("what is published is found, by this process and the next") {
    const Folder folder;
    {
        Cache cache({folder / "c", {}});
        CHECK_FALSE(cache.find(some_winner(1).key));
        publish(cache, 1);
        CHECK(has(cache, 1));
        CHECK(cache.find(some_winner(1).key)->layer == "user");
        CHECK(cache.counters().hits == 2);
        CHECK(cache.counters().misses == 1);
        CHECK(cache.counters().published == 1);
    }
    Cache cache({folder / "c", {}});
    CHECK(has(cache, 1));
    CHECK(cache.find_binary(some_binary(1).key)->toolchain == "comgr 3.0");
    CHECK(cache.measurements(some_winner(1).key).size() == 2);
    CHECK(cache.winners().size() == 1);
    const Statistics user = cache.statistics().at(0);
    CHECK(user.layer == "user");
    CHECK(user.path == folder / "c/" + store_name);
    CHECK(user.writable);
    CHECK(user.binaries == 1);
    CHECK(user.winners == 1);
    CHECK(user.measurements == 2);
    CHECK(user.quarantined == 0);
    CHECK(user.bytes > 4096);
    CHECK(user.note.empty());
    CHECK(cache.damaged() == 0);
}

TEST_CASE("a second publication replaces the first, and measurements add up") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    WinnerRecord better = some_winner(1);
    better.schedule = "bf16_fwd_d128{tau=8.0}";
    better.binary = some_binary(2).key;
    cache.publish(better, some_binary(2), {{better.key, "bf16_fwd_d128{tau=8.0}", "{}", 5}});
    CHECK(cache.find(better.key)->winner.schedule == better.schedule);
    CHECK(cache.find(better.key)->binary.code_object == some_binary(2).code_object);
    CHECK(cache.measurements(better.key).size() == 3);
    CHECK(cache.find_binary(some_binary(1).key));
}

TEST_CASE("a binary alone can be stored and found") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    cache.publish_binary(some_binary(7));
    CHECK(cache.find_binary(some_binary(7).key)->code_object == some_binary(7).code_object);
    CHECK_FALSE(cache.find_binary(some_binary(8).key));
}

TEST_CASE("keys that are not the digest of their text are refused") {
    Cache cache({":memory:", {}});
    BinaryRecord binary = some_binary(1);
    binary.key_text += " ";
    CHECK_THROWS_AS(cache.publish_binary(binary), Error);
    CHECK_THROWS_AS(cache.publish(some_winner(1), some_binary(2)), Error);
    WinnerRecord winner = some_winner(1);
    winner.key.bytes[0] ^= 1;
    CHECK_THROWS_AS(cache.publish(winner, some_binary(1)), Error);
}

TEST_CASE("a cache in memory works and says so") {
    Cache cache({":memory:", {}});
    publish(cache, 1);
    CHECK(has(cache, 1));
    CHECK(cache.statistics().at(0).layer == "memory");
    CHECK(cache.lock(some_winner(1).key, 0).held());
}

TEST_CASE("an unusable folder means memory, one line, no failure") {
    const Folder folder;
    write_contents(folder / "file", {});
    for (const std::string& place :
         {std::string("/proc/zyfa"), std::string("/dev/null/zyfa"), folder / "file"}) {
        CAPTURE(place);
        std::vector<std::string> lines;
        Cache::Options options{place, {}};
        options.log = [&](const std::string& line) { lines.push_back(line); };
        Cache cache(options);
        publish(cache, 1);
        CHECK(has(cache, 1));
        const auto layers = cache.statistics();
        CHECK(layers.at(0).layer == "memory");
        CHECK(layers.at(0).note.starts_with("in memory: "));
        CHECK(lines.back().starts_with("the cache is in memory: "));
        CHECK(cache.lock(some_winner(1).key, 0).held());
    }
}

TEST_CASE("the user layer must be its user's alone to write") {
    const Folder folder;
    {
        Cache cache({folder / "new/deep", {}});
        struct stat status{};
        REQUIRE(::stat((folder / "new/deep").c_str(), &status) == 0);
        CHECK((status.st_mode & 07777) == 0700);
        publish(cache, 1);
    }
    ::chmod((folder / "new/deep").c_str(), 0777);
    {
        Cache cache({folder / "new/deep", {}});
        CHECK_FALSE(has(cache, 1));
        CHECK(cache.statistics().at(0).note.find("chmod 700") != std::string::npos);
    }
    ::chmod((folder / "new/deep").c_str(), 0755);
    {
        Cache cache({folder / "new/deep", {}});
        CHECK(has(cache, 1));
    }
    if (::geteuid() == 0) { // only root can make a folder somebody else's
        REQUIRE(::chown((folder / "new/deep").c_str(), 12345, 12345) == 0);
        Cache cache({folder / "new/deep", {}});
        CHECK_FALSE(has(cache, 1));
        CHECK(cache.statistics().at(0).note.find("belongs to user 12345") != std::string::npos);
    }
}

TEST_CASE("a folder that may be read but not written is read, and new entries stay in memory") {
    if (::geteuid() != 0)
        return; // needs a second user to be
    const Folder folder;
    ::chmod((folder / "").c_str(), 0755);
    {
        Cache cache({folder / "c", {}});
        publish(cache, 1);
    }
    ::chmod((folder / "c").c_str(), 0755);
    CHECK(run_process([&] {
              if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                  return 1;
              Cache cache({folder / "c", {}});
              publish(cache, 2);
              return has(cache, 1) && has(cache, 2) && cache.statistics().at(0).layer == "memory" ? 0 : 2;
          }) == 0);
    Cache cache({folder / "c", {}});
    CHECK(has(cache, 1));
    CHECK_FALSE(has(cache, 2));
}

TEST_CASE("layers are asked in order, and read-only ones are left as they are") {
    const Folder folder;
    {
        Cache site({folder / "site", {}});
        publish(site, 1);
        publish(site, 2);
        Cache other({folder / "other", {}});
        WinnerRecord winner = some_winner(1);
        winner.schedule = "other{}";
        other.publish(winner, some_binary(1));
        publish(other, 3);
        Cache user({folder / "user", {}});
        publish(user, 2);
    }
    const auto before = contents(folder / "site/" + store_name);
    {
        Cache cache({folder / "user", {folder / "site", folder / "other/" + store_name}});
        CHECK(cache.find(some_winner(1).key)->layer == folder / "site");
        CHECK(cache.find(some_winner(1).key)->winner.schedule == some_winner(1).schedule);
        CHECK(cache.find(some_winner(2).key)->layer == "user");
        CHECK(cache.find(some_winner(3).key)->layer == folder / "other/" + store_name);
        CHECK(cache.winners().size() == 3);
        publish(cache, 4);
        const auto layers = cache.statistics();
        REQUIRE(layers.size() == 3);
        CHECK_FALSE(layers[1].writable);
        CHECK(layers[1].winners == 2);
        CHECK(layers[1].hits == 2);
    }
    CHECK(contents(folder / "site/" + store_name) == before);
    CHECK_FALSE(fs::exists(folder / "site/" + store_name + "-journal"));
}

TEST_CASE("a winner finds its binary in another layer") {
    const Folder folder;
    {
        Cache site({folder / "site", {}});
        site.publish_binary(some_binary(1));
        Cache user({folder / "user", {}});
        publish(user, 1);
        Database database(folder / "user/" + store_name, Database::Access::read_write, 1000);
        database.execute("DELETE FROM binaries");
    }
    Cache cache({folder / "user", {folder / "site"}});
    CHECK(has(cache, 1));
    Cache alone({folder / "user", {}});
    CHECK_FALSE(alone.find(some_winner(1).key));
    CHECK(alone.find_winner(some_winner(1).key)->schedule == some_winner(1).schedule); // still a hint
}

TEST_CASE("layers that are missing, foreign or not trusted answer nothing and say why") {
    const Folder folder;
    write_contents(folder / "text", std::vector<char>(5000, 'x'));
    {
        Cache site({folder / "site", {}});
        publish(site, 1);
    }
    ::chmod((folder / "site").c_str(), 0777);
    Cache cache({folder / "user", {folder / "nothing", folder / "text", folder / "site"}});
    CHECK_FALSE(has(cache, 1));
    const auto layers = cache.statistics();
    CHECK(layers.at(1).note.find("there is no") != std::string::npos);
    CHECK_FALSE(layers.at(2).note.empty());
    CHECK(layers.at(3).note.find("others may write to it") != std::string::npos);
    ::chmod((folder / "site").c_str(), 0755);
    CHECK(has(cache, 1)); // it is looked at again
}

TEST_CASE("a read-only layer in a folder without a writer is opened, whatever its journal") {
    if (::geteuid() != 0)
        return;
    const Folder folder;
    ::chmod((folder / "").c_str(), 0755);
    {
        Cache site({folder / "site", {}}); // WAL
        publish(site, 1);
    }
    ::chmod((folder / "site").c_str(), 0555);
    CHECK(run_process([&] {
              if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                  return 1;
              Cache cache({":memory:", {folder / "site"}});
              return has(cache, 1) ? 0 : 2;
          }) == 0);
}

TEST_CASE("a folder that is removed under a running process is made again") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    fs::remove_all(folder / "c");
    CHECK_FALSE(has(cache, 1));
    publish(cache, 2);
    CHECK(has(cache, 2));
    CHECK(fs::exists(folder / "c/" + store_name));
    CHECK(cache.damaged() == 0);
}

TEST_CASE("on a network file system the journal is not a WAL") {
    CHECK(is_network_type(0x6969));
    CHECK(is_network_type(0xfffffffffe534d42)); // sign-extended on some systems
    CHECK_FALSE(is_network_type(0xef53));       // ext4
    CHECK_FALSE(is_network_type(0x01021994));   // tmpfs
    const Folder folder;
    const auto journal = [&](bool on_network) {
        Cache::Options options{folder / "c", {}};
        options.on_network = on_network;
        Cache cache(options);
        publish(cache, on_network);
        CHECK(has(cache, on_network));
        Database database(folder / "c/" + store_name, Database::Access::read_only, 1000);
        return database.text("PRAGMA journal_mode");
    };
    CHECK(journal(true) == "delete");
    CHECK_FALSE(fs::exists(folder / "c/" + store_name + "-wal"));
    CHECK(journal(false) == "wal"); // the same file, seen from another mount
    CHECK(journal(true) == "delete");
}

// Pruning

namespace {

void set_age(const std::string& store, std::uint64_t n, std::int64_t used) {
    Database database(store, Database::Access::read_write, 1000);
    const Digest winner = some_winner(n).key, binary = some_binary(n).key;
    database.statement("UPDATE winners SET used = ?1 WHERE key = ?2")
        .bind(used)
        .bind(std::as_bytes(std::span(winner.bytes)))
        .run();
    database.statement("UPDATE binaries SET used = ?1 WHERE key = ?2")
        .bind(used)
        .bind(std::as_bytes(std::span(binary.bytes)))
        .run();
}

} // namespace

TEST_CASE("pruning removes the least recently used entries, whole") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    for (std::uint64_t n = 0; n < 20; ++n) {
        publish(cache, n);
        set_age(folder / "c/" + store_name, n, static_cast<std::int64_t>((n * 7) % 20));
    }
    const PruneReport report = cache.prune({.bytes = 1 << 30, .entries = 12});
    CHECK(report.winners == 14);
    CHECK(report.binaries == 14);
    CHECK(report.measurements == 28);
    CHECK(report.bytes_after < report.bytes_before);
    for (std::uint64_t n = 0; n < 20; ++n)
        CHECK(has(cache, n) == ((n * 7) % 20 >= 14));
    CHECK(cache.counters().pruned == 28);
    CHECK(cache.prune({.bytes = 1 << 30, .entries = 12}).winners == 0);
}

TEST_CASE("a hit renews an entry's age, a shared binary stays while a winner needs it") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    publish(cache, 2);
    WinnerRecord second = some_winner(3); // a second winner with binary 1
    second.binary = some_binary(1).key;
    cache.publish(second, some_binary(1));
    for (std::uint64_t n : {1, 2, 3})
        set_age(folder / "c/" + store_name, n, 5);
    CHECK(cache.find(second.key)); // renews winner 3 and binary 1
    CHECK(cache.prune({.bytes = 1 << 30, .entries = 2}).winners == 2);
    CHECK(cache.find(second.key));
    CHECK_FALSE(cache.find(some_winner(1).key));
    CHECK_FALSE(cache.find(some_winner(2).key));
}

TEST_CASE("limits in bytes hold, and publishing keeps to the limits by itself") {
    const Folder folder;
    Cache::Options options{folder / "c", {}};
    options.limits = {.bytes = 400'000, .entries = 1000};
    {
        Cache cache(options);
        for (std::uint64_t n = 0; n < 150; ++n)
            publish(cache, n);
        CHECK(cache.counters().pruned > 20);
        CHECK(cache.statistics().at(0).bytes <= 450'000);
        CHECK(has(cache, 149));
        for (const WinnerRecord& winner : cache.winners())
            CHECK(cache.find(winner.key)); // no winner without its binary
    }
    options.limits = {.bytes = 1 << 30, .entries = 30};
    Cache cache(options);
    publish(cache, 200);
    CHECK(cache.statistics().at(0).winners + cache.statistics().at(0).binaries <= 30);
    CHECK(cache.prune({.bytes = 0, .entries = 0}).winners > 0);
    CHECK(cache.statistics().at(0).winners == 0);
}
