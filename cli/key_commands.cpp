// SPDX-License-Identifier: Apache-2.0
// zyfa cache keys list|generate|trust|revoke.
#include "cli/key_commands.hpp"

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cache/signature.hpp"
#include "cli/console.hpp"
#include "cli/pack_place.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

ExitCode keygen(const CommonOptions& common, const std::string& file) {
    if (std::filesystem::exists(file)) {
        throw Error(ErrorCode::io_error, file, file + " exists; a key is not overwritten");
    }
    const cache::SecretKey key = cache::SecretKey::generate();
    key.save(file);
    print(common, {{"file", file}, {"public_key", key.public_key().hex()}},
          fmt::format(
              "{} holds the secret key; who is to accept its packs runs\n  zyfa cache keys trust {} NAME",
              file, key.public_key().hex()));
    return ExitCode::ok;
}

enum class Change { none, trust, revoke };

ExitCode signers(const CommonOptions& common, Change change, const std::string& key,
                 const std::string& text) {
    const Place where = place();
    cache::SignerList list = cache::SignerList::load(where.signers_file);
    if (change != Change::none) {
        open(where); // makes the folder, with the rights that it must have
        const cache::PublicKey signer = cache::PublicKey::from_hex(key);
        change == Change::trust ? list.trust(signer, text) : list.revoke(signer, text);
        list.save(where.signers_file);
    }
    nlohmann::ordered_json json{{"file", where.signers_file}, {"signers", nlohmann::ordered_json::array()}};
    std::string words =
        fmt::format("{}: {}", short_path(where.signers_file), counted(list.entries().size(), "signer"));
    for (const auto& [signer, entry] : list.entries()) {
        const char* standing = entry.standing == cache::SignerList::Standing::trusted ? "trusted" : "revoked";
        json["signers"].push_back(
            {{"public_key", signer.hex()}, {"standing", standing}, {"name", entry.name}});
        words += fmt::format("\n  {} {} {}", standing, signer.hex(), entry.name);
    }
    print(common, json, words);
    return ExitCode::ok;
}

struct NoFlags {};
struct GenerateFlags {
    std::string file;
};
struct SignerFlags {
    std::string key, text;
};

/// `hidden`: the short form under `zyfa cache`, which help does not list.
void add_commands(CLI::App& parent, Invocation& invocation, bool hidden) {
    const auto signer_flags = [](const char* text_name, const char* text_help) {
        return [text_name, text_help](CLI::App& c, SignerFlags& f) {
            c.add_option("public-key", f.key, "Public key in hexadecimal digits")
                ->required()
                ->type_name("KEY");
            c.add_option(text_name, f.text, text_help)->required();
        };
    };
    CLI::App* const commands[] = {
        add_with_flags<NoFlags>(
            parent, invocation, hidden ? "signers" : "list", "Whose packs are accepted (the default)",
            [](CLI::App&, NoFlags&) {},
            [](const CommonOptions& common, const NoFlags&) {
                return signers(common, Change::none, "", "");
            }),
        add_with_flags<GenerateFlags>(
            parent, invocation, hidden ? "keygen" : "generate", "Make a secret key to sign packs with",
            [](CLI::App& c, GenerateFlags& f) {
                c.add_option("file", f.file, "Where it goes, mode 0600")->required()->type_name("KEY");
            },
            [](const CommonOptions& common, const GenerateFlags& f) { return keygen(common, f.file); }),
        add_with_flags<SignerFlags>(parent, invocation, "trust", "Accept packs of a signer",
                                    signer_flags("name", "Who that is"),
                                    [](const CommonOptions& common, const SignerFlags& f) {
                                        return signers(common, Change::trust, f.key, f.text);
                                    }),
        add_with_flags<SignerFlags>(parent, invocation, "revoke", "Accept no packs of a signer any more",
                                    signer_flags("reason", "Why"),
                                    [](const CommonOptions& common, const SignerFlags& f) {
                                        return signers(common, Change::revoke, f.key, f.text);
                                    })};
    if (hidden) {
        for (CLI::App* command : commands) {
            command->group("");
        }
    }
}

} // namespace

void add_key_commands(CLI::App& cache, Invocation& invocation) {
    CLI::App* keys =
        cache.add_subcommand("keys", "The keys that packs are signed with, and whose are accepted");
    add_json_flag(*keys, invocation.common);
    keys->require_subcommand(0, 1);
    keys->callback([keys, &invocation] {
        if (keys->get_subcommands().empty()) {
            invocation.action = [&invocation] { return signers(invocation.common, Change::none, "", ""); };
        }
    });
    add_commands(*keys, invocation, false);
    add_commands(cache, invocation, true);
}

} // namespace zyfa::cli
