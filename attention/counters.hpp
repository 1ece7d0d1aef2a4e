// SPDX-License-Identifier: Apache-2.0
// The counters of a context, updated off the hot path only.
#pragma once

#include <atomic>
#include <cstdint>

#include "zyfa/context.hpp"

namespace zyfa::call {

struct AtomicCounters {
    std::atomic<std::uint64_t> assembled{0}, gated{0}, timed{0}, hits{0}, misses{0}, waited{0}, damaged{0},
        stale{0}, old{0}, unpublished{0}, retuned{0};

    Counters read() const {
        Counters counters;
        counters.assembled = assembled;
        counters.gated = gated;
        counters.timed = timed;
        counters.hits = hits;
        counters.misses = misses;
        counters.waited = waited;
        counters.damaged = damaged;
        counters.stale = stale;
        counters.old = old;
        counters.unpublished = unpublished;
        counters.retuned = retuned;
        return counters;
    }
};

} // namespace zyfa::call
