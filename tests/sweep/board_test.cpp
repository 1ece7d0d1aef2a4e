// SPDX-License-Identifier: Apache-2.0
// Who may do what, and what becomes of it when workers die.
#include "sweep/board.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "sweep/progress.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::sweep;

TEST_CASE("a task is searched by one site and confirmed by another") {
    const Sweep sweep(three_tasks());
    FakeWorker a(sweep, "a"), b(sweep, "b"), second(sweep, "a", "6.14", "1");

    REQUIRE(a.need(0).open == Stage::search);
    REQUIRE(a.claim(0, Stage::search));
    CHECK_FALSE(b.claim(0, Stage::search));
    CHECK_FALSE(b.need(0).open);
    CHECK(b.need(0).may_come);
    a.finish(0, Stage::search);

    CHECK(b.need(0).open == Stage::confirm);
    CHECK(b.need(0).mine);
    CHECK_FALSE(a.need(0).mine);      // has measured it
    CHECK_FALSE(second.need(0).mine); // is on the same site
    CHECK_FALSE(second.claim(0, Stage::confirm));
    REQUIRE(b.claim(0, Stage::confirm));
    b.finish(0, Stage::confirm);
    CHECK(a.need(0).complete);
    CHECK(a.need(0).sites == 2);
}

TEST_CASE("of many that claim one task at the same time one gets it") {
    const Sweep sweep(three_tasks());
    constexpr int count = 8;
    std::vector<std::unique_ptr<FakeWorker>> workers;
    for (int i = 0; i < count; ++i)
        workers.push_back(std::make_unique<FakeWorker>(sweep, "site" + std::to_string(i)));
    for (auto& worker : workers)
        worker->board.refresh();
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            for (std::size_t task = 0; task < 3; ++task)
                taken += workers[static_cast<std::size_t>(i)]->claim(task, Stage::search);
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(taken == 3);
}

TEST_CASE("the task of a worker that was not heard of for a lease is taken over, once") {
    const Sweep sweep(three_tasks(0.3));
    FakeWorker a(sweep, "a");
    REQUIRE(a.claim(0, Stage::search));
    a.finish(0, Stage::search);
    REQUIRE(a.claim(1, Stage::search));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));

    FakeWorker b(sweep, "b"), c(sweep, "c");
    CHECK(b.need(1).open == Stage::search);
    REQUIRE(b.claim(1, Stage::search));
    CHECK_FALSE(c.claim(1, Stage::search));
    CHECK(b.need(0).open == Stage::confirm); // what was finished stays
    const Progress progress = progress_of(b.board);
    CHECK(progress.workers[0].lost == 1);
    CHECK(progress.workers[0].done == 1);
}

TEST_CASE(
    "a worker that ends gives back what it has in hand; so does one that died before its journal said so") {
    const Sweep sweep(three_tasks());
    FakeWorker a(sweep, "a"), b(sweep, "b");
    REQUIRE(a.claim(0, Stage::search));
    a.journal->ended("stopped", 3);
    CHECK(b.need(0).open == Stage::search);
    REQUIRE(b.claim(0, Stage::search));

    FakeWorker c(sweep, "c");
    REQUIRE(c.board.claim(c.info, 1, Stage::search)); // the claim, but no line
    CHECK(b.need(1).open == Stage::search);           // as far as the journals tell
    CHECK_FALSE(b.claim(1, Stage::search));
    c.journal->ended("stopped", 3);
    b.board.refresh();
    CHECK(b.claim(1, Stage::search));
}

TEST_CASE("a stage that failed on two sites has failed, until failures are forgotten") {
    const Sweep sweep(three_tasks());
    FakeWorker a(sweep, "a"), b(sweep, "b"), c(sweep, "c");
    const std::string key = sweep.plan.tasks[0].key;
    REQUIRE(a.claim(0, Stage::search));
    a.journal->failed(key, Stage::search, "no memory", 1, 10);
    CHECK_FALSE(a.need(0).mine);
    CHECK(b.need(0).mine);
    REQUIRE(b.claim(0, Stage::search));
    b.journal->failed(key, Stage::search, "no memory either", 1, 11);
    CHECK_FALSE(c.need(0).open);
    CHECK(c.need(0).failure == "no memory either");
    const Progress progress = progress_of(c.board);
    CHECK(progress.lanes.at(0).failed == 1);
    REQUIRE(progress.failures.size() == 2);
    CHECK(progress.failures[1].given_up);
    CHECK(c.board.need(c.lane_id(), 0, "c", 20).mine);
}

TEST_CASE("unlike drivers are lanes of their own") {
    const Sweep sweep(three_tasks());
    FakeWorker a(sweep, "a", "6.14"), b(sweep, "b", "6.12");
    REQUIRE(a.claim(0, Stage::search));
    REQUIRE(b.claim(0, Stage::search));
    a.finish(0, Stage::search);
    b.finish(0, Stage::search);
    CHECK_FALSE(b.need(0).mine);
    CHECK(b.need(0).sites == 1);
    const Progress progress = progress_of(b.board);
    CHECK(progress.mixed_versions);
    CHECK(progress.lanes.size() == 2);
    CHECK(progress.lanes[0].out_of_reach == 1);
    CHECK_FALSE(progress.complete());
}

TEST_CASE("half a line and damaged data are not taken for results") {
    const Sweep sweep(three_tasks());
    FakeWorker a(sweep, "a");
    REQUIRE(a.claim(0, Stage::search));
    a.finish(0, Stage::search);
    const std::string journal = sweep.folder.path("workers/a-0.journal");
    std::ofstream(journal, std::ios::app) << R"({"event": "done", "task": ")";
    Board board = sweep.board();
    REQUIRE(board.attempts(a.lane_id(), 0).size() == 1);
    const DoneLine& line = *board.attempts(a.lane_id(), 0)[0].done;
    CHECK(read_result(sweep.folder, "a-0", line).measurements.size() == 2);

    const int data = ::open(sweep.folder.path("workers/a-0.data").c_str(), O_WRONLY);
    REQUIRE(::pwrite(data, "xx", 2, static_cast<off_t>(line.result.offset + 8)) == 2);
    ::close(data);
    CHECK_THROWS_WITH_AS(read_result(sweep.folder, "a-0", line), doctest::Contains("damaged"), Error);
}

TEST_CASE("a folder without a plan is refused, and a second plan only replaces one that it is told to") {
    const Sweep sweep(three_tasks());
    CHECK_THROWS_AS(sweep.folder.write_plan(sweep.plan, false), Error);
    sweep.folder.write_plan(sweep.plan, true);
    CHECK(to_text(sweep.folder.read_plan()) == to_text(sweep.plan));
    CHECK_THROWS_WITH_AS(Folder::open(sweep.folder.path("inputs")), doctest::Contains("all nodes share"),
                         Error);
}
