// SPDX-License-Identifier: Apache-2.0
// What a person has decided about a key's schedules, and the winners that a key had before: the tables, and
// the statements that keep both in step with `winners`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/database.hpp"
#include "cache/rows.hpp"
#include "cache/store.hpp"

namespace zyfa::cache {

/// Former winners that are kept of a key.
inline constexpr std::int64_t most_former_winners = 4;

/// Adds the tables to a store that was made before there were any. Inside the caller's transaction.
void create_ruling_tables(Database& database);
/// False of a store that was made before, and is only read.
bool has_ruling_tables(Database& database);

/// Every ruling, or those on one key and on every key. A row that does not match its digest has no record.
void each_ruling(Database& database, const std::function<void(const Row<RulingRecord>&)>& found);
std::vector<Row<RulingRecord>> read_rulings(Database& database, const Digest& key);

/// A key's former winners, the last one first.
struct FormerRow {
    Row<WinnerRecord> row;
    std::uint64_t replaced = 0;
    bool rolled_back = false;
};
std::vector<FormerRow> read_former_winners(Database& database, const Digest& key);
void each_former_winner(Database& database, const std::function<void(const FormerRow&)>& found);

void write(Database& database, const RulingRecord& record);
void write_former(Database& database, const FormerWinner& former);

/// Whether any ruling is on the schedule for the key.
bool is_banned(Database& database, const Digest& key, std::string_view schedule);
/// The schedule that is pinned for the key.
std::optional<std::string> pinned_schedule(Database& database, const Digest& key);
/// Why a winner may not take the key: "... is pinned", "... is banned"; empty where it may.
std::string why_not_winner(Database& database, const WinnerRecord& winner);

/// Writes the winner and keeps the one that was there, if that had another schedule or binary, among the
/// key's former winners.
void replace_winner(Database& database, const WinnerRecord& winner, std::int64_t used);
/// Forgets a key's former winners, as pruning does.
void erase_former_winners(Database& database, const std::vector<std::byte>& key);

/// Takes the last former winner that may win (or the last with this schedule) back as the winner. Inside the
/// caller's transaction. Throws Error{invalid_argument} where there is none, or the key is pinned.
WinnerRecord roll_back(Database& database, const Digest& key, std::string_view schedule, std::int64_t used);

} // namespace zyfa::cache
