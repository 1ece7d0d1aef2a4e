// SPDX-License-Identifier: Apache-2.0
// Several processes and one cache: this executable starts itself for the parts of the others.
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "tests/attention/child_process.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const Problem problem = bf16(1, 2, 1, 100, 100);

/// A process that calls once, and what it reported.
class Process {
  public:
    Process(const std::string& test_case, const std::filesystem::path& folder, const std::string& report)
        : report_(folder / report), child_(test_case, {"ZYFA_TEST_FOLDER=" + (folder / "cache").string(),
                                                       "ZYFA_TEST_REPORT=" + report_.string()}) {}

    /// Waits for the end; the counters that the process reported.
    Counters wait() {
        CHECK(child_.wait() == 0);
        Counters c;
        std::ifstream(report_) >> c.assembled >> c.gated >> c.timed >> c.hits >> c.misses >> c.waited >>
            c.damaged;
        return c;
    }

  private:
    std::filesystem::path report_;
    ChildProcess child_;
};

void write_counters(const Context& context, const char* report) {
    const Counters c = context.counters();
    std::ofstream(report) << c.assembled << ' ' << c.gated << ' ' << c.timed << ' ' << c.hits << ' '
                          << c.misses << ' ' << c.waited << ' ' << c.damaged << '\n';
}

/// What a started process does: one call, checked; then its counters are written down.
void one_call(Mode mode) {
    const char* folder = std::getenv("ZYFA_TEST_FOLDER");
    const char* report = std::getenv("ZYFA_TEST_REPORT");
    if (!folder || !report)
        return; // run by hand or by a list of all tests: there is nothing to do
    ContextOptions options = simulator(mode, folder);
    options.tune_budget_s = 1;
    Context context(options);
    Tensors tensors(context, problem);
    context.attention(tensors.args());
    const std::string fault = tensors.check(40);
    CHECK_MESSAGE(fault.empty(), fault);
    write_counters(context, report);
}

} // namespace

TEST_CASE("child: a call that may tune" * doctest::skip()) {
    one_call(Mode::tune);
}
TEST_CASE("child: a call that replays" * doctest::skip()) {
    one_call(Mode::replay);
}
TEST_CASE("child: a process that prepares" * doctest::skip()) {
    const char* folder = std::getenv("ZYFA_TEST_FOLDER");
    const char* report = std::getenv("ZYFA_TEST_REPORT");
    if (!folder || !report)
        return;
    Context context(simulator(Mode::replay, folder));
    CHECK(context.prepare(problem).resident);
    write_counters(context, report);
}
TEST_CASE("child: a call that must hit" * doctest::skip()) {
    one_call(Mode::must_hit);
}

TEST_CASE("child: a call without a simulator" * doctest::skip()) {
    // Not under test where the machine has a GPU.
    const std::string status = runtime::Runtime::probe("auto", "").device_status;
    if (status.find("no ") != 0)
        return;
    ContextOptions options; // device "auto"
    options.cache_dir = ":memory:";
    Context context(options);
    AttentionArgs args = call::arguments_of(problem, 0);
    const Error error = error_of([&] { context.attention(args); });
    CHECK(error.code() == ErrorCode::no_device);
    const std::string message = error.what();
    CHECK_MESSAGE(message.find("ZYFA_DEVICE=sim") != std::string::npos, message);
    CHECK_MESSAGE(message.find("ooked for:") != std::string::npos, message);
}

TEST_CASE("without a GPU a call says what was looked for, and does not fall to the simulator") {
    const TemporaryFolder folder;
    Process("child: a call without a simulator", folder.path(), "report").wait();
}

TEST_CASE("a second process hits what the first has tuned: nothing is assembled or timed") {
    const TemporaryFolder folder;
    const Counters first = Process("child: a call that may tune", folder.path(), "first").wait();
    CHECK(first.misses == 1);
    CHECK(first.timed >= 1);
    CHECK(first.assembled >= 1);
    for (const char* child :
         {"child: a call that may tune", "child: a call that replays", "child: a call that must hit"}) {
        const Counters second = Process(child, folder.path(), "second").wait();
        CHECK(second.hits == 1);
        CHECK(second.misses == 0);
        CHECK(second.assembled == 0);
        CHECK(second.gated == 0);
        CHECK(second.timed == 0);
    }
}

TEST_CASE("processes that miss the same key together tune it once") {
    const TemporaryFolder folder;
    std::vector<Process> processes;
    constexpr int count = 4;
    processes.reserve(count);
    for (int i = 0; i < count; ++i)
        processes.emplace_back("child: a call that may tune", folder.path(), "report" + std::to_string(i));
    std::uint64_t misses = 0, hits = 0;
    for (Process& process : processes) {
        const Counters counters = process.wait();
        misses += counters.misses;
        hits += counters.hits;
        CHECK(counters.damaged == 0);
    }
    CHECK(misses == 1);
    CHECK(hits == count - 1);
}

TEST_CASE("processes that replay without a winner assemble the default once") {
    const char* stress = std::getenv("ZYFA_STRESS"); // scripts/stress-cache.sh
    const bool hard = stress && std::string(stress) == "1";
    const int count = hard ? 64 : 4;
    for (int round = 0, rounds = hard ? 100 : 1; round < rounds; ++round) {
        const TemporaryFolder folder;
        std::vector<Process> processes;
        processes.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i)
            processes.emplace_back("child: a process that prepares", folder.path(),
                                   "report" + std::to_string(i));
        std::uint64_t assembled = 0;
        for (Process& process : processes)
            assembled += process.wait().assembled;
        CHECK_MESSAGE(assembled == 1, "round ", round);
    }
}
