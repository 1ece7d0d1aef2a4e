// SPDX-License-Identifier: Apache-2.0
// Whether what was measured once still says something: about this build's kernels, and about this machine's
// driver and firmware (docs/cache.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cache/store.hpp"
#include "core/keys.hpp"
#include "runtime/versions.hpp"

namespace zyfa::call {

enum class Freshness : std::uint8_t {
    valid,    ///< this build makes the very binary that was measured, and the versions are those of then
    old,      ///< the binary is the same; HIP, driver or firmware were others when it was measured
    stale,    ///< this build makes another binary of the schedule (or knows its template no longer)
    unusable, ///< a key or schedule of another version of zyfa
};
const char* to_string(Freshness freshness) noexcept;

/// What differs between the versions stored with a winner and those of now, "driver 6.12 -> 6.14"; empty if
/// nothing does. What either side does not know counts as the same.
std::string changed_versions(const std::string& versions_json, const runtime::Versions& now);

/// The digest of the binary that this build makes of a winner's schedule. Instantiates a template at most
/// once per problem class and schedule. Not thread-safe.
class Freshener {
  public:
    struct Answer {
        Freshness freshness = Freshness::valid;
        std::string reason; ///< empty where valid
    };
    /// `now`: of a device that is what the winner's key says; nullopt: no such device is here, and the
    /// versions are not compared.
    Answer ask(const cache::WinnerRecord& winner, const std::optional<runtime::Versions>& now);

  private:
    std::map<std::pair<std::string, std::string>, Digest> made_; ///< by problem class and schedule
};

} // namespace zyfa::call
