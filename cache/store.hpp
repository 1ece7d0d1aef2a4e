// SPDX-License-Identifier: Apache-2.0
// The kernel cache: binaries and winners in SQLite, in layers. It stores bytes and text under digests and
// does not know what a schedule means. (The file format and the crash rule stand on top of store.cpp.)
#pragma once

#include <cstddef>
#include <cstdint>
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
};

struct WinnerRecord {
    Digest key; ///< digest of WinnerKey::canonical()
    std::string key_text;
    std::string schedule; ///< canonical text
    Digest binary;        ///< BinaryRecord::key
    std::string evidence_json;
    std::string data_profile, policy, versions_json;
    std::uint64_t unix_time = 0;
};

struct MeasurementRecord {
    Digest key; ///< winner key
    std::string schedule;
    std::string measurement_json;
    std::uint64_t unix_time = 0;
};

struct Statistics {
    std::string layer, path;
    bool writable = false;
    std::uint64_t binaries = 0, winners = 0, measurements = 0, quarantined = 0, bytes = 0;
    std::string note; ///< why a layer is ignored or in memory
};

struct Found {
    WinnerRecord winner;
    BinaryRecord binary;
    std::string layer;
};

/// The layers of one process: user (read-write) first, then read-only ones. Thread-safe.
class Cache {
  public:
    struct Options {
        std::string user_dir; ///< created 0700; ":memory:"; unwritable: memory, said in statistics
        std::vector<std::string> read_only; ///< folders or files
    };
    explicit Cache(const Options& options);
    ~Cache();

    /// Winner and its binary, both digests checked. Damage in a layer is counted, quarantined where writable,
    /// and answered as a miss (the next layer is asked).
    std::optional<Found> find(const Digest& winner_key);
    std::optional<BinaryRecord> find_binary(const Digest& binary_key);
    std::vector<MeasurementRecord> measurements(const Digest& winner_key);

    /// One transaction. Finished = returned.
    void publish(const WinnerRecord& winner, const BinaryRecord& binary,
                 const std::vector<MeasurementRecord>& measurements = {});
    void publish_binary(const BinaryRecord& binary);

    std::vector<WinnerRecord> winners(); ///< of all layers, for `zyfa cache list`
    std::vector<Statistics> statistics();
    std::uint64_t damaged() const noexcept; ///< rows found damaged since the cache was opened

    /// Serialises the work on one key between processes: held until destroyed; a dead holder cannot keep it.
    /// Waits at most `timeout_s`; `waited()` says that another process held it.
    class KeyLock {
      public:
        ~KeyLock();
        KeyLock(KeyLock&&) noexcept;
        bool held() const noexcept;
        bool waited() const noexcept;

      private:
        friend class Cache;
        KeyLock() = default;
        int fd_ = -1;
        bool waited_ = false;
    };
    KeyLock lock(const Digest& key, double timeout_s);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace zyfa::cache
