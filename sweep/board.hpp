// SPDX-License-Identifier: Apache-2.0
// The state of a sweep, as far as the shared folder tells: who did what, who is at what, who is lost; and the
// rule by which work is taken. (The rule is on top of board.cpp.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sweep/folder.hpp"
#include "sweep/journal.hpp"
#include "sweep/plan.hpp"

namespace zyfa::sweep {

enum class Standing : std::uint8_t { running, done, failed, lost };

/// One attempt at a task.
struct Attempt {
    std::size_t worker = 0; ///< index in Board::workers()
    Stage stage = Stage::search;
    Standing standing = Standing::running;
    double claimed = 0, finished = 0; ///< unix times by the worker's clock
    std::string reason;               ///< failed
    std::optional<DoneLine> done;
};

struct WorkerState {
    WorkerInfo info;
    bool ended = false;
    std::string end_reason;
    double ended_at = 0, last_event = 0;
    double beat = -1;     ///< time of its last sign of life, by the server's clock
    std::string activity; ///< what it said last
    bool alive = false;   ///< not ended, and heard of within the lease
};

/// What is to be done for a task within a lane, and by whom it may be done.
struct Need {
    bool complete = false; ///< measured on as many sites as asked
    bool searched = false;
    std::uint32_t sites = 0;   ///< that have measured it
    std::optional<Stage> open; ///< a stage that somebody has to do; none where it is complete, all is under
                               ///< way, or it has failed
    bool mine = false;         ///< the asking site may do it
    bool under_way = false;    ///< a living worker is at it
    bool may_come = false;     ///< it could come to the asking site: others are at it, who may be lost or
                               ///< leave the next stage
    std::string failure;       ///< why it cannot be done: it has failed on two sites
};

class Board {
  public:
    Board(Folder folder, Plan plan);

    /// Reads what is new. `pulse` false: signs of life are not looked at (for merge).
    void refresh(bool pulse = true);

    const Folder& folder() const noexcept { return folder_; }
    const Plan& plan() const noexcept { return plan_; }
    const std::vector<WorkerState>& workers() const noexcept { return workers_; }
    /// Lanes by id, in the order in which they appeared.
    const std::vector<Lane>& lanes() const noexcept { return lanes_; }
    /// Attempts at plan().tasks[task] by workers of the lane, oldest first.
    const std::vector<Attempt>& attempts(const std::string& lane, std::size_t task) const;
    /// Sites of the lane that ever had a worker.
    std::vector<std::string> sites(const std::string& lane) const;

    /// What `task` needs, from the point of view of `site` (empty: of nobody). Failures before
    /// `forget_failures` (unix time) do not count.
    Need need(const std::string& lane, std::size_t task, const std::string& site,
              double forget_failures = 0) const;

    /// Takes a stage of a task for a worker, if it still needs it: of all workers on all nodes one gets true.
    bool claim(const WorkerInfo& worker, std::size_t task, Stage stage, double forget_failures = 0);

  private:
    struct File {
        std::uint64_t offset = 0;
        std::size_t worker = 0;
        bool known = false;
    };
    void read_journal(const std::string& id, File& file);
    void apply(File& file, const std::string& id, Event event);
    std::vector<Attempt>& attempts_of(const std::string& lane, std::size_t task);
    Need need_from(const std::vector<Attempt>& attempts, const std::string& site, double forget) const;

    Folder folder_;
    Plan plan_;
    std::unordered_map<std::string, std::size_t> task_index_;
    std::unordered_map<std::string, File> files_;
    std::unordered_map<std::string, std::size_t> worker_index_; ///< by id
    std::vector<WorkerState> workers_;
    std::vector<Lane> lanes_;
    std::unordered_map<std::string, std::vector<std::vector<Attempt>>> attempts_; ///< by lane, by task
};

} // namespace zyfa::sweep
