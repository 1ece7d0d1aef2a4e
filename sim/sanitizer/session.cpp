// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/sanitizer.hpp"

#include <algorithm>
#include <tuple>

namespace zyfa::sim::sanitizer {

GroupShadow::GroupShadow(const Workgroup& group, std::uint64_t seed)
    : waves(group.waves.size()), lds((group.lds_bytes + 3) / 4) {
    for (const Wave& wave : group.waves) {
        WaveShadow& shadow = waves[wave.id];
        shadow.validity.start(wave);
        shadow.scratch.resize(wave.scratch.size());
        if (seed != 0)
            shadow.pending.seed((seed + 1) * 0x9e3779b97f4a7c15ull ^ (group.index * 64 + wave.id + 1));
    }
}

Session::Session(const Dispatch& launch, Memory& launch_memory,
                 std::shared_ptr<const std::vector<Traits>> all_traits)
    : dispatch(launch), memory(launch_memory), traits(std::move(all_traits)),
      last_sync(std::size_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]) {}

void Session::begin(Workgroup& group) const {
    group.shadow = std::make_shared<GroupShadow>(group, dispatch.device.seed);
}

void Session::merge(const Findings& findings) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, finding] : findings) {
        const auto known = findings_.find(key);
        if (known != findings_.end())
            known->second.count += finding.count;
        else if (findings_.size() < finding_limit)
            findings_.emplace(key, finding);
        else
            truncated_ = true;
    }
}

Report Session::finish(const std::optional<Fault>& fault) {
    Report report;
    report.kernel = dispatch.kernel->name;
    report.truncated = truncated_;
    report.races_limited = global.limited();
    report.covered_by_stalls = covered_by_stalls;
    // Under a seed or several threads the order of discovery differs; that of the report should not.
    std::vector<std::pair<FindingKey, Finding>> all(findings_.begin(), findings_.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        if (a.second.severity != b.second.severity)
            return a.second.severity == Severity::error;
        return std::tie(a.first.at, a.first.other, a.second.rule) <
               std::tie(b.first.at, b.first.other, b.second.rule);
    });
    if (fault) { // "<kind> in kernel <name>\n  at <location> (pc ...): ...\n  workgroup ...\n  <detail>"
        Finding stop;
        stop.rule = fault->kind;
        const Instruction* const at = fault->pc != 0 ? dispatch.code->at(fault->pc) : nullptr;
        if (at != nullptr)
            stop.at = {dispatch.code->location(*at), dispatch.code->disassemble(*at), fault->pc};
        const std::size_t place = fault->text.find("\n  workgroup ");
        if (at != nullptr && place != std::string::npos) {
            const std::size_t detail = fault->text.find("\n  ", place + 1);
            stop.place =
                fault->text.substr(place + 3, detail == std::string::npos ? detail : detail - place - 3);
            if (detail != std::string::npos)
                stop.detail = fault->text.substr(detail + 3);
        } else {
            stop.detail = fault->text;
        }
        stop.detail += stop.detail.empty() ? "the launch stopped here" : "; the launch stopped here";
        report.findings.push_back(std::move(stop));
    }
    for (auto& entry : all)
        report.findings.push_back(std::move(entry.second));
    return report;
}

} // namespace zyfa::sim::sanitizer
