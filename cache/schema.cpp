// SPDX-License-Identifier: Apache-2.0
#include "cache/schema.hpp"

#include <sqlite3.h>

#include <chrono>
#include <thread>

#include "cache/files.hpp"
#include "cache/rulings.hpp"

namespace zyfa::cache {

namespace {

constexpr std::int64_t application_id = 0x7a796661; // "zyfa", as in `tables`

constexpr std::int64_t current_version = 2; // 1: without rulings and former winners (rulings.cpp)

/// Rowid tables with a UNIQUE key: a blob beside the key in a WITHOUT ROWID table makes look-ups several
/// times slower. `used` counts hours since 1970 and is the only column outside the row's digest. `totals`
/// spares counting all rows at each publication; it is a hint that pruning checks before it acts.
constexpr const char* tables = R"(
CREATE TABLE binaries(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, key_text TEXT NOT NULL, kernel TEXT NOT NULL,
    target TEXT NOT NULL, toolchain TEXT NOT NULL, origin TEXT NOT NULL, code BLOB NOT NULL,
    digest BLOB NOT NULL, used INTEGER NOT NULL);
CREATE TABLE winners(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, key_text TEXT NOT NULL, schedule TEXT NOT NULL,
    binary BLOB NOT NULL, evidence TEXT NOT NULL, data_profile TEXT NOT NULL, policy TEXT NOT NULL,
    versions TEXT NOT NULL, unix_time INTEGER NOT NULL, origin TEXT NOT NULL,
    digest BLOB NOT NULL, used INTEGER NOT NULL);
CREATE TABLE measurements(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, schedule TEXT NOT NULL, measurement TEXT NOT NULL,
    unix_time INTEGER NOT NULL, digest BLOB NOT NULL, UNIQUE(key, schedule));
CREATE TABLE quarantine(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key BLOB NOT NULL, reason TEXT NOT NULL,
    unix_time INTEGER NOT NULL);
CREATE TABLE totals(id INTEGER PRIMARY KEY, entries INTEGER NOT NULL);
INSERT INTO totals VALUES(1, 0);
CREATE INDEX binaries_used ON binaries(used);
CREATE INDEX winners_used ON winners(used);
CREATE INDEX winners_binary ON winners(binary);
CREATE TRIGGER binary_in AFTER INSERT ON binaries BEGIN UPDATE totals SET entries = entries + 1 WHERE id = 1; END;
CREATE TRIGGER binary_out AFTER DELETE ON binaries BEGIN UPDATE totals SET entries = entries - 1 WHERE id = 1; END;
CREATE TRIGGER winner_in AFTER INSERT ON winners BEGIN UPDATE totals SET entries = entries + 1 WHERE id = 1; END;
CREATE TRIGGER winner_out AFTER DELETE ON winners BEGIN UPDATE totals SET entries = entries - 1 WHERE id = 1; END;
PRAGMA application_id = 0x7a796661;
PRAGMA user_version = 1;
)";

/// Everything that create_tables makes, as one text.
constexpr const char* schema_text =
    "SELECT group_concat(type || name || tbl_name || coalesce(sql, ''), char(10)) FROM "
    "(SELECT * FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name)";

/// A commit that returned survives a power cut. WAL's default would lose the last ones; a rollback journal
/// whose deletion was not synced would come back and undo the last one (sqlite.org/pragma.html, synchronous).
void configure(Database& database) {
    database.execute("PRAGMA synchronous=EXTRA");
    database.execute("PRAGMA journal_size_limit=16777216");
}

/// Whether the file is a complete store of ours; throws where it is somebody else's.
bool is_complete(Database& database) {
    if (database.integer("PRAGMA user_version") < 1)
        return false;
    if (database.integer("PRAGMA application_id") != application_id)
        throw SqlError(SQLITE_NOTADB, "not a zyfa cache");
    return true;
}

/// The journal-mode pragma fails at once where another process is just looking, whatever the busy timeout
/// says.
void set_journal_mode(Database& database, bool wal) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(busy_ms);
    for (;;) {
        try {
            database.execute(wal ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE");
            return;
        } catch (const SqlError& error) {
            if (!error.busy() || std::chrono::steady_clock::now() > deadline)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

} // namespace

void create_tables(Database& database) {
    database.execute("PRAGMA auto_vacuum=INCREMENTAL"); // pruning gives pages back at a cost of what it frees
    Transaction transaction(database);
    if (database.integer("PRAGMA user_version") < 1) // another process may have been first
        database.execute(tables);
    create_ruling_tables(database);
    transaction.commit();
}

std::unique_ptr<Database> open_user_store(const std::string& folder, bool on_network) {
    const std::string path = folder + "/" + store_file_name;
    const bool wal = !on_network;
    if (exists(path)) {
        auto database = std::make_unique<Database>(path, Database::Access::read_write, busy_ms);
        if (is_complete(*database) && (database->text("PRAGMA journal_mode") == "wal") == wal) {
            configure(*database);
            if (database->integer("PRAGMA user_version") < current_version)
                create_tables(*database);
            return database;
        }
    }
    // Creation is serialised: two processes that switch a new file to WAL at once fail in one of six tries. A
    // process that cannot get the lock (no locks here, or a holder that hangs) goes on: the pragma is retried
    // too.
    const ByteLock lock =
        ByteLock::acquire(folder + "/" + lock_file_name, 0, std::chrono::milliseconds(busy_ms));
    auto database = std::make_unique<Database>(path, Database::Access::create, busy_ms);
    configure(*database);
    // The tables come first, in a synced transaction: SQLite drops the WAL of a file that is empty after a
    // power cut. (Only SQLite may open the file: closing any other descriptor of it would drop this process's
    // locks.)
    if (!is_complete(*database) || database->integer("PRAGMA user_version") < current_version)
        create_tables(*database);
    set_journal_mode(*database, wal);
    sync_folder(folder);
    return database;
}

std::unique_ptr<Database> open_new_store(const std::string& path) {
    auto database = std::make_unique<Database>(path, Database::Access::create, busy_ms);
    configure(*database);
    create_tables(*database);
    return database;
}

std::unique_ptr<Database> open_read_only_store(const std::string& path) {
    // A journal that is not empty belongs to a writer that is alive or died: only SQLite's locks can tell.
    const bool quiet = is_empty_or_absent(path + "-wal") && is_empty_or_absent(path + "-journal");
    if (!quiet || !is_read_only_file_system(path)) {
        try {
            auto database = std::make_unique<Database>(path, Database::Access::read_only, busy_ms);
            if (!is_complete(*database))
                throw SqlError(SQLITE_NOTADB, "not a complete zyfa cache");
            return database;
        } catch (const SqlError& error) {
            if (!quiet || !error.forbidden()) // a WAL file in a folder that we may not write to
                throw;
        }
    }
    auto database = std::make_unique<Database>(path, Database::Access::immutable, busy_ms);
    if (!is_complete(*database))
        throw SqlError(SQLITE_NOTADB, "not a complete zyfa cache");
    return database;
}

bool has_intact_schema(Database& database) noexcept {
    try {
        static const std::string expected = [] {
            Database fresh("", Database::Access::memory, 0);
            create_tables(fresh);
            return fresh.text(schema_text);
        }();
        return database.text(schema_text) == expected;
    } catch (const std::exception&) {
        return false;
    }
}

std::unique_ptr<Database> open_memory_store() {
    auto database = std::make_unique<Database>("", Database::Access::memory, busy_ms);
    create_tables(*database);
    return database;
}

} // namespace zyfa::cache
