// SPDX-License-Identifier: Apache-2.0
// Software wait states: what must pass between two instructions because hardware does not check. Written
// from the tables, independently of what generates our own kernels.
#pragma once

#include "sim/sanitizer/traits.hpp"

#include <array>

namespace zyfa::sim::sanitizer {

/// What a rule asks of a pair.
struct Requirement {
    unsigned documented = 0; ///< wait states that LLVM keeps; fewer is a note
    unsigned tolerated = 0;  ///< fewer than this is an error; at most `documented`
};

struct WaitRule {
    const char* name;
    const char* source;
    Requirement (*required)(const Traits& producer, const Traits& consumer);
};

std::span<const WaitRule> wait_rules();
/// Those whose producer is a matrix instruction, and the others.
std::span<const WaitRule> matrix_rules();
std::span<const WaitRule> other_rules();
/// Whether any rule can hold between a matrix instruction and the other.
bool touches(const Traits& matrix, const Traits& other) noexcept;
/// The longest reach of any rule, and of those whose producer is no matrix instruction.
inline constexpr unsigned matrix_window = 20, other_window = 5;

/// The instructions of one wave that later ones may come too soon after.
class WaitWindow {
  public:
    struct Violation {
        const WaitRule* rule;
        const Traits* producer;
        Requirement required;
        unsigned found;   ///< wait states as LLVM counts them: one per instruction, N + 1 per s_nop N
        unsigned elapsed; ///< issue slots that have passed at least, stalls of the matrix pipe included
    };

    /// Calls report(Violation) for each rule that `next` breaks, then takes it into the window.
    template <class Report>
    void step(const Traits& next, Report&& report) {
        settle(next);
        check(next, matrix_, matrix_rules(), report);
        check(next, recent_, other_rules(), report);
        push(next);
    }

  private:
    struct Entry {
        const Traits* traits = nullptr;
        std::uint64_t counted = 0, issued = 0;
    };
    struct Ring {
        std::array<Entry, 32> entries;
        unsigned next = 0;
        unsigned reach;
    };

    /// When `next` can issue at the earliest: a matrix or packed FP32 instruction waits for the matrix pipe,
    /// a vector instruction for the vector pipe (paper Section III-A).
    void settle(const Traits& next) noexcept;
    void push(const Traits& next) noexcept;

    template <class Report>
    void check(const Traits& next, const Ring& ring, std::span<const WaitRule> rules, Report& report) {
        if (next.read_count + next.write_count == 0 &&
            !next.is(trait::sendmsg | trait::getreg | trait::setreg))
            return;
        for (unsigned back = 1; back <= ring.entries.size(); ++back) {
            const Entry& e = ring.entries[(ring.next - back) % ring.entries.size()];
            if (e.traits == nullptr)
                return;
            const auto found = static_cast<unsigned>(counted_ - e.counted - e.traits->wait_states);
            if (found >= ring.reach)
                return;
            if (&ring == &matrix_ && !touches(*e.traits, next))
                continue;
            // Only the matrix pipe's results are known to move on while later instructions stall.
            const auto elapsed = &ring == &matrix_ ? static_cast<unsigned>(issue_ - e.issued - 1) : found;
            for (const WaitRule& rule : rules) {
                const Requirement r = rule.required(*e.traits, next);
                if (found < r.documented)
                    report(Violation{&rule, e.traits, r, found, elapsed});
            }
        }
    }

    Ring matrix_{{}, 0, matrix_window}, recent_{{}, 0, other_window};
    std::uint64_t counted_ = 0, issue_ = 0; ///< of the instruction under way
    std::uint64_t free_ = 0;                ///< first slot after the one before
    std::uint64_t matrix_free_ = 0, vector_free_ = 0;
};

} // namespace zyfa::sim::sanitizer
