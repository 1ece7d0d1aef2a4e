// SPDX-License-Identifier: Apache-2.0
#include "tuner/known.hpp"

namespace zyfa::tuner {

Known::Known(const std::vector<Measurement>& measurements, const std::string& subject) {
    for (const Measurement& m : measurements) {
        const bool of_the_binary = m.status == CandidateStatus::measured ||
                                   m.status == CandidateStatus::wrong ||
                                   m.status == CandidateStatus::unstable;
        if (m.subject == subject && of_the_binary)
            by_schedule_.insert_or_assign(m.schedule.canonical(), m);
    }
}

bool Known::has(const Schedule& schedule) const {
    return by_schedule_.contains(schedule.canonical());
}

const Measurement* Known::find(const Schedule& schedule, const std::string& binary_digest) const {
    const auto found = by_schedule_.find(schedule.canonical());
    return found != by_schedule_.end() && found->second.binary_digest == binary_digest ? &found->second
                                                                                       : nullptr;
}

} // namespace zyfa::tuner
