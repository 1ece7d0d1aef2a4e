// SPDX-License-Identifier: Apache-2.0
// The kernel cache: binaries and winners in SQLite, in layers. It stores bytes and text under digests and
// does not know what a schedule means. (The file format and the crash rule stand on top of store.cpp.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/digest.hpp"

namespace zyfa::cache {

struct BinaryRecord {
    Digest key; ///< digest of BinaryKey::canonical()
    std::string key_text;
    std::string kernel_name;
    std::string target;
    std::string toolchain; ///< provenance
    std::vector<std::byte> code_object;
    std::string origin = "local"; ///< "local", "pack:<signer's public key>", "pack:unsigned"
};

struct WinnerRecord {
    Digest key; ///< digest of WinnerKey::canonical()
    std::string key_text;
    std::string schedule; ///< canonical text
    Digest binary;        ///< BinaryRecord::key
    std::string evidence_json;
    std::string data_profile, policy, versions_json;
    std::uint64_t unix_time = 0;
    std::string origin = "local";
};

struct MeasurementRecord {
    Digest key; ///< winner key
    std::string schedule;
    std::string measurement_json;
    std::uint64_t unix_time = 0;
};

/// What a person has decided: that a schedule is the key's winner whatever is measured (pin), or that it
/// neither wins nor runs (ban). Rulings are of the user layer; exports and imports leave them alone.
struct RulingRecord {
    enum class Kind : std::uint8_t { pin, ban };
    static constexpr const char* every_key_text = "*"; ///< key_text of a ban for every key

    Digest key; ///< winner key, or that of `every_key_text`
    std::string key_text;
    std::string schedule; ///< canonical text
    Kind kind = Kind::ban;
    std::string reason; ///< in the person's words
    std::uint64_t unix_time = 0;
};
const char* to_string(RulingRecord::Kind kind) noexcept; ///< "pin", "ban"
Digest every_key();

/// A winner that was replaced.
struct FormerWinner {
    WinnerRecord winner;
    std::uint64_t replaced = 0; ///< when, in seconds since 1970
    bool rolled_back = false;   ///< by a roll back, which does not go back to it by itself
};

struct Statistics {
    std::string layer, path;
    bool writable = false;
    std::uint64_t binaries = 0, winners = 0, measurements = 0, quarantined = 0, bytes = 0;
    std::uint64_t pins = 0, bans = 0, former_winners = 0;
    std::string note;       ///< why a layer is ignored or in memory
    std::uint64_t hits = 0; ///< winners this process found here
};

/// Events since the cache was opened.
struct Counters {
    std::uint64_t hits = 0, misses = 0, damaged = 0;
    std::uint64_t published = 0,
                  unpublished = 0;           ///< unpublished: kept in memory, the layer could not be written
    std::uint64_t waited = 0, timed_out = 0; ///< key locks that another process held; that it held too long
    std::uint64_t pruned = 0;                ///< winners and binaries removed to stay within the limits
};

/// Size of the user layer. Beyond either limit the least recently used entries go.
struct Limits {
    std::uint64_t bytes = std::uint64_t{1} << 30;
    std::uint64_t entries = 100'000; ///< winners and binaries together
};

struct PruneReport {
    std::uint64_t winners = 0, binaries = 0, measurements = 0; ///< removed
    std::uint64_t bytes_before = 0, bytes_after = 0;
};

struct VerifyReport {
    std::string layer, path;
    std::uint64_t checked = 0,
                  damaged = 0;         ///< rows; damaged ones are quarantined where the layer is writable
    std::vector<std::string> findings; ///< one line per damaged row, and what SQLite says of the file
};

struct Found {
    WinnerRecord winner;
    BinaryRecord binary;
    std::string layer;
};

struct Content;
struct Selection;
struct Acceptance;
struct TransferReport;

/// The layers of one process: user (read-write) first, then what could not be written to it (memory), then
/// read-only ones. Thread-safe. A child of fork gets connections of its own at its first use.
class Cache {
  public:
    struct Options {
        std::string user_dir; ///< created 0700; ":memory:"; unwritable: memory, said in statistics
        std::vector<std::string> read_only; ///< folders, store files, or packs (*.zyfapack)
        Limits limits{};
        std::string signers_file{}; ///< whose packs are mounted; empty: "signers" in user_dir (docs/cache.md)
        std::function<void(const std::string&)> log{}; ///< one line per unusual event
        std::optional<bool> on_network{}; ///< whether user_dir is; unset: the file system is asked
        std::string winners_layer{}; ///< one of `read_only`: winners are found there alone; empty: anywhere
    };
    explicit Cache(const Options& options);
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    /// Winner and its binary, both digests checked. A banned winner is passed over, and where the key is
    /// pinned one of another schedule too. Damage in a layer is counted, quarantined where writable,
    /// and answered as a miss (the next layer is asked). Never throws for what is in or under a layer.
    std::optional<Found> find(const Digest& winner_key);
    /// The winner alone: where its binary is lost or stale, the schedule is still a hint.
    std::optional<WinnerRecord> find_winner(const Digest& winner_key);
    std::optional<BinaryRecord> find_binary(const Digest& binary_key);
    std::vector<MeasurementRecord> measurements(const Digest& winner_key);

    /// One transaction. Finished = returned: it survives a kill and a power cut. Where the user layer cannot
    /// be written the entry is kept in memory for this process, and Error{io_error} says why; a cache that is
    /// in memory from the start does not throw. Error{invalid_argument}: a key is not the digest of its text.
    /// False where a ruling kept the winner out; binary and measurements are stored all the same. A winner of
    /// another schedule or binary that was there is kept among the former ones.
    bool publish(const WinnerRecord& winner, const BinaryRecord& binary,
                 const std::vector<MeasurementRecord>& measurements = {});
    void publish_binary(const BinaryRecord& binary);
    void publish_measurements(const std::vector<MeasurementRecord>& measurements);

    std::vector<WinnerRecord> winners(); ///< the effective one per key, for `zyfa cache list`

    /// Rulings on a key, those on every key among them; or all.
    std::vector<RulingRecord> rulings(const Digest& winner_key);
    std::vector<RulingRecord> rulings();
    /// Stores a ruling; finished = returned, as with publish(). A pin replaces the key's other pin. Throws
    /// Error{invalid_argument} where the schedule is ruled upon the other way already, or a pin is meant for
    /// every key; Error{io_error} where the user layer cannot be written.
    void rule(const RulingRecord& ruling);
    /// Takes a ruling back; false where there is none. Throws Error{io_error}.
    bool repeal(const Digest& key, const std::string& schedule);
    /// The key's former winners of the user layer, the last one first.
    std::vector<FormerWinner> former_winners(const Digest& winner_key);
    /// The last former winner that was not rolled back from, or the last with this schedule, is the winner
    /// again. Returns it. Throws Error{invalid_argument} where there is none that may win, Error{io_error}.
    WinnerRecord roll_back(const Digest& winner_key, const std::string& schedule = {});
    std::vector<Statistics> statistics();
    Counters counters() const;
    std::uint64_t damaged() const noexcept; ///< rows found damaged since the cache was opened

    /// Removes the least recently used entries of the user layer until it is within `limits`.
    PruneReport prune(const Limits& limits);
    /// The effective entries of all layers, for an export (transfer.hpp).
    Content collect(const Selection& selection);
    /// Takes entries into the user layer, for an import or a merge (transfer.hpp): the better of two winners
    /// stays. Throws Error{io_error}; nothing of it is stored then.
    TransferReport take(const Content& content, const Acceptance& acceptance);

    /// Checks every row of every layer.
    std::vector<VerifyReport> verify();

    /// Serialises the work on one key between processes: held until destroyed; a dead holder cannot keep it.
    /// Waits at most `timeout_s`; `waited()` says that another process held it. Where there is nothing to
    /// lock (memory, a file system without locks) it is held at once.
    class KeyLock {
      public:
        ~KeyLock();
        KeyLock(KeyLock&&) noexcept;
        bool held() const noexcept;
        bool waited() const noexcept;

      private:
        friend class Cache;
        KeyLock();
        struct State;
        std::unique_ptr<State> state_;
    };
    KeyLock lock(const Digest& key, double timeout_s);

  private:
    struct Impl;
    Impl& impl() const;
    Options options_;
    mutable std::atomic<Impl*> impl_;
};

} // namespace zyfa::cache
