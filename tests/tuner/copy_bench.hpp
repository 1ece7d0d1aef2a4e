// SPDX-License-Identifier: Apache-2.0
// Tunings of the copy template on the simulator: what the tests of the tuner set up again and again.
#pragma once

#include <algorithm>
#include <memory>

#include <doctest/doctest.h>

#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "tests/tuner/copy_template.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::test {

struct Ignore : tuner::MeasurementSink {
    void measured(const Measurement&) override {}
};

/// Simulator and assembler, opened once; no budget.
template <class Sink = Ignore>
struct CopyBench {
    std::shared_ptr<runtime::Runtime> runtime = runtime::Runtime::open("sim", "");
    std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    CopyTemplate form;
    Problem problem;
    tuner::Options options;
    Sink sink;

    explicit CopyBench(const Problem& of = one_key(2, 64)) : problem(of) {
        REQUIRE(assembler);
        options.budget_s = 0;
    }
    tuner::Outcome tune() { return tuner::tune(runtime, 0, *assembler, form, problem, {}, options, sink); }
};

/// The schedule's measurement; it must be there.
inline const Measurement& of(const tuner::Outcome& outcome, const Schedule& schedule) {
    const auto found = std::find_if(outcome.measurements.begin(), outcome.measurements.end(),
                                    [&](const Measurement& m) { return m.schedule == schedule; });
    REQUIRE(found != outcome.measurements.end());
    return *found;
}

} // namespace zyfa::test
