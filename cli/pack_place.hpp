// SPDX-License-Identifier: Apache-2.0
// What the commands about packs and keys share.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cache/store.hpp"
#include "cli/command.hpp"

namespace zyfa::cli {

/// The cache of the user, as the environment says.
struct Place {
    std::string user_dir, signers_file;
    std::vector<std::string> layers;
};
Place place();
cache::Cache open(const Place& where);

/// JSON where it was asked for, else words.
void print(const CommonOptions& common, const nlohmann::ordered_json& json, const std::string& words);

/// A subcommand whose action gets the flags that it registered.
template <class Flags, class Register, class Action>
CLI::App* add_with_flags(CLI::App& parent, Invocation& invocation, const char* name, const char* description,
                         Register register_flags, Action action) {
    CLI::App* command = parent.add_subcommand(name, description);
    const auto flags = std::make_shared<Flags>();
    register_flags(*command, *flags);
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, flags, action] {
        invocation.action = [&invocation, flags, action] { return action(invocation.common, *flags); };
    });
    return command;
}

} // namespace zyfa::cli
