// SPDX-License-Identifier: Apache-2.0
// zyfa cache list|show|stat|verify|prune (and what is in other files): what is stored, in which layer, and
// with what evidence.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/services.hpp"
#include "cache/store.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/freshness_table.hpp"
#include "cli/pack_commands.hpp"
#include "cli/ruling_commands.hpp"
#include "core/keys.hpp"
#include "core/measurement.hpp"

namespace zyfa::cli {

namespace {

cache::Cache open_cache() {
    const ContextOptions options = ContextOptions::from_environment();
    return cache::Cache({.user_dir = call::user_cache_dir(options), .read_only = options.cache_layers});
}

std::string when(std::uint64_t unix_time) {
    return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(unix_time)));
}

std::string short_digest(const Digest& digest) {
    return digest.hex().substr(0, 12);
}

/// The key for people: "bf16 d=128 causal, B*Hq<=8 Sq<=1024 Skv<=1024, bhsd, gfx950 256 CUs simulated".
std::string in_words(const std::string& key_text) {
    WinnerKey key;
    try {
        key = WinnerKey::parse(key_text);
    } catch (const Error&) {
        return key_text; // of another version
    }
    const ProblemClass& c = key.problem_class;
    const auto most = [](std::uint32_t bucket) { return std::uint64_t{1} << std::min(bucket, 63u); };
    return fmt::format("{} d={}{} {}{}{}{}, B*Hq<={} Sq<={} Skv<={}, {}, {} {} CUs{}", to_string(c.dtype),
                       c.dim_qk, c.dim_v == c.dim_qk ? "" : fmt::format("/{}", c.dim_v),
                       c.mask == Mask::causal ? "causal" : "full", c.even_group ? ", even GQA group" : "",
                       c.lse ? ", LSE" : "", c.nan_exact ? "" : ", not nan_exact",
                       most(key.sizes.batch_heads), most(key.sizes.seq_q), most(key.sizes.seq_kv),
                       to_string(key.strides), key.device.target.substr(0, key.device.target.find(':')),
                       key.device.compute_units, key.device.simulated ? ", simulated" : "");
}

nlohmann::ordered_json in_json(const cache::WinnerRecord& winner) {
    return {{"digest", winner.key.hex()},          {"key", winner.key_text},
            {"schedule", winner.schedule},         {"binary", winner.binary.hex()},
            {"data_profile", winner.data_profile}, {"policy", winner.policy},
            {"unix_time", winner.unix_time}};
}

ExitCode list(const CommonOptions& common) {
    cache::Cache cache = open_cache();
    const std::vector<cache::WinnerRecord> winners = cache.winners();
    FreshnessOfWinners freshness(ContextOptions::from_environment());
    if (common.json) {
        nlohmann::ordered_json json{{"winners", nlohmann::ordered_json::array()}};
        for (const cache::WinnerRecord& winner : winners) {
            json["winners"].push_back(in_json(winner));
            const call::Freshener::Answer answer = freshness.ask(winner);
            json["winners"].back()["freshness"] = call::to_string(answer.freshness);
            json["winners"].back()["why"] = answer.reason;
            json["winners"].back()["rulings"] = ruling_summary(cache, winner.key);
        }
        fmt::print("{}\n", json.dump(2));
        return ExitCode::ok;
    }
    if (winners.empty()) {
        fmt::print("nothing is stored; `zyfa attention` or `zyfa tune` stores winners\n");
        return ExitCode::ok;
    }
    Table table(
        {{"digest"}, {"stored"}, {"state"}, {"data"}, {"policy"}, {"problem and device"}, {"schedule"}});
    for (const cache::WinnerRecord& winner : winners) {
        const std::string ruled = ruling_summary(cache, winner.key);
        const std::string state = call::to_string(freshness.ask(winner).freshness);
        table.add({short_digest(winner.key), when(winner.unix_time),
                   ruled.empty() ? state : state + ", " + ruled, winner.data_profile, winner.policy,
                   in_words(winner.key_text), winner.schedule});
    }
    table.print();
    return ExitCode::ok;
}

/// The winner whose digest starts with `prefix`.
cache::WinnerRecord winner_of(cache::Cache& cache, const std::string& prefix) {
    std::vector<cache::WinnerRecord> found;
    for (cache::WinnerRecord& winner : cache.winners()) {
        if (winner.key.hex().starts_with(prefix) || winner.key_text == prefix) {
            found.push_back(std::move(winner));
        }
    }
    if (found.empty()) {
        throw Error(ErrorCode::invalid_argument, "key",
                    fmt::format("no winner's digest starts with '{}'; `zyfa cache list` shows them", prefix));
    }
    for (const cache::WinnerRecord& winner : found) {
        if (winner.key != found.front().key) {
            throw Error(ErrorCode::invalid_argument, "key",
                        fmt::format("'{}' is ambiguous: {} and {}", prefix, found.front().key.hex(),
                                    winner.key.hex()));
        }
    }
    return found.front();
}

ExitCode show(const CommonOptions& common, const std::string& prefix) {
    cache::Cache cache = open_cache();
    const cache::WinnerRecord winner = winner_of(cache, prefix);
    const std::optional<cache::Found> found = cache.find(winner.key);
    const std::vector<cache::MeasurementRecord> measurements = cache.measurements(winner.key);
    if (common.json) {
        nlohmann::ordered_json json = in_json(winner);
        json["evidence"] = nlohmann::ordered_json::parse(winner.evidence_json, nullptr, false);
        json["versions"] = nlohmann::ordered_json::parse(winner.versions_json, nullptr, false);
        if (found) {
            json["layer"] = found->layer;
            json["kernel"] = found->binary.kernel_name;
            json["target"] = found->binary.target;
            json["toolchain"] = found->binary.toolchain;
            json["code_object_bytes"] = found->binary.code_object.size();
        }
        json["intact"] = found.has_value();
        add_rulings(json, cache, winner.key);
        json["measurements"] = nlohmann::ordered_json::array();
        for (const cache::MeasurementRecord& record : measurements) {
            json["measurements"].push_back(
                {{"schedule", record.schedule},
                 {"unix_time", record.unix_time},
                 {"measurement", nlohmann::ordered_json::parse(record.measurement_json, nullptr, false)}});
        }
        fmt::print("{}\n", json.dump(2));
        return found ? ExitCode::ok : ExitCode::check_failed;
    }
    Facts facts(winner.key.hex());
    facts.add("problem", in_words(winner.key_text))
        .add("key", winner.key_text)
        .add("schedule", winner.schedule)
        .add("stored", when(winner.unix_time));
    const call::Freshener::Answer answer = FreshnessOfWinners(ContextOptions::from_environment()).ask(winner);
    facts.add("state", answer.reason.empty()
                           ? call::to_string(answer.freshness)
                           : fmt::format("{}: {}", call::to_string(answer.freshness), answer.reason));
    if (found) {
        facts.add("layer", found->layer)
            .add("kernel",
                 fmt::format("{} for {}, {}, by {}", found->binary.kernel_name, found->binary.target,
                             bytes(static_cast<double>(found->binary.code_object.size())),
                             found->binary.toolchain));
    } else {
        facts.add("damaged",
                  "the entry or its binary does not match its digest: it counts as a miss and is rebuilt");
    }
    facts.add("data", winner.data_profile).add("policy", winner.policy);
    if (!winner.evidence_json.empty()) {
        const Evidence evidence = Evidence::from_json(winner.evidence_json);
        const char* simulated = evidence.winner.simulated ? " simulated" : "";
        facts.add("verdict", evidence.verdict)
            .add("time",
                 fmt::format("{}{}; the default schedule {}{}", milliseconds(evidence.winner.median_ms),
                             simulated, milliseconds(evidence.fallback.median_ms), simulated))
            .add("error",
                 fmt::format("relative RMS {:.2e} on {} rows (plain emulation {:.2e}), LSE within {:.1e}",
                             evidence.winner.relative_rms, evidence.winner.gate_rows,
                             evidence.winner.emulation_relative_rms, evidence.winner.lse_max_abs));
    }
    add_rulings(facts, cache, winner.key);
    facts.add("measured", fmt::format("{} stored with it (--json shows them)",
                                      counted(measurements.size(), "candidate")));
    facts.print();
    return found ? ExitCode::ok : ExitCode::check_failed;
}

/// How many winners are in which state.
std::map<std::string, std::uint64_t> states(cache::Cache& cache, FreshnessOfWinners& freshness) {
    std::map<std::string, std::uint64_t> counts{{"valid", 0}, {"old", 0}, {"stale", 0}, {"unusable", 0}};
    for (const cache::WinnerRecord& winner : cache.winners()) {
        ++counts[call::to_string(freshness.ask(winner).freshness)];
    }
    return counts;
}

ExitCode stat(const CommonOptions& common) {
    cache::Cache cache = open_cache();
    const std::vector<cache::Statistics> layers = cache.statistics();
    FreshnessOfWinners freshness(ContextOptions::from_environment());
    const std::map<std::string, std::uint64_t> counts = states(cache, freshness);
    if (common.json) {
        nlohmann::ordered_json json{{"layers", nlohmann::ordered_json::array()},
                                    {"winners", counts},
                                    {"versions_compared", !freshness.blind()}};
        for (const cache::Statistics& layer : layers) {
            json["layers"].push_back({{"layer", layer.layer},
                                      {"path", layer.path},
                                      {"writable", layer.writable},
                                      {"binaries", layer.binaries},
                                      {"winners", layer.winners},
                                      {"measurements", layer.measurements},
                                      {"quarantined", layer.quarantined},
                                      {"pins", layer.pins},
                                      {"bans", layer.bans},
                                      {"former_winners", layer.former_winners},
                                      {"bytes", layer.bytes},
                                      {"note", layer.note}});
        }
        fmt::print("{}\n", json.dump(2));
        return ExitCode::ok;
    }
    Table table({{"layer"},
                 {"access"},
                 {"winners", true},
                 {"binaries", true},
                 {"measurements", true},
                 {"quarantined", true},
                 {"size", true},
                 {"path"},
                 {"note"}});
    for (const cache::Statistics& layer : layers) {
        table.add({layer.layer, layer.writable ? "read-write" : "read-only", fmt::format("{}", layer.winners),
                   fmt::format("{}", layer.binaries), fmt::format("{}", layer.measurements),
                   fmt::format("{}", layer.quarantined), bytes(static_cast<double>(layer.bytes)),
                   short_path(layer.path), layer.note});
    }
    table.print();
    fmt::print("winners: {} valid, {} old, {} stale, {} unusable{}\n", counts.at("valid"), counts.at("old"),
               counts.at("stale"), counts.at("unusable"),
               freshness.blind() ? " (no device here: driver and firmware are not compared)" : "");
    return ExitCode::ok;
}

ExitCode verify(const CommonOptions& common) {
    cache::Cache cache = open_cache();
    const std::vector<cache::VerifyReport> reports = cache.verify();
    const bool intact = std::all_of(reports.begin(), reports.end(), [](const cache::VerifyReport& report) {
        return report.damaged == 0 && report.findings.empty();
    });
    if (common.json) {
        nlohmann::ordered_json json{{"intact", intact}, {"layers", nlohmann::ordered_json::array()}};
        for (const cache::VerifyReport& report : reports) {
            json["layers"].push_back({{"layer", report.layer},
                                      {"path", report.path},
                                      {"checked", report.checked},
                                      {"damaged", report.damaged},
                                      {"findings", report.findings}});
        }
        fmt::print("{}\n", json.dump(2));
    } else {
        for (const cache::VerifyReport& report : reports) {
            fmt::print("{} ({}): {} checked, {} damaged\n", report.layer, short_path(report.path),
                       counted(report.checked, "row"), report.damaged);
            for (const std::string& finding : report.findings) {
                fmt::print("  {}\n", finding);
            }
        }
    }
    return intact ? ExitCode::ok : ExitCode::check_failed;
}

ExitCode prune(const CommonOptions& common, const cache::Limits& limits) {
    cache::Cache cache = open_cache();
    const cache::PruneReport report = cache.prune(limits);
    if (common.json) {
        const nlohmann::ordered_json json{{"winners", report.winners},
                                          {"binaries", report.binaries},
                                          {"measurements", report.measurements},
                                          {"bytes_before", report.bytes_before},
                                          {"bytes_after", report.bytes_after}};
        fmt::print("{}\n", json.dump(2));
    } else {
        fmt::print("removed {}, {}, {}; {} -> {}\n", counted(report.winners, "winner"),
                   counted(report.binaries, "binary"), counted(report.measurements, "measurement"),
                   bytes(static_cast<double>(report.bytes_before)),
                   bytes(static_cast<double>(report.bytes_after)));
    }
    return ExitCode::ok;
}

} // namespace

void add_cache(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("cache", "What the kernel cache holds");
    command->require_subcommand(1);

    CLI::App* list_command = command->add_subcommand("list", "One line per winner, of all layers");
    add_json_flag(*list_command, invocation.common);
    list_command->callback(
        [&invocation] { invocation.action = [&invocation] { return list(invocation.common); }; });

    CLI::App* show_command =
        command->add_subcommand("show", "One winner with its binary, evidence and measurements");
    const std::shared_ptr<std::string> prefix = std::make_shared<std::string>();
    show_command->add_option("key", *prefix, "The first digits of the winner's digest, or its key")
        ->required();
    add_json_flag(*show_command, invocation.common);
    show_command->callback([&invocation, prefix] {
        invocation.action = [&invocation, prefix] { return show(invocation.common, *prefix); };
    });

    CLI::App* stat_command = command->add_subcommand("stat", "One line per layer: counts, bytes, damage");
    add_json_flag(*stat_command, invocation.common);
    stat_command->callback(
        [&invocation] { invocation.action = [&invocation] { return stat(invocation.common); }; });

    CLI::App* verify_command =
        command->add_subcommand("verify", "Check every row of every layer against its digest");
    add_json_flag(*verify_command, invocation.common);
    verify_command->callback(
        [&invocation] { invocation.action = [&invocation] { return verify(invocation.common); }; });

    CLI::App* prune_command = command->add_subcommand(
        "prune", "Remove the least recently used entries of the user layer beyond the limits");
    const std::shared_ptr<cache::Limits> limits = std::make_shared<cache::Limits>();
    prune_command->add_option("--bytes", limits->bytes, "Largest size")
        ->capture_default_str()
        ->type_name("N");
    prune_command->add_option("--entries", limits->entries, "Most winners and binaries")
        ->capture_default_str()
        ->type_name("N");
    add_json_flag(*prune_command, invocation.common);
    prune_command->callback([&invocation, limits] {
        invocation.action = [&invocation, limits] { return prune(invocation.common, *limits); };
    });
    add_ruling_commands(*command, invocation);
    add_pack_commands(*command, invocation);
    command->footer("The layers are ZYFA_CACHE_DIR (read-write) and ZYFA_CACHE_LAYERS (read-only).");
}

} // namespace zyfa::cli
