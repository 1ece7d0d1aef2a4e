// SPDX-License-Identifier: Apache-2.0
// Keeping a store within its limits.
#pragma once

#include "cache/database.hpp"
#include "cache/store.hpp"

namespace zyfa::cache {

/// Bytes of the file that hold something.
std::uint64_t used_bytes(Database& database);

/// Cheap look at the limits, for every publication.
bool may_exceed(Database& database, const Limits& limits);

/// Now, in the unit of use stamps: a hit writes at most once an hour.
std::int64_t this_hour();

/// Removes entries in order of their last use, in one transaction, until both limits hold. The cost follows
/// what is removed: every step takes the oldest of an index.
PruneReport prune(Database& database, const Limits& limits);

} // namespace zyfa::cache
