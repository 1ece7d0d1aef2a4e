// SPDX-License-Identifier: Apache-2.0
#include "cache/rulings.hpp"

#include <ctime>

#include "cache/records.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

/// Since user_version 2. A former winner's row has the columns and the digest that it had as a winner.
constexpr const char* tables = R"(
CREATE TABLE rulings(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, key_text TEXT NOT NULL, schedule TEXT NOT NULL,
    kind TEXT NOT NULL, reason TEXT NOT NULL, unix_time INTEGER NOT NULL, digest BLOB NOT NULL,
    UNIQUE(key, schedule));
CREATE TABLE former_winners(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, key_text TEXT NOT NULL, schedule TEXT NOT NULL,
    binary BLOB NOT NULL, evidence TEXT NOT NULL, data_profile TEXT NOT NULL, policy TEXT NOT NULL,
    versions TEXT NOT NULL, unix_time INTEGER NOT NULL, origin TEXT NOT NULL, digest BLOB NOT NULL,
    replaced INTEGER NOT NULL, rolled_back INTEGER NOT NULL, UNIQUE(key, digest));
PRAGMA user_version = 2;
)";

#define ZYFA_RULING_COLUMNS "id, key, key_text, schedule, kind, reason, unix_time, digest"
#define ZYFA_FORMER_COLUMNS "id, " ZYFA_WINNER_VALUES ", 0, replaced, rolled_back"

Row<RulingRecord> ruling_row(const Statement& row) {
    RulingRecord r;
    r.key = row.digest(1);
    r.key_text = row.text(2);
    r.schedule = row.text(3);
    r.kind = row.text(4) == "pin" ? RulingRecord::Kind::pin : RulingRecord::Kind::ban;
    r.reason = row.text(5);
    r.unix_time = static_cast<std::uint64_t>(row.integer(6));
    Row<RulingRecord> result{row.integer(0), 0, r.key, std::nullopt};
    if (digest_of(r) == row.digest(7))
        result.record = std::move(r);
    return result;
}

FormerRow former_row(const Statement& row) {
    return {winner_row(row), static_cast<std::uint64_t>(row.integer(13)), row.integer(14) != 0};
}

/// The row of the winner as it is, its digest with it: damage stays visible.
void keep_as_former(Database& database, const Digest& key, bool rolled_back) {
    database
        .statement("INSERT INTO former_winners(" ZYFA_WINNER_VALUES ", replaced, rolled_back) "
                   "SELECT " ZYFA_WINNER_VALUES ", ?2, ?3 FROM winners WHERE key = ?1 "
                   "ON CONFLICT(key, digest) DO UPDATE SET replaced = ?2, rolled_back = ?3")
        .bind(key)
        .bind(static_cast<std::int64_t>(std::time(nullptr)))
        .bind(std::int64_t{rolled_back})
        .run();
    database
        .statement("DELETE FROM former_winners WHERE key = ?1 AND id NOT IN (SELECT id FROM former_winners "
                   "WHERE key = ?1 ORDER BY replaced DESC, id DESC LIMIT ?2)")
        .bind(key)
        .bind(most_former_winners)
        .run();
}

} // namespace

Digest every_key() {
    return digest(std::string_view(RulingRecord::every_key_text));
}

const char* to_string(RulingRecord::Kind kind) noexcept {
    return kind == RulingRecord::Kind::pin ? "pin" : "ban";
}

bool has_ruling_tables(Database& database) {
    return database.integer("PRAGMA user_version") >= 2;
}

void create_ruling_tables(Database& database) {
    if (!has_ruling_tables(database))
        database.execute(tables);
}

void each_ruling(Database& database, const std::function<void(const Row<RulingRecord>&)>& found) {
    Statement query = database.statement("SELECT " ZYFA_RULING_COLUMNS " FROM rulings ORDER BY id");
    while (query.step())
        found(ruling_row(query));
}

std::vector<Row<RulingRecord>> read_rulings(Database& database, const Digest& key) {
    const Digest every = every_key();
    Statement query =
        database.statement("SELECT " ZYFA_RULING_COLUMNS " FROM rulings WHERE key IN (?1, ?2) ORDER BY id");
    query.bind(key).bind(every);
    std::vector<Row<RulingRecord>> rows;
    while (query.step())
        rows.push_back(ruling_row(query));
    return rows;
}

std::vector<FormerRow> read_former_winners(Database& database, const Digest& key) {
    Statement query = database.statement("SELECT " ZYFA_FORMER_COLUMNS " FROM former_winners WHERE key = ?1 "
                                         "ORDER BY replaced DESC, id DESC");
    query.bind(key);
    std::vector<FormerRow> rows;
    while (query.step())
        rows.push_back(former_row(query));
    return rows;
}

void each_former_winner(Database& database, const std::function<void(const FormerRow&)>& found) {
    Statement query = database.statement("SELECT " ZYFA_FORMER_COLUMNS " FROM former_winners ORDER BY id");
    while (query.step())
        found(former_row(query));
}

void write(Database& database, const RulingRecord& r) {
    const Digest digest = digest_of(r);
    if (r.kind == RulingRecord::Kind::pin) // a key has one pin
        database.statement("DELETE FROM rulings WHERE key = ?1 AND kind = 'pin'").bind(r.key).run();
    database
        .statement("INSERT INTO rulings(key, key_text, schedule, kind, reason, unix_time, digest) "
                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(key, schedule) DO UPDATE SET "
                   "key_text = ?2, kind = ?4, reason = ?5, unix_time = ?6, digest = ?7")
        .bind(r.key)
        .bind(r.key_text)
        .bind(r.schedule)
        .bind(std::string_view(to_string(r.kind)))
        .bind(r.reason)
        .bind(static_cast<std::int64_t>(r.unix_time))
        .bind(digest)
        .run();
}

void write_former(Database& database, const FormerWinner& former) {
    const Digest digest = digest_of(former.winner);
    Statement insert = database.statement("INSERT OR REPLACE INTO former_winners(" ZYFA_WINNER_VALUES
                                          ", replaced, rolled_back) "
                                          "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
    bind_winner(insert, former.winner, digest)
        .bind(static_cast<std::int64_t>(former.replaced))
        .bind(std::int64_t{former.rolled_back})
        .run();
}

bool is_banned(Database& database, const Digest& key, std::string_view schedule) {
    const Digest every = every_key();
    return database
        .statement("SELECT 1 FROM rulings WHERE key IN (?1, ?2) AND schedule = ?3 AND kind = 'ban' LIMIT 1")
        .bind(key)
        .bind(every)
        .bind(schedule)
        .step();
}

std::optional<std::string> pinned_schedule(Database& database, const Digest& key) {
    Statement query = database.statement("SELECT schedule FROM rulings WHERE key = ?1 AND kind = 'pin'");
    return query.bind(key).step() ? std::optional(query.text(0)) : std::nullopt;
}

std::string why_not_winner(Database& database, const WinnerRecord& winner) {
    if (const auto pinned = pinned_schedule(database, winner.key); pinned && *pinned != winner.schedule)
        return *pinned + " is pinned";
    if (is_banned(database, winner.key, winner.schedule))
        return winner.schedule + " is banned";
    return {};
}

void replace_winner(Database& database, const WinnerRecord& winner, std::int64_t used) {
    const bool another = database
                             .statement("SELECT 1 FROM winners WHERE key = ?1 AND (schedule <> ?2 OR "
                                        "binary <> ?3) LIMIT 1")
                             .bind(winner.key)
                             .bind(winner.schedule)
                             .bind(winner.binary)
                             .step();
    if (another)
        keep_as_former(database, winner.key, false);
    write(database, winner, used);
}

void erase_former_winners(Database& database, const std::vector<std::byte>& key) {
    database.statement("DELETE FROM former_winners WHERE key = ?1")
        .bind(std::span<const std::byte>(key))
        .run();
}

WinnerRecord roll_back(Database& database, const Digest& key, std::string_view schedule, std::int64_t used) {
    std::string passed_by;
    for (FormerRow& former : read_former_winners(database, key)) {
        if (!former.row.record ||
            (schedule.empty() ? former.rolled_back : former.row.record->schedule != schedule))
            continue;
        const WinnerRecord& winner = *former.row.record;
        if (const std::string reason = why_not_winner(database, winner); !reason.empty()) {
            passed_by = ": " + reason;
            continue;
        }
        database.statement("DELETE FROM former_winners WHERE id = ?1").bind(former.row.id).run();
        keep_as_former(database, key, true);
        write(database, winner, used);
        return winner;
    }
    throw Error(ErrorCode::invalid_argument, schedule.empty() ? "key" : "schedule",
                schedule.empty()
                    ? "the key has no former winner to roll back to" + passed_by
                    : std::string(schedule) + " is no former winner of the key that may win" + passed_by);
}

} // namespace zyfa::cache
