// SPDX-License-Identifier: Apache-2.0
// Timing policies: how device times of candidates are taken and compared with the default schedule's.
//
// "model": the device is the simulator. Its event times are computed, the same for every launch of a
// candidate, so one launch is enough, and differences below the cost model's error are ties. "race": the
// device is a GPU and the budget is seconds. Every candidate is screened with one short block; the fastest
// few then meet the default in ABBA blocks. It compares candidates at one shared clock: good enough to leave
// the default behind for a clear reason, not a sustained-clock verdict (paper Section III-C), and recorded as
// what it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "tuner/statistics.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::tuner {

/// Mean device milliseconds per launch of one block of back-to-back launches of a candidate.
class BlockTimer {
  public:
    virtual ~BlockTimer() = default;
    virtual double block_ms(std::size_t candidate, std::uint32_t launches) = 0;
};

/// The argument of the Error that says that a wait was given up.
inline constexpr const char* hang_argument = "hang";

/// Device time of `launches` calls of `launch` on a stream, by events, per launch. Waits for the end; with a
/// limit at most so many seconds, and throws Error{device_error} naming `hang` then: what was launched is
/// still there, and no other wait for the device can be relied on to end.
double event_ms(const std::shared_ptr<runtime::Runtime>& runtime, int device, const runtime::Stream& stream,
                std::uint32_t launches, const std::function<void(void*)>& launch, double limit_s = 0);

/// The cost model counts pipe cycles and does not know what memory does; candidates that it puts closer than
/// this are not told apart.
inline constexpr double model_error = 0.05;

/// Launches that fill `target_ms` at `launch_ms` each: at least 1.
std::uint32_t launches_for(double target_ms, double launch_ms, std::uint32_t most);

/// One finalist after its rounds against the default.
struct FinalistTimes {
    std::size_t candidate = 0;
    std::vector<double> candidate_ms, default_ms; ///< one pair per round
    std::uint32_t launches = 0;                   ///< of the candidate, in all blocks
    std::uint32_t default_launches = 0;
    PairedRatio ratio;
};

/// The final of a race: `rounds` ABBA rounds per finalist. `screened_ms[0]` is the default's; a candidate
/// that did not pass has a time <= 0. `go_on` is asked before every round; when it says no, rounds already
/// run count.
std::vector<FinalistTimes> race(BlockTimer& timer, std::span<const double> screened_ms,
                                const RaceLimits& limits, std::uint32_t rounds,
                                const std::function<bool()>& go_on);

/// Who wins and why. Index 0 is the default.
struct Verdict {
    std::size_t winner = 0;
    std::string text; ///< "default", "tie", "faster by 3.1%"
};
/// Model: the fastest, if it is faster than the default by at least `tie` (relative).
Verdict choose_by_model(std::span<const double> times_ms, double tie);
/// Race: the finalist with the lowest ratio among those that are faster by at least `tie` and whose 95%
/// interval excludes 1.
Verdict choose_by_race(std::span<const FinalistTimes> finalists, double tie);

} // namespace zyfa::tuner
