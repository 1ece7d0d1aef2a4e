// SPDX-License-Identifier: Apache-2.0
// zyfa::Context: a device runtime, an assembler, the cache layers and the table of resident kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zyfa/attention.hpp"

namespace zyfa {
inline namespace v0 {

/// Most of it has an environment variable of the same meaning that is read once, when options are made by
/// `from_environment`: ZYFA_DEVICE, ZYFA_HIP_LIBRARY, ZYFA_COMGR_LIBRARY, ZYFA_CACHE_DIR,
/// ZYFA_CACHE_LAYERS, ZYFA_WINNERS_LAYER, ZYFA_MODE, ZYFA_LOG, ZYFA_BATCH_INVARIANT, ZYFA_STABLE,
/// ZYFA_BACKGROUND_TUNING (0 or 1), ZYFA_TUNER_WORKER, ZYFA_TUNE_MEMORY (bytes). A privileged
/// process (setuid, setgid, file capabilities: AT_SECURE of getauxval(3)) reads none of them, nor $HOME and
/// $XDG_CACHE_HOME.
struct ZYFA_API ContextOptions {
    std::string device =
        "auto";              ///< "auto" (real GPUs only), "sim", or an ordinal. Never falls to sim silently.
    std::string hip_library; ///< path; empty: search
    std::string comgr_library; ///< path; "none": assemble through LLVM; empty: search
    std::string
        cache_dir; ///< user layer (read-write); empty: $XDG_CACHE_HOME/zyfa or ~/.cache/zyfa; ":memory:"
    std::vector<std::string> cache_layers; ///< read-only layers, first hit wins, after the user layer
    std::string winners_layer; ///< one of `cache_layers`: winners count from this layer alone, so that all
                               ///< ranks of a job that share it run the same schedules; empty: from any layer
    Mode mode = Mode::replay;
    bool batch_invariant = false; ///< choose, and tune, every schedule as for a batch of 1, the split over
                                  ///< keys included: a sequence's bits do not depend on how many are with it
    double tune_budget_s = 3.0;   ///< wall clock for assembling, gate and timing of one shape in mode tune
    std::string tuner_worker;     ///< program in a process of which mode tune lets every candidate meet the
                              ///< device first: a path of the zyfa tool; "auto": the program that comes with
                              ///< the library; "none": in this process; empty: "auto" on a GPU, "none" on the
                              ///< simulator, where what hangs can be stopped (docs/tuning.md)
    std::uint64_t tune_memory_bytes = std::uint64_t{8} << 30; ///< most device memory that tuning takes
    bool background_tuning =
        false;                    ///< mode tune: what a race has decided is tuned again with sustained timing
                                  ///< while this context is idle; a new winner serves from the next call on
    double background_idle_s = 2; ///< without a call, after which this begins
    bool stable = false;          ///< what serves a shape in this context stays, whatever is found later
    double wait_s = 30; ///< longest wait for another process that assembles the same binary; for one that
                        ///< tunes the same key: the budget and at most 5 s of this
    std::string log;    ///< one line per shape made resident: "stderr", or a file to append to; empty: none
    std::function<void(const std::string& line)>
        log_callback; ///< gets the same lines; called by the thread that makes the shape resident

    static ContextOptions from_environment();
};

/// Where a kernel came from.
enum class CacheResult : std::uint8_t { off, hit, miss };
ZYFA_API const char* to_string(CacheResult result) noexcept;

/// Counts since the context was made.
struct Counters {
    std::uint64_t assembled = 0, gated = 0, timed = 0, hits = 0, misses = 0, waited = 0, damaged = 0;
    std::uint64_t stale = 0;       ///< winners of another version of their template (docs/cache.md)
    std::uint64_t old = 0;         ///< hits whose evidence is of another driver or firmware
    std::uint64_t timed_out = 0;   ///< waits for another process that were given up
    std::uint64_t unpublished = 0; ///< entries that could not be, or were not to be, stored
    std::uint64_t retuned = 0;     ///< keys that background tuning has come to a verdict about
    std::uint64_t pruned = 0;      ///< entries removed to keep the user layer within its limits
};

/// One layer of the cache, in the order in which they are asked.
struct LayerSummary {
    std::string name, path;
    bool writable = false;
    std::uint64_t winners = 0, binaries = 0, measurements = 0, quarantined = 0, bytes = 0;
    std::uint64_t hits = 0; ///< winners that this context found here
    std::string note;       ///< why the layer is ignored, or in memory
};

/// Wall-clock milliseconds spent on making one shape resident.
struct StageTimes {
    double instantiate = 0, assemble = 0, gate = 0, tune = 0, load = 0, launch = 0;
};

/// What would run for a problem on a device, and why.
struct Explanation {
    std::string kernel;   ///< kernel name
    std::string schedule; ///< canonical text, "bf16_fwd_d128{tau=0.5,...}"
    CacheResult cache = CacheResult::off;
    std::string layer;               ///< name of the cache layer that answered, if any
    std::string key;                 ///< winner key, readable
    std::string reason;              ///< one sentence
    std::string evidence_json;       ///< of the winner, or empty
    std::string binary_digest;       ///< hex
    std::string toolchain;           ///< which toolchain made the binary
    bool resident = false;           ///< already in the in-process table
    bool pinned = false;             ///< a person has pinned the schedule (zyfa/winners.hpp)
    std::vector<std::string> banned; ///< schedules that are banned for the key
    StageTimes stages;               ///< of the preparation, if this process made it
};

struct DeviceSummary {
    int ordinal = 0;
    std::string name, target; ///< "AMD Instinct MI355X", "gfx950:sramecc+:xnack-"
    int compute_units = 0, xcds = 0;
    bool simulated = false;
};

class ZYFA_API Context {
  public:
    explicit Context(ContextOptions options = ContextOptions::from_environment());
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// The process-wide context, made at first use from the environment.
    static Context& global();

    void attention(const AttentionArgs& args);

    /// Makes the shape resident on `device`: assembles or loads, tunes if the mode says so. Not legal while a
    /// stream of the device captures. Returns what will run.
    Explanation prepare(const Problem& problem, int device = 0);

    /// What would run, without assembling, loading, tuning or storing anything.
    Explanation explain(const Problem& problem, int device = 0);

    Counters counters() const;
    /// Opens the cache if it is not open yet.
    std::vector<LayerSummary> layers();
    std::vector<DeviceSummary> devices();
    const ContextOptions& options() const noexcept;

    class Impl; ///< private to the library
    Impl& impl() noexcept { return *impl_; }

  private:
    std::unique_ptr<Impl> impl_;
};

/// On the process-wide context.
ZYFA_API Explanation prepare(const Problem& problem, int device = 0);
ZYFA_API Explanation explain(const Problem& problem, int device = 0);

} // namespace v0
} // namespace zyfa
