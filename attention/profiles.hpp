// SPDX-License-Identifier: Apache-2.0
// Winners of one key for several data profiles: one of them is the key's own, the others stand beside it
// under keys that name the profile (core/profile_key.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.hpp"

namespace zyfa::call {

struct StoredWinner {
    cache::WinnerRecord record;
    std::optional<cache::BinaryRecord> binary; ///< none: lost or damaged
    std::string layer;
};

class Profiles {
  public:
    /// `order`: whose winners are wanted first (ZYFA_PROFILES).
    explicit Profiles(std::vector<std::string> order) : order_(std::move(order)) {}

    /// The first profile of the order that has a winner which is not among `banned` (schedules); else the
    /// key's own.
    std::optional<StoredWinner> find(cache::Cache& cache, const std::string& key_text,
                                     const std::vector<std::string>& banned) const;
    /// The key's own winner, whatever the order.
    static std::optional<StoredWinner> own(cache::Cache& cache, const std::string& key_text);

    enum class Published { taken, beside, ruled_out };
    /// Stores a winner with its measurements. Where the key has one of another profile, the key's own is then
    /// the one whose profile comes first in the order, of equal ones that with the better policy
    /// (policy_rank), of equal ones the new one; the other stands beside it. One that is not `usable` (stale)
    /// never stays the key's own. As Cache::publish otherwise.
    Published publish(cache::Cache& cache, const cache::WinnerRecord& winner,
                      const cache::BinaryRecord& binary,
                      const std::vector<cache::MeasurementRecord>& measurements,
                      const std::function<bool(const cache::WinnerRecord&)>& usable) const;

  private:
    std::size_t place(const std::string& profile) const;
    std::vector<std::string> order_;
};

/// ZYFA_PROFILES: names with commas between them.
Profiles profiles_from_environment();

} // namespace zyfa::call
