// SPDX-License-Identifier: Apache-2.0
// A device whose launch times come from recorded runs of a real GPU: the protocols are tried on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tuner/clocked_device.hpp"

namespace zyfa::replay {

using namespace tuner;

/// One recorded run: a load from its start on, launch by launch.
struct RecordedRun {
    std::string inputs, kernel;
    int repetition = 0;
    std::vector<double> start_ms, ms;

    double end_ms() const { return start_ms.back() + ms.back(); }
    /// Mean of the launches that start at `from_ms` or later.
    double mean_after(double from_ms) const;
};

/// Reads `launches.csv` (repetition, inputs, kernel, launch, start_ms, duration_ms; one header line). Throws
/// Error{io_error} naming file and line.
std::vector<RecordedRun> read_launches_csv(const std::filesystem::path& file);

/// Made-up runs with the statistics of recorded ones (docs/tuning.md): `limited` ones lose 16% of their speed
/// within the first second and then swing with a period near one second; the others hold their clock. Both
/// carry noise from launch to launch. Two of each kind, of `seconds`.
std::vector<RecordedRun> synthetic_runs(std::uint64_t seed, double seconds = 5);

/// Where a candidate's launch times come from.
struct ReplayedCandidate {
    const RecordedRun* run;
    double scale = 1; ///< of every launch: a time-scaled copy
};

/// After idle time a load starts: its times are those of the recorded run from the beginning on. From a
/// random moment of the settled part it goes on at another one, and so forth (a bootstrap of moving blocks of
/// one to three seconds). Moments are drawn once for all candidates, so that those that replay one run share
/// its clock. Time passes for all of them alike.
class ReplayDevice : public ClockedDevice {
  public:
    ReplayDevice(std::vector<ReplayedCandidate> candidates, std::uint64_t seed,
                 double settled_from_ms = 1500);

    void idle(double seconds) override;
    std::vector<TimedBlock> run(std::span<const BlockRequest> requests) override;

  private:
    TimedBlock run_block(const BlockRequest& request);
    void pass(double ms);
    double drawn(double from_ms, double to_ms);

    std::vector<ReplayedCandidate> candidates_;
    std::mt19937_64 random_;
    double settled_from_ms_, shortest_ms_, jump_at_ms_ = 0;
    double now_ms_ = 0, at_ms_ = 0; ///< since the device was opened; in the recording
};

} // namespace zyfa::replay
