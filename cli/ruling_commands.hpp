// SPDX-License-Identifier: Apache-2.0
// zyfa cache pin|unpin|ban|unban|history|rollback: what a person decides about winners.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cache/store.hpp"

namespace CLI {
class App;
}

namespace zyfa::cli {

struct Invocation;
class Facts;
void add_ruling_commands(CLI::App& cache, Invocation& invocation);

/// "pinned", "2 schedules banned", "pinned, 1 schedule banned", or nothing.
std::string ruling_summary(cache::Cache& cache, const Digest& key);
/// Adds lines on pins, bans and former winners of the key.
void add_rulings(Facts& facts, cache::Cache& cache, const Digest& key);
void add_rulings(nlohmann::ordered_json& json, cache::Cache& cache, const Digest& key);

} // namespace zyfa::cli
