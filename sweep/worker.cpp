// SPDX-License-Identifier: Apache-2.0
// The loop of a worker.
//
// SHARE. Nobody hands work out. A worker takes, of what is open to its site, the costliest first: a slow node
// takes fewer tasks, and the last tasks are short, so that nodes of different speed end close together.
// END. A worker ends when nothing is open to its site and nothing that others are at could come to it. The
// last search of a sweep is therefore confirmed, and a task whose worker dies is taken over.
#include "sweep/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "attention/services.hpp"
#include "sweep/board.hpp"
#include "sweep/pulse.hpp"
#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {

double unix_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string random_digits(std::size_t count) {
    std::random_device random;
    std::string digits;
    for (std::size_t i = 0; i < count; ++i)
        digits += "0123456789abcdef"[random() % 16];
    return digits;
}

std::string file_name(std::string text) {
    for (char& c : text)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
              c == '.'))
            c = '_';
    return text;
}

std::unique_ptr<jit::Assembler> open_assembler(const std::string& library) {
    jit::ToolchainReport report;
    auto assembler = jit::make_assembler(library, &report);
    if (!assembler) {
        std::string message = "no toolchain that knows gfx950 can be loaded; looked for:";
        for (const std::string& note : report.notes)
            message += "\n  " + note;
        throw Error(ErrorCode::assemble_failed, "ZYFA_COMGR_LIBRARY", message);
    }
    return assembler;
}

class Worker {
  public:
    explicit Worker(const WorkerOptions& options)
        : options_(options), folder_(Folder::open(options.folder)),
          runtime_(runtime::Runtime::open(options.device, options.hip_library)),
          assembler_(open_assembler(options.comgr_library)), board_(folder_, folder_.read_plan()),
          device_(runtime_->devices().at(
              static_cast<std::size_t>(gpu_of(options.place, static_cast<int>(runtime_->devices().size()))))),
          bench_{runtime_, device_.ordinal, assembler_, options.layer,
                 [this](const std::string& name) { return folder_.path("inputs/" + name); }} {
        folder_.check();
        const Place& place = options.place;
        const bool across_gpus = plan().spec.agreement.across == Agreement::Across::gpus;
        info_.gpu = std::to_string(place.local);
        info_.node = place.node;
        info_.site = across_gpus ? place.node + ":" + info_.gpu : place.node;
        info_.job = place.job;
        info_.restarts = place.restarts;
        info_.process = ::getpid();
        info_.lane.device = call::identity_of(device_);
        info_.lane.versions = versions_of(*runtime_, device_, assembler_.toolchain());
        info_.started = unix_time();
        info_.id = file_name(place.node) + "-" + info_.gpu + "-" +
                   (place.job.empty() ? std::to_string(::getpid()) : file_name(place.job)) + "-" +
                   random_digits(6);
        lane_ = info_.lane.id();
        forget_ = options.retry ? info_.started : 0;
    }

    WorkerReport run() {
        Journal journal(folder_, info_);
        Pulse pulse(journal, plan().spec.lease_s, plan().spec.hang_s, options_.place.slurm);
        journal_ = &journal;
        pulse_ = &pulse;
        report_.id = info_.id;
        say("GPU " + std::to_string(device_.ordinal) + ", lane " + lane_ + ": " + info_.lane.text());
        const char* reason = work();
        journal.ended(reason, unix_time());
        say(std::string(reason) + ": " + std::to_string(report_.done) + " done, " +
            std::to_string(report_.failed) + " failed");
        return report_;
    }

  private:
    struct Open {
        double cost;
        std::size_t task;
        Stage stage;
    };

    const Plan& plan() const { return board_.plan(); }
    bool stopped() const { return options_.stopped && options_.stopped(); }
    void say(const std::string& text) const {
        if (options_.say)
            options_.say(info_.node + "/" + info_.gpu + ": " + text);
    }

    const char* work() {
        bool first = true;
        for (;; first = false) {
            if (stopped())
                break;
            board_.refresh();
            bool wait = false;
            const std::vector<Open> open = open_tasks(wait);
            if (open.empty() && !wait) {
                report_.end = WorkerReport::End::finished;
                return "finished";
            }
            if (open.empty() || !take_one(open, first)) {
                rest();
            } else if (device_lost_) {
                report_.end = WorkerReport::End::device_lost;
                return "the device is lost";
            }
        }
        report_.end = WorkerReport::End::stopped;
        return "stopped";
    }

    /// What this site may do, the costliest first. `wait`: there is none now, but there may be.
    std::vector<Open> open_tasks(bool& wait) const {
        std::vector<Open> open;
        for (std::size_t i = 0; i < plan().tasks.size(); ++i) {
            const Need need = board_.need(lane_, i, info_.site, forget_);
            if (need.open && need.mine) {
                const Task& task = plan().tasks[i];
                open.push_back(
                    {*need.open == Stage::search ? plan().search_cost(task) : plan().confirm_cost(task), i,
                     *need.open});
            }
            wait = wait || need.may_come;
        }
        std::sort(open.begin(), open.end(), [](const Open& a, const Open& b) {
            return a.cost != b.cost ? a.cost > b.cost : a.task < b.task;
        });
        return open;
    }

    /// Takes and runs one of `open`; false where others were faster with all that were tried.
    bool take_one(const std::vector<Open>& open, bool first) {
        constexpr std::size_t most_tries = 8;
        // Workers that start together would all go for the costliest task.
        const std::size_t from = first ? rank() % open.size() : 0;
        for (std::size_t i = 0; i < std::min(open.size(), most_tries); ++i) {
            const Open& next = open[(from + i) % open.size()];
            if (board_.claim(info_, next.task, next.stage, forget_)) {
                run(next);
                return true;
            }
            if (stopped())
                return false;
        }
        return false;
    }

    std::size_t rank() const {
        std::size_t before = 0;
        for (const WorkerState& worker : board_.workers())
            before += worker.alive && worker.info.lane.id() == lane_ && worker.info.id < info_.id;
        return before;
    }

    void run(const Open& open) {
        const Task& task = plan().tasks[open.task];
        const double began = unix_time();
        journal_->claimed(task.key, open.stage, began);
        const std::string name = std::string(to_string(open.stage)) + " " + to_string(task.problem);
        pulse_->at(name, true);
        try {
            Request request;
            request.stage = open.stage;
            request.cancelled = options_.stopped;
            request.progress = [&](const std::string&, std::size_t done, std::size_t of) {
                pulse_->at(name + " (" + std::to_string(done) + "/" + std::to_string(of) + ")", true);
            };
            if (open.stage == Stage::confirm)
                request.finalists = finalists_of(search_result(open.task), plan().spec.agreement.finalists);
            const std::optional<Result> result = measure(bench_, plan(), task, request);
            if (!result) { // stopped: "end" gives the task back
                pulse_->at("", false);
                return;
            }
            const double now = unix_time();
            journal_->done(*result, now - began, now);
            ++report_.done;
            say(name + ": " + result->evidence.winner.schedule.canonical() + ", " + result->evidence.verdict);
        } catch (const Error& error) {
            // Not the task's fault, and nobody could be told. (Another worker's damaged data are the task's.)
            if (error.code() == ErrorCode::io_error &&
                error.argument().starts_with(folder_.path("workers/" + info_.id)))
                throw;
            const double now = unix_time();
            journal_->failed(task.key, open.stage, error.what(), now - began, now);
            ++report_.failed;
            say(name + " failed: " + error.what());
            device_lost_ = error.code() == ErrorCode::device_error;
        }
        pulse_->at("", false);
    }

    Result search_result(std::size_t task) const {
        for (const Attempt& attempt : board_.attempts(lane_, task))
            if (attempt.done && attempt.stage == Stage::search)
                return read_result(folder_, board_.workers()[attempt.worker].info.id, *attempt.done);
        throw Error(ErrorCode::internal, "", "a task is confirmed that was not searched");
    }

    void rest() const {
        pulse_->at("waiting for others", false);
        const double seconds = std::min(2.0, plan().spec.lease_s / 8);
        const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (!stopped() && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }

    const WorkerOptions& options_;
    Folder folder_;
    std::shared_ptr<runtime::Runtime> runtime_;
    KeepingAssembler assembler_;
    Board board_;
    runtime::DeviceInfo device_;
    Bench bench_;
    WorkerInfo info_;
    std::string lane_;
    double forget_ = 0;
    bool device_lost_ = false;
    WorkerReport report_;
    Journal* journal_ = nullptr;
    Pulse* pulse_ = nullptr;
};

} // namespace

WorkerReport run_worker(const WorkerOptions& options) {
    return Worker(options).run();
}

} // namespace zyfa::sweep
