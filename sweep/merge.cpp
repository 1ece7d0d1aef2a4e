// SPDX-License-Identifier: Apache-2.0
#include "sweep/merge.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <unistd.h>

#include "cache/pack.hpp"
#include "templates/template.hpp"
#include "tuner/binaries.hpp"
#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {

void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
    const std::string beside = path + "." + std::to_string(::getpid()) + ".part";
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::error_code status;
    if (file)
        std::filesystem::rename(beside, path, status);
    if (!file || status) {
        std::filesystem::remove(beside, status);
        throw Error(ErrorCode::io_error, path, path + " cannot be written");
    }
}

std::string with_suffix(const std::string& output, const std::string& versions_id) {
    const std::filesystem::path path(output);
    return (path.parent_path() / (path.stem().string() + "-" + versions_id + path.extension().string()))
        .string();
}

std::string first_missing(const MergeReport& report) {
    for (const MergedPack& pack : report.packs)
        if (!pack.missing.empty())
            return "; the first of " + std::to_string(pack.missing.size()) +
                   " tasks: " + pack.missing.front();
    return "";
}

/// Collects what goes into one pack.
class Collector {
  public:
    Collector(const Board& board, MergeReport& report) : board_(board), report_(report) {}

    void add(const Lane& lane, MergedPack& pack) {
        const std::string id = lane.id();
        for (std::size_t task = 0; task < board_.plan().tasks.size(); ++task) {
            const std::vector<SiteResult> results = read_results(board_, id, task, report_.damage);
            const bool searched = std::any_of(results.begin(), results.end(), [](const SiteResult& site) {
                return site.result.stage == Stage::search;
            });
            if (!searched) {
                const Need need = board_.need(id, task, "");
                pack.missing.push_back(to_string(board_.plan().tasks[task].problem) + ": " +
                                       (need.failure.empty() ? "not measured" : need.failure));
                continue;
            }
            add(settle(board_.plan(), task, results), results, pack);
        }
    }

    /// The latest measurement: the pack's time, so that merging again gives the same bytes.
    std::uint64_t unix_time() const noexcept { return unix_time_; }
    const cache::Content& content() const noexcept { return content_; }

  private:
    void add(const Winner& winner, const std::vector<SiteResult>& results, MergedPack& pack) {
        const Task& task = board_.plan().tasks[winner.task];
        const Digest binary = binary_of(task, winner.schedule);
        bool have = false;
        for (const Digest& wanted : {binary, binary_of(task, winner.evidence.fallback.schedule)}) {
            const bool known = add_binary(wanted, results);
            have = have || (wanted == binary && known);
        }
        if (!have) {
            pack.missing.push_back(
                to_string(task.problem) +
                ": the winner's binary is damaged, or this build of zyfa makes another one than "
                "the workers did");
            return;
        }
        cache::WinnerRecord record;
        record.key_text = winner.key;
        record.key = WinnerKey::parse(winner.key).digest();
        record.schedule = winner.schedule.canonical();
        record.binary = binary;
        record.evidence_json = winner.evidence.to_json();
        record.data_profile = winner.evidence.data_profile;
        record.policy = winner.evidence.winner.policy;
        record.versions_json = winner.evidence.versions_json;
        record.unix_time = winner.evidence.unix_time;
        for (const SiteResult& site : results)
            for (const Measurement& measurement : site.result.measurements)
                content_.measurements.push_back({record.key, measurement.schedule.canonical(),
                                                 to_json(measurement), site.result.evidence.unix_time});
        unix_time_ = std::max(unix_time_, record.unix_time);
        content_.winners.push_back(std::move(record));
        pack.everywhere += winner.hold == Hold::everywhere;
        pack.alone += winner.hold == Hold::alone;
        pack.partly += winner.hold == Hold::partly;
        pack.changed += winner.changed;
    }

    /// The digest of the binary that a schedule makes. Tasks share most of them, and text is costly to make.
    const Digest& binary_of(const Task& task, const Schedule& schedule) {
        WinnerKey class_only; // as text: the problem class and nothing else that differs
        class_only.problem_class = classify(task.problem);
        std::string name = class_only.canonical() + schedule.canonical();
        auto known = digests_.find(name);
        if (known == digests_.end()) {
            const templates::Kernel kernel =
                templates::template_named(task.template_name).instantiate(class_only.problem_class, schedule);
            known = digests_.emplace(std::move(name), tuner::binary_key(kernel).digest()).first;
        }
        return known->second;
    }

    /// Takes a binary from the first site that has it intact.
    bool add_binary(const Digest& key, const std::vector<SiteResult>& results) {
        if (binaries_.contains(key))
            return true;
        for (const SiteResult& site : results) {
            try {
                if (auto record = read_binary(board_.folder(), site.worker.id, *site.line, key)) {
                    content_.binaries.push_back(std::move(*record));
                    binaries_.insert(key);
                    return true;
                }
            } catch (const Error& error) {
                report_.damage.push_back(error.what());
            }
        }
        return false;
    }

    const Board& board_;
    MergeReport& report_;
    cache::Content content_;
    std::set<Digest> binaries_;
    std::map<std::string, Digest> digests_; ///< by problem class and schedule
    std::uint64_t unix_time_ = 0;
};

} // namespace

MergeReport merge(const Board& board, const std::string& output, const cache::SecretKey* signer) {
    std::map<std::string, std::vector<Lane>> by_versions;
    for (const Lane& lane : board.lanes())
        by_versions[lane.versions_id()].push_back(lane);
    MergeReport report;
    for (const auto& [id, lanes] : by_versions) {
        MergedPack pack;
        pack.versions_id = id;
        pack.versions = lanes.front().versions_text();
        Collector collector(board, report);
        for (const Lane& lane : lanes)
            collector.add(lane, pack);
        const cache::Content& content = collector.content();
        if (content.winners.empty()) {
            report.packs.push_back(std::move(pack));
            continue;
        }
        pack.path = by_versions.size() == 1 ? output : with_suffix(output, id);
        const std::vector<std::byte> bytes = cache::write_pack(content, signer, collector.unix_time());
        write_file(pack.path, bytes);
        pack.winners = content.winners.size();
        pack.binaries = content.binaries.size();
        pack.measurements = content.measurements.size();
        pack.bytes = bytes.size();
        report.packs.push_back(std::move(pack));
    }
    const bool some = std::any_of(report.packs.begin(), report.packs.end(),
                                  [](const MergedPack& pack) { return !pack.path.empty(); });
    if (!some)
        throw Error(ErrorCode::invalid_argument, "folder",
                    board.folder().path() + " holds no winner yet" +
                        (report.damage.empty() ? first_missing(report) : ": " + report.damage.front()));
    return report;
}

} // namespace zyfa::sweep
