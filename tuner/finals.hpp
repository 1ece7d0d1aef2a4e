// SPDX-License-Identifier: Apache-2.0
// The end of a tuning on measured time: the fastest few of the screening meet the default under the policy's
// protocol, and what was seen goes into their measurements and the evidence.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "tuner/clocked_device.hpp"
#include "tuner/protocols.hpp"
#include "tuner/timing.hpp"

namespace zyfa::tuner {

/// The `most` fastest of the screening beside candidate 0, whether faster than it or not: a screening block
/// is too short to tell (docs/tuning.md). Times <= 0 did not pass.
std::vector<std::size_t> finalists_of(std::span<const double> screened_ms, std::size_t most);

struct FinalInput {
    ClockedDevice& device; ///< its candidates are those of `measurements`
    Protocol protocol = Protocol::sustained;
    double precision = 0.01;
    double flops = 0; ///< of one launch
    std::vector<std::size_t> finalists;
    std::function<bool()> go_on;
    std::function<void(const std::string&)> progress;
};

/// Runs the protocol "sustained" or one of the paper's. Fills timing, clock, power, throughput of the
/// default's and the finalists' measurements, and the evidence's series.
Verdict run_final(const FinalInput& input, std::span<Measurement* const> measurements, Evidence& evidence);

} // namespace zyfa::tuner
