// SPDX-License-Identifier: Apache-2.0
// Reading the journals, and claiming work.
//
// RULE. Within a lane a task is first searched by one site, with all candidates; then its finalists are
// measured by other sites, until as many sites have measured it as the sweep asks for. A site measures a task
// once. An attempt counts while its worker is alive or when it is done; an attempt of a worker that was not
// heard of for a lease, or that ended without a result, counts no more, and the stage is open again.
//
// CLAIMS. claims/LANE-TASK.N, N = 0, 1, 2, ...: the N-th claim of the task, one line "WORKER STAGE". A claim
// is made by creating the next number exclusively, after all earlier ones were read and the rule allowed it:
// whoever else claims at the same time fails to create it and reads again. Claims are never changed or
// removed, so that taking over from a lost worker is nothing but the next claim. The journals repeat the
// claims, so that the folder need not be listed.
#include "sweep/board.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {

constexpr std::size_t most_failures = 2; ///< sites on which a stage may fail before the task has failed
constexpr std::string_view journal_suffix = ".journal";

/// What was appended to a file since `offset`, up to the last whole line; moves `offset` behind it.
std::string read_new_lines(const std::string& path, std::uint64_t& offset) {
    std::string text;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return text;
    struct stat status{};
    if (::fstat(file, &status) == 0 && static_cast<std::uint64_t>(status.st_size) > offset) {
        text.resize(static_cast<std::size_t>(status.st_size) - offset);
        const ssize_t count = ::pread(file, text.data(), text.size(), static_cast<off_t>(offset));
        text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        text.resize(text.rfind('\n') + 1); // npos + 1 is 0
        offset += text.size();
    }
    ::close(file);
    return text;
}

} // namespace

Board::Board(Folder folder, Plan plan) : folder_(std::move(folder)), plan_(std::move(plan)) {
    for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
        task_index_.emplace(plan_.tasks[i].key, i);
}

void Board::refresh(bool pulse) {
    std::vector<std::string> ids;
    std::error_code status;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("workers"), status)) {
        const std::string name = entry.path().filename().string();
        if (name.size() > journal_suffix.size() && name.ends_with(journal_suffix))
            ids.push_back(name.substr(0, name.size() - journal_suffix.size()));
    }
    if (status)
        throw Error(ErrorCode::io_error, folder_.path("workers"),
                    folder_.path("workers") + " cannot be listed: " + status.message());
    std::sort(ids.begin(), ids.end());
    for (const std::string& id : ids)
        read_journal(id, files_[id]);
    const double now = pulse ? folder_.now() : 0;
    for (WorkerState& worker : workers_) {
        if (pulse && !worker.ended) {
            const std::string path = folder_.path("workers/" + worker.info.id + ".beat");
            worker.beat = modified(path);
            if (read_small_file(path, worker.activity) && worker.activity.ends_with('\n'))
                worker.activity.pop_back();
        }
        worker.alive = !worker.ended && pulse && now - worker.beat < plan_.spec.lease_s;
    }
    for (auto& [lane, tasks] : attempts_)
        for (std::vector<Attempt>& attempts : tasks)
            for (Attempt& attempt : attempts)
                if (attempt.standing == Standing::running || attempt.standing == Standing::lost)
                    attempt.standing = workers_[attempt.worker].alive ? Standing::running : Standing::lost;
}

void Board::read_journal(const std::string& id, File& file) {
    const std::string text =
        read_new_lines(folder_.path("workers/" + id + std::string(journal_suffix)), file.offset);
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = text.find('\n', from);
        if (auto event = parse_event(std::string_view(text).substr(from, to - from)))
            apply(file, id, std::move(*event));
        from = to + 1;
    }
}

std::vector<Attempt>& Board::attempts_of(const std::string& lane, std::size_t task) {
    std::vector<std::vector<Attempt>>& tasks = attempts_[lane];
    if (tasks.empty())
        tasks.resize(plan_.tasks.size());
    return tasks[task];
}

void Board::apply(File& file, const std::string& id, Event event) {
    if (event.kind == Event::Kind::start) {
        if (file.known)
            return;
        file.known = true;
        file.worker = workers_.size();
        WorkerState state;
        state.info = std::move(*event.worker);
        state.info.id = id;
        state.last_event = event.unix_time;
        const std::string lane = state.info.lane.id();
        if (std::none_of(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.id() == lane; }))
            lanes_.push_back(state.info.lane);
        worker_index_.emplace(id, file.worker);
        workers_.push_back(std::move(state));
        return;
    }
    if (!file.known)
        return;
    WorkerState& worker = workers_[file.worker];
    worker.last_event = event.unix_time;
    if (event.kind == Event::Kind::end) {
        worker.ended = true;
        worker.end_reason = event.reason;
        worker.ended_at = event.unix_time;
        return;
    }
    const auto task = task_index_.find(event.task);
    if (task == task_index_.end())
        return; // of an earlier plan
    std::vector<Attempt>& attempts = attempts_of(worker.info.lane.id(), task->second);
    const auto open = std::find_if(attempts.rbegin(), attempts.rend(), [&](const Attempt& attempt) {
        return attempt.worker == file.worker && attempt.standing != Standing::done &&
               attempt.standing != Standing::failed;
    });
    if (event.kind == Event::Kind::claim || open == attempts.rend()) {
        Attempt attempt;
        attempt.worker = file.worker;
        attempt.stage = event.stage;
        attempt.claimed = event.unix_time;
        attempts.push_back(std::move(attempt));
    }
    if (event.kind == Event::Kind::claim)
        return;
    Attempt& attempt = open == attempts.rend() ? attempts.back() : *open;
    attempt.finished = event.unix_time;
    attempt.standing = event.kind == Event::Kind::done ? Standing::done : Standing::failed;
    attempt.reason = std::move(event.reason);
    attempt.done = std::move(event.done);
}

const std::vector<Attempt>& Board::attempts(const std::string& lane, std::size_t task) const {
    static const std::vector<Attempt> none;
    const auto found = attempts_.find(lane);
    return found == attempts_.end() ? none : found->second[task];
}

std::vector<std::string> Board::sites(const std::string& lane) const {
    std::set<std::string> sites;
    for (const WorkerState& worker : workers_)
        if (worker.info.lane.id() == lane)
            sites.insert(worker.info.site);
    return {sites.begin(), sites.end()};
}

Need Board::need(const std::string& lane, std::size_t task, const std::string& site,
                 double forget_failures) const {
    return need_from(attempts(lane, task), site, forget_failures);
}

Need Board::need_from(const std::vector<Attempt>& attempts, const std::string& site, double forget) const {
    std::set<std::string> measured, taken; // sites that have measured, or are at it
    std::set<std::string> failed[2];       // sites that failed, per stage
    std::string failure;
    Need need;
    bool searching = false;
    for (const Attempt& attempt : attempts) {
        const std::string& where = workers_[attempt.worker].info.site;
        switch (attempt.standing) {
        case Standing::done:
            measured.insert(where);
            taken.insert(where);
            need.searched = need.searched || attempt.stage == Stage::search;
            break;
        case Standing::running:
            taken.insert(where);
            need.under_way = true;
            searching = searching || attempt.stage == Stage::search;
            break;
        case Standing::failed:
            if (attempt.finished >= forget) {
                failed[static_cast<int>(attempt.stage)].insert(where);
                failure = attempt.reason;
            }
            break;
        case Standing::lost:
            break;
        }
    }
    need.sites = static_cast<std::uint32_t>(measured.size());
    const std::uint32_t asked = plan_.spec.agreement.sites;
    need.complete = need.searched && measured.size() >= asked;
    need.may_come = need.under_way && !need.complete && !site.empty() && !measured.contains(site);
    if (need.complete || (!need.searched && searching) || (need.searched && taken.size() >= asked))
        return need;
    const Stage stage = need.searched ? Stage::confirm : Stage::search;
    const std::set<std::string>& failures = failed[static_cast<int>(stage)];
    if (failures.size() >= most_failures) {
        need.failure = failure;
        return need;
    }
    need.open = stage;
    need.mine = !site.empty() && !taken.contains(site) && !failures.contains(site);
    if (!failures.empty() && !need.mine)
        need.failure = failure;
    return need;
}

bool Board::claim(const WorkerInfo& worker, std::size_t task, Stage stage, double forget_failures) {
    const std::string lane = worker.lane.id();
    const std::string prefix = "claims/" + lane + "-" + plan_.tasks[task].key + ".";
    // Claims that the journals do not show yet.
    for (int attempt = 0; attempt < 16; ++attempt) {
        std::vector<Attempt> all = attempts(lane, task);
        std::size_t number = 0;
        std::string text;
        std::vector<std::size_t> claims_of(workers_.size(), 0);
        for (; read_small_file(folder_.path(prefix + std::to_string(number)), text); ++number) {
            const std::string id = text.substr(0, text.find(' '));
            auto known = worker_index_.find(id);
            if (known == worker_index_.end()) {
                refresh(); // a worker's journal is there before its claims
                all = attempts(lane, task);
                claims_of.resize(workers_.size(), 0);
                known = worker_index_.find(id);
                if (known == worker_index_.end())
                    return false; // not yet visible here; somebody else's anyway
            }
            const std::size_t claims = ++claims_of[known->second];
            const auto in_journal = static_cast<std::size_t>(std::count_if(
                all.begin(), all.end(), [&](const Attempt& a) { return a.worker == known->second; }));
            if (claims > in_journal) {
                Attempt unseen;
                unseen.worker = known->second;
                unseen.stage = text.find(" confirm") != std::string::npos ? Stage::confirm : Stage::search;
                unseen.standing = workers_[known->second].alive ? Standing::running : Standing::lost;
                all.push_back(unseen);
            }
        }
        const Need need = need_from(all, worker.site, forget_failures);
        if (!need.mine || need.open != stage)
            return false;
        if (folder_.create_exclusively(prefix + std::to_string(number),
                                       worker.id + " " + to_string(stage) + "\n"))
            return true;
    }
    return false;
}

} // namespace zyfa::sweep
