// SPDX-License-Identifier: Apache-2.0
// A sweep of 10,000 tasks, each measured on two sites by 64 workers: planning, what a worker does to find its
// next task, status, merging, the report. The files are made as workers make them, without measuring
// anything.
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/support.hpp"
#include "sweep/html_report.hpp"
#include "sweep/merge.hpp"
#include "sweep/progress.hpp"
#include "templates/template.hpp"
#include "tuner/binaries.hpp"

namespace {

using namespace zyfa;
using namespace zyfa::sweep;

constexpr std::size_t workers = 64, candidates = 12, code_object_bytes = 20'000;

/// 125 pairs of lengths, ten batch sizes, two masks, two layouts, with and without LSE.
Spec ten_thousand() {
    Spec spec;
    spec.name = "bench";
    spec.lease_s = 86400;
    Model model;
    model.heads_q = 8;
    for (std::int64_t q = 256; q <= 524288 && model.contexts.size() < 125; q *= 2)
        for (std::int64_t kv = 256; kv <= 524288 && model.contexts.size() < 125; kv *= 2)
            model.contexts.push_back({q, kv});
    model.batches.clear();
    for (std::int64_t batch = 1; batch <= 512; batch *= 2)
        model.batches.push_back(batch);
    model.masks = {Mask::causal, Mask::none};
    model.layouts = {Problem::Layout::bhsd, Problem::Layout::bshd};
    model.lse = {true, false};
    spec.models.push_back(model);
    return spec;
}

const Plan& plan() {
    static const Plan made = make_plan(ten_thousand(), "bench", 1);
    return made;
}

class FinishedSweep {
  public:
    FinishedSweep() : folder_(Folder::create(temporary_.path() + "/sweep")) {
        folder_.write_plan(plan(), false);
        std::vector<std::unique_ptr<Journal>> journals;
        for (std::size_t i = 0; i < workers; ++i) {
            WorkerInfo info;
            info.site = info.node = "node" + std::to_string(i / 8);
            info.gpu = std::to_string(i % 8);
            info.id = info.node + "-" + info.gpu + "-1.0-bench";
            info.lane.device = {"gfx950", 256, 8, "SPX", false};
            info.lane.versions = {"0", "7.2", "6.14.14", "", "none"};
            journals.push_back(std::make_unique<Journal>(folder_, info));
        }
        // Side by side, as on a cluster: a disk takes the syncs of many files together.
        std::vector<std::future<void>> writers;
        for (std::size_t worker = 0; worker < workers; ++worker)
            writers.push_back(
                std::async(std::launch::async, [&, worker] { work(*journals[worker], worker); }));
        for (std::future<void>& writer : writers)
            writer.get();
        for (const auto& journal : journals)
            journal->ended("finished", 3);
    }

    const Folder& folder() const { return folder_; }
    Board board() const {
        Board result(folder_, plan());
        result.refresh();
        return result;
    }

  private:
    /// What one worker does: its share of the searches, and of the confirmations of the node before.
    void work(Journal& journal, std::size_t worker) {
        for (std::size_t i = 0; i < plan().tasks.size(); ++i)
            for (const Stage stage : {Stage::search, Stage::confirm})
                if ((i + (stage == Stage::confirm ? 8 : 0)) % workers == worker) {
                    journal.claimed(plan().tasks[i].key, stage, 1);
                    journal.done(result(plan().tasks[i], stage), 0.5, 2);
                }
    }

    Result result(const Task& task, Stage stage) {
        const templates::Template& form = templates::template_named(task.template_name);
        Result made;
        made.task = task.key;
        made.stage = stage;
        made.winner_key = winner_key(task.problem, {"gfx950", 256, 8, "SPX", false}).canonical();
        for (std::size_t i = 0; i < candidates; ++i) {
            Measurement measurement;
            measurement.schedule = form.default_schedule(task.problem);
            measurement.schedule.parameters["tau"] = 0.5 + static_cast<double>(i);
            measurement.median_ms = 1 + 0.01 * static_cast<double>(i);
            measurement.policy = "race";
            made.measurements.push_back(measurement);
        }
        made.measurements.front().schedule = form.default_schedule(task.problem);
        made.evidence.winner = made.evidence.fallback = made.measurements.front();
        made.evidence.verdict = "default";
        made.evidence.versions_json = "{}";
        made.binaries.push_back(binary(form, task.problem, made.evidence.winner.schedule));
        return made;
    }

    /// Tasks share most of them, and a kernel's text takes milliseconds.
    cache::BinaryRecord binary(const templates::Template& form, const Problem& problem,
                               const Schedule& schedule) {
        WinnerKey class_only;
        class_only.problem_class = classify(problem);
        const std::lock_guard lock(mutex_);
        cache::BinaryRecord& record = binaries_[class_only.canonical() + schedule.canonical()];
        if (record.key_text.empty()) {
            record.key_text =
                tuner::binary_key(form.instantiate(class_only.problem_class, schedule)).canonical();
            record.key = digest(record.key_text);
            record.code_object.resize(code_object_bytes);
        }
        return record;
    }

    bench::TemporaryFolder temporary_;
    Folder folder_;
    std::mutex mutex_;
    std::map<std::string, cache::BinaryRecord> binaries_; ///< by problem class and schedule
};

const FinishedSweep& finished() {
    static const FinishedSweep sweep;
    return sweep;
}

void expansion(benchmark::State& state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(make_plan(ten_thousand(), "bench", 1));
    state.counters["tasks"] = static_cast<double>(plan().tasks.size());
}
BENCHMARK(expansion)->Name("sweep/expand 10,000 tasks")->Unit(benchmark::kMillisecond);

void reading(benchmark::State& state) {
    const std::string text = to_text(plan());
    for (auto _ : state)
        benchmark::DoNotOptimize(parse_plan(text));
    state.counters["bytes"] = static_cast<double>(text.size());
}
BENCHMARK(reading)->Name("sweep/read the plan")->Unit(benchmark::kMillisecond);

void status(benchmark::State& state) {
    finished();
    for (auto _ : state)
        benchmark::DoNotOptimize(progress_of(finished().board()));
}
BENCHMARK(status)->Name("sweep/status, from nothing")->Unit(benchmark::kMillisecond);

/// What a worker does between two tasks: new journal lines, and a look at all tasks.
void next(benchmark::State& state) {
    Board board = finished().board();
    const std::string lane = board.lanes().front().id();
    for (auto _ : state) {
        board.refresh();
        std::size_t open = 0;
        for (std::size_t i = 0; i < plan().tasks.size(); ++i)
            open += board.need(lane, i, "node9").mine;
        benchmark::DoNotOptimize(open);
    }
}
BENCHMARK(next)->Name("sweep/find the next task")->Unit(benchmark::kMillisecond);

void merging(benchmark::State& state) {
    const Board board = finished().board();
    const bench::TemporaryFolder folder;
    for (auto _ : state)
        benchmark::DoNotOptimize(merge(board, folder.path() + "/bench.zyfapack", nullptr));
}
BENCHMARK(merging)->Name("sweep/merge 20,000 results")->Unit(benchmark::kMillisecond)->Iterations(1);

void report(benchmark::State& state) {
    const Board board = finished().board();
    for (auto _ : state)
        benchmark::DoNotOptimize(html_report(board));
}
BENCHMARK(report)->Name("sweep/report")->Unit(benchmark::kMillisecond)->Iterations(1);

} // namespace
