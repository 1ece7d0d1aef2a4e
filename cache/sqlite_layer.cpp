// SPDX-License-Identifier: Apache-2.0
#include "cache/sqlite_layer.hpp"

#include <sqlite3.h>

#include <ctime>

#include "cache/prune.hpp"
#include "cache/records.hpp"
#include "cache/rulings.hpp"
#include "cache/schema.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

bool is_consistent(const MeasurementRecord&) {
    return true;
}

Digest key_of(const WinnerRecord& r) {
    return r.key;
}
Digest key_of(const BinaryRecord& r) {
    return r.key;
}
Digest key_of(const MeasurementRecord& r) {
    return r.key;
}
Digest key_of(const RulingRecord& r) {
    return r.key;
}

std::string ask(const auto& question, const auto& record) {
    return question ? question(record) : std::string();
}

/// One transfer into an open store, inside the caller's transaction.
class Transfer {
  public:
    Transfer(Database& database, const Content& content, const Acceptance& acceptance)
        : database_(database), content_(content), acceptance_(acceptance) {}

    TransferReport run() {
        for (const BinaryRecord& binary : content_.binaries)
            take(binary);
        for (const WinnerRecord& winner : content_.winners)
            take(winner);
        for (const MeasurementRecord& measurement : content_.measurements)
            if (taken_.contains(measurement.key) && is_later(measurement))
                write(database_, measurement);
        return std::move(report_);
    }

  private:
    using Action = Decision::Action;
    static constexpr const char* wrong_key = "its key is not the digest of its text";

    void take(const BinaryRecord& binary) {
        std::string reason = is_consistent(binary) ? ask(acceptance_.binary, binary) : wrong_key;
        if (!reason.empty()) {
            report_.note({Action::ignored, "binary", binary.key_text, std::move(reason)});
            return;
        }
        const auto present = read_binary(database_, binary.key);
        if (!present || !present->record) // what is there and damaged is replaced
            write(database_, binary, this_hour());
    }

    void take(const WinnerRecord& winner) {
        std::string reason = is_consistent(winner) ? ask(acceptance_.winner, winner) : wrong_key;
        if (!reason.empty()) {
            report_.note({Action::ignored, "winner", winner.key_text, std::move(reason)});
            return;
        }
        const auto binary = read_binary(database_, winner.binary);
        if (!binary || !binary->record) {
            report_.note({Action::ignored, "winner", winner.key_text, "its binary is not there"});
            return;
        }
        if (std::string ruled = why_not_winner(database_, winner); !ruled.empty()) {
            report_.note({Action::ignored, "winner", winner.key_text, std::move(ruled)});
            return;
        }
        taken_.insert(winner.key);
        const auto present = read_winner(database_, winner.key);
        if (!present || !present->record) {
            write(database_, winner, this_hour());
            report_.note(
                {Action::added, "winner", winner.key_text, present ? "what was there is damaged" : ""});
            return;
        }
        WinnerRecord incoming = winner;
        incoming.origin = present->record->origin;
        if (digest_of(incoming) == digest_of(*present->record)) {
            report_.note({Action::same, "winner", winner.key_text, ""});
            return;
        }
        Verdict verdict = compare(*present->record, winner);
        if (verdict.take_new)
            replace_winner(database_, winner, this_hour());
        report_.note({verdict.take_new ? Action::replaced : Action::kept, "winner", winner.key_text,
                      std::move(verdict.reason)});
    }

    /// Of two measurements of a schedule the later one stays, in whichever order they come.
    bool is_later(const MeasurementRecord& incoming) {
        const auto row = read_measurement(database_, incoming.key, incoming.schedule);
        if (!row || !row->record)
            return true;
        const MeasurementRecord& present = *row->record;
        return present.unix_time != incoming.unix_time ? incoming.unix_time > present.unix_time
                                                       : digest_of(incoming) < digest_of(present);
    }

    Database& database_;
    const Content& content_;
    const Acceptance& acceptance_;
    std::set<Digest> taken_;
    TransferReport report_;
};

/// A damaged row that verify() found, to be dealt with once nothing iterates any more.
struct Finding {
    Table table;
    std::int64_t id;
    Digest key;
};

} // namespace

SqliteLayer::SqliteLayer(Kind kind, std::string name, std::string location, LayerEvents events,
                         std::optional<bool> on_network)
    : kind_(kind), name_(std::move(name)), location_(std::move(location)), events_(std::move(events)),
      on_network_(on_network) {}

SqliteLayer::~SqliteLayer() = default;

std::string SqliteLayer::file() const {
    return kind_ == Kind::user ? location_ + "/" + store_file_name : location_;
}

void SqliteLayer::open_database() {
    switch (kind_) {
    case Kind::memory:
        database_ = open_memory_store();
        return;
    case Kind::user: {
        std::string reason = make_private_folder(location_);
        if (reason.empty() && exists(file()))
            reason = distrust(file());
        if (!reason.empty())
            throw SqlError(SQLITE_AUTH, reason);
        database_ = open_user_store(location_, on_network_.value_or(is_on_network(location_)));
        break;
    }
    case Kind::read_only: {
        if (!exists(file()))
            throw SqlError(SQLITE_CANTOPEN, "there is no " + file());
        for (const std::string& path : {parent_of(file()), file()})
            if (const std::string reason = distrust(path); !reason.empty())
                throw SqlError(SQLITE_AUTH, reason);
        database_ = open_read_only_store(file());
        break;
    }
    }
    identity_ = identify(file());
    note_.clear();
}

/// A user may remove the folder, another process may replace a damaged file, an administrator a site's file.
void SqliteLayer::follow_file() {
    if (database_ && kind_ != Kind::memory && identify(file()) != identity_)
        database_.reset();
    if (!database_)
        open_database();
}

void SqliteLayer::mend(const std::string& why) {
    events_.damaged();
    note_ = "damaged: " + why;
    database_.reset();
    if (kind_ != Kind::user) {
        events_.log("cache layer " + name_ + " is " + note_);
        return;
    }
    try {
        const auto identity = identify(file());
        if (identity) {
            const Salvage kept = salvage_user_store(location_, *identity);
            events_.log("cache layer " + name_ + " was " + note_ +
                        (kept.replaced ? "; rebuilt with " + std::to_string(kept.winners) + " winners and " +
                                             std::to_string(kept.binaries) + " binaries"
                                       : "; another process has rebuilt it"));
        }
        open_database();
    } catch (const SqlError& error) {
        events_.log("cache layer " + name_ + " is " + note_ + " and cannot be rebuilt: " + error.what());
    }
}

/// Runs `function` on the open database. False where it could not be; damage is mended on the way.
template <class Function>
bool SqliteLayer::attempt(Function function) {
    const std::lock_guard lock(mutex_);
    try {
        follow_file();
        function(*database_);
        return true;
    } catch (const SqlError& error) {
        if (error.damaged() || (error.suspicious() && database_ && !has_intact_schema(*database_))) {
            mend(error.what());
        } else if (note_ != error.what()) {
            note_ = error.what();
            events_.log("cache layer " + name_ + ": " + note_);
        }
        return false;
    }
}

std::string SqliteLayer::open() {
    attempt([](Database&) {});
    const std::lock_guard lock(mutex_);
    return database_ ? std::string() : note_;
}

/// The row's record if it is intact and the one that was wanted.
template <class Record>
std::optional<Record> SqliteLayer::accept(Table table, std::optional<Row<Record>> row, const Digest* wanted) {
    if (!row)
        return std::nullopt;
    if (row->record && wanted && key_of(*row->record) != *wanted)
        throw SqlError(SQLITE_CORRUPT, "an index leads to another row");
    if (row->record && is_consistent(*row->record))
        return std::move(row->record);
    report_damage(table, row->id, wanted ? *wanted : row->key, "the row does not match its digest");
    return std::nullopt;
}

void SqliteLayer::report_damage(Table table, std::int64_t id, const Digest& key, const std::string& reason) {
    if (kind_ == Kind::read_only && !known_damage_.emplace(table, key).second)
        return;
    events_.damaged();
    events_.log("cache layer " + name_ + ": " + name_of(table) + " " + key.hex() + ": " + reason);
    if (!is_writable())
        return;
    try {
        quarantine(*database_, table, id, key, reason);
    } catch (const SqlError& error) {
        if (error.damaged())
            throw;
        // A full disk or a busy writer: the row is left, and found again.
    }
}

/// Marks a row as used. Not worth waiting for, and not worth an fsync. A stamp of the future is replaced too:
/// the clock was wrong then or is wrong now, and whichever it was, the row is in use.
void SqliteLayer::stamp(Table table, std::int64_t id, std::int64_t used) {
    const std::int64_t now = this_hour();
    if (!is_writable() || used == now)
        return;
    try {
        database_->set_busy_timeout(0);
        database_->execute("PRAGMA synchronous=NORMAL");
        set_used(*database_, table, id, now);
    } catch (const SqlError&) {
    }
    database_->set_busy_timeout(busy_ms);
    database_->execute("PRAGMA synchronous=EXTRA");
}

std::optional<WinnerRecord> SqliteLayer::winner(const Digest& key) {
    std::optional<WinnerRecord> result;
    attempt([&](Database& database) {
        auto row = read_winner(database, key);
        const std::int64_t id = row ? row->id : 0, used = row ? row->used : 0;
        result = accept(Table::winners, std::move(row), &key);
        if (result) {
            ++hits_;
            stamp(Table::winners, id, used);
        }
    });
    return result;
}

std::optional<BinaryRecord> SqliteLayer::binary(const Digest& key) {
    std::optional<BinaryRecord> result;
    attempt([&](Database& database) {
        auto row = read_binary(database, key);
        const std::int64_t id = row ? row->id : 0, used = row ? row->used : 0;
        result = accept(Table::binaries, std::move(row), &key);
        if (result)
            stamp(Table::binaries, id, used);
    });
    return result;
}

std::vector<MeasurementRecord> SqliteLayer::measurements(const Digest& winner_key) {
    std::vector<MeasurementRecord> result;
    attempt([&](Database& database) {
        std::vector<Row<MeasurementRecord>> rows;
        each_measurement_of(database, winner_key,
                            [&](const Row<MeasurementRecord>& row) { rows.push_back(row); });
        for (Row<MeasurementRecord>& row : rows)
            if (auto record = accept<MeasurementRecord>(Table::measurements, std::move(row), &winner_key))
                result.push_back(std::move(*record));
    });
    return result;
}

void SqliteLayer::visit(const RecordVisitor& visitor) {
    const auto pass_on = [](const auto& function) {
        return [&function](const auto& row) {
            if (row.record)
                function(*row.record);
        };
    };
    attempt([&](Database& database) {
        if (visitor.winner)
            each_winner(database, true, pass_on(visitor.winner));
        if (visitor.binary)
            each_binary(database, true, pass_on(visitor.binary));
        if (visitor.measurement)
            each_measurement(database, true, pass_on(visitor.measurement));
    });
}

Statistics SqliteLayer::statistics() {
    Statistics result;
    attempt([&](Database& database) {
        const auto count = [&](const char* sql) { return static_cast<std::uint64_t>(database.integer(sql)); };
        result.binaries = count("SELECT count(*) FROM binaries");
        result.winners = count("SELECT count(*) FROM winners");
        result.measurements = count("SELECT count(*) FROM measurements");
        result.quarantined = count("SELECT count(*) FROM quarantine");
        result.bytes = count("PRAGMA page_count") * count("PRAGMA page_size");
        if (is_writable()) {
            result.pins = count("SELECT count(*) FROM rulings WHERE kind = 'pin'");
            result.bans = count("SELECT count(*) FROM rulings WHERE kind = 'ban'");
            result.former_winners = count("SELECT count(*) FROM former_winners");
        }
    });
    const std::lock_guard lock(mutex_);
    result.layer = name_;
    result.path = kind_ == Kind::memory ? ":memory:" : file();
    result.writable = is_writable();
    result.note = note_;
    result.hits = hits_;
    return result;
}

VerifyReport SqliteLayer::verify() {
    VerifyReport report;
    report.layer = name_;
    report.path = kind_ == Kind::memory ? ":memory:" : file();
    std::vector<Finding> damaged;
    const auto look_at = [&](Table table) {
        return [&report, &damaged, table](const auto& row) {
            ++report.checked;
            if (!row.record || !is_consistent(*row.record))
                damaged.push_back({table, row.id, row.key});
        };
    };
    const bool whole = attempt([&](Database& database) {
        each_winner(database, true, look_at(Table::winners));
        each_binary(database, true, look_at(Table::binaries));
        each_measurement(database, true, look_at(Table::measurements));
        if (is_writable()) {
            each_ruling(database, look_at(Table::rulings));
            const auto look = look_at(Table::former_winners);
            each_former_winner(database, [&](const FormerRow& former) { look(former.row); });
        }
        for (const Finding& found : damaged) {
            ++report.damaged;
            report.findings.push_back(std::string(name_of(found.table)) + " " + found.key.hex() +
                                      ": the row does not match its digest");
            report_damage(found.table, found.id, found.key, "the row does not match its digest");
        }
        if (const std::string answer = database.text("PRAGMA integrity_check(1)"); answer != "ok")
            throw SqlError(SQLITE_CORRUPT, answer);
    });
    if (!whole) {
        const std::lock_guard lock(mutex_);
        ++report.damaged;
        report.findings.push_back("the file: " + (note_.empty() ? "damaged pages; rebuilt" : note_));
    }
    return report;
}

bool SqliteLayer::publish(const WinnerRecord* winner, const BinaryRecord* binary,
                          const std::vector<MeasurementRecord>& measurements, const Limits& limits) {
    const std::int64_t now = this_hour();
    bool wins = false;
    const auto write_all = [&](Database& database) {
        Transaction transaction(database);
        if (binary)
            write(database, *binary, now);
        wins = winner && why_not_winner(database, *winner).empty();
        if (wins)
            replace_winner(database, *winner, now);
        for (const MeasurementRecord& measurement : measurements)
            write(database, measurement);
        transaction.commit();
    };
    // A damaged file is mended by the first attempt; the second one writes to the new file.
    if (!attempt(write_all) && !attempt(write_all)) {
        const std::lock_guard lock(mutex_);
        throw Error(ErrorCode::io_error, "cache",
                    "the entry could not be stored in " + file() + ": " + note_);
    }
    attempt([&](Database& database) {
        if (!may_exceed(database, limits))
            return;
        // Down to nine tenths, so that the next publications do not prune again.
        const PruneReport report = cache::prune(database, {limits.bytes / 10 * 9, limits.entries / 10 * 9});
        events_.pruned(report.winners + report.binaries);
    });
    return wins;
}

/// A transaction that nothing replaces where it cannot be made durable.
template <class Function>
void SqliteLayer::change(Function function) {
    const auto run = [&](Database& database) {
        Transaction transaction(database);
        function(database);
        transaction.commit();
    };
    if (attempt(run) || attempt(run)) // a damaged file is mended by the first attempt
        return;
    const std::lock_guard lock(mutex_);
    throw Error(ErrorCode::io_error, "cache", "the change could not be stored in " + file() + ": " + note_);
}

std::vector<RulingRecord> SqliteLayer::rulings(const Digest* key) {
    std::vector<RulingRecord> result;
    attempt([&](Database& database) {
        if (!has_ruling_tables(database))
            return;
        std::vector<Row<RulingRecord>> rows;
        if (key)
            rows = read_rulings(database, *key);
        else
            each_ruling(database, [&](const Row<RulingRecord>& row) { rows.push_back(row); });
        for (Row<RulingRecord>& row : rows)
            if (auto record = accept<RulingRecord>(Table::rulings, std::move(row), nullptr))
                result.push_back(std::move(*record));
    });
    return result;
}

std::vector<FormerWinner> SqliteLayer::former_winners(const Digest& key) {
    std::vector<FormerWinner> result;
    attempt([&](Database& database) {
        if (!has_ruling_tables(database))
            return;
        for (FormerRow& former : read_former_winners(database, key))
            if (auto record = accept<WinnerRecord>(Table::former_winners, std::move(former.row), &key))
                result.push_back({std::move(*record), former.replaced, former.rolled_back});
    });
    return result;
}

void SqliteLayer::rule(const RulingRecord& ruling) {
    change([&](Database& database) {
        const bool pin = ruling.kind == RulingRecord::Kind::pin;
        if (pin && is_banned(database, ruling.key, ruling.schedule))
            throw Error(ErrorCode::invalid_argument, "schedule",
                        ruling.schedule +
                            " is banned; accepted: a schedule that is not, or to unban it first");
        if (!pin && pinned_schedule(database, ruling.key) == ruling.schedule)
            throw Error(ErrorCode::invalid_argument, "schedule",
                        ruling.schedule + " is pinned; accepted: another schedule, or to unpin it first");
        write(database, ruling);
    });
}

bool SqliteLayer::repeal(const Digest& key, const std::string& schedule) {
    bool found = false;
    change([&](Database& database) {
        database.statement("DELETE FROM rulings WHERE key = ?1 AND schedule = ?2")
            .bind(key)
            .bind(schedule)
            .run();
        found = database.integer("SELECT changes()") > 0;
    });
    return found;
}

WinnerRecord SqliteLayer::roll_back(const Digest& key, const std::string& schedule) {
    WinnerRecord winner;
    change([&](Database& database) { winner = cache::roll_back(database, key, schedule, this_hour()); });
    return winner;
}

PruneReport SqliteLayer::prune(const Limits& limits) {
    PruneReport report;
    if (attempt([&](Database& database) { report = cache::prune(database, limits); })) {
        events_.pruned(report.winners + report.binaries);
        return report;
    }
    const std::lock_guard lock(mutex_);
    throw Error(ErrorCode::io_error, "cache", file() + " could not be pruned: " + note_);
}

TransferReport SqliteLayer::take(const Content& content, const Acceptance& acceptance) {
    TransferReport report;
    const auto transfer = [&](Database& database) {
        Transaction transaction(database);
        report = Transfer(database, content, acceptance).run();
        transaction.commit();
    };
    if (attempt(transfer) || attempt(transfer))
        return report;
    const std::lock_guard lock(mutex_);
    throw Error(ErrorCode::io_error, "cache", "the entries could not be stored in " + file() + ": " + note_);
}

void SqliteLayer::abandon() noexcept {
    if (database_)
        database_->abandon();
}

} // namespace zyfa::cache
