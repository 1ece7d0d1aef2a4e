// SPDX-License-Identifier: Apache-2.0
// zyfa cache export|import|merge|diff|sign.
#include "cli/pack_commands.hpp"

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cache/pack.hpp"
#include "cache/signature.hpp"
#include "cache/store.hpp"
#include "cache/transfer.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/key_commands.hpp"
#include "cli/pack_place.hpp"
#include "core/keys.hpp"
#include "templates/template.hpp"

namespace zyfa::cli {

namespace {

cache::PackTrust trust(const Place& where, bool unsigned_too) {
    return {.signers = cache::SignerList::load(where.signers_file), .unsigned_too = unsigned_too};
}

/// Entries of another target or kernel-argument layout would never be asked for.
cache::Acceptance acceptance() {
    const auto binary = [](const cache::BinaryRecord& record) -> std::string {
        try {
            const BinaryKey key = BinaryKey::parse(record.key_text);
            if (key.target != "gfx950") {
                return "for " + key.target;
            }
            return key.kernarg_abi == templates::kernarg_abi
                       ? ""
                       : fmt::format("kernel-argument ABI {}", key.kernarg_abi);
        } catch (const Error&) {
            return "a key of another version";
        }
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

struct ExportFlags {
    std::string file, key;
    std::vector<std::string> prefixes, words;
    bool no_measurements = false, unused_binaries = false;
};

/// Anything else would be taken for a store where it is imported or mounted.
void require_pack_name(const std::string& argument, const std::string& path) {
    if (!path.ends_with(cache::pack_suffix)) {
        throw Error(
            ErrorCode::invalid_argument, argument,
            fmt::format("{} is {}; accepted: a name that ends in {}", argument, path, cache::pack_suffix));
    }
}

ExitCode export_pack(const CommonOptions& common, const ExportFlags& flags) {
    require_pack_name("file", flags.file);
    cache::Cache cache = open(place());
    cache::Selection selection{
        .select = {}, .measurements = !flags.no_measurements, .unused_binaries = flags.unused_binaries};
    selection.select = [&](const cache::WinnerRecord& winner) {
        const auto starts = [&](const std::string& prefix) { return winner.key.hex().starts_with(prefix); };
        const auto contains = [&](const std::string& word) {
            return winner.key_text.find(word) != std::string::npos;
        };
        return (flags.prefixes.empty() || std::ranges::any_of(flags.prefixes, starts)) &&
               std::ranges::all_of(flags.words, contains);
    };
    const cache::Content content = cache.collect(selection);
    if (content.winners.empty() && !(flags.prefixes.empty() && flags.words.empty())) {
        throw Error(ErrorCode::invalid_argument, "winner",
                    "no winner is selected; `zyfa cache list` shows digests and keys");
    }
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
    require_pack_name("output", output.empty() ? file : output);
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

struct SignFlags {
    std::string file, key, output;
};
struct DiffFlags {
    std::string left, right;
};

} // namespace

void add_pack_commands(CLI::App& cache, Invocation& invocation) {
    add_with_flags<ExportFlags>(
        cache, invocation, "export", "Write entries to a pack",
        [](CLI::App& c, ExportFlags& f) {
            c.add_option("file", f.file, "The pack, *.zyfapack")->required()->type_name("FILE");
            c.add_option("--winner", f.prefixes,
                         "Only winners whose digest starts so (may be repeated; default: all)")
                ->type_name("DIGITS");
            c.add_option("--match", f.words,
                         "Only winners whose key contains this text (may be repeated: all of them), as "
                         "zyfa cache list shows keys")
                ->type_name("TEXT");
            c.add_option("--sign", f.key, "Sign with this secret key (zyfa cache keys generate)")
                ->type_name("KEY");
            c.add_flag("--no-measurements", f.no_measurements,
                       "Leave out what is known of losing candidates");
            c.add_flag("--unused-binaries", f.unused_binaries, "Also binaries that no winner refers to");
        },
        export_pack);
    const auto take_flags = [](CLI::App& c, TakeFlags& f) {
        c.add_option("source", f.sources, "Packs (merge: also store folders or files)")
            ->required()
            ->type_name("PATH");
        c.add_flag("--trust-unsigned,--allow-unsigned", f.unsigned_too,
                   "Accept packs without a signature; their entries say so");
    };
    add_with_flags<TakeFlags>(
        cache, invocation, "import",
        "Take the entries of packs into the user layer; the better of two winners stays",
        [&](CLI::App& c, TakeFlags& f) {
            f.packs_only = true;
            take_flags(c, f);
        },
        take);
    add_with_flags<TakeFlags>(cache, invocation, "merge",
                              "Take the entries of other stores or packs into the user layer", take_flags,
                              take);
    add_with_flags<DiffFlags>(
        cache, invocation, "diff", "How two stores or packs differ; exit code 1 if they do",
        [](CLI::App& c, DiffFlags& f) {
            c.add_option("left", f.left)->required()->type_name("PATH");
            c.add_option("right", f.right)->required()->type_name("PATH");
        },
        [](const CommonOptions& common, const DiffFlags& f) { return diff(common, f.left, f.right); });
    add_with_flags<SignFlags>(
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
    add_key_commands(cache, invocation);
}

} // namespace zyfa::cli
