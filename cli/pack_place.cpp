// SPDX-License-Identifier: Apache-2.0
#include "cli/pack_place.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/services.hpp"

namespace zyfa::cli {

Place place() {
    const ContextOptions options = ContextOptions::from_environment();
    const std::string user = call::user_cache_dir(options);
    return {.user_dir = user, .signers_file = user + "/signers", .layers = options.cache_layers};
}

cache::Cache open(const Place& where) {
    return cache::Cache({.user_dir = where.user_dir, .read_only = where.layers});
}

void print(const CommonOptions& common, const nlohmann::ordered_json& json, const std::string& words) {
    fmt::print("{}\n", common.json ? json.dump(2) : words);
}

} // namespace zyfa::cli
