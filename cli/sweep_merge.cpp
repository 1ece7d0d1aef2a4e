// SPDX-License-Identifier: Apache-2.0
// zyfa sweep merge|report: the pack that servers mount, and the page that says how it came about.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cache/pack.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/sweep_commands.hpp"
#include "sweep/html_report.hpp"
#include "sweep/merge.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

struct MergeFlags {
    std::string folder, output, key;
    bool partial = false;
};

nlohmann::ordered_json in_json(const sweep::MergeReport& report, const std::string& signer) {
    nlohmann::ordered_json json{
        {"signer", signer}, {"packs", nlohmann::ordered_json::array()}, {"damage", report.damage}};
    for (const sweep::MergedPack& pack : report.packs) {
        json["packs"].push_back(
            {{"file", pack.path.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(pack.path)},
             {"versions_id", pack.versions_id},
             {"versions", pack.versions},
             {"winners", pack.winners},
             {"binaries", pack.binaries},
             {"measurements", pack.measurements},
             {"bytes", pack.bytes},
             {"hold_everywhere", pack.everywhere},
             {"seen_on_one_site", pack.alone},
             {"hold_partly", pack.partly},
             {"changed", pack.changed},
             {"missing", pack.missing}});
    }
    return json;
}

ExitCode merge(const CommonOptions& common, const MergeFlags& flags) {
    if (!flags.output.ends_with(cache::pack_suffix)) {
        throw Error(ErrorCode::invalid_argument, "--output",
                    fmt::format("--output is {}; accepted: a name that ends in {}", flags.output,
                                cache::pack_suffix));
    }
    std::unique_ptr<cache::SecretKey> key;
    if (!flags.key.empty()) {
        key = std::make_unique<cache::SecretKey>(cache::SecretKey::load(flags.key));
    }
    const sweep::MergeReport report = sweep::merge(open_board(flags.folder), flags.output, key.get());
    bool whole = report.damage.empty();
    for (const sweep::MergedPack& pack : report.packs) {
        whole = whole && pack.missing.empty();
    }
    const ExitCode code = whole || flags.partial ? ExitCode::ok : ExitCode::check_failed;
    if (common.json) {
        fmt::print("{}\n", in_json(report, key ? key->public_key().hex() : "").dump(2));
        return code;
    }
    for (const sweep::MergedPack& pack : report.packs) {
        if (pack.path.empty()) {
            Facts facts("no pack: no task has a winner");
            facts.add("versions", pack.versions);
            for (const std::string& missing : pack.missing) {
                facts.add("missing", missing);
            }
            facts.print();
            continue;
        }
        Facts facts(pack.path);
        facts.add("versions", pack.versions)
            .add("winners",
                 fmt::format("{}: {} hold on every site, {} seen on one site, {} hold on some; the "
                             "sites differed on {}",
                             pack.winners, pack.everywhere, pack.alone, pack.partly, pack.changed))
            .add("content", fmt::format("{}, {}, {}", counted(pack.binaries, "binary"),
                                        counted(pack.measurements, "measurement"),
                                        bytes(static_cast<double>(pack.bytes))))
            .add("signer", key ? key->public_key().hex() : "none");
        for (const std::string& missing : pack.missing) {
            facts.add("missing", missing);
        }
        facts.print();
    }
    if (report.packs.size() > 1) {
        note("the sweep ran on mixed versions; each pack is for servers with the versions that it names");
    }
    for (const std::string& damage : report.damage) {
        warn(damage);
    }
    return code;
}

struct ReportFlags {
    std::string folder, output;
};

ExitCode report(const CommonOptions& common, const ReportFlags& flags) {
    const std::string page = sweep::html_report(open_board(flags.folder));
    write_file(flags.output, std::string_view(page));
    if (common.json) {
        fmt::print("{}\n", nlohmann::ordered_json{{"file", flags.output}, {"bytes", page.size()}}.dump(2));
    } else {
        fmt::print("{}: {}\n", flags.output, bytes(static_cast<double>(page.size())));
    }
    return ExitCode::ok;
}

} // namespace

void add_sweep_merge(CLI::App& sweep, Invocation& invocation) {
    CLI::App* command = sweep.add_subcommand(
        "merge", "Make a pack of what was found; exit code 1 if a task has no winner (yet) in some versions");
    const auto merge_flags = std::make_shared<MergeFlags>();
    add_folder_option(*command, merge_flags->folder);
    command->add_option("-o,--output", merge_flags->output, "The pack, *.zyfapack")
        ->required()
        ->type_name("FILE");
    command->add_option("--sign", merge_flags->key, "Sign with this secret key (zyfa cache keygen)")
        ->type_name("KEY");
    command->add_flag("--partial", merge_flags->partial, "Exit code 0 although tasks are missing");
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, merge_flags] {
        invocation.action = [&invocation, merge_flags] { return merge(invocation.common, *merge_flags); };
    });

    command = sweep.add_subcommand("report", "Write one self-contained HTML page");
    const auto report_flags = std::make_shared<ReportFlags>();
    add_folder_option(*command, report_flags->folder);
    command->add_option("-o,--output", report_flags->output, "The page, *.html")
        ->required()
        ->type_name("FILE");
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, report_flags] {
        invocation.action = [&invocation, report_flags] { return report(invocation.common, *report_flags); };
    });
}

} // namespace zyfa::cli
