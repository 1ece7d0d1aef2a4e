// SPDX-License-Identifier: Apache-2.0
// A store file as a layer: the user's (read-write), one in memory, or a read-only one.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "cache/database.hpp"
#include "cache/files.hpp"
#include "cache/layer.hpp"
#include "cache/rows.hpp"
#include "cache/transfer.hpp"

namespace zyfa::cache {

class SqliteLayer final : public Layer {
  public:
    enum class Kind { user, memory, read_only };

    /// `location`: a folder for a user layer, a store file for a read-only one, unused in memory. Opens
    /// nothing yet: open() tells whether it can be.
    SqliteLayer(Kind kind, std::string name, std::string location, LayerEvents events,
                std::optional<bool> on_network = std::nullopt);
    ~SqliteLayer() override;

    /// Opens the file (mending it if it is damaged). Returns why it cannot be used, or an empty string.
    std::string open();

    const std::string& name() const override { return name_; }
    std::optional<WinnerRecord> winner(const Digest& key) override;
    std::optional<BinaryRecord> binary(const Digest& key) override;
    std::vector<MeasurementRecord> measurements(const Digest& winner_key) override;
    void visit(const RecordVisitor& visitor) override;
    Statistics statistics() override;
    VerifyReport verify() override;

    /// One transaction. Throws Error{io_error} where it could not be made durable; nothing of it is there
    /// then.
    /// False where a ruling kept the winner out.
    bool publish(const WinnerRecord* winner, const BinaryRecord* binary,
                 const std::vector<MeasurementRecord>& measurements, const Limits& limits);
    PruneReport prune(const Limits& limits);

    /// Rulings on `key` and on every key; of all keys where it is null.
    std::vector<RulingRecord> rulings(const Digest* key);
    std::vector<FormerWinner> former_winners(const Digest& key);
    /// One transaction each, as Cache has them. Throw Error{invalid_argument or io_error}.
    void rule(const RulingRecord& ruling);
    bool repeal(const Digest& key, const std::string& schedule);
    WinnerRecord roll_back(const Digest& key, const std::string& schedule);

    /// Takes over what wins against what is there, in one transaction. Throws Error{io_error}; nothing of it
    /// is there then.
    TransferReport take(const Content& content, const Acceptance& acceptance);

    /// Leaves SQLite's handle alone for good, as a child of fork must.
    void abandon() noexcept;

  private:
    bool is_writable() const noexcept { return kind_ != Kind::read_only; }
    std::string file() const;
    void open_database();
    void follow_file();
    void mend(const std::string& why);

    template <class Function>
    bool attempt(Function function);
    template <class Function>
    void change(Function function);
    template <class Record>
    std::optional<Record> accept(Table table, std::optional<Row<Record>> row, const Digest* wanted);
    void report_damage(Table table, std::int64_t id, const Digest& key, const std::string& reason);
    void stamp(Table table, std::int64_t id, std::int64_t used);

    const Kind kind_;
    const std::string name_, location_;
    const LayerEvents events_;
    const std::optional<bool> on_network_; ///< unset: the file system is asked
    std::mutex mutex_;
    std::unique_ptr<Database> database_;
    std::optional<FileIdentity> identity_;
    std::set<std::pair<Table, Digest>> known_damage_; ///< rows of a read-only layer that were counted already
    std::string note_;
    std::uint64_t hits_ = 0;
};

} // namespace zyfa::cache
