// SPDX-License-Identifier: Apache-2.0
// Options from the environment, and the names of modes.
#include "attention/options.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

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

std::optional<std::uint64_t> byte_count(std::string_view text) {
    std::uint64_t bytes = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, bytes);
    return error == std::errc{} && stop == end ? std::optional(bytes) : std::nullopt;
}

namespace {

bool switched(const char* name) {
    const std::string value = environment(name);
    if (!value.empty() && value != "0" && value != "1")
        throw Error(ErrorCode::invalid_argument, name,
                    std::string(name) + " is \"" + value + "\"; accepted: 0, 1");
    return value == "1";
}

} // namespace

} // namespace call

inline namespace v0 {

using call::switched;

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
    options.batch_invariant = switched("ZYFA_BATCH_INVARIANT");
    options.stable = switched("ZYFA_STABLE");
    options.background_tuning = switched("ZYFA_BACKGROUND_TUNING");
    options.tuner_worker = environment("ZYFA_TUNER_WORKER");
    if (const std::string text = environment("ZYFA_TUNE_MEMORY"); !text.empty()) {
        const std::optional<std::uint64_t> bytes = call::byte_count(text);
        if (!bytes)
            throw Error(ErrorCode::invalid_argument, "ZYFA_TUNE_MEMORY",
                        "ZYFA_TUNE_MEMORY is \"" + text + "\"; accepted: " + call::byte_counts);
        options.tune_memory_bytes = *bytes;
    }
    return options;
}

} // namespace v0
} // namespace zyfa
