// SPDX-License-Identifier: Apache-2.0
// One schedule for all ranks of a job.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "zyfa/context.hpp"

namespace zyfa {
inline namespace v0 {

/// A job's own means of communication (MPI_Bcast, torch.distributed.broadcast, a socket).
struct ZYFA_API Ranks {
    int rank = 0, count = 1;
    /// Collective: all ranks call it equally often in the same order. After it, `bytes` are those of rank
    /// `root`, on every rank. Throws where that cannot be (a rank has died).
    std::function<void(std::vector<std::byte>& bytes, int root)> broadcast;
};

/// Ranks whose caches differ may select different schedules, and then differ in the last bits. This makes
/// the problem's shape resident with the selection of rank 0 on every rank: rank 0 prepares it in its
/// context's mode and sends schedule and binary; the others load them, whatever their caches hold, and
/// nothing of it is stored. It stays selected for the shape's bucket for the life of the contexts.
///
/// Every rank calls it, once per decision, with the same problem; not while a stream captures. All ranks
/// take the selection, or none does: where rank 0 cannot prepare, or another rank cannot load (another
/// version of zyfa, another target), every rank throws Error with the rank and its reason, and goes on with
/// what it had. What `broadcast` throws is passed on, likewise with nothing changed; a job that goes on
/// after that has to agree again, since the failure may have come after another rank's last message.
/// Errors: Error{invalid_argument} for a rank outside of 0..count-1 or no broadcast.
ZYFA_API Explanation agree(Context& context, const Problem& problem, int device, const Ranks& ranks);

} // namespace v0
} // namespace zyfa
