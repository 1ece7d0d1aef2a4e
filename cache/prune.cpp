// SPDX-License-Identifier: Apache-2.0
// A winner's binary is stamped whenever the winner is, so that a binary is never older than a winner that
// needs it. The oldest entry is therefore either a winner, which goes alone (its binary follows if nothing
// else needs it), or a binary, which takes along the winners of the same age that refer to it. Nothing is
// left pointing at nothing. What is pinned, and its binary, stays.
#include "cache/prune.hpp"

#include <algorithm>
#include <ctime>
#include <limits>

#include "cache/rows.hpp"
#include "cache/rulings.hpp"

namespace zyfa::cache {

namespace {

std::span<const std::byte> as_blob(const std::vector<std::byte>& bytes) {
    return bytes;
}

struct Oldest {
    std::int64_t id = 0, used = std::numeric_limits<std::int64_t>::max();
    std::vector<std::byte> key, binary; ///< `binary` of winners only
};

Oldest oldest_winner(Database& database) {
    Statement query = database.statement(
        "SELECT id, used, key, binary FROM winners WHERE key NOT IN (SELECT key FROM rulings "
        "WHERE kind = 'pin') ORDER BY used LIMIT 1");
    if (!query.step())
        return {};
    return {query.integer(0), query.integer(1), query.blob(2), query.blob(3)};
}

Oldest oldest_binary(Database& database) {
    Statement query = database.statement(
        "SELECT id, used, key FROM binaries WHERE key NOT IN (SELECT binary FROM winners WHERE "
        "key IN (SELECT key FROM rulings WHERE kind = 'pin')) ORDER BY used LIMIT 1");
    if (!query.step())
        return {};
    return {query.integer(0), query.integer(1), query.blob(2), {}};
}

bool is_needed(Database& database, const std::vector<std::byte>& binary_key) {
    return database.statement("SELECT 1 FROM winners WHERE binary = ?1 LIMIT 1")
        .bind(as_blob(binary_key))
        .step();
}

class Pruning {
  public:
    explicit Pruning(Database& database) : database_(database) {}

    /// Removes the least recently used entry; false if there is none.
    bool step() {
        const Oldest winner = oldest_winner(database_), binary = oldest_binary(database_);
        if (winner.id == 0 && binary.id == 0)
            return false;
        if (binary.id == 0 || (winner.id != 0 && winner.used < binary.used)) {
            remove_winner(winner);
            if (!is_needed(database_, winner.binary))
                report_.binaries += changed("DELETE FROM binaries WHERE key = ?1", winner.binary);
            return true;
        }
        for (;;) {
            Oldest user;
            {
                Statement query =
                    database_.statement("SELECT id, key FROM winners WHERE binary = ?1 LIMIT 1");
                if (!query.bind(as_blob(binary.key)).step())
                    break;
                user.id = query.integer(0);
                user.key = query.blob(1);
            }
            remove_winner(user);
        }
        erase(database_, Table::binaries, binary.id);
        ++report_.binaries;
        return true;
    }

    const PruneReport& report() const { return report_; }

  private:
    void remove_winner(const Oldest& winner) {
        erase(database_, Table::winners, winner.id);
        erase_former_winners(database_, winner.key);
        ++report_.winners;
        report_.measurements += changed("DELETE FROM measurements WHERE key = ?1", winner.key);
    }
    std::uint64_t changed(const char* sql, const std::vector<std::byte>& key) {
        database_.statement(sql).bind(as_blob(key)).run();
        return static_cast<std::uint64_t>(database_.integer("SELECT changes()"));
    }

    Database& database_;
    PruneReport report_;
};

std::uint64_t count_entries(Database& database) {
    return static_cast<std::uint64_t>(
        database.integer("SELECT (SELECT count(*) FROM winners) + (SELECT count(*) FROM binaries)"));
}

} // namespace

std::uint64_t used_bytes(Database& database) {
    const std::int64_t pages =
        database.integer("PRAGMA page_count") - database.integer("PRAGMA freelist_count");
    return static_cast<std::uint64_t>(std::max<std::int64_t>(pages, 0)) *
           static_cast<std::uint64_t>(database.integer("PRAGMA page_size"));
}

bool may_exceed(Database& database, const Limits& limits) {
    return used_bytes(database) > limits.bytes ||
           database.integer("SELECT entries FROM totals WHERE id = 1") >
               static_cast<std::int64_t>(std::min<std::uint64_t>(limits.entries, INT64_MAX));
}

std::int64_t this_hour() {
    return static_cast<std::int64_t>(std::time(nullptr)) / 3600;
}

PruneReport prune(Database& database, const Limits& limits) {
    PruneReport report;
    {
        Transaction transaction(database);
        Pruning pruning(database);
        // Stamped while the clock was ahead: such rows would never be the oldest.
        for (const char* sql : {"UPDATE winners SET used = ?1 WHERE used > ?1",
                                "UPDATE binaries SET used = ?1 WHERE used > ?1"})
            database.statement(sql).bind(this_hour()).run();
        const std::uint64_t before = used_bytes(database);
        const std::uint64_t entries = count_entries(database);
        const auto exceeds = [&] {
            return used_bytes(database) > limits.bytes ||
                   entries - pruning.report().winners - pruning.report().binaries > limits.entries;
        };
        while (exceeds() && pruning.step()) {
        }
        database.statement("UPDATE totals SET entries = ?1 WHERE id = 1")
            .bind(static_cast<std::int64_t>(count_entries(database)))
            .run();
        transaction.commit();
        report = pruning.report();
        report.bytes_before = before;
    }
    database.execute("PRAGMA incremental_vacuum");
    report.bytes_after = used_bytes(database);
    return report;
}

} // namespace zyfa::cache
