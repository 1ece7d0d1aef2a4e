// SPDX-License-Identifier: Apache-2.0
#include "attention/profiles.hpp"

#include <algorithm>

#include "core/digest.hpp"
#include "core/environment.hpp"
#include "core/measurement.hpp"
#include "core/profile_key.hpp"

namespace zyfa::call {

namespace {

std::optional<StoredWinner> stored(cache::Cache& cache, const std::string& key_text) {
    const Digest key = digest(key_text);
    if (auto found = cache.find(key))
        return StoredWinner{std::move(found->winner), std::move(found->binary), std::move(found->layer)};
    if (auto alone = cache.find_winner(key))
        return StoredWinner{std::move(*alone), std::nullopt, {}};
    return std::nullopt;
}

cache::WinnerRecord beside(cache::WinnerRecord winner) {
    winner.key_text = key_with_profile(winner.key_text, winner.data_profile);
    winner.key = digest(winner.key_text);
    return winner;
}

std::vector<cache::MeasurementRecord> under(const Digest& key,
                                            std::vector<cache::MeasurementRecord> measurements) {
    for (cache::MeasurementRecord& measurement : measurements)
        measurement.key = key;
    return measurements;
}

} // namespace

std::optional<StoredWinner> Profiles::own(cache::Cache& cache, const std::string& key_text) {
    return stored(cache, key_text);
}

std::optional<StoredWinner> Profiles::find(cache::Cache& cache, const std::string& key_text,
                                           const std::vector<std::string>& banned) const {
    auto its_own = own(cache, key_text);
    for (const std::string& profile : order_) {
        if (its_own && its_own->record.data_profile == profile)
            return its_own;
        auto other = stored(cache, key_with_profile(key_text, profile));
        if (other && std::find(banned.begin(), banned.end(), other->record.schedule) == banned.end())
            return other;
    }
    return its_own;
}

std::size_t Profiles::place(const std::string& profile) const {
    return static_cast<std::size_t>(std::find(order_.begin(), order_.end(), profile) - order_.begin());
}

Profiles::Published Profiles::publish(cache::Cache& cache, const cache::WinnerRecord& winner,
                                      const cache::BinaryRecord& binary,
                                      const std::vector<cache::MeasurementRecord>& measurements,
                                      const std::function<bool(const cache::WinnerRecord&)>& usable) const {
    const auto record = cache.find_winner(winner.key);
    const auto known =
        record && record->data_profile != winner.data_profile ? cache.find(winner.key) : std::nullopt;
    if (known) {
        const std::size_t old_place = place(known->winner.data_profile),
                          new_place = place(winner.data_profile);
        const bool old_stays = old_place != new_place
                                   ? old_place < new_place
                                   : policy_rank(known->winner.policy) > policy_rank(winner.policy);
        if (old_stays && usable(known->winner)) {
            const cache::WinnerRecord other = beside(winner);
            cache.publish(other, binary, under(other.key, measurements));
            return Published::beside;
        }
        const cache::WinnerRecord former = beside(known->winner);
        cache.publish(former, known->binary, under(former.key, cache.measurements(winner.key)));
    }
    return cache.publish(winner, binary, measurements) ? Published::taken : Published::ruled_out;
}

Profiles profiles_from_environment() {
    const std::string list = environment("ZYFA_PROFILES");
    std::vector<std::string> order;
    for (std::size_t from = 0; from < list.size();) {
        const std::size_t to = std::min(list.find(',', from), list.size());
        if (to > from)
            order.push_back(list.substr(from, to - from));
        from = to + 1;
    }
    return Profiles(std::move(order));
}

} // namespace zyfa::call
