// SPDX-License-Identifier: Apache-2.0
// Node and GPU of a worker, from what Slurm tells a task.
#include "sweep/place.hpp"

#include <map>

#include <doctest/doctest.h>

#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::sweep;

namespace {
Place place_of(const std::map<std::string, std::string>& variables) {
    return place_from_environment([&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    });
}
} // namespace

TEST_CASE("a task of a step knows its node, its number and its job") {
    const Place place = place_of({{"SLURM_PROCID", "5"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"SLURMD_NODENAME", "gpu17"},
                                  {"SLURM_LOCALID", "3"},
                                  {"SLURM_JOB_ID", "812"},
                                  {"SLURM_ARRAY_JOB_ID", "810"},
                                  {"SLURM_ARRAY_TASK_ID", "2"},
                                  {"SLURM_RESTART_COUNT", "1"}});
    CHECK(place.slurm);
    CHECK(place.node == "gpu17");
    CHECK(place.local == 3);
    CHECK(place.job == "810_2.0");
    CHECK(place.restarts == 1);
    CHECK_FALSE(place.gpu_is_bound);
    CHECK(gpu_of(place, 8) == 3);
    CHECK_THROWS_WITH_AS(gpu_of(place, 2), doctest::Contains("one worker per GPU"), Error);
}

TEST_CASE("a task that sees only its own GPU takes it") {
    const Place place = place_of({{"SLURM_PROCID", "0"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"SLURM_LOCALID", "3"},
                                  {"ROCR_VISIBLE_DEVICES", "3"}});
    CHECK(place.gpu_is_bound);
    CHECK(gpu_of(place, 1) == 0);
}

TEST_CASE("outside of a step a worker is on this machine, within a batch script too") {
    CHECK_FALSE(place_of({}).slurm);
    CHECK_FALSE(place_of({}).node.empty());
    CHECK_FALSE(place_of({{"SLURM_JOB_ID", "812"}}).slurm);
    CHECK_THROWS_AS(place_of({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_LOCALID", "x"}}), Error);
}
