// SPDX-License-Identifier: Apache-2.0
// From a problem and a mode to a loaded kernel: cache, tuner, assembler, in that order.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attention/counters.hpp"
#include "attention/prepare.hpp"
#include "attention/profiles.hpp"
#include "attention/proposal.hpp"
#include "attention/selection.hpp"
#include "attention/services.hpp"
#include "core/digest.hpp"

namespace zyfa::call {

/// Thread-safe; one thread works on a key, others that want it wait; different keys go side by side. What was
/// selected for a key, mode and device stays selected for the life of the context: a process does not look at
/// the disk again for a bucket of sizes it has met.
///
/// | mode     | reads             | on a miss                      | stores                          |
/// |----------|-------------------|--------------------------------|---------------------------------|
/// | off      | nothing           | default schedule               | nothing                         |
/// | replay   | winners, binaries | default schedule               | the binary it had to assemble   |
/// | tune     | winners, binaries | tunes within the budget        | winner, binary, measurements    |
/// | must_hit | winners, binaries | Error{cache_miss} with the key | nothing                         |
///
/// A stored winner whose binary is not what this build's template makes of its schedule is stale: it was
/// measured with another generator of code. It counts as a miss; replay assembles its schedule anew, tune
/// starts its search from it. A winner that was measured under another driver or firmware is served, counted
/// and called old.
///
/// A schedule that is banned for the key (cache/store.hpp, RulingRecord) neither wins nor runs, except in
/// mode off, which does not look; where the default is banned, its nearest neighbour takes its place. A
/// pinned schedule is the key's winner whatever was measured, and mode tune does not tune the key by itself.
///
/// Another process that works on the same key is waited for, but not longer than ContextOptions::wait_s says;
/// then the default schedule runs from memory and is not stored.
class Selector {
  public:
    Selector(const ContextOptions& options, Services& services, AtomicCounters& counters)
        : options_(options), services_(services), counters_(counters),
          profiles_(profiles_from_environment()) {}

    /// `problem` is canonical.
    std::shared_ptr<const Selection> select(const Problem& problem, const runtime::DeviceInfo& device,
                                            Mode mode, const PrepareRequest& request);
    /// What select() has answered before for the problem's key; null if it has not. Does not wait.
    std::shared_ptr<const Selection> selected(const Problem& problem, const runtime::DeviceInfo& device,
                                              Mode mode);
    /// What select() would answer; assembles, loads, tunes and stores nothing.
    Explanation explain(const Problem& problem, const runtime::DeviceInfo& device, Mode mode);

    // For agree(): describes what select() has answered for the problem; loads what another process has
    // described (throws Error where this build makes another binary of the schedule, or the device refuses
    // it) without selecting it; selects it.
    std::shared_ptr<const Selection> propose(const Problem& problem, const runtime::DeviceInfo& device,
                                             Mode mode, Proposal& proposal);
    std::shared_ptr<const Selection> try_proposal(const Problem& problem, const runtime::DeviceInfo& device,
                                                  Mode mode, const Proposal& proposal);
    void take(const Problem& problem, const runtime::DeviceInfo& device, Mode mode, bool unsuited,
              std::shared_ptr<const Selection> selection);

    /// What was selected before is selected anew at the next call, from what is stored then.
    void forget();

  private:
    class Slot {
      public:
        std::mutex working; ///< held while the selection is made
        std::shared_ptr<const Selection> selection() const {
            const std::lock_guard lock(reading_);
            return selection_;
        }
        void keep(std::shared_ptr<const Selection> selection) {
            const std::lock_guard lock(reading_); // the former one goes with the argument, after the lock
            selection_.swap(selection);
        }

      private:
        // Not std::atomic<std::shared_ptr>: in libstdc++ 12 its load() lets go of the pointer with relaxed
        // order (bits/shared_ptr_atomic.h), which is a data race with the next store().
        mutable std::mutex reading_;
        std::shared_ptr<const Selection> selection_;
    };
    /// Winner key, mode, device, and whether the problem is one that the key's winner does not suit.
    using SlotKey = std::tuple<Digest, Mode, int, bool>;
    struct Job;
    struct Winner {
        cache::WinnerRecord record;
        std::optional<cache::BinaryRecord> binary; ///< none: lost or damaged
        std::string layer;
        bool stale = false; ///< this build makes another binary of its schedule
        bool old = false;   ///< measured under another driver or firmware
    };

    enum class Look : bool { no, yes };
    enum class Store : bool { no, yes };

    Slot& slot(const Job& job, bool unsuited = false);
    static bool suits(const Job& job, const Selection& selection);
    /// Throws Error{unsupported} where the device's self-test refused the template (attention/refusals.hpp).
    void require_not_refused(const Job& job) const;
    template <class Make>
    std::shared_ptr<const Selection> in_slot(Job& job, Slot& its, bool anew, Make make_it);
    void make(Job& job);
    std::optional<Winner> find_winner(Job& job);
    static cache::BinaryRecord record_of(const Job& job, const jit::CodeObject& code);
    bool use_winner(Job& job);
    Schedule fallback(Job& job, std::string& reason);
    const cache::RulingRecord* look_up_rulings(Job& job);
    static bool is_banned(const Job& job, const Schedule& schedule);
    void use_default(Job& job, std::string reason, Store store = Store::yes);
    void tune_or_wait(Job& job);
    void use_tuned(Job& job);
    void describe(Job& job, const Schedule& schedule) const;
    void assemble(Job& job, Look look, Store store);
    bool load_module(Job& job, const std::string& toolchain, std::vector<std::byte> elf, bool from_cache);
    bool loaded_already(Job& job);
    std::timed_mutex& tuning_lock(int device);

    const ContextOptions& options_;
    Services& services_;
    AtomicCounters& counters_;
    Profiles profiles_;

    std::mutex maps_lock_; ///< over the three maps; never held while working
    std::map<SlotKey, std::unique_ptr<Slot>> slots_;
    std::uint64_t forgotten_ = 0; ///< how often: a selection that was begun before is not kept
    std::map<std::pair<Digest, int>, std::weak_ptr<const LoadedBinary>> loaded_;
    std::map<int, std::unique_ptr<std::timed_mutex>>
        tuning_; ///< one tuning at a time per device: timings must not overlap
};

} // namespace zyfa::call
