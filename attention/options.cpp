// SPDX-License-Identifier: Apache-2.0
// Options from the environment, and the names of modes.
#include "attention/options.hpp"

#include <algorithm>

#include "core/environment.hpp"

namespace zyfa {

namespace call {

std::optional<Mode> mode_named(std::string_view name) {
    for (const Mode mode : {Mode::off, Mode::replay, Mode::tune, Mode::must_hit})
        if (name == to_string(mode))
            return mode;
    return name == "must-hit" ? std::optional(Mode::must_hit) : std::nullopt;
}

std::vector<std::string> path_list(const std::string& list) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= list.size();) {
        const std::size_t to = std::min(list.find(':', from), list.size());
        if (to > from)
            parts.push_back(list.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

} // namespace call

inline namespace v0 {

const char* to_string(Mode mode) noexcept {
    switch (mode) {
    case Mode::off:
        return "off";
    case Mode::replay:
        return "replay";
    case Mode::tune:
        return "tune";
    case Mode::must_hit:
        return "must_hit";
    }
    return "unknown";
}

const char* to_string(CacheResult result) noexcept {
    switch (result) {
    case CacheResult::off:
        return "off";
    case CacheResult::hit:
        return "hit";
    case CacheResult::miss:
        return "miss";
    }
    return "unknown";
}

ContextOptions ContextOptions::from_environment() {
    ContextOptions options;
    if (const std::string device = environment("ZYFA_DEVICE"); !device.empty())
        options.device = device;
    options.hip_library = environment("ZYFA_HIP_LIBRARY");
    options.comgr_library = environment("ZYFA_COMGR_LIBRARY");
    options.cache_dir = environment("ZYFA_CACHE_DIR");
    options.cache_layers = call::path_list(environment("ZYFA_CACHE_LAYERS"));
    options.winners_layer = environment("ZYFA_WINNERS_LAYER");
    if (const std::string name = environment("ZYFA_MODE"); !name.empty()) {
        const std::optional<Mode> mode = call::mode_named(name);
        if (!mode)
            throw Error(ErrorCode::invalid_argument, "ZYFA_MODE",
                        "ZYFA_MODE is \"" + name + "\"; accepted: " + call::mode_names);
        options.mode = *mode;
    }
    options.log = environment("ZYFA_LOG");
    if (const std::string invariant = environment("ZYFA_BATCH_INVARIANT"); !invariant.empty()) {
        if (invariant != "0" && invariant != "1")
            throw Error(ErrorCode::invalid_argument, "ZYFA_BATCH_INVARIANT",
                        "ZYFA_BATCH_INVARIANT is \"" + invariant + "\"; accepted: 0, 1");
        options.batch_invariant = invariant == "1";
    }
    return options;
}

} // namespace v0
} // namespace zyfa
