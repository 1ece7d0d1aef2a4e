// SPDX-License-Identifier: Apache-2.0
// Candidates that loop forever in the tuning's own process: their time is bounded, and what then serves is
// known.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "runtime/hip_api.hpp"
#include "tests/attention/child_process.hpp"
#include "tests/tuner/copy_bench.hpp"
#include "tuner/stopwatch.hpp"
#include "tuner/tuner.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const Schedule hang = CopyTemplate::schedule(0, "hang"), slow = CopyTemplate::schedule(200),
               fast = CopyTemplate::schedule(0);

/// The default schedule is `slow`.
struct Bench : CopyBench<> {
    Bench() { form.delays = {std::int64_t{200}, std::int64_t{0}}; }
};

/// As a GPU is: what hangs on it stays.
class CannotStop {
  public:
    explicit CannotStop(const runtime::Runtime& runtime)
        : hip_(const_cast<runtime::HipApi&>(runtime.hip())), stop_(hip_.zyfaSimStopKernels) {
        hip_.zyfaSimStopKernels = nullptr;
    }
    ~CannotStop() { hip_.zyfaSimStopKernels = stop_; }

  private:
    runtime::HipApi& hip_;
    decltype(runtime::HipApi::zyfaSimStopKernels) stop_;
};

} // namespace

TEST_CASE("in this process too, a candidate that hangs costs no more than the budget, and the default wins") {
    Bench bench;
    bench.options.budget_s = 2;
    bench.options.candidates = {hang};
    for (const char* policy : {"model", "race"}) {
        bench.options.policy = policy;
        const tuner::Stopwatch watch;
        const tuner::Outcome outcome = bench.tune();
        CHECK(watch.seconds() < 60); // without the limit it is minutes
        CHECK(outcome.schedule == slow);
        CHECK(of(outcome, hang).status == CandidateStatus::timed_out);
        CHECK(of(outcome, hang).message.find("the budget is spent; it was stopped") != std::string::npos);
    }
}

TEST_CASE("with a limit of its own, the tuning goes on after it, and the fastest of the others wins") {
    Bench bench;
    bench.options.candidate_limit_s = 2;
    bench.options.candidates = {hang, fast};
    const tuner::Outcome outcome = bench.tune();
    CHECK(of(outcome, hang).status == CandidateStatus::timed_out);
    CHECK(of(outcome, fast).status == CandidateStatus::measured);
    CHECK(outcome.schedule == fast);
}

TEST_CASE("a default schedule that hangs is said, and nothing is chosen") {
    Bench bench;
    bench.form.faults = {std::string("hang")};
    bench.options.candidate_limit_s = 1;
    bench.options.candidates.emplace();
    try {
        bench.tune();
        FAIL("nothing could be chosen");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::device_error);
        CHECK(std::string(error.what()).find("is timed_out") != std::string::npos);
    }
}

TEST_CASE("child: a tuning on a device on which it cannot be ended" * doctest::skip()) {
    if (!std::getenv("ZYFA_TEST_CHILD"))
        return; // the process cannot use the device any more
    Bench bench;
    bench.options.candidate_limit_s = 1;
    bench.options.candidates = {hang, fast};
    const CannotStop like_a_gpu(*bench.runtime);
    for (const char* expected : {"the device does not answer after copy", "cannot tune on it any more"})
        try {
            bench.tune();
            _exit(3);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::device_error || error.argument() != "hang" ||
                std::string(error.what()).find(expected) == std::string::npos)
                _exit(4);
        }
    _exit(0); // the kernel loops on
}

TEST_CASE("where it cannot be ended, the tuning ends at once, and so does every later one in the process") {
    ChildProcess child("child: a tuning on a device on which it cannot be ended", {"ZYFA_TEST_CHILD=1"});
    CHECK(child.wait() == 0);
}
