// SPDX-License-Identifier: Apache-2.0
// Rank 0 proposes, every other rank tries and votes, and all take the proposal or none does.
#include "zyfa/agree.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include "attention/context_impl.hpp"
#include "attention/proposal.hpp"
#include "core/validate.hpp"
#include "zyfa/error.hpp"

namespace zyfa {
inline namespace v0 {

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

std::string text_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check(const Ranks& ranks) {
    if (ranks.count < 1 || ranks.rank < 0 || ranks.rank >= ranks.count)
        throw Error(ErrorCode::invalid_argument, "ranks",
                    "ranks.rank is " + std::to_string(ranks.rank) + " of ranks.count " +
                        std::to_string(ranks.count) + "; accepted: 0 to count - 1");
    if (!ranks.broadcast)
        throw Error(ErrorCode::invalid_argument, "ranks.broadcast",
                    "ranks.broadcast is empty; accepted: a function");
}

/// What a failing rank tells the others instead of nothing: they wait for it.
template <class Action>
std::string reason_of(Action&& action) {
    try {
        action();
        return "";
    } catch (const std::exception& error) {
        const std::string what = error.what();
        return what.empty() ? "unknown error" : what;
    }
}

} // namespace

Explanation agree(Context& context, const Problem& problem, int device, const Ranks& ranks) {
    check(ranks);
    Context::Impl& impl = context.impl();
    call::Proposal proposal;
    std::shared_ptr<const call::Selection> selection;
    Bytes message;
    if (ranks.rank == 0) {
        proposal.failure = reason_of([&] { selection = impl.propose(problem, device, proposal); });
        message = call::encode(proposal);
    }
    ranks.broadcast(message, 0);
    proposal = call::decode_proposal(message);

    std::string refusals;
    const auto refuse = [&](int rank, const std::string& why) {
        refusals += (refusals.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + ": " + why;
    };
    if (!proposal.failure.empty()) {
        refuse(0, proposal.failure);
    } else {
        std::string own;
        if (ranks.rank != 0)
            own = reason_of([&] { selection = impl.try_proposal(problem, device, proposal); });
        for (int rank = 1; rank < ranks.count; ++rank) {
            Bytes vote = rank == ranks.rank ? bytes_of(own) : Bytes{};
            ranks.broadcast(vote, rank);
            if (const std::string why = text_of(vote); !why.empty())
                refuse(rank, why);
        }
    }
    if (!refusals.empty())
        throw Error(ErrorCode::unsupported, "ranks", "the ranks agree on no schedule: " + refusals);
    return impl.take_proposal(problem, device, proposal, std::move(selection));
}

} // namespace v0
} // namespace zyfa
