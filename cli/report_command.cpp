// SPDX-License-Identifier: Apache-2.0
// zyfa report: winners and all that was measured for them, as one HTML page.
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/services.hpp"
#include "cache/store.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/report_page.hpp"
#include "core/profile_key.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

struct ReportFlags {
    std::string key, output = "zyfa-report.html";
};

/// The last measurement of each schedule.
std::vector<Measurement> measurements_of(cache::Cache& cache, const Digest& key) {
    std::map<std::string, Measurement> last;
    for (const cache::MeasurementRecord& record : cache.measurements(key)) {
        try {
            last[record.schedule] = measurement_from_json(record.measurement_json);
        } catch (const Error&) {
            continue; // of another version
        }
    }
    std::vector<Measurement> result;
    for (auto& [schedule, measurement] : last) {
        result.push_back(std::move(measurement));
    }
    return result;
}

ExitCode report(const CommonOptions& common, const ReportFlags& flags) {
    const ContextOptions options = ContextOptions::from_environment();
    cache::Cache cache({.user_dir = call::user_cache_dir(options), .read_only = options.cache_layers});
    std::vector<ReportEntry> entries;
    for (const cache::WinnerRecord& winner : cache.winners()) {
        if (!winner.key.hex().starts_with(flags.key)) {
            continue;
        }
        try {
            ReportEntry entry{.title = winner.key.hex().substr(0, 12) + "  " + winner.schedule,
                              .key_text = winner.key_text,
                              .schedule = winner.schedule,
                              .profile = winner.data_profile,
                              .policy = winner.policy,
                              .evidence = Evidence::from_json(winner.evidence_json),
                              .measurements = measurements_of(cache, winner.key)};
            entries.push_back(std::move(entry));
        } catch (const Error& error) {
            warn(fmt::format("{}: {}", winner.key.hex().substr(0, 12), error.what()));
        }
    }
    // A key's own winner is also stored for its profile, beside the winners of other profiles: shown once.
    std::set<std::string> named;
    for (const ReportEntry& entry : entries) {
        if (!profile_of_key(entry.key_text).empty()) {
            named.insert(entry.key_text + entry.schedule + entry.policy);
        }
    }
    std::erase_if(entries, [&named](const ReportEntry& entry) {
        return profile_of_key(entry.key_text).empty() &&
               named.contains(key_with_profile(entry.key_text, entry.profile) + entry.schedule +
                              entry.policy);
    });
    if (entries.empty()) {
        throw Error(ErrorCode::invalid_argument, "KEY",
                    flags.key.empty() ? "the cache holds no winner; zyfa tune makes one"
                                      : "no winner's digest begins with " + flags.key);
    }
    std::ofstream file(flags.output, std::ios::trunc);
    file << report_page(entries);
    if (!file.flush()) {
        throw Error(ErrorCode::io_error, "output", flags.output + " cannot be written");
    }
    if (common.json) {
        fmt::print("{}\n", nlohmann::json{{"output", flags.output}, {"winners", entries.size()}}.dump(2));
    } else {
        fmt::print("{}: {}\n", flags.output, counted(entries.size(), "winner"));
    }
    return ExitCode::ok;
}

} // namespace

void add_report(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("report", "Write winners and their measurements as one HTML page");
    const std::shared_ptr<ReportFlags> flags = std::make_shared<ReportFlags>();
    add_json_flag(*command, invocation.common);
    command
        ->add_option("key", flags->key,
                     "Winners whose digest begins with this (zyfa cache list); default: all")
        ->type_name("KEY");
    command->add_option("-o,--output", flags->output, "File to write")
        ->capture_default_str()
        ->type_name("FILE");
    command->footer(R"(
Example
  zyfa tune --input data/gqa_excerpt.safetensors && zyfa report -o report.html)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return report(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
