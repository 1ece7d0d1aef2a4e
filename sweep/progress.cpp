// SPDX-License-Identifier: Apache-2.0
// Counting, and the time that is left: what remains to be done, by the workers that live, at the speed at
// which they worked so far (a worker without a past works at the average speed).
#include "sweep/progress.hpp"

#include <algorithm>
#include <set>

namespace zyfa::sweep {

namespace {

class Counter {
  public:
    explicit Counter(const Board& board) : board_(board), plan_(board.plan()) {
        result_.workers.resize(board.workers().size());
        speed_cost_.resize(board.workers().size());
        for (std::size_t i = 0; i < board.workers().size(); ++i) {
            result_.workers[i].worker = i;
            result_.any_alive = result_.any_alive || board.workers()[i].alive;
        }
    }

    Progress run() {
        std::set<std::string> versions;
        for (const Lane& lane : board_.lanes()) {
            versions.insert(lane.versions_id());
            count(lane);
        }
        result_.mixed_versions = versions.size() > 1;
        return std::move(result_);
    }

  private:
    double cost(const Task& task, Stage stage) const {
        return stage == Stage::search ? plan_.search_cost(task) : plan_.confirm_cost(task);
    }

    void count(const Lane& lane) {
        LaneProgress progress;
        progress.lane = lane;
        const std::string id = lane.id();
        progress.sites = board_.sites(id);
        progress.tasks = plan_.tasks.size();
        const auto sites = static_cast<std::uint32_t>(progress.sites.size());
        const std::uint32_t reach = std::min(plan_.spec.agreement.sites, sites);
        double left = 0;
        for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
            const Task& task = plan_.tasks[i];
            const Need need = board_.need(id, i, "");
            count_attempts(id, i, need, progress);
            if (!need.failure.empty() && !need.under_way)
                ++progress.failed;
            else if (need.complete)
                ++progress.complete;
            else if (need.under_way)
                ++progress.running;
            else if (need.searched) {
                ++progress.partial;
                progress.out_of_reach += need.sites >= sites;
            } else
                ++progress.waiting;
            if (!need.complete && need.failure.empty()) {
                left += need.searched ? 0 : cost(task, Stage::search);
                const std::uint32_t confirmations = std::max(reach, 1u) - 1;
                const std::uint32_t confirmed =
                    need.sites - std::min<std::uint32_t>(need.sites, need.searched);
                left += (confirmations - std::min(confirmations, confirmed)) * cost(task, Stage::confirm);
            }
        }
        progress.left_s = time_left(id, left);
        result_.lanes.push_back(std::move(progress));
    }

    void count_attempts(const std::string& lane, std::size_t task, const Need& need, LaneProgress& progress) {
        const std::string* first = nullptr;
        bool changed = false;
        for (const Attempt& attempt : board_.attempts(lane, task)) {
            WorkerProgress& worker = result_.workers[attempt.worker];
            const std::string& site = board_.workers()[attempt.worker].info.site;
            if (attempt.standing == Standing::done) {
                ++worker.done;
                worker.busy_s += attempt.done->seconds;
                progress.busy_s += attempt.done->seconds;
                speed_cost_[attempt.worker] += cost(plan_.tasks[task], attempt.stage);
                changed = changed || (first && *first != attempt.done->schedule);
                first = &attempt.done->schedule;
            } else if (attempt.standing == Standing::failed) {
                ++worker.failed;
                if (!need.complete)
                    result_.failures.push_back({lane, to_string(plan_.tasks[task].problem), site,
                                                attempt.reason, attempt.stage,
                                                !need.open && !need.failure.empty()});
            } else if (attempt.standing == Standing::lost) {
                ++worker.lost;
            }
        }
        progress.changed += changed;
    }

    double time_left(const std::string& lane, double left) const {
        if (left <= 0)
            return 0;
        double all_cost = 0, all_seconds = 0, speed = 0;
        std::size_t fresh = 0;
        for (std::size_t i = 0; i < result_.workers.size(); ++i) {
            const WorkerState& state = board_.workers()[i];
            if (state.info.lane.id() != lane)
                continue;
            const double seconds = result_.workers[i].busy_s;
            all_cost += speed_cost_[i];
            all_seconds += seconds;
            if (!state.alive)
                continue;
            if (seconds > 0)
                speed += speed_cost_[i] / seconds;
            else
                ++fresh;
        }
        if (all_seconds <= 0)
            return -1;
        speed += static_cast<double>(fresh) * all_cost / all_seconds;
        return speed > 0 ? left / speed : -1;
    }

    const Board& board_;
    const Plan& plan_;
    std::vector<double> speed_cost_; ///< per worker, of what it has done
    Progress result_;
};

} // namespace

bool Progress::complete() const {
    return !lanes.empty() && std::all_of(lanes.begin(), lanes.end(), [](const LaneProgress& lane) {
        return lane.complete + lane.out_of_reach == lane.tasks;
    });
}

Progress progress_of(const Board& board) {
    return Counter(board).run();
}

} // namespace zyfa::sweep
