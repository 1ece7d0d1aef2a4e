// SPDX-License-Identifier: Apache-2.0
#include "sweep/place.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {

int number(const Environment& environment, const char* name, int otherwise) {
    const char* text = environment(name);
    if (!text || !*text)
        return otherwise;
    const std::string_view view(text);
    int value = 0;
    const auto [end, status] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (status != std::errc() || end != view.data() + view.size() || value < 0)
        throw Error(ErrorCode::invalid_argument, name,
                    std::string(name) + " is \"" + text + "\"; accepted: a whole number, at least 0");
    return value;
}

std::string text(const Environment& environment, const char* name) {
    const char* value = environment(name);
    return value ? value : "";
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0')
        return "localhost";
    const std::string full = name.data();
    return full.substr(0, full.find('.'));
}

} // namespace

Place place_from_environment(const Environment& environment) {
    Place place;
    place.slurm = environment("SLURM_PROCID") != nullptr && environment("SLURM_STEP_ID") != nullptr;
    // What Slurm's gres plugin and AMD's run times limit the visible devices by.
    for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"})
        if (!text(environment, name).empty())
            place.gpu_is_bound = true;
    place.node = place.slurm ? text(environment, "SLURMD_NODENAME") : "";
    if (place.node.empty())
        place.node = host_name();
    if (!place.slurm)
        return place;
    place.local = number(environment, "SLURM_LOCALID", 0);
    place.restarts = number(environment, "SLURM_RESTART_COUNT", 0);
    place.nodes = number(environment, "SLURM_STEP_NUM_NODES", number(environment, "SLURM_NNODES", 1));
    place.workers = number(environment, "SLURM_STEP_NUM_TASKS", number(environment, "SLURM_NTASKS", 1));
    const std::string array = text(environment, "SLURM_ARRAY_JOB_ID");
    place.job = array.empty() ? text(environment, "SLURM_JOB_ID")
                              : array + "_" + text(environment, "SLURM_ARRAY_TASK_ID");
    place.job += "." + text(environment, "SLURM_STEP_ID");
    return place;
}

int gpu_of(const Place& place, int devices) {
    if (place.local < devices)
        return place.local;
    if (devices == 1 && place.gpu_is_bound)
        return 0;
    throw Error(ErrorCode::no_device, "SLURM_LOCALID",
                "worker " + std::to_string(place.local) + " of node " + place.node + " finds " +
                    std::to_string(devices) +
                    " usable GPUs; start one worker per GPU (srun --ntasks-per-node=" +
                    std::to_string(devices) + "), or bind one GPU to each (--gpus-per-task=1)");
}

} // namespace zyfa::sweep
