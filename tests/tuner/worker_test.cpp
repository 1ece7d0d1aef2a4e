// SPDX-License-Identifier: Apache-2.0
// Candidates in a process of their own: what hangs is killed, what faults is found out, and the tuning goes
// on; and a tuning that is killed takes its worker along.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/attention/child_process.hpp"
#include "tests/tuner/copy_bench.hpp"
#include "tuner/gate_worker.hpp"
#include "tuner/tuner.hpp"
#include "tuner/worker_channel.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const templates::Template& copy_named(std::string_view) {
    static const CopyTemplate form;
    return form;
}

std::vector<std::string> worker_command(const char* test_case = "child: a worker") {
    return {"/proc/self/exe", "--no-skip", std::string("--test-case=") + test_case};
}

struct Bench : CopyBench<> {
    Bench() { options.worker = worker_command(); }
};

/// The children of a process that run this program, as workers do: another may be a sanitizer's symbolizer.
std::vector<pid_t> children_of(pid_t process) {
    const auto is_another_program = [self = std::filesystem::read_symlink("/proc/self/exe")](pid_t child) {
        std::error_code gone;
        const auto its = std::filesystem::read_symlink("/proc/" + std::to_string(child) + "/exe", gone);
        return !gone && its != self;
    };
    std::vector<pid_t> children;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
        std::ifstream file(entry.path() / "children");
        for (pid_t child = 0; file >> child;)
            if (!is_another_program(child))
                children.push_back(child);
    }
    return children;
}

} // namespace

TEST_CASE("child: a worker" * doctest::skip()) {
    if (fcntl(tuner::worker_socket, F_GETFD) < 0)
        return; // run by hand
    _exit(tuner::serve_gate(&copy_named));
}

TEST_CASE("child: a worker that a candidate tears down" * doctest::skip()) {
    std::vector<std::byte> frame;
    if (fcntl(tuner::worker_socket, F_GETFD) < 0 ||
        tuner::receive_frame(tuner::worker_socket, -1, frame) != tuner::Received::frame)
        return;
    tuner::send_frame(tuner::worker_socket, tuner::encode(tuner::WorkerReply{}));
    tuner::receive_frame(tuner::worker_socket, -1, frame);
    signal(SIGABRT, SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0); // no core file
    abort();
}

TEST_CASE("a candidate that loops forever is killed at its limit, one that faults is crashed, and the tuning "
          "goes on") {
    Bench bench;
    bench.options.candidate_limit_s = 2;
    const Schedule hang = CopyTemplate::schedule(0, "hang"), wild = CopyTemplate::schedule(0, "wild"),
                   wrong = CopyTemplate::schedule(0, "bits"), stale = CopyTemplate::schedule(0, "stale"),
                   slow = CopyTemplate::schedule(200);
    bench.form.delays = {std::int64_t{100}, std::int64_t{0}};
    bench.options.candidates = {hang, wild, wrong, stale, slow, CopyTemplate::schedule(0)};
    const tuner::Outcome outcome = bench.tune();
    CHECK(of(outcome, hang).status == CandidateStatus::timed_out);
    CHECK(of(outcome, hang).message.find("its process was killed") != std::string::npos);
    CHECK(of(outcome, wild).status == CandidateStatus::crashed);
    CHECK(of(outcome, wrong).status == CandidateStatus::wrong);
    CHECK(of(outcome, stale).status == CandidateStatus::unstable);
    CHECK(of(outcome, slow).status == CandidateStatus::measured);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(children_of(getpid()).empty());
}

TEST_CASE("a candidate that hangs costs no more than the budget, and the default wins") {
    Bench bench;
    bench.options.budget_s = 4;
    bench.options.candidates = {CopyTemplate::schedule(0, "hang")};
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.measurements.at(1).status == CandidateStatus::timed_out);
}

TEST_CASE("a candidate that only the budget has ended is tried again, and twice at most") {
    const std::string journal =
        (std::filesystem::temp_directory_path() / ("zyfa-budget-" + std::to_string(getpid()))).string();
    std::filesystem::remove(journal);
    Bench bench;
    const Schedule hang = CopyTemplate::schedule(0, "hang");
    bench.options.journal = journal;
    bench.options.candidates = {CopyTemplate::schedule(10), hang};
    bench.options.candidate_limit_s = 60;
    for (int tuning = 1; tuning <= 3; ++tuning) {
        bench.options.budget_s = tuning == 3 ? 0 : 2;
        const tuner::Outcome outcome = bench.tune();
        CAPTURE(of(outcome, hang).message);
        CHECK(of(outcome, hang).status ==
              (tuning == 3 ? CandidateStatus::crashed : CandidateStatus::timed_out));
    }
    CHECK_FALSE(std::filesystem::exists(journal));
}

TEST_CASE("a candidate that tears its process down is crashed, with the signal's name") {
    Bench bench;
    bench.options.worker = worker_command("child: a worker that a candidate tears down");
    bench.options.candidates = {CopyTemplate::schedule(10)};
    try {
        bench.tune();
        FAIL("every candidate was torn down");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::device_error);
        CHECK(std::string(error.what()).find("ended by signal 6") != std::string::npos);
    }
    bench.options.worker = {"/bin/false"};
    try {
        bench.tune();
        FAIL("no worker could be started");
    } catch (const Error& error) {
        CHECK(error.argument() == "worker");
        CHECK(error.code() == ErrorCode::io_error);
    }
    bench.options.worker = {"/no/such/file"};
    CHECK_THROWS_AS(bench.tune(), Error);
}

TEST_CASE("child: a tuning whose candidate hangs in its worker" * doctest::skip()) {
    const char* journal = std::getenv("ZYFA_TEST_JOURNAL");
    if (!journal)
        return;
    Bench bench;
    bench.options.journal = journal;
    bench.options.candidate_limit_s = 600;
    bench.options.candidates = {CopyTemplate::schedule(10), CopyTemplate::schedule(0, "hang")};
    bench.tune();
}

TEST_CASE(
    "a tuning that is killed while its worker hangs takes the worker along, and loses that measurement") {
    const std::string journal =
        (std::filesystem::temp_directory_path() / ("zyfa-worker-" + std::to_string(getpid()))).string();
    std::filesystem::remove(journal);
    for (int kills = 1; kills <= 2; ++kills) {
        ChildProcess child("child: a tuning whose candidate hangs in its worker",
                           {"ZYFA_TEST_JOURNAL=" + journal});
        const auto hangs = [&] { // how often a process has begun the candidate
            std::ifstream file(journal);
            int begun = 0;
            for (std::string line; std::getline(file, line);)
                begun += line.find("begin") != std::string::npos && line.find("hang") != std::string::npos;
            return begun;
        };
        while (hangs() < kills)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::vector<pid_t> workers;
        while ((workers = children_of(child.id())).empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        child.kill();
        CHECK(child.wait() == -1);
        for (int i = 0; i < 2000 && ::kill(workers[0], 0) == 0; ++i) {
            std::ifstream status("/proc/" + std::to_string(workers[0]) + "/stat");
            std::string text((std::istreambuf_iterator<char>(status)), {});
            if (text.find(") Z") != std::string::npos) // dead, and nobody's child who would collect it
                break;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        std::ifstream status("/proc/" + std::to_string(workers[0]) + "/stat");
        const std::string text((std::istreambuf_iterator<char>(status)), {});
        CHECK((text.empty() || text.find(") Z") != std::string::npos));
    }
    Bench bench;
    bench.options.journal = journal;
    bench.options.candidates = {CopyTemplate::schedule(10), CopyTemplate::schedule(0, "hang")};
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.resumed == 1); // the other candidate; the default is always measured again
    CHECK(of(outcome, CopyTemplate::schedule(0, "hang")).status == CandidateStatus::crashed);
    CHECK(of(outcome, CopyTemplate::schedule(0, "hang")).message.find("two tunings ended") == 0);
}
