// SPDX-License-Identifier: Apache-2.0
// zyfa cache export|import|merge|diff|sign and the keys that packs are signed with.
#include "cli/pack_commands.hpp"

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/services.hpp"
#include "cache/pack.hpp"
#include "cache/signature.hpp"
#include "cache/store.hpp"
#include "cache/transfer.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "core/keys.hpp"
#include "templates/template.hpp"

namespace zyfa::cli {

namespace {

struct Place {
    std::string user_dir, signers_file;
    std::vector<std::string> layers;
};

Place place() {
    const ContextOptions options = ContextOptions::from_environment();
    const std::string user = call::user_cache_dir(options);
    return {.user_dir = user, .signers_file = user + "/signers", .layers = options.cache_layers};
}

cache::Cache open(const Place& where) {
    return cache::Cache({.user_dir = where.user_dir, .read_only = where.layers});
}

cache::PackTrust trust(const Place& where, bool unsigned_too) {
    return {.signers = cache::SignerList::load(where.signers_file), .unsigned_too = unsigned_too};
}

/// Entries of another target or kernel-argument layout would never be asked for.
cache::Acceptance acceptance() {
    const auto binary = [](const cache::BinaryRecord& record) -> std::string {
        const BinaryKey key = BinaryKey::parse(record.key_text);
        if (key.target != "gfx950") {
            return "for " + key.target;
        }
        return key.kernarg_abi == templates::kernarg_abi
                   ? ""
                   : fmt::format("kernel-argument ABI {}", key.kernarg_abi);
    };
    const auto winner = [](const cache::WinnerRecord& record) -> std::string {
        try {
            WinnerKey::parse(record.key_text);
            return "";
        } catch (const Error&) {
            return "a key of another version";
        }
    };
    return {.binary = binary, .winner = winner};
}

std::string counted(const cache::Content& content) {
    return fmt::format("{}, {}, {}", cli::counted(content.winners.size(), "winner"),
                       cli::counted(content.binaries.size(), "binary"),
                       cli::counted(content.measurements.size(), "measurement"));
}

void print(const CommonOptions& common, const nlohmann::ordered_json& json, const std::string& words) {
    fmt::print("{}\n", common.json ? json.dump(2) : words);
}

struct ExportFlags {
    std::string file, key;
    std::vector<std::string> prefixes;
    bool no_measurements = false, unused_binaries = false;
};

ExitCode export_pack(const CommonOptions& common, const ExportFlags& flags) {
    cache::Cache cache = open(place());
    cache::Selection selection{
        .select = {}, .measurements = !flags.no_measurements, .unused_binaries = flags.unused_binaries};
    if (!flags.prefixes.empty()) {
        selection.select = [&](const cache::WinnerRecord& winner) {
            for (const std::string& prefix : flags.prefixes) {
                if (winner.key.hex().starts_with(prefix)) {
                    return true;
                }
            }
            return false;
        };
    }
    const cache::Content content = cache.collect(selection);
    std::unique_ptr<cache::SecretKey> key;
    if (!flags.key.empty()) {
        key = std::make_unique<cache::SecretKey>(cache::SecretKey::load(flags.key));
    }
    const std::vector<std::byte> pack =
        cache::write_pack(content, key.get(), static_cast<std::uint64_t>(std::time(nullptr)));
    write_file(flags.file, pack);
    const std::string signer = key ? key->public_key().hex() : "";
    print(common,
          {{"file", flags.file},
           {"bytes", pack.size()},
           {"winners", content.winners.size()},
           {"binaries", content.binaries.size()},
           {"measurements", content.measurements.size()},
           {"signer", signer}},
          fmt::format("{}: {}, {}, {}", flags.file, counted(content), bytes(static_cast<double>(pack.size())),
                      signer.empty() ? "not signed" : "signed by " + signer));
    return ExitCode::ok;
}

struct TakeFlags {
    std::vector<std::string> sources;
    bool unsigned_too = false, packs_only = false;
};

ExitCode take(const CommonOptions& common, const TakeFlags& flags) {
    const Place where = place();
    cache::Cache cache = open(where);
    nlohmann::ordered_json json{{"sources", nlohmann::ordered_json::array()}};
    for (const std::string& source : flags.sources) {
        if (flags.packs_only && !source.ends_with(cache::pack_suffix)) {
            throw Error(ErrorCode::invalid_argument, source,
                        fmt::format("{} is not a pack (*{}); `zyfa cache merge` takes stores", source,
                                    cache::pack_suffix));
        }
        const std::unique_ptr<cache::Layer> layer =
            cache::open_source(source, trust(where, flags.unsigned_too));
        const cache::TransferReport report =
            cache.take(cache::collect(*layer, {.select = {}, .measurements = true, .unused_binaries = true}),
                       acceptance());
        nlohmann::ordered_json entry{{"source", source},
                                     {"added", report.added},
                                     {"replaced", report.replaced},
                                     {"kept", report.kept},
                                     {"same", report.same},
                                     {"ignored", report.ignored},
                                     {"decisions", nlohmann::ordered_json::array()}};
        std::string words =
            fmt::format("{}: {} added, {} replaced, {} kept, {} the same, {} ignored", source, report.added,
                        report.replaced, report.kept, report.same, report.ignored);
        for (const cache::Decision& decision : report.decisions) {
            entry["decisions"].push_back({{"action", cache::to_string(decision.action)},
                                          {"kind", decision.kind},
                                          {"key", decision.key_text},
                                          {"reason", decision.reason}});
            if (!decision.reason.empty()) {
                words += fmt::format("\n  {} {}: {} ({})", decision.kind, cache::to_string(decision.action),
                                     decision.key_text, decision.reason);
            }
        }
        json["sources"].push_back(std::move(entry));
        if (!common.json) {
            fmt::print("{}\n", words);
        }
    }
    if (common.json) {
        fmt::print("{}\n", json.dump(2));
    }
    return ExitCode::ok;
}

ExitCode diff(const CommonOptions& common, const std::string& left, const std::string& right) {
    const cache::PackTrust anyone = trust(place(), true); // nothing is taken over
    const cache::DiffReport report =
        cache::diff(*cache::open_source(left, anyone), *cache::open_source(right, anyone));
    const auto rows = [](const std::vector<cache::Difference>& differences) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const cache::Difference& d : differences) {
            list.push_back({{"key", d.key_text}, {"left", d.left}, {"right", d.right}});
        }
        return list;
    };
    std::string words;
    for (const cache::Difference& d : report.winners) {
        words += fmt::format("{}\n  < {}\n  > {}\n", d.key_text, d.left.empty() ? "-" : d.left,
                             d.right.empty() ? "-" : d.right);
    }
    words += fmt::format(
        "{} and {} differ, {} and {} are the same", cli::counted(report.winners.size(), "winner"),
        cli::counted(report.binaries.size(), "binary"), report.same_winners, report.same_binaries);
    print(common,
          {{"winners", rows(report.winners)},
           {"binaries", rows(report.binaries)},
           {"same_winners", report.same_winners},
           {"same_binaries", report.same_binaries}},
          words);
    return report.winners.empty() && report.binaries.empty() ? ExitCode::ok : ExitCode::check_failed;
}

ExitCode sign(const CommonOptions& common, const std::string& file, const std::string& key_file,
              const std::string& output) {
    const cache::SecretKey key = cache::SecretKey::load(key_file);
    // Whose pack it was does not matter: what it says is signed anew, entry by entry, under this key.
    const cache::Pack pack = cache::Pack::open(read_file(file), trust(place(), true));
    std::vector<std::string> damage;
    const cache::Content content = pack.content(damage);
    if (!damage.empty()) {
        throw Error(ErrorCode::invalid_argument, file,
                    fmt::format("{} is damaged: {}", file, damage.front()));
    }
    const std::vector<std::byte> written = cache::write_pack(content, &key, pack.unix_time());
    write_file(output.empty() ? file : output, written);
    print(common, {{"file", output.empty() ? file : output}, {"signer", key.public_key().hex()}},
          fmt::format("{}: {}, signed by {}", output.empty() ? file : output, counted(content),
                      key.public_key().hex()));
    return ExitCode::ok;
}

ExitCode keygen(const CommonOptions& common, const std::string& file) {
    if (std::filesystem::exists(file)) {
        throw Error(ErrorCode::io_error, file, file + " exists; a key is not overwritten");
    }
    const cache::SecretKey key = cache::SecretKey::generate();
    key.save(file);
    print(common, {{"file", file}, {"public_key", key.public_key().hex()}},
          fmt::format("{} holds the secret key; who is to accept its packs runs\n  zyfa cache trust {} NAME",
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
        fmt::format("{}: {}", short_path(where.signers_file), cli::counted(list.entries().size(), "signer"));
    for (const auto& [signer, entry] : list.entries()) {
        const char* standing = entry.standing == cache::SignerList::Standing::trusted ? "trusted" : "revoked";
        json["signers"].push_back(
            {{"public_key", signer.hex()}, {"standing", standing}, {"name", entry.name}});
        words += fmt::format("\n  {} {} {}", standing, signer.hex(), entry.name);
    }
    print(common, json, words);
    return ExitCode::ok;
}

/// A subcommand of `zyfa cache` whose action gets the flags that it registered.
template <class Flags, class Register, class Action>
void add(CLI::App& cache, Invocation& invocation, const char* name, const char* description,
         Register register_flags, Action action) {
    CLI::App* command = cache.add_subcommand(name, description);
    const std::shared_ptr<Flags> flags = std::make_shared<Flags>();
    register_flags(*command, *flags);
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, flags, action] {
        invocation.action = [&invocation, flags, action] { return action(invocation.common, *flags); };
    });
}

struct SignFlags {
    std::string file, key, output;
};
struct DiffFlags {
    std::string left, right;
};
struct SignerFlags {
    std::string key, text;
};

} // namespace

void add_pack_commands(CLI::App& cache, Invocation& invocation) {
    add<ExportFlags>(
        cache, invocation, "export", "Write entries to a pack",
        [](CLI::App& c, ExportFlags& f) {
            c.add_option("file", f.file, "The pack, *.zyfapack")->required()->type_name("FILE");
            c.add_option("--winner", f.prefixes,
                         "Only winners whose digest starts so (may be repeated; default: all)")
                ->type_name("DIGITS");
            c.add_option("--sign", f.key, "Sign with this secret key (zyfa cache keygen)")->type_name("KEY");
            c.add_flag("--no-measurements", f.no_measurements,
                       "Leave out what is known of losing candidates");
            c.add_flag("--unused-binaries", f.unused_binaries, "Also binaries that no winner refers to");
        },
        export_pack);
    const auto take_flags = [](CLI::App& c, TakeFlags& f) {
        c.add_option("source", f.sources, "Packs (merge: also store folders or files)")
            ->required()
            ->type_name("PATH");
        c.add_flag("--allow-unsigned", f.unsigned_too,
                   "Accept packs without a signature; their entries say so");
    };
    add<TakeFlags>(
        cache, invocation, "import",
        "Take the entries of packs into the user layer; the better of two winners stays",
        [&](CLI::App& c, TakeFlags& f) {
            f.packs_only = true;
            take_flags(c, f);
        },
        take);
    add<TakeFlags>(cache, invocation, "merge",
                   "Take the entries of other stores or packs into the user layer", take_flags, take);
    add<DiffFlags>(
        cache, invocation, "diff", "How two stores or packs differ; exit code 1 if they do",
        [](CLI::App& c, DiffFlags& f) {
            c.add_option("left", f.left)->required()->type_name("PATH");
            c.add_option("right", f.right)->required()->type_name("PATH");
        },
        [](const CommonOptions& common, const DiffFlags& f) { return diff(common, f.left, f.right); });
    add<SignFlags>(
        cache, invocation, "sign", "Sign a pack",
        [](CLI::App& c, SignFlags& f) {
            c.add_option("file", f.file, "The pack")->required()->type_name("FILE");
            c.add_option("--key", f.key, "Secret key")->required()->type_name("KEY");
            c.add_option("-o,--output", f.output, "Where the signed pack goes; default: over the pack")
                ->type_name("FILE");
        },
        [](const CommonOptions& common, const SignFlags& f) {
            return sign(common, f.file, f.key, f.output);
        });
    add<SignFlags>(
        cache, invocation, "keygen", "Make a secret key to sign packs with",
        [](CLI::App& c, SignFlags& f) {
            c.add_option("file", f.key, "Where it goes, mode 0600")->required()->type_name("KEY");
        },
        [](const CommonOptions& common, const SignFlags& f) { return keygen(common, f.key); });
    const auto signer_flags = [](const char* text_name, const char* text_help) {
        return [text_name, text_help](CLI::App& c, SignerFlags& f) {
            c.add_option("public-key", f.key, "Public key in hexadecimal digits")
                ->required()
                ->type_name("KEY");
            c.add_option(text_name, f.text, text_help)->required();
        };
    };
    add<SignerFlags>(cache, invocation, "trust", "Accept packs of a signer",
                     signer_flags("name", "Who that is"),
                     [](const CommonOptions& common, const SignerFlags& f) {
                         return signers(common, Change::trust, f.key, f.text);
                     });
    add<SignerFlags>(cache, invocation, "revoke", "Accept no packs of a signer any more",
                     signer_flags("reason", "Why"), [](const CommonOptions& common, const SignerFlags& f) {
                         return signers(common, Change::revoke, f.key, f.text);
                     });
    add<SignerFlags>(
        cache, invocation, "signers", "Whose packs are accepted", [](CLI::App&, SignerFlags&) {},
        [](const CommonOptions& common, const SignerFlags&) {
            return signers(common, Change::none, "", "");
        });
}

} // namespace zyfa::cli
