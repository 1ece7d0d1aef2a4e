// SPDX-License-Identifier: Apache-2.0
// Pins, bans and roll backs for the public API: from a problem to its key's rulings in the user layer.
#include "zyfa/winners.hpp"

#include <ctime>

#include "attention/call_key.hpp"
#include "attention/context_impl.hpp"
#include "core/keys.hpp"
#include "core/schedule.hpp"
#include "core/validate.hpp"
#include "zyfa/error.hpp"

namespace zyfa {
inline namespace v0 {

namespace {

using cache::RulingRecord;

/// A problem's key, and what is stored about it.
class Keyed {
  public:
    Keyed(Context& context, const Problem& problem, int device)
        : impl_(context.impl()), problem_(validate(call::arguments_of(problem, device))),
          key_(winner_key(impl_.basis_of(problem_), call::identity_of(impl_.services().device(device)))),
          digest_(key_.digest()) {}

    cache::Cache& cache() const { return impl_.services().cache(); }
    const Digest& digest() const { return digest_; }

    /// The canonical text of a schedule that the problem allows.
    std::string allowed(const std::string& text) const {
        const Schedule schedule = Schedule::parse(text);
        const templates::Template& form = templates::template_for(problem_);
        if (schedule.template_name != form.name())
            throw Error(ErrorCode::invalid_argument, "schedule",
                        "schedule is " + text + "; accepted: one of template " + std::string(form.name()) +
                            ", which serves the problem");
        if (const auto why = form.reject(problem_, schedule))
            throw Error(ErrorCode::invalid_argument, "schedule", text + " is not allowed: " + *why);
        return schedule.canonical();
    }

    void rule(RulingRecord::Kind kind, const std::string& schedule, const std::string& reason) const {
        cache().rule({digest_, key_.canonical(), schedule, kind, reason,
                      static_cast<std::uint64_t>(std::time(nullptr))});
        impl_.forget();
    }
    bool repeal(const std::string& schedule) const {
        const bool found = cache().repeal(digest_, schedule);
        impl_.forget();
        return found;
    }
    void forget() const { impl_.forget(); }

  private:
    Context::Impl& impl_;
    Problem problem_;
    WinnerKey key_;
    Digest digest_;
};

} // namespace

std::string pin(Context& context, const Problem& problem, const std::string& schedule,
                const std::string& reason, int device) {
    const Keyed key(context, problem, device);
    const std::string pinned =
        key.allowed(schedule.empty() ? context.explain(problem, device).schedule : schedule);
    key.rule(RulingRecord::Kind::pin, pinned, reason);
    return pinned;
}

bool unpin(Context& context, const Problem& problem, int device) {
    const Keyed key(context, problem, device);
    for (const RulingRecord& ruling : key.cache().rulings(key.digest()))
        if (ruling.kind == RulingRecord::Kind::pin)
            return key.repeal(ruling.schedule);
    return false;
}

void ban(Context& context, const Problem& problem, const std::string& schedule, const std::string& reason,
         int device) {
    const Keyed key(context, problem, device);
    key.rule(RulingRecord::Kind::ban, key.allowed(schedule), reason);
}

bool unban(Context& context, const Problem& problem, const std::string& schedule, int device) {
    const Keyed key(context, problem, device);
    const std::string text = Schedule::parse(schedule).canonical();
    for (const RulingRecord& ruling : key.cache().rulings(key.digest()))
        if (ruling.kind == RulingRecord::Kind::ban && ruling.key == key.digest() && ruling.schedule == text)
            return key.repeal(text);
    return false;
}

std::string roll_back(Context& context, const Problem& problem, const std::string& schedule, int device) {
    const Keyed key(context, problem, device);
    const std::string text = schedule.empty() ? schedule : Schedule::parse(schedule).canonical();
    const cache::WinnerRecord winner = key.cache().roll_back(key.digest(), text);
    key.forget();
    return winner.schedule;
}

std::vector<Ruling> rulings(Context& context, const Problem& problem, int device) {
    const Keyed key(context, problem, device);
    std::vector<Ruling> result;
    for (const RulingRecord& ruling : key.cache().rulings(key.digest()))
        result.push_back({ruling.kind == RulingRecord::Kind::pin, ruling.key == cache::every_key(),
                          ruling.schedule, ruling.reason, ruling.unix_time});
    return result;
}

std::vector<FormerSchedule> former_winners(Context& context, const Problem& problem, int device) {
    const Keyed key(context, problem, device);
    std::vector<FormerSchedule> result;
    for (const cache::FormerWinner& former : key.cache().former_winners(key.digest()))
        result.push_back({former.winner.schedule, former.winner.evidence_json, former.winner.unix_time,
                          former.replaced, former.rolled_back});
    return result;
}

} // namespace v0
} // namespace zyfa
