// SPDX-License-Identifier: Apache-2.0
// A sweep of three tasks in a folder that vanishes, and workers that only write what workers write.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "sweep/board.hpp"

namespace zyfa::sweep {

inline Schedule schedule_of(const char* key_order) {
    return Schedule::parse("bf16_fwd_d128{chiplet_map=runs,key_order=" + std::string(key_order) +
                           ",nan_exact=true,persistent=true,tau=0.5}");
}
inline const Schedule standard = schedule_of("from_first");
inline const Schedule other = schedule_of("from_diagonal");

inline Plan three_tasks(double lease_s = 60, std::uint32_t sites = 2) {
    Spec spec;
    spec.name = "three";
    spec.lease_s = lease_s;
    spec.agreement.sites = sites;
    Model model;
    model.contexts = {{256, 256}, {512, 512}, {1024, 1024}};
    spec.models.push_back(model);
    return make_plan(spec, "id", 1);
}

class Sweep {
  public:
    explicit Sweep(const Plan& planned) : plan(planned), folder(make()) { folder.write_plan(plan, false); }
    ~Sweep() { std::filesystem::remove_all(folder.path()); }
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    Board board() const {
        Board result(folder, plan);
        result.refresh();
        return result;
    }
    const Plan plan;
    const Folder folder;

  private:
    static Folder make() {
        std::string name = (std::filesystem::temp_directory_path() / "zyfa-sweep-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        return Folder::create(name);
    }
};

inline Measurement measurement(const Schedule& schedule, double ms) {
    Measurement result;
    result.schedule = schedule;
    result.median_ms = result.min_ms = result.max_ms = ms;
    result.policy = "model";
    result.simulated = true;
    return result;
}

/// What a site finds whose default schedule takes `standard_ms` and whose `other` takes `other_ms`.
inline Result found(const Task& task, Stage stage, double standard_ms, double other_ms) {
    Result result;
    result.task = task.key;
    result.stage = stage;
    result.winner_key = winner_key(task.problem, DeviceIdentity{}).canonical();
    result.measurements = {measurement(standard, standard_ms), measurement(other, other_ms)};
    const bool better = other_ms < 0.95 * standard_ms;
    result.evidence.fallback = result.measurements[0];
    result.evidence.winner = result.measurements[better ? 1 : 0];
    result.evidence.verdict = better ? "faster" : "default";
    result.evidence.versions_json = R"({"hip": "7.2"})";
    result.assembled = result.gated = result.timed = 2;
    return result;
}

struct FakeWorker {
    FakeWorker(const Sweep& sweep, const std::string& site, const std::string& driver = "6.14",
               const std::string& suffix = "0")
        : info{site + "-" + suffix, site, site, "0", "", 0, 1, lane(driver), 0}, board(sweep.board()),
          journal(std::make_unique<Journal>(sweep.folder, info)) {
        board.refresh();
    }
    static Lane lane(const std::string& driver) {
        Lane lane;
        lane.device = {"gfx950", 256, 8, "SPX", true};
        lane.versions = {"0", "7.2", driver, "fw", "LLVM"};
        return lane;
    }
    std::string lane_id() const { return info.lane.id(); }
    Need need(std::size_t task) {
        board.refresh();
        return board.need(lane_id(), task, info.site);
    }
    bool claim(std::size_t task, Stage stage) {
        if (!board.claim(info, task, stage))
            return false;
        journal->claimed(board.plan().tasks[task].key, stage, 1);
        return true;
    }
    void finish(std::size_t task, Stage stage, double standard_ms = 1, double other_ms = 2) {
        journal->done(found(board.plan().tasks[task], stage, standard_ms, other_ms), 0.5, 2);
    }

    WorkerInfo info;
    Board board;
    std::unique_ptr<Journal> journal;
};

} // namespace zyfa::sweep
