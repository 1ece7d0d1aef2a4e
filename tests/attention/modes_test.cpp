// SPDX-License-Identifier: Apache-2.0
// What each mode reads, makes and stores.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "core/keys.hpp"
#include "tests/attention/child_process.hpp"
#include "tests/attention/rig.hpp"
#include "tuner/find_worker.hpp"
#include "tuner/hung_devices.hpp"
#include "zyfa/tuning.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const Problem problem = bf16(1, 4, 2, 200, 200);

struct Stored {
    std::uint64_t binaries = 0, winners = 0, measurements = 0;
};

Stored stored(Context& context) {
    Stored sum;
    for (const cache::Statistics& layer : context.impl().services().cache().statistics()) {
        sum.binaries += layer.binaries;
        sum.winners += layer.winners;
        sum.measurements += layer.measurements;
    }
    return sum;
}

} // namespace

TEST_CASE("mode off takes the default schedule and stores nothing") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::off, folder.path()));
    const Explanation explanation = context.prepare(problem);
    CHECK(explanation.cache == CacheResult::off);
    CHECK(explanation.schedule == templates::template_for(problem).default_schedule(problem).canonical());
    CHECK(explanation.resident);
    CHECK_FALSE(explanation.toolchain.empty());
    call_and_check(context, problem);
    const Counters counters = context.counters();
    CHECK(counters.assembled == 1);
    CHECK(counters.hits + counters.misses + counters.timed + counters.gated == 0);
    const Stored after = stored(context);
    CHECK(after.binaries + after.winners + after.measurements == 0);
}

TEST_CASE("mode replay without a winner takes the default and keeps its binary for the next process") {
    const TemporaryFolder folder;
    {
        Context context(simulator(Mode::replay, folder.path()));
        const Explanation explanation = context.prepare(problem);
        CHECK(explanation.cache == CacheResult::miss);
        CHECK(explanation.reason.find("default schedule") != std::string::npos);
        CHECK(context.counters().assembled == 1);
        CHECK(context.counters().misses == 1);
        CHECK(stored(context).binaries == 1);
        CHECK(stored(context).winners == 0);
    }
    Context context(simulator(Mode::replay, folder.path()));
    call_and_check(context, problem);
    CHECK(context.counters().assembled == 0);
    CHECK(context.counters().misses == 1);
}

TEST_CASE("mode tune measures, stores a winner with its evidence, and later contexts hit it") {
    const TemporaryFolder folder;
    std::string schedule, digest;
    {
        Context context(simulator(Mode::tune, folder.path()));
        const Explanation explanation = tune_shortly(context, problem);
        schedule = explanation.schedule;
        digest = explanation.binary_digest;
        CHECK(explanation.cache == CacheResult::miss);
        CHECK(explanation.reason.find("tuned") == 0);
        const Evidence evidence = Evidence::from_json(explanation.evidence_json);
        CHECK(evidence.fallback.schedule == templates::template_for(problem).default_schedule(problem));
        CHECK(evidence.fallback.status == CandidateStatus::measured);
        CHECK(evidence.winner.median_ms > 0);
        CHECK(evidence.winner.simulated);
        CHECK(evidence.winner.policy == "model");
        CHECK(evidence.data_profile == "gaussian");
        const Counters counters = context.counters();
        CHECK(counters.assembled >= 1);
        CHECK(counters.gated == 2);
        CHECK(counters.timed == 2);
        CHECK(counters.misses == 1);
        CHECK(stored(context).winners == 1);
        CHECK(stored(context).measurements == 2);
        call_and_check(context, problem); // resident: nothing is tuned again
        CHECK(context.counters().timed == 2);
    }
    for (const Mode mode : {Mode::tune, Mode::replay, Mode::must_hit}) {
        Context context(simulator(mode, folder.path()));
        call_and_check(context, problem);
        const Explanation explanation = context.explain(problem);
        CHECK(explanation.cache == CacheResult::hit);
        CHECK(explanation.schedule == schedule);
        CHECK(explanation.binary_digest == digest);
        CHECK_FALSE(explanation.layer.empty());
        CHECK_FALSE(explanation.evidence_json.empty());
        const Counters counters = context.counters();
        CHECK(counters.hits == 1);
        CHECK(counters.misses + counters.assembled + counters.gated + counters.timed == 0);
    }
}

TEST_CASE("a read-only layer answers where the user layer has nothing") {
    const TemporaryFolder shipped, user;
    {
        Context context(simulator(Mode::tune, shipped.path()));
        tune_shortly(context, problem);
    }
    ContextOptions options = simulator(Mode::must_hit, user.path());
    options.cache_layers = {shipped.path()};
    Context context(options);
    call_and_check(context, problem);
    CHECK(context.counters().hits == 1);
    CHECK(context.counters().assembled == 0);
}

TEST_CASE("a server without an assembler runs what another machine has stored") {
    const TemporaryFolder folder;
    {
        Context context(simulator(Mode::tune, folder.path()));
        tune_shortly(context, problem);
    }
    ContextOptions options = simulator(Mode::must_hit, ":memory:");
    options.comgr_library = "/nowhere/libamd_comgr.so";
    options.cache_layers = {folder.path()};
    Context context(options);
    call_and_check(context, problem);
    CHECK(context.counters().hits == 1);
    CHECK(context.counters().assembled == 0);
    REQUIRE(context.layers().size() == 2);
    CHECK(context.layers()[1].hits == 1);
    CHECK_THROWS_AS(context.impl().services().assembler(), Error); // there is none indeed
}

TEST_CASE("mode must_hit turns a miss into an error that names the key") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::must_hit, folder.path()));
    Tensors tensors(context, problem);
    const Error error = error_of([&] { context.attention(tensors.args()); });
    CHECK(error.code() == ErrorCode::cache_miss);
    const std::string key = context.explain(problem).key;
    CHECK_FALSE(key.empty());
    CHECK(std::string(error.what()).find(key) != std::string::npos);
    CHECK(context.counters().assembled == 0);
    const std::vector<std::byte> o = tensors.output();
    CHECK(std::all_of(o.begin(), o.end(), [](std::byte b) { return b == std::byte{0xff}; }));
}

TEST_CASE("explain only looks") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::tune, folder.path()));
    const Explanation before = context.explain(problem);
    CHECK_FALSE(before.resident);
    CHECK(before.cache == CacheResult::miss);
    CHECK(before.reason.find("would tune") != std::string::npos);
    CHECK_FALSE(before.kernel.empty());
    const Counters counters = context.counters();
    CHECK(counters.assembled + counters.gated + counters.timed + counters.hits + counters.misses == 0);
    const Stored after = stored(context);
    CHECK(after.binaries + after.winners + after.measurements == 0);
}

TEST_CASE("lengths of one bucket are served without another look at the cache") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::replay, folder.path()));
    call_and_check(context, bf16(1, 4, 2, 200, 200));
    const Counters first = context.counters();
    for (const std::int64_t length : {180, 190, 210, 250})
        call_and_check(context, bf16(1, 4, 2, length, length));
    const Counters last = context.counters();
    CHECK(last.assembled == first.assembled);
    CHECK(last.hits + last.misses == first.hits + first.misses);
}

TEST_CASE("a call's own mode goes before the context's") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::must_hit, folder.path()));
    Tensors tensors(context, problem);
    AttentionArgs args = tensors.args();
    args.mode = Mode::off;
    context.attention(args);
    CHECK(tensors.check(64).empty());
    args.mode.reset();
    CHECK(error_of([&] { context.attention(args); }).code() == ErrorCode::cache_miss);
}

TEST_CASE("a large problem is tuned on given inputs within its budget, on a cut that the evidence names") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::tune, folder.path()));
    const Problem large = padded(bf16(2, 4, 2, 1100, 1100), Problem::Layout::bshd);
    DrawnInputs drawn = draw_inputs(large, Distribution::logit_sd_4, 3);
    call::PrepareRequest request;
    request.inputs = {std::move(drawn.q), std::move(drawn.k), std::move(drawn.v), "captured:test"};
    request.tuning.emplace();
    request.tuning->budget_s = 0.5;
    struct : tuner::MeasurementSink {
        void measured(const Measurement& measurement) override { ++seen[to_string(measurement.status)]; }
        std::map<std::string, int> seen;
    } sink;
    request.sink = &sink;
    const Explanation explanation = context.impl().prepare(large, 0, request);
    const Evidence evidence = Evidence::from_json(explanation.evidence_json);
    CHECK(evidence.data_profile == "captured:test");
    CHECK_MESSAGE(evidence.winner.message.find("cut for the simulator") != std::string::npos,
                  evidence.winner.message);
    CHECK(evidence.winner.relative_rms > 0);
    CHECK(sink.seen["measured"] >= 1);
    CHECK(sink.seen.size() == 1); // nothing failed
}

TEST_CASE("tuning again replaces the winner, and calls take the new one") {
    const TemporaryFolder folder;
    Context context(simulator(Mode::tune, folder.path()));
    tune_shortly(context, problem);
    call_and_check(context, problem);
    const std::uint64_t timed = context.counters().timed;
    TuneRequest all_again;
    all_again.budget_s = 0.001; // the default alone
    all_again.fresh = true;
    tune(context, problem, 0, all_again);
    CHECK(context.counters().timed == timed + 1);
    call_and_check(context, problem);
    CHECK(stored(context).winners == 1);
}

TEST_CASE("a candidate that is new to a tuned key costs one measurement, in another process too") {
    const TemporaryFolder folder;
    {
        Context context(simulator(Mode::tune, folder.path()));
        tune_shortly(context, problem);
        CHECK(context.counters().timed == 2);
        CHECK(stored(context).measurements == 2);
    }
    Context context(simulator(Mode::tune, folder.path()));
    const Explanation same = tune_shortly(context, problem, true);
    CHECK(context.counters().timed == 0);
    CHECK(context.counters().gated == 0);
    const Explanation grown = tune_shortly(context, problem, true, 3);
    CHECK(context.counters().timed == 1);
    CHECK(context.counters().gated == 1);
    CHECK_MESSAGE(grown.reason.ends_with("3 of 3 schedules measured, 2 of them in earlier tunings"),
                  grown.reason);
    CHECK(stored(context).measurements == 3);
    CHECK(stored(context).winners == 1);
    call_and_check(context, problem);
}

TEST_CASE("a budget too small for anything still measures and stores the default schedule") {
    const TemporaryFolder folder;
    ContextOptions options = simulator(Mode::tune, folder.path());
    options.tune_budget_s = 1e-3;
    Context context(options);
    call_and_check(context, problem);
    CHECK(context.counters().timed == 1);
    const Explanation explanation = context.explain(problem);
    CHECK(Evidence::from_json(explanation.evidence_json).verdict == "default");
    CHECK(stored(context).winners == 1);
}

TEST_CASE("damage in the cache is a miss that is counted and rebuilt") {
    const TemporaryFolder folder;
    std::string winner;
    {
        Context context(simulator(Mode::tune, folder.path()));
        winner = tune_shortly(context, problem).schedule;
    }
    // Flip one bit in every stored code object: they are the only zstd frames in the file.
    const std::string frame{"\x28\xb5\x2f\xfd"};
    int flipped = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
        if (!entry.is_regular_file())
            continue;
        std::ifstream in(entry.path(), std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        in.close();
        int here = 0;
        for (std::size_t at = bytes.find(frame); at != std::string::npos;
             at = bytes.find(frame, at + 1), ++here)
            bytes[at + 64] = static_cast<char>(bytes[at + 64] ^ 4);
        if (here > 0)
            std::ofstream(entry.path(), std::ios::binary) << bytes;
        flipped += here;
    }
    REQUIRE(flipped > 0);
    CHECK(error_of([&] {
              Context context(simulator(Mode::must_hit, folder.path()));
              try {
                  call_and_check(context, problem);
              } catch (const Error&) {
                  CHECK(context.counters().damaged >= 1);
                  throw;
              }
          }).code() == ErrorCode::cache_miss);
    {
        Context context(simulator(Mode::replay, folder.path()));
        const Explanation explanation = context.prepare(problem);
        CHECK(explanation.cache == CacheResult::miss);
        CHECK(explanation.schedule == winner); // measured with this very text: no need to tune
        CHECK_MESSAGE(explanation.reason.find("damaged") != std::string::npos, explanation.reason);
        call_and_check(context, problem);
        CHECK(context.counters().misses == 1);
        CHECK(context.counters().assembled == 1);
        CHECK(context.counters().timed == 0);
    }
    Context context(simulator(Mode::must_hit, folder.path()));
    call_and_check(context, problem);
    CHECK(context.counters().damaged == 0);
    CHECK(context.counters().hits == 1);
}

TEST_CASE("a cache that cannot be written does not fail a call") {
    Context context(simulator(Mode::tune, "/proc/zyfa-cannot-be-made"));
    CHECK(tune_shortly(context, problem).resident);
    call_and_check(context, problem);
}

TEST_CASE("child: a call on a device on which a candidate hangs" * doctest::skip()) {
    if (!std::getenv("ZYFA_TEST_CHILD"))
        return; // the process is not to tune on the device any more
    const TemporaryFolder folder;
    Context context(simulator(Mode::tune, folder.path()));
    tuner::keep_hung(context.impl().services().device(0).pci, "a schedule hangs on device 0", nullptr);
    call_and_check(context, problem);
    const Explanation explanation = context.explain(problem);
    CHECK(explanation.schedule == templates::template_for(problem).default_schedule(problem).canonical());
    CHECK(explanation.reason.find("cannot tune on it any more; the default schedule") != std::string::npos);
    CHECK(stored(context).winners == 0);
    CHECK_THROWS_AS(tune(context, problem, 0, {}), Error); // who asks for a tuning is told
}

TEST_CASE("a call on a device on which a candidate hangs takes the default schedule and stores nothing") {
    ChildProcess child("child: a call on a device on which a candidate hangs", {"ZYFA_TEST_CHILD=1"});
    CHECK(child.wait() == 0);
}

TEST_CASE(
    "a call's candidates meet the device in the worker that comes with the library, where that is asked") {
    REQUIRE(tuner::find_worker().size() == 1);
    const TemporaryFolder folder;
    ContextOptions options = simulator(Mode::tune, folder.path());
    options.tuner_worker = "auto";
    options.tune_budget_s = 60;
    Context context(options);
    call_and_check(context, problem);
    CHECK(context.counters().timed >= 1);
    CHECK(stored(context).winners == 1);
}
