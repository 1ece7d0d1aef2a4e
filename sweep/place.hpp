// SPDX-License-Identifier: Apache-2.0
// Where a worker runs: node and GPU, from the environment that Slurm gives each task of a step, or from the
// machine itself.
#pragma once

#include <functional>
#include <string>

namespace zyfa::sweep {

struct Place {
    std::string node;           ///< name within the cluster
    int local = 0;              ///< number of the worker on its node
    std::string job;            ///< "1234.0", "1234_7.0"; empty without Slurm
    int restarts = 0;           ///< how often Slurm requeued the job
    int nodes = 1, workers = 1; ///< of the step
    bool slurm = false;
    bool gpu_is_bound = false; ///< the environment shows each task its own GPUs only
};

/// Value of an environment variable, or null.
using Environment = std::function<const char*(const char*)>;

/// From SLURMD_NODENAME, SLURM_LOCALID, SLURM_JOB_ID, SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID, SLURM_STEP_ID,
/// SLURM_RESTART_COUNT, SLURM_STEP_NUM_NODES, SLURM_STEP_NUM_TASKS (srun(1), sbatch(1)). Outside of a step
/// (SLURM_PROCID is not set) the host's name. Throws Error{invalid_argument} where a number is none.
Place place_from_environment(const Environment& environment);

/// Which of `devices` visible GPUs the worker takes: its own number on the node; the only one where the
/// environment binds GPUs to tasks. Throws Error{no_device} where there are more workers than GPUs.
int gpu_of(const Place& place, int devices);

} // namespace zyfa::sweep
