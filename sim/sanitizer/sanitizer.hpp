// SPDX-License-Identifier: Apache-2.0
// The sanitizer as hooks of the interpreter: what one launch shares (Session), what a workgroup carries
// (GroupShadow), and the per-thread watcher.
#pragma once

#include "sim/dispatch.hpp"
#include "sim/sanitizer/pending.hpp"
#include "sim/sanitizer/races.hpp"
#include "sim/sanitizer/report.hpp"
#include "sim/sanitizer/validity.hpp"
#include "sim/sanitizer/wait_states.hpp"

#include <map>
#include <unordered_map>

namespace zyfa::sim::sanitizer {

struct WaveShadow {
    Validity validity;
    PendingOperations pending;
    WaitWindow window;
    std::uint32_t epoch = 1; ///< barriers passed, from 1
    SiteIndex barrier_site = no_site;
    SiteIndex unwritten_load = no_site; ///< the last load that brought bits that were never written
    bool ended = false;
    std::vector<std::uint8_t> scratch;                ///< 1: byte written
    std::deque<std::pair<Instruction, Traits>> moved; ///< executed with indexed registers, lately
    /// Operations that were outstanding at the last barrier, and the wait that was missing there.
    std::map<SiteIndex, std::string> late;
};

class GroupShadow {
  public:
    GroupShadow(const Workgroup& group, std::uint64_t seed);
    std::vector<WaveShadow> waves;
    std::vector<LdsCell> lds;
};

/// A finding's identity.
struct FindingKey {
    const char* rule;
    SiteIndex at, other;
    bool operator==(const FindingKey&) const = default;
};
struct FindingHash {
    std::size_t operator()(const FindingKey& key) const noexcept {
        return std::hash<const void*>()(key.rule) ^ (std::size_t{key.at} * 0x9e3779b97f4a7c15ull) ^
               (std::size_t{key.other} * 0xc2b2ae3d27d4eb4full);
    }
};
using Findings = std::unordered_map<FindingKey, Finding, FindingHash>;

class Session {
  public:
    static constexpr std::size_t finding_limit = 2000;

    Session(const Dispatch& launch, Memory& launch_memory,
            std::shared_ptr<const std::vector<Traits>> all_traits);
    void begin(Workgroup& group) const;
    void merge(const Findings& findings);
    /// A launch that stopped: its fault is one of the findings.
    Report finish(const std::optional<Fault>& fault);

    const Dispatch& dispatch;
    Memory& memory;
    const std::shared_ptr<const std::vector<Traits>> traits;
    GlobalRaces global;
    std::atomic<std::uint32_t> tick{1};
    std::atomic<std::uint64_t> covered_by_stalls{0}; ///< Report's
    /// By workgroup: tick of its last atomic, write-back or invalidation.
    std::vector<std::atomic<std::uint32_t>> last_sync;

  private:
    std::mutex mutex_;
    Findings findings_;
    bool truncated_ = false;
};

class Sanitizer final : public Observer {
  public:
    static constexpr bool observes_memory = true;
    explicit Sanitizer(Session& session);
    ~Sanitizer() override;
    Sanitizer(const Sanitizer&) = delete;
    Sanitizer& operator=(const Sanitizer&) = delete;

    void before(Wave& wave, const Instruction& instruction);
    void after(Wave& wave, const Instruction& instruction);
    void access(Wave& wave, const Instruction& instruction, const std::uint64_t* addresses,
                std::uint64_t active, unsigned bytes) override;
    bool out_of_bounds(Wave& wave, const Instruction& instruction, const OutOfBounds& access) override;

  private:
    /// One lane's part of an access.
    struct Touch {
        std::uint64_t address;
        unsigned bytes, lane;
        SiteIndex site;
        bool write, atomic;
    };

    const Traits& traits_of_executed(WaveShadow& shadow, const Instruction& instruction);
    SiteIndex site(const Traits& t) const noexcept;
    Finding* find(Severity severity, const char* rule, const Wave& wave, int lane, SiteIndex at,
                  SiteIndex other);
    /// Counts the finding; the first time `describe(Finding&)` fills in detail and fix.
    template <class Describe>
    void report(Severity severity, const char* rule, const Wave& wave, int lane, SiteIndex at,
                SiteIndex other, Describe&& describe) {
        if (Finding* const fresh = find(severity, rule, wave, lane, at, other))
            describe(*fresh);
    }
    std::string describe_global(std::uint64_t address) const;
    /// " holds bits ...": of a value that should have been written, and where such bits may have come from.
    std::string holds_unwritten(const WaveShadow& shadow) const;
    bool coherent(SiteIndex index);

    // checks.cpp: registers
    void check_pending(Wave& wave, WaveShadow& shadow, const Traits& t);
    void check_wait_states(Wave& wave, WaveShadow& shadow, const Traits& t);
    void check_validity(Wave& wave, WaveShadow& shadow, const Traits& t);
    void permute(Wave& wave, WaveShadow& shadow, const Traits& t);

    // memory_checks.cpp: what an access did
    void memory(Wave& wave, WaveShadow& shadow, const Traits& t);
    void scalar_memory(Wave& wave, WaveShadow& shadow, const Traits& t);
    void check_alignment(const Wave& wave, const Traits& t, const LaneAccess& a);
    void load_validity(Wave& wave, WaveShadow& shadow, const Traits& t);
    void store_validity(Wave& wave, WaveShadow& shadow, const Traits& t);
    void lds_dma(Wave& wave, WaveShadow& shadow, const Traits& t, Operation& operation);
    bool valid_range(const Wave& wave, const WaveShadow& shadow, std::uint64_t address, unsigned bytes) const;
    void mark(Wave& wave, WaveShadow& shadow, std::uint64_t address, bool valid);

    // race_checks.cpp
    void touch_lds(const Wave& wave, WaveShadow& shadow, const Touch& touch);
    void touch_global(const Wave& wave, const WaveShadow& shadow, const Touch& touch);
    void barrier(Wave& wave, WaveShadow& shadow, const Traits& t);
    void end(const Wave& wave, WaveShadow& shadow);
    void synchronise(const Wave& wave);
    bool synchronised(const Wave& wave, std::uint32_t other_group, std::uint32_t tick) const;

    Session& session_;
    Findings findings_;
    std::unordered_map<SiteIndex, bool> coherent_;
    const Traits* current_ = nullptr;
    LaneAccess parts_[2];
    unsigned part_count_ = 0, part_bytes_[2] = {};
    std::uint64_t beyond_ = 0;               ///< lanes whose part under way is out of bounds
    std::vector<std::uint32_t> dma_address_; ///< where the load to LDS under way will write
    std::vector<std::byte> dma_before_;      ///< what was there
    GlobalRaces::Page* page_ = nullptr;
    std::uint64_t page_number_ = ~0ull;
};

/// Flat addresses in the LDS and the scratch aperture.
inline bool in_lds(std::uint64_t address) noexcept {
    return address >> 32 == shared_aperture >> 32;
}
inline bool in_scratch(std::uint64_t address) noexcept {
    return (address >> 32 & 0xffffff) == private_aperture >> 32; // bits 56 and up: the lane, see memory()
}

} // namespace zyfa::sim::sanitizer
