// SPDX-License-Identifier: Apache-2.0
// zyfa::Context: a device runtime, an assembler, the cache layers and the table of resident kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zyfa/attention.hpp"

namespace zyfa {
inline namespace v0 {

/// Everything here has an environment variable of the same meaning that is read once, when options are made
/// by `from_environment`: ZYFA_DEVICE, ZYFA_HIP_LIBRARY, ZYFA_COMGR_LIBRARY, ZYFA_CACHE_DIR,
/// ZYFA_CACHE_LAYERS, ZYFA_MODE, ZYFA_LOG.
struct ZYFA_API ContextOptions {
    std::string device =
        "auto";              ///< "auto" (real GPUs only), "sim", or an ordinal. Never falls to sim silently.
    std::string hip_library; ///< path; empty: search
    std::string comgr_library; ///< path; "none": assemble through LLVM; empty: search
    std::string
        cache_dir; ///< user layer (read-write); empty: $XDG_CACHE_HOME/zyfa or ~/.cache/zyfa; ":memory:"
    std::vector<std::string> cache_layers; ///< read-only layers, first hit wins, after the user layer
    Mode mode = Mode::replay;
    double tune_budget_s = 3.0; ///< wall clock for assembling, gate and timing of one shape in mode tune
    std::string log; ///< one line per shape made resident: "stderr", or a file to append to; empty: none

    static ContextOptions from_environment();
};

/// Where a kernel came from.
enum class CacheResult : std::uint8_t { off, hit, miss };
ZYFA_API const char* to_string(CacheResult result) noexcept;

/// Counts since the context was made.
struct Counters {
    std::uint64_t assembled = 0, gated = 0, timed = 0, hits = 0, misses = 0, waited = 0, damaged = 0;
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
    std::string layer;         ///< name of the cache layer that answered, if any
    std::string key;           ///< winner key, readable
    std::string reason;        ///< one sentence
    std::string evidence_json; ///< of the winner, or empty
    std::string binary_digest; ///< hex
    std::string toolchain;     ///< which toolchain made the binary
    bool resident = false;     ///< already in the in-process table
    StageTimes stages;         ///< of the preparation, if this process made it
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
