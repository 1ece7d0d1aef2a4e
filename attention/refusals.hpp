// SPDX-License-Identifier: Apache-2.0
// Templates that a device's self-test refused (`zyfa doctor --selftest`): kept beside the user's cache,
// looked up when a selection begins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/keys.hpp"

namespace zyfa::call {

struct Refusal {
    std::string form;               ///< the template's name
    std::vector<std::string> facts; ///< what it needs and the device does not do
};

/// Replaces what is kept for this kind of device; an empty list clears it. `folder` is the user's cache, made
/// where it is missing; ":memory:" keeps nothing. Throws Error{io_error}.
void keep_refusals(const std::string& folder, const DeviceIdentity& device,
                   const std::vector<Refusal>& refusals);

/// The refusal of a template there, if it is refused. A file that cannot be read refuses nothing.
std::optional<Refusal> refusal_of(const std::string& folder, const DeviceIdentity& device,
                                  const std::string& form);

} // namespace zyfa::call
