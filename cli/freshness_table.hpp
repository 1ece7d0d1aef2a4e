// SPDX-License-Identifier: Apache-2.0
// How fresh the stored winners are, for `zyfa cache list`, `show` and `stat`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "attention/freshness.hpp"
#include "cache/store.hpp"
#include "runtime/runtime.hpp"
#include "zyfa/context.hpp"

namespace zyfa::cli {

/// Compares winners with this build and, where there are any, with the devices of this machine.
class FreshnessOfWinners {
  public:
    explicit FreshnessOfWinners(const ContextOptions& options);

    call::Freshener::Answer ask(const cache::WinnerRecord& winner);

    /// Whether there is no device whose versions could be compared; old evidence is not seen then.
    bool blind() const noexcept { return versions_.empty(); }

  private:
    call::Freshener freshener_;
    std::map<std::string, runtime::Versions> versions_; ///< by what a key says of a device
};

} // namespace zyfa::cli
