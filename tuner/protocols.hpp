// SPDX-License-Identifier: Apache-2.0
// Timing protocols by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/clocked_device.hpp"
#include "tuner/statistics.hpp"

namespace zyfa::tuner {

enum class Protocol : std::uint8_t {
    model,       ///< one launch on the simulator, whose event times are computed
    race,        ///< short blocks in ABBA order: seconds, and the evidence says so
    sustained,   ///< long blocks in ABBA order until an interval decides (tuner/sustained.hpp)
    paper_fixed, ///< paper Section V-C: 2 s idle, 1 s warm-in, 3 s window, three repeats in alternating order
    paper_adaptive, ///< the same; warm-in until two chunks of 0.5 s agree within 0.3%, then a window of 4 s
    kernel_only     ///< paper Section V-B: the mean of 100 launches after 500 warm-up launches
};
const char* to_string(Protocol protocol) noexcept; ///< "model", "race", "sustained", "paper-fixed", ...
/// Throws Error{invalid_argument} that names `policy` and lists the names.
Protocol protocol_named(std::string_view name);

/// The paper's protocols: each candidate runs alone.
struct RunLimits {
    double idle_s = 2;
    double warm_in_ms = 1000, window_ms = 3000;
    std::uint32_t warm_in_launches = 0, window_launches = 0; ///< instead of times, where not 0
    std::uint32_t repeats = 3;
    bool adaptive = false; ///< warm-in until two chunks agree; `warm_in_ms` is then the least
    double chunk_ms = 500, chunk_tolerance = 0.003, warm_in_most_ms = 15000;
};
RunLimits run_limits(Protocol protocol); ///< of paper_fixed, paper_adaptive, kernel_only

struct RunTimes {
    std::size_t candidate = 0;
    std::vector<double> runs_ms; ///< mean of each window
    Spread ms;                   ///< median and range over the repeats
    std::uint32_t launches = 0;  ///< in the windows
};

struct RunResult {
    std::vector<RunTimes> times; ///< the default first
    double device_ms = 0;        ///< device time, idle time included
    std::vector<TimedBlock> blocks;
    std::ptrdiff_t winner = 0; ///< index in `times`
    std::string verdict;
};

/// Runs candidate 0 and `others`, in alternating order over the repeats. The winner is the one with the
/// lowest median, if that is below the default's by at least `precision` and, with several repeats, the two
/// ranges do not meet. (The paper reports median and range and leaves the verdict to the reader.) Where
/// `go_on` ends it early, the default stays.
RunResult run_alone(ClockedDevice& device, std::span<const std::size_t> others, const RunLimits& limits,
                    double precision, const std::function<bool()>& go_on = {});

} // namespace zyfa::tuner
