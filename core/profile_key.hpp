// SPDX-License-Identifier: Apache-2.0
// The winner of a key for one data profile: stored beside the key's own winner, under a key that names the
// profile too.
#pragma once

#include <string>
#include <string_view>

namespace zyfa {

/// Key text of a profile: the winner key's canonical text, " profile=" and the profile, in which whatever is
/// not a letter, digit or one of "_.:*+-" stands as %XX. WinnerKey::parse takes it and leaves the profile
/// out.
std::string key_with_profile(std::string_view winner_key, std::string_view profile);
std::string_view key_without_profile(std::string_view key_text);
std::string profile_of_key(std::string_view key_text); ///< empty: it names none

} // namespace zyfa
