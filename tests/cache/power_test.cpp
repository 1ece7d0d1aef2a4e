// SPDX-License-Identifier: Apache-2.0
// The power goes at every operation in turn: whatever of the unsynced writes reached the disk, the store
// opens, holds every finished publication, and nothing by halves.
#include <doctest/doctest.h>

#include <set>

#include "cache/store.hpp"
#include "tests/cache/dying_disk.hpp"
#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

namespace {

/// Some publications, a replacement, a use, pruning, and a close between. Returns what was finished;
/// `removed` are those that pruning may have taken.
struct Work {
    bool on_network;
    std::set<std::uint64_t> finished{}, removed{};

    void run(const std::string& folder) {
        Cache::Options options{folder, {}};
        options.on_network = on_network;
        {
            Cache cache(options);
            for (std::uint64_t n = 0; n < 3; ++n)
                attempt(cache, n);
        }
        Cache cache(options);
        for (std::uint64_t n = 3; n < 6; ++n)
            attempt(cache, n);
        cache.find(some_winner(1).key);
        try {
            removed = finished;
            cache.prune({.bytes = 1 << 30, .entries = 8});
        } catch (const Error&) {
        }
        attempt(cache, 6);
    }

    void attempt(Cache& cache, std::uint64_t n) {
        try {
            publish(cache, n);
            if (cache.counters().unpublished == 0 && cache.statistics().at(0).layer == "user")
                finished.insert(n);
        } catch (const Error&) {
        }
    }
};

std::uint64_t count_operations(bool on_network) {
    const Folder folder;
    DyingDisk disk(~std::uint64_t{0});
    Work{on_network}.run(folder / "c");
    return disk.operations();
}

struct Tally {
    int points = 0, entries = 0;
};

/// Cuts the power at operation `last`, and looks at what one of the possible disks holds.
void cut_at(std::uint64_t last, bool on_network, std::mt19937& engine, Tally& tally) {
    CAPTURE(last);
    CAPTURE(on_network);
    const Folder folder;
    Work work{on_network};
    std::map<std::string, std::vector<char>> survivors;
    {
        DyingDisk disk(last);
        work.run(folder / "c");
        survivors = disk.survivors(engine);
    }
    fs::remove_all(folder / "c");
    fs::create_directory(folder / "c");
    fs::permissions(folder / "c", fs::perms::owner_all);
    for (const auto& [path, content] : survivors)
        write_contents(path, content);

    Cache::Options options{folder / "c", {}};
    options.on_network = on_network;
    Cache cache(options);
    for (const std::uint64_t n : work.finished)
        if (!work.removed.contains(n))
            CHECK_MESSAGE(has(cache, n), n);
    for (std::uint64_t n = 0; n < 7; ++n) {
        CHECK_FALSE(is_wrong(cache, n));
        tally.entries += has(cache, n);
    }
    for (const WinnerRecord& winner : cache.winners())
        CHECK(cache.find(winner.key));
    CHECK(cache.verify().at(0).damaged == 0);
    publish(cache, 100);
    CHECK(has(cache, 100));
    CHECK(cache.statistics().at(0).layer == "user");
    CHECK(cache.damaged() == 0);
    ++tally.points;
}

} // namespace

TEST_CASE("the power goes at any operation: finished entries are kept, none is half there") {
    std::mt19937 engine(17);
    for (const bool on_network : {false, true}) { // a WAL, a rollback journal
        const std::uint64_t operations = count_operations(on_network);
        REQUIRE(operations > 60);
        Tally tally;
        while (tally.points < 500)
            for (std::uint64_t last = 1; last <= operations; ++last)
                cut_at(last, on_network, engine, tally);
        MESSAGE(tally.points, " points over ", operations, " operations: ", tally.entries, " entries kept");
    }
}

TEST_CASE("a refused operation costs the entry in the making, whichever it is") {
    int points = 0;
    for (const bool on_network : {false, true}) {
        const std::uint64_t operations = count_operations(on_network);
        // No space or no quota; a sector that cannot be written: as SQLite's own file system reports them.
        for (const int error : {SQLITE_FULL, SQLITE_IOERR_WRITE})
            for (std::uint64_t first = 1; first <= operations; first += 2) {
                CAPTURE(first);
                CAPTURE(error);
                CAPTURE(on_network);
                const Folder folder;
                Work work{on_network};
                {
                    auto disk = DyingDisk::refusing(first, 1 + first % 3, error);
                    work.run(folder / "c");
                }
                Cache::Options options{folder / "c", {}};
                options.on_network = on_network;
                Cache cache(options);
                for (const std::uint64_t n : work.finished)
                    if (!work.removed.contains(n))
                        CHECK_MESSAGE(has(cache, n), n);
                for (std::uint64_t n = 0; n < 7; ++n)
                    CHECK_FALSE(is_wrong(cache, n));
                CHECK(cache.verify().at(0).damaged == 0);
                publish(cache, 100);
                CHECK(has(cache, 100));
                CHECK(cache.statistics().at(0).layer == "user");
                CHECK(cache.damaged() == 0);
                ++points;
            }
    }
    MESSAGE(points, " points");
}
