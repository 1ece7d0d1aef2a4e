// SPDX-License-Identifier: Apache-2.0
// Records as rows: the statements, and the digest check of each row that is read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cache/database.hpp"
#include "cache/layer.hpp"
#include "cache/store.hpp"

namespace zyfa::cache {

enum class Table : std::uint8_t { winners, binaries, measurements, rulings, former_winners };
const char* name_of(Table table) noexcept;

/// A row as it was read. `record` is there only if the row's digest matched.
template <class Record>
struct Row {
    std::int64_t id = 0;
    std::int64_t used = 0; ///< hours since 1970; 0 for measurements
    Digest key;            ///< the column, whatever it holds
    std::optional<Record> record;
};

/// A winner's columns, in `winners` and in `former_winners`. Queries for winner_row() have "id" before them
/// and the hour of the last use after them.
#define ZYFA_WINNER_VALUES                                                                                   \
    "key, key_text, schedule, binary, evidence, data_profile, policy, versions, unix_time, origin, digest"
Row<WinnerRecord> winner_row(const Statement& row);
/// Binds the values of these columns; `record` and its digest must outlive the statement.
Statement& bind_winner(Statement& statement, const WinnerRecord& record, const Digest& digest);

/// The row with this key; nullopt if there is none.
std::optional<Row<WinnerRecord>> read_winner(Database& database, const Digest& key);
std::optional<Row<BinaryRecord>> read_binary(Database& database, const Digest& key);
std::optional<Row<MeasurementRecord>> read_measurement(Database& database, const Digest& winner_key,
                                                       const std::string& schedule);

/// Calls back for every row, in ascending or descending order of id. Throws SqlError where a page is broken,
/// after the rows before it.
void each_winner(Database& database, bool ascending,
                 const std::function<void(const Row<WinnerRecord>&)>& found);
void each_binary(Database& database, bool ascending,
                 const std::function<void(const Row<BinaryRecord>&)>& found);
void each_measurement(Database& database, bool ascending,
                      const std::function<void(const Row<MeasurementRecord>&)>& found);
void each_measurement_of(Database& database, const Digest& winner_key,
                         const std::function<void(const Row<MeasurementRecord>&)>& found);

/// Inserts, or replaces what has the same key.
void write(Database& database, const WinnerRecord& record, std::int64_t used);
void write(Database& database, const BinaryRecord& record, std::int64_t used);
void write(Database& database, const MeasurementRecord& record);

void set_used(Database& database, Table table, std::int64_t id, std::int64_t used);
void erase(Database& database, Table table, std::int64_t id);

/// Moves a row that is still damaged into the quarantine table.
void quarantine(Database& database, Table table, std::int64_t id, const Digest& key,
                const std::string& reason);

} // namespace zyfa::cache
