// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <algorithm>
#include <cctype>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/console.hpp"
#include "runtime/runtime.hpp"

namespace zyfa::cli {

namespace {

bool is_ordinal(const std::string& text) {
    return !text.empty() && text.size() <= 3 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string check_device(const std::string& text) {
    return text == "auto" || text == "sim" || is_ordinal(text)
               ? std::string()
               : "'" + text + "': accepted are auto, sim, or a device number";
}

/// Why no GPU can be used; empty if one can.
std::string why_no_gpu(const std::string& hip_library) {
    try {
        runtime::Runtime::open("auto", hip_library);
        return "";
    } catch (const Error& error) {
        if (error.code() != ErrorCode::no_device) {
            throw;
        }
        const runtime::HipReport report = runtime::Runtime::probe("auto", hip_library);
        return report.library.empty() ? "no HIP library" : report.device_status;
    }
}

} // namespace

void add_json_flag(CLI::App& command, CommonOptions& common) {
    command.add_flag("--json", common.json, "Print one JSON object on stdout instead of a table");
}

void add_common_flags(CLI::App& command, CommonOptions& common) {
    add_json_flag(command, common);
    command
        .add_option("--device", common.device,
                    "auto: the first usable GPU, else the simulator (and says so); sim; or a device number")
        ->check(CLI::Validator(check_device, "auto|sim|N"))
        ->envname("ZYFA_DEVICE")
        ->default_str("auto");
}

ContextOptions context_options(const CommonOptions& common) {
    ContextOptions options = ContextOptions::from_environment();
    options.device = common.device.empty() ? "auto" : common.device;
    if (options.device == "auto") {
        const std::string reason = why_no_gpu(options.hip_library);
        if (!reason.empty()) {
            note(fmt::format(
                "no usable GPU ({}); running on the simulator, so every device time is simulated", reason));
            options.device = "sim";
            options.hip_library.clear();
        }
    }
    return options;
}

int device_ordinal(const CommonOptions& common) {
    return is_ordinal(common.device) ? std::stoi(common.device) : 0;
}

std::string describe(const DeviceSummary& device) {
    return device.simulated ? fmt::format("simulator ({}, {} CUs); no GPU is involved", device.target,
                                          device.compute_units)
                            : fmt::format("{} ({}, {} CUs, device {})", device.name, device.target,
                                          device.compute_units, device.ordinal);
}

} // namespace zyfa::cli
