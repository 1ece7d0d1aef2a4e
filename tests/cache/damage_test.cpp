// SPDX-License-Identifier: Apache-2.0
// Damage of every kind is a counted miss; a wrong answer is never given, and the store mends.
#include <doctest/doctest.h>

#include <random>

#include "cache/database.hpp"
#include "cache/schema.hpp"
#include "cache/store.hpp"
#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

namespace {

constexpr std::uint64_t entries = 12;

/// A store of `entries` entries, closed and without a journal, as bytes.
std::vector<char> good_store() {
    const Folder folder;
    {
        Cache cache({folder / "c", {}});
        for (std::uint64_t n = 0; n < entries; ++n)
            publish(cache, n);
    }
    return contents(folder / "c/" + store_name);
}

void place(const Folder& folder, const std::vector<char>& store) {
    fs::remove_all(folder / "c");
    fs::create_directory(folder / "c");
    fs::permissions(folder / "c", fs::perms::owner_all);
    write_contents(folder / "c/" + store_name, store);
}

void execute(const Folder& folder, const char* sql) {
    Database database(folder / "c/" + store_name, Database::Access::read_write, 1000);
    database.execute(sql);
}

} // namespace

TEST_CASE("a flipped bit in a code object is found, quarantined and rebuilt") {
    const Folder folder;
    place(folder, good_store());
    execute(folder,
            "UPDATE binaries SET code = substr(code, 1, 99) || x'ff00ff' || substr(code, 103) WHERE id = 3");
    Cache cache({folder / "c", {}});
    int missing = 0;
    for (std::uint64_t n = 0; n < entries; ++n) {
        CHECK_FALSE(is_wrong(cache, n));
        missing += !has(cache, n);
    }
    CHECK(missing == 1);
    CHECK(cache.damaged() == 1);
    CHECK(cache.statistics().at(0).quarantined == 1);
    for (std::uint64_t n = 0; n < entries; ++n)
        if (!has(cache, n))
            publish(cache, n);
    for (std::uint64_t n = 0; n < entries; ++n)
        CHECK(has(cache, n));
}

TEST_CASE("a change of any column but the use stamp is damage") {
    const std::vector<char> store = good_store();
    for (const char* change :
         {"UPDATE winners SET schedule = 'other{}' WHERE id = 1",
          "UPDATE winners SET evidence = '' WHERE id = 1",
          "UPDATE winners SET data_profile = 'x' WHERE id = 1",
          "UPDATE winners SET policy = 'x' WHERE id = 1", "UPDATE winners SET versions = 'x' WHERE id = 1",
          "UPDATE winners SET unix_time = 3 WHERE id = 1",
          "UPDATE winners SET origin = 'pack:x' WHERE id = 1",
          "UPDATE winners SET key_text = 'x' WHERE id = 1",
          "UPDATE winners SET binary = (SELECT key FROM binaries WHERE id = 2) WHERE id = 1",
          "UPDATE winners SET digest = NULL || x'00' WHERE id = 1 AND 0",
          "UPDATE winners SET digest = x'00' WHERE id = 1", "UPDATE binaries SET kernel = 'x' WHERE id = 1",
          "UPDATE binaries SET target = 'gfx942' WHERE id = 1",
          "UPDATE binaries SET toolchain = 'x' WHERE id = 1",
          "UPDATE binaries SET code = (SELECT code FROM binaries WHERE id = 2) WHERE id = 1",
          "UPDATE measurements SET measurement = '{}' WHERE id = 1",
          "UPDATE measurements SET schedule = 'x' WHERE id = 1"}) {
        CAPTURE(change);
        const Folder folder;
        place(folder, store);
        execute(folder, change);
        Cache cache({folder / "c", {}});
        const bool harmless = std::string(change).ends_with("AND 0");
        const auto found = cache.find(some_winner(0).key);
        const bool measurement = std::string(change).find("measurements") != std::string::npos;
        CHECK(found.has_value() == (harmless || measurement));
        CHECK(cache.measurements(some_winner(0).key).size() == (measurement ? 1 : 2));
        CHECK(cache.damaged() == (harmless ? 0 : 1));
    }
    const Folder folder;
    place(folder, store);
    execute(folder, "UPDATE winners SET used = 1");
    Cache cache({folder / "c", {}});
    CHECK(has(cache, 0));
    CHECK(cache.damaged() == 0);
}

TEST_CASE("bit flips over the whole file: harmless, a miss, or counted damage; never a wrong answer") {
    const std::vector<char> store = good_store();
    std::mt19937 engine(4);
    int harmless = 0, missed = 0, counted = 0;
    const int flips = repetitions(300, 2000);
    for (int i = 0; i < flips; ++i) {
        const Folder folder;
        std::vector<char> bad = store;
        const std::size_t bit = engine() % (8 * bad.size());
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
        place(folder, bad);
        CAPTURE(bit);
        Cache cache({folder / "c", {}});
        std::uint64_t lost = 0;
        for (std::uint64_t n = 0; n < entries; ++n) {
            CHECK_FALSE(is_wrong(cache, n));
            lost += !has(cache, n);
            for (const MeasurementRecord& m : cache.measurements(some_winner(n).key))
                CHECK(m.measurement_json == some_measurements(n)[0].measurement_json);
        }
        cache.verify();
        harmless += lost == 0 && cache.damaged() == 0;
        missed += lost > 0 && cache.damaged() == 0;
        counted += cache.damaged() > 0;
        for (std::uint64_t n = 0; n < entries; ++n)
            if (!has(cache, n))
                publish(cache, n);
        for (std::uint64_t n = 0; n < entries; ++n)
            CHECK(has(cache, n)); // it goes on
    }
    MESSAGE(flips, " flips: ", harmless, " harmless, ", missed, " plain misses, ", counted,
            " counted damage");
    CHECK(harmless + missed + counted == flips);
    CHECK(counted > flips / 2); // most of the file is code objects and evidence
}

TEST_CASE("broken pages cost what lies on them") {
    const std::vector<char> store = good_store();
    std::mt19937 engine(5);
    for (int i = 0; i < 20; ++i) {
        const Folder folder;
        std::vector<char> bad = store;
        const std::size_t page = engine() % (bad.size() / 4096);
        for (std::size_t b = 0; b < 4096; ++b)
            bad[page * 4096 + b] = static_cast<char>(engine());
        place(folder, bad);
        CAPTURE(page);
        Cache cache({folder / "c", {}});
        std::uint64_t kept = 0;
        for (std::uint64_t n = 0; n < entries; ++n) {
            CHECK_FALSE(is_wrong(cache, n));
            kept += has(cache, n);
        }
        if (page >= 12) // the pages before are the roots of tables this small: everything lies on them
            CHECK(kept + 4 >= entries);
        for (std::uint64_t n = 0; n < entries; ++n)
            publish(cache, n);
        for (std::uint64_t n = 0; n < entries; ++n)
            CHECK(has(cache, n));
        CHECK(cache.statistics().at(0).layer == "user");
    }
}

TEST_CASE("a file that is no store, cut short or empty is replaced, and kept beside") {
    const std::vector<char> store = good_store();
    std::vector<char> cut(store.begin(), store.begin() + static_cast<std::ptrdiff_t>(store.size() / 2));
    for (const auto& bad :
         {std::vector<char>(10'000, 'x'), cut, std::vector<char>(store.begin(), store.begin() + 50)}) {
        const Folder folder;
        place(folder, bad);
        Cache cache({folder / "c", {}});
        publish(cache, 50);
        CHECK(has(cache, 50));
        for (std::uint64_t n = 0; n < entries; ++n)
            CHECK_FALSE(is_wrong(cache, n));
        CHECK(cache.statistics().at(0).layer == "user");
        CHECK(cache.damaged() > 0);
        CHECK(fs::exists(folder / "c/" + damaged_file_name));
    }
    const Folder folder;
    place(folder, {});
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    CHECK(has(cache, 1));
    CHECK(cache.damaged() == 0);
}

TEST_CASE("damage in a read-only layer is counted once, and the next layer is asked") {
    const Folder folder;
    place(folder, good_store());
    execute(folder, "UPDATE winners SET policy = 'x' WHERE id = 1");
    {
        Cache second({folder / "second", {}});
        publish(second, 0);
    }
    const auto before = contents(folder / "c/" + store_name);
    {
        Cache cache({":memory:", {folder / "c", folder / "second"}});
        for (int i = 0; i < 3; ++i)
            CHECK(cache.find(some_winner(0).key)->layer == folder / "second");
        CHECK(cache.damaged() == 1);
    }
    CHECK(contents(folder / "c/" + store_name) == before);
}

TEST_CASE("verify counts every changed row and names it") {
    const Folder folder;
    place(folder, good_store());
    execute(folder, "UPDATE winners SET policy = 'x' WHERE id IN (2, 5)");
    execute(folder, "UPDATE binaries SET target = 'x' WHERE id = 7");
    execute(folder, "UPDATE measurements SET unix_time = 1 WHERE id = 9");
    Cache cache({folder / "c", {}});
    const VerifyReport report = cache.verify().at(0);
    CHECK(report.checked == entries * 4);
    CHECK(report.damaged == 4);
    CHECK(report.findings.size() == 4);
    CHECK(cache.damaged() == 4);
    CHECK(cache.statistics().at(0).quarantined == 4);
    CHECK(cache.verify().at(0).damaged == 0);
}

TEST_CASE("a broken index does not lead to another key's row") {
    const Folder folder;
    place(folder, good_store());
    {
        // Two rows change keys behind the index's back.
        Database database(folder / "c/" + store_name, Database::Access::read_write, 1000);
        database.execute("CREATE TABLE other AS SELECT * FROM winners");
        database.execute("UPDATE winners SET key = x'00' WHERE id = 1");
        database.execute("DROP TABLE other");
    }
    Cache cache({folder / "c", {}});
    CHECK_FALSE(cache.find(some_winner(0).key));
    publish(cache, 0);
    for (std::uint64_t n = 0; n < entries; ++n)
        CHECK(has(cache, n));
}
