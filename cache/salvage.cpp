// SPDX-License-Identifier: Apache-2.0
// Mending a store whose pages or schema are broken. Rows are read from both ends of each table, so that one
// broken page costs what lies on it and between the two runs, not the rest.
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>

#include "cache/records.hpp"
#include "cache/rows.hpp"
#include "cache/rulings.hpp"
#include "cache/schema.hpp"

namespace zyfa::cache {

namespace {

void remove_with_journals(const std::string& path) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"})
        ::unlink((path + suffix).c_str());
}

template <class Function>
void as_far_as_possible(Function function) {
    try {
        function();
    } catch (const SqlError&) { // what lies beyond the broken page cannot be had from this end
    }
}

void copy_intact_rows(Database& from, Database& to, Salvage& result) {
    for (const bool ascending : {true, false}) {
        as_far_as_possible([&] {
            each_winner(from, ascending, [&](const Row<WinnerRecord>& row) {
                if (row.record && is_consistent(*row.record))
                    write(to, *row.record, row.used);
            });
        });
        as_far_as_possible([&] {
            each_binary(from, ascending, [&](const Row<BinaryRecord>& row) {
                if (row.record && is_consistent(*row.record))
                    write(to, *row.record, row.used);
            });
        });
        as_far_as_possible([&] {
            each_measurement(from, ascending, [&](const Row<MeasurementRecord>& row) {
                if (row.record)
                    write(to, *row.record);
            });
        });
    }
    as_far_as_possible([&] {
        each_ruling(from, [&](const Row<RulingRecord>& row) {
            if (row.record && is_consistent(*row.record))
                write(to, *row.record);
        });
    });
    as_far_as_possible([&] {
        each_former_winner(from, [&](const FormerRow& former) {
            if (former.row.record && is_consistent(*former.row.record))
                write_former(to, {*former.row.record, former.replaced, former.rolled_back});
        });
    });
    const auto count = [&](const char* sql) { return static_cast<std::uint64_t>(to.integer(sql)); };
    result.winners = count("SELECT count(*) FROM winners");
    result.binaries = count("SELECT count(*) FROM binaries");
    result.measurements = count("SELECT count(*) FROM measurements");
}

void build_replacement(const std::string& damaged_path, const std::string& new_path, Salvage& result) {
    const auto fresh = open_new_store(new_path);
    Transaction transaction(*fresh);
    as_far_as_possible([&] {
        Database damaged(damaged_path, Database::Access::read_only, busy_ms);
        copy_intact_rows(damaged, *fresh, result);
    });
    transaction.commit();
}

} // namespace

Salvage salvage_user_store(const std::string& folder, const FileIdentity& damaged) {
    const std::string path = folder + "/" + store_file_name, kept = folder + "/" + damaged_file_name;
    const std::string replacement = path + ".new-" + std::to_string(::getpid());
    const ByteLock lock =
        ByteLock::acquire(folder + "/" + lock_file_name, 0, std::chrono::milliseconds(busy_ms));
    Salvage result;
    if (identify(path) != damaged)
        return result;
    remove_with_journals(replacement);
    build_replacement(path, replacement, result);
    ::unlink(kept.c_str());
    static_cast<void>(
        ::link(path.c_str(), kept.c_str())); // for whoever wants to look; its absence costs nothing
    // The old journal must be gone before the new file has its name: SQLite would replay it into that.
    for (const char* suffix : {"-wal", "-shm", "-journal"})
        ::unlink((path + suffix).c_str());
    if (::rename(replacement.c_str(), path.c_str()) != 0) {
        const int error = errno;
        remove_with_journals(replacement);
        throw SqlError(SQLITE_IOERR,
                       "renaming " + replacement + ": " + std::generic_category().message(error));
    }
    sync_folder(folder);
    result.replaced = true;
    return result;
}

} // namespace zyfa::cache
