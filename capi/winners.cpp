// SPDX-License-Identifier: Apache-2.0
// Pins, bans and former winners.
#include "zyfa/winners.hpp"

#include "capi/context.hpp"
#include "capi/status.hpp"
#include "capi/values.hpp"

struct zyfa_rulings {
    std::vector<zyfa::Ruling> rulings;
    std::vector<zyfa::FormerSchedule> former;
};

using namespace zyfa;

namespace {

std::string or_empty(const char* text) {
    return text ? text : "";
}

void tell(int* was, bool value) {
    if (was)
        *was = value ? 1 : 0;
}

} // namespace

zyfa_status zyfa_pin(zyfa_context* context, const zyfa_problem* problem, int device, const char* schedule,
                     const char* reason) {
    return capi::guarded([&] {
        pin(capi::context_of(context), capi::problem_of(problem), or_empty(schedule), or_empty(reason),
            device);
    });
}

zyfa_status zyfa_unpin(zyfa_context* context, const zyfa_problem* problem, int device, int* was) {
    return capi::guarded(
        [&] { tell(was, unpin(capi::context_of(context), capi::problem_of(problem), device)); });
}

zyfa_status zyfa_ban(zyfa_context* context, const zyfa_problem* problem, int device, const char* schedule,
                     const char* reason) {
    return capi::guarded([&] {
        ban(capi::context_of(context), capi::problem_of(problem), &capi::required(schedule, "schedule"),
            or_empty(reason), device);
    });
}

zyfa_status zyfa_unban(zyfa_context* context, const zyfa_problem* problem, int device, const char* schedule,
                       int* was) {
    return capi::guarded([&] {
        tell(was, unban(capi::context_of(context), capi::problem_of(problem),
                        &capi::required(schedule, "schedule"), device));
    });
}

zyfa_status zyfa_roll_back(zyfa_context* context, const zyfa_problem* problem, int device,
                           const char* schedule) {
    return capi::guarded(
        [&] { roll_back(capi::context_of(context), capi::problem_of(problem), or_empty(schedule), device); });
}

zyfa_status zyfa_context_rulings(zyfa_context* context, const zyfa_problem* problem, int device,
                                 zyfa_rulings** rulings) {
    return capi::guarded([&] {
        zyfa_rulings*& out = capi::required(rulings, "rulings");
        Context& of = capi::context_of(context);
        const Problem about = capi::problem_of(problem);
        out = new zyfa_rulings{zyfa::rulings(of, about, device), former_winners(of, about, device)};
    });
}

size_t zyfa_rulings_count(const zyfa_rulings* rulings) {
    return rulings ? rulings->rulings.size() + rulings->former.size() : 0;
}

zyfa_status zyfa_rulings_get(const zyfa_rulings* rulings, size_t index, zyfa_ruling* ruling) {
    return capi::guarded([&] {
        const zyfa_rulings& all = capi::required(rulings, "rulings");
        zyfa_ruling& out = capi::sized(ruling, "ruling");
        if (index < all.rulings.size()) {
            const Ruling& r = all.rulings[index];
            out = {sizeof out,
                   r.pin ? ZYFA_PIN : ZYFA_BAN,
                   r.every_key ? 1 : 0,
                   r.schedule.c_str(),
                   r.reason.c_str(),
                   "",
                   r.unix_time,
                   0,
                   0};
            return;
        }
        const FormerSchedule& f = capi::at(all.former, index - all.rulings.size());
        out = {sizeof out, ZYFA_FORMER_WINNER,    0, f.schedule.c_str(), "", f.evidence_json.c_str(),
               f.replaced, f.rolled_back ? 1 : 0, 0};
    });
}

void zyfa_rulings_destroy(zyfa_rulings* rulings) {
    delete rulings;
}
