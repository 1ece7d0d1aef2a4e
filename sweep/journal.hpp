// SPDX-License-Identifier: Apache-2.0
// A worker's own files, which nobody else writes. (The format is on top of journal.cpp.)
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store.hpp"
#include "core/measurement.hpp"
#include "sweep/folder.hpp"
#include "sweep/lane.hpp"
#include "sweep/place.hpp"

namespace zyfa::sweep {

/// search: all candidates. confirm: the finalists of a search, on another site.
enum class Stage : std::uint8_t { search, confirm };
const char* to_string(Stage stage) noexcept;

/// Who a worker is; the first line of its journal.
struct WorkerInfo {
    std::string id;   ///< names its files
    std::string site; ///< what agreement counts: the node, or node and GPU
    std::string node, gpu, job;
    int restarts = 0;
    std::int64_t process = 0; ///< its number on the node
    Lane lane;
    double started = 0; ///< unix time, by its own clock
};

/// What a measurement of a task on a site gave.
struct Result {
    std::string task;
    Stage stage = Stage::search;
    std::string winner_key;                    ///< canonical
    Evidence evidence;                         ///< of the site's own choice
    std::vector<Measurement> measurements;     ///< of every candidate
    std::vector<cache::BinaryRecord> binaries; ///< of the default, the choice and the finalists
    std::uint64_t assembled = 0, gated = 0, timed = 0;
};

/// Where a frame lies in a worker's data file.
struct FrameRef {
    std::uint64_t offset = 0, bytes = 0;
    std::string digest; ///< of the frame
};

class Journal {
  public:
    /// Makes the files. Throws Error{io_error}.
    Journal(const Folder& folder, const WorkerInfo& worker);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    void claimed(const std::string& task, Stage stage, double unix_time);
    /// Everything is on the disk when this returns: first the data, then the line that refers to them.
    void done(const Result& result, double seconds, double unix_time);
    void failed(const std::string& task, Stage stage, const std::string& reason, double seconds,
                double unix_time);
    void ended(const std::string& reason, double unix_time);

    /// Says that the worker lives, and what it is at.
    void beat(const std::string& activity) const;

  private:
    void line(const std::string& text);
    /// Not synced.
    FrameRef append(std::span<const std::byte> content);

    const Folder& folder_;
    std::string id_;
    int journal_ = -1, data_ = -1;
    std::uint64_t data_bytes_ = 0;
    std::map<Digest, FrameRef> binaries_; ///< that are in the data file
};

// Reading

struct DoneLine {
    std::string task, schedule, fallback, verdict, policy;
    Stage stage = Stage::search;
    double median_ms = 0, fallback_ms = 0, seconds = 0;
    bool simulated = false;
    std::uint64_t assembled = 0, gated = 0, timed = 0;
    FrameRef result;
    std::vector<std::pair<std::string, FrameRef>> binaries; ///< by digest, all that the result refers to
};

struct Event {
    enum class Kind : std::uint8_t { start, claim, done, failed, end } kind = Kind::start;
    double unix_time = 0, seconds = 0;
    std::string task, reason;
    Stage stage = Stage::search;
    std::optional<WorkerInfo> worker; ///< start
    std::optional<DoneLine> done;
};

/// One line of a journal; nullopt where it is none (a newer version's event).
std::optional<Event> parse_event(std::string_view line);

/// The result that a line refers to, without its binaries. Throws Error{io_error} where the data are damaged.
Result read_result(const Folder& folder, const std::string& worker, const DoneLine& done);
/// A binary that a line refers to; nullopt if it refers to none of that key. Throws Error{io_error}.
std::optional<cache::BinaryRecord> read_binary(const Folder& folder, const std::string& worker,
                                               const DoneLine& done, const Digest& key);

} // namespace zyfa::sweep
