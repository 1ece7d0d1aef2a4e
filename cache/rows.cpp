// SPDX-License-Identifier: Apache-2.0
#include "cache/rows.hpp"

#include <ctime>

#include "cache/compression.hpp"
#include "cache/records.hpp"
#include "cache/rulings.hpp"

namespace zyfa::cache {

namespace {

#define ZYFA_WINNER_COLUMNS "id, " ZYFA_WINNER_VALUES ", used"
#define ZYFA_BINARY_COLUMNS "id, key, key_text, kernel, target, toolchain, origin, code, digest, used"
#define ZYFA_MEASUREMENT_COLUMNS "id, key, schedule, measurement, unix_time, digest"

template <class Record>
std::optional<Record> if_intact(Record&& record, const Digest& stored) {
    if (digest_of(record) != stored)
        return std::nullopt;
    return std::move(record);
}

Row<BinaryRecord> binary_row(const Statement& row) {
    BinaryRecord r;
    r.key = row.digest(1);
    r.key_text = row.text(2);
    r.kernel_name = row.text(3);
    r.target = row.text(4);
    r.toolchain = row.text(5);
    r.origin = row.text(6);
    const Digest key = r.key;
    auto code = decompress(row.blob(7));
    if (!code)
        return {row.integer(0), row.integer(9), key, std::nullopt};
    r.code_object = std::move(*code);
    return {row.integer(0), row.integer(9), key, if_intact(std::move(r), row.digest(8))};
}

Row<MeasurementRecord> measurement_row(const Statement& row) {
    MeasurementRecord r;
    r.key = row.digest(1);
    r.schedule = row.text(2);
    r.measurement_json = row.text(3);
    r.unix_time = static_cast<std::uint64_t>(row.integer(4));
    const Digest key = r.key;
    return {row.integer(0), 0, key, if_intact(std::move(r), row.digest(5))};
}

template <class Function, class Found>
void each(Statement& query, Function row_of, const Found& found) {
    while (query.step())
        found(row_of(query));
}

bool is_still_damaged(Database& database, Table table, std::int64_t id) {
    switch (table) {
    case Table::winners: {
        Statement query = database.statement("SELECT " ZYFA_WINNER_COLUMNS " FROM winners WHERE id = ?1");
        return query.bind(id).step() && !winner_row(query).record;
    }
    case Table::binaries: {
        Statement query = database.statement("SELECT " ZYFA_BINARY_COLUMNS " FROM binaries WHERE id = ?1");
        return query.bind(id).step() && !binary_row(query).record;
    }
    case Table::measurements: {
        Statement query =
            database.statement("SELECT " ZYFA_MEASUREMENT_COLUMNS " FROM measurements WHERE id = ?1");
        return query.bind(id).step() && !measurement_row(query).record;
    }
    case Table::rulings: {
        bool damaged = false;
        each_ruling(database, [&](const auto& row) { damaged = damaged || (row.id == id && !row.record); });
        return damaged;
    }
    case Table::former_winners: {
        bool damaged = false;
        each_former_winner(database, [&](const FormerRow& former) {
            damaged = damaged || (former.row.id == id && !former.row.record);
        });
        return damaged;
    }
    }
    return false;
}

} // namespace

Row<WinnerRecord> winner_row(const Statement& row) {
    WinnerRecord r;
    r.key = row.digest(1);
    r.key_text = row.text(2);
    r.schedule = row.text(3);
    r.binary = row.digest(4);
    r.evidence_json = row.text(5);
    r.data_profile = row.text(6);
    r.policy = row.text(7);
    r.versions_json = row.text(8);
    r.unix_time = static_cast<std::uint64_t>(row.integer(9));
    r.origin = row.text(10);
    const Digest key = r.key;
    return {row.integer(0), row.integer(12), key, if_intact(std::move(r), row.digest(11))};
}

const char* name_of(Table table) noexcept {
    switch (table) {
    case Table::winners:
        return "winner";
    case Table::binaries:
        return "binary";
    case Table::measurements:
        return "measurement";
    case Table::rulings:
        return "ruling";
    case Table::former_winners:
        return "former winner";
    }
    return "unknown";
}

std::optional<Row<WinnerRecord>> read_winner(Database& database, const Digest& key) {
    Statement query = database.statement("SELECT " ZYFA_WINNER_COLUMNS " FROM winners WHERE key = ?1");
    return query.bind(key).step() ? std::optional(winner_row(query)) : std::nullopt;
}

std::optional<Row<BinaryRecord>> read_binary(Database& database, const Digest& key) {
    Statement query = database.statement("SELECT " ZYFA_BINARY_COLUMNS " FROM binaries WHERE key = ?1");
    return query.bind(key).step() ? std::optional(binary_row(query)) : std::nullopt;
}

std::optional<Row<MeasurementRecord>> read_measurement(Database& database, const Digest& winner_key,
                                                       const std::string& schedule) {
    Statement query = database.statement("SELECT " ZYFA_MEASUREMENT_COLUMNS
                                         " FROM measurements WHERE key = ?1 AND schedule = ?2");
    query.bind(winner_key).bind(schedule);
    return query.step() ? std::optional(measurement_row(query)) : std::nullopt;
}

void each_winner(Database& database, bool ascending,
                 const std::function<void(const Row<WinnerRecord>&)>& found) {
    Statement query =
        database.statement(ascending ? "SELECT " ZYFA_WINNER_COLUMNS " FROM winners ORDER BY id"
                                     : "SELECT " ZYFA_WINNER_COLUMNS " FROM winners ORDER BY id DESC");
    each(query, winner_row, found);
}

void each_binary(Database& database, bool ascending,
                 const std::function<void(const Row<BinaryRecord>&)>& found) {
    Statement query =
        database.statement(ascending ? "SELECT " ZYFA_BINARY_COLUMNS " FROM binaries ORDER BY id"
                                     : "SELECT " ZYFA_BINARY_COLUMNS " FROM binaries ORDER BY id DESC");
    each(query, binary_row, found);
}

void each_measurement(Database& database, bool ascending,
                      const std::function<void(const Row<MeasurementRecord>&)>& found) {
    Statement query = database.statement(
        ascending ? "SELECT " ZYFA_MEASUREMENT_COLUMNS " FROM measurements ORDER BY id"
                  : "SELECT " ZYFA_MEASUREMENT_COLUMNS " FROM measurements ORDER BY id DESC");
    each(query, measurement_row, found);
}

void each_measurement_of(Database& database, const Digest& winner_key,
                         const std::function<void(const Row<MeasurementRecord>&)>& found) {
    Statement query = database.statement("SELECT " ZYFA_MEASUREMENT_COLUMNS
                                         " FROM measurements WHERE key = ?1 ORDER BY schedule");
    query.bind(winner_key);
    each(query, measurement_row, found);
}

Statement& bind_winner(Statement& statement, const WinnerRecord& r, const Digest& digest) {
    return statement.bind(r.key)
        .bind(r.key_text)
        .bind(r.schedule)
        .bind(r.binary)
        .bind(r.evidence_json)
        .bind(r.data_profile)
        .bind(r.policy)
        .bind(r.versions_json)
        .bind(static_cast<std::int64_t>(r.unix_time))
        .bind(r.origin)
        .bind(digest);
}

void write(Database& database, const WinnerRecord& r, std::int64_t used) {
    const Digest digest = digest_of(r);
    Statement insert = database.statement(
        "INSERT INTO winners(" ZYFA_WINNER_VALUES
        ", used) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
        "ON CONFLICT(key) DO UPDATE SET key_text = ?2, schedule = ?3, binary = ?4, evidence = ?5, "
        "data_profile = ?6, policy = ?7, versions = ?8, unix_time = ?9, origin = ?10, digest = ?11, "
        "used = ?12");
    bind_winner(insert, r, digest).bind(used).run();
}

void write(Database& database, const BinaryRecord& r, std::int64_t used) {
    const Digest digest = digest_of(r);
    const std::vector<std::byte> code = compress(r.code_object);
    database
        .statement(
            "INSERT INTO binaries(key, key_text, kernel, target, toolchain, origin, code, digest, used) "
            "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
            "ON CONFLICT(key) DO UPDATE SET key_text = ?2, kernel = ?3, target = ?4, toolchain = ?5, "
            "origin = ?6, code = ?7, digest = ?8, used = ?9")
        .bind(r.key)
        .bind(r.key_text)
        .bind(r.kernel_name)
        .bind(r.target)
        .bind(r.toolchain)
        .bind(r.origin)
        .bind(std::span<const std::byte>(code))
        .bind(digest)
        .bind(used)
        .run();
}

void write(Database& database, const MeasurementRecord& r) {
    const Digest digest = digest_of(r);
    database
        .statement("INSERT INTO measurements(key, schedule, measurement, unix_time, digest) "
                   "VALUES(?1, ?2, ?3, ?4, ?5) "
                   "ON CONFLICT(key, schedule) DO UPDATE SET measurement = ?3, unix_time = ?4, digest = ?5")
        .bind(r.key)
        .bind(r.schedule)
        .bind(r.measurement_json)
        .bind(static_cast<std::int64_t>(r.unix_time))
        .bind(digest)
        .run();
}

void set_used(Database& database, Table table, std::int64_t id, std::int64_t used) {
    database
        .statement(table == Table::winners ? "UPDATE winners SET used = ?1 WHERE id = ?2"
                                           : "UPDATE binaries SET used = ?1 WHERE id = ?2")
        .bind(used)
        .bind(id)
        .run();
}

void erase(Database& database, Table table, std::int64_t id) {
    database
        .statement(table == Table::winners          ? "DELETE FROM winners WHERE id = ?1"
                   : table == Table::binaries       ? "DELETE FROM binaries WHERE id = ?1"
                   : table == Table::rulings        ? "DELETE FROM rulings WHERE id = ?1"
                   : table == Table::former_winners ? "DELETE FROM former_winners WHERE id = ?1"
                                                    : "DELETE FROM measurements WHERE id = ?1")
        .bind(id)
        .run();
}

void quarantine(Database& database, Table table, std::int64_t id, const Digest& key,
                const std::string& reason) {
    Transaction transaction(database);
    if (!is_still_damaged(database, table, id))
        return; // another process has replaced it by a good one
    erase(database, table, id);
    database.statement("INSERT INTO quarantine(kind, key, reason, unix_time) VALUES(?1, ?2, ?3, ?4)")
        .bind(name_of(table))
        .bind(key)
        .bind(reason)
        .bind(static_cast<std::int64_t>(std::time(nullptr)))
        .run();
    database.execute("DELETE FROM quarantine WHERE id <= (SELECT max(id) FROM quarantine) - 1000");
    transaction.commit();
}

} // namespace zyfa::cache
