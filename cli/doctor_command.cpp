// SPDX-License-Identifier: Apache-2.0
// zyfa doctor: what was found on this machine, what is wrong, and how to mend it.
#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/services.hpp"
#include "cache/store.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"

namespace zyfa::cli {

namespace {

struct Finding {
    std::string what, remedy;
    ExitCode code = ExitCode::check_failed;
};

/// A HIP library and the devices it offers.
struct Library {
    runtime::HipReport report;
    std::vector<runtime::DeviceInfo> devices;
    std::string why_unusable; ///< first line of the error, empty if usable
};

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

Library look(const std::string& device, const std::string& hip_library) {
    Library library{
        .report = runtime::Runtime::probe(device, hip_library), .devices = {}, .why_unusable = {}};
    try {
        library.devices = runtime::Runtime::open(device, hip_library)->devices();
    } catch (const Error& error) {
        library.why_unusable = first_line(error.what());
    }
    return library;
}

std::string in_words(const runtime::DeviceInfo& device) {
    return fmt::format(
        "device {}: {}, {}, {} CUs in {} XCDs, {} KiB LDS, {} memory, clock up to {:.2f} GHz{}{}",
        device.ordinal, device.name, device.target, device.compute_units, device.xcds,
        device.lds_bytes / 1024, bytes(static_cast<double>(device.memory_bytes)), device.clock_khz / 1e6,
        device.partition.empty() ? "" : ", partition " + device.partition,
        device.simulated ? ", simulated" : "");
}

std::string in_words(const Library& library) {
    std::string text = library.report.library.empty()
                           ? "none found"
                           : fmt::format("{}, version {}: {}", library.report.library, library.report.version,
                                         library.report.device_status);
    for (const runtime::DeviceInfo& device : library.devices) {
        text += "\n" + in_words(device);
    }
    if (library.report.library.empty()) { // what was looked for matters where nothing was found
        for (const std::string& line : library.report.notes) {
            text += "\n" + line;
        }
    }
    return text;
}

nlohmann::ordered_json in_json(const Library& library) {
    nlohmann::ordered_json json{{"library", library.report.library},
                                {"version", library.report.version},
                                {"device_status", library.report.device_status},
                                {"usable", library.why_unusable.empty()},
                                {"reason", library.why_unusable},
                                {"notes", library.report.notes},
                                {"devices", nlohmann::ordered_json::array()}};
    for (const runtime::DeviceInfo& device : library.devices) {
        json["devices"].push_back({{"ordinal", device.ordinal},
                                   {"name", device.name},
                                   {"target", device.target},
                                   {"compute_units", device.compute_units},
                                   {"xcds", device.xcds},
                                   {"lds_bytes", device.lds_bytes},
                                   {"memory_bytes", device.memory_bytes},
                                   {"clock_ghz", device.clock_khz / 1e6},
                                   {"pci", device.pci},
                                   {"partition", device.partition},
                                   {"simulated", device.simulated}});
    }
    return json;
}

std::string in_words(const cache::Statistics& layer) {
    return fmt::format("{}: {}, {}, {}, {}, {}, {}{}{}", layer.layer, short_path(layer.path),
                       layer.writable ? "read-write" : "read-only", counted(layer.binaries, "binary"),
                       counted(layer.winners, "winner"), counted(layer.measurements, "measurement"),
                       bytes(static_cast<double>(layer.bytes)),
                       layer.quarantined == 0 ? "" : fmt::format(", {} quarantined", layer.quarantined),
                       layer.note.empty() ? "" : " (" + layer.note + ")");
}

std::vector<Finding> diagnose(const std::string& device, const Library& gpu, const Library& simulator,
                              const std::string& toolchain, const std::vector<cache::Statistics>& layers) {
    std::vector<Finding> problems;
    const bool gpu_asked = device != "auto" && device != "sim";
    if (gpu_asked && !gpu.why_unusable.empty()) {
        problems.push_back(
            {fmt::format("device {} was asked for, but: {}", device, gpu.why_unusable),
             "install ROCm 7 with its driver and check that /dev/kfd can be opened, name the library in "
             "ZYFA_HIP_LIBRARY, or run on the simulator with ZYFA_DEVICE=sim",
             ExitCode::no_device});
    }
    if (!gpu_asked && !simulator.why_unusable.empty() && (device == "sim" || !gpu.why_unusable.empty())) {
        problems.push_back({"the simulator's HIP library cannot be used: " + simulator.why_unusable,
                            "build with -DZYFA_BUILD_SIM=ON (the default)", ExitCode::no_device});
    }
    if (toolchain.empty()) {
        problems.push_back(
            {"nothing here can assemble for gfx950",
             "run scripts/rocm-packages.sh, name a comgr that lists gfx950 in ZYFA_COMGR_LIBRARY, or "
             "build with LLVM 22 (-DZYFA_BUILD_LLVM_ASSEMBLER=ON)",
             ExitCode::assemble_failed});
    }
    for (const cache::Statistics& layer : layers) {
        if (layer.layer == "user" && !layer.writable) {
            problems.push_back(
                {fmt::format("the user cache at {} cannot be written ({}); nothing will be kept", layer.path,
                             layer.note),
                 "make the folder writable or set ZYFA_CACHE_DIR", ExitCode::io_error});
        }
    }
    return problems;
}

ExitCode doctor(const CommonOptions& common) {
    const ContextOptions options = ContextOptions::from_environment();
    const std::string device = common.device.empty() ? "auto" : common.device;
    const Library gpu = look(device == "sim" ? "auto" : device, options.hip_library);
    const Library simulator = look("sim", "");

    jit::ToolchainReport toolchain;
    const std::unique_ptr<jit::Assembler> assembler = jit::make_assembler(options.comgr_library, &toolchain);
    const std::unique_ptr<jit::Assembler> llvm = jit::make_llvm_assembler();

    cache::Cache cache({.user_dir = call::user_cache_dir(options), .read_only = options.cache_layers});
    const std::vector<cache::Statistics> layers = cache.statistics();

    const std::vector<Finding> problems = diagnose(device, gpu, simulator, toolchain.chosen, layers);
    const bool on_simulator = device == "sim" || (device == "auto" && !gpu.why_unusable.empty());
    const std::string runs_on = !problems.empty() && problems.front().code == ExitCode::no_device ? "nothing"
                                : on_simulator ? "simulator"
                                               : "gpu";
    if (common.json) {
        nlohmann::ordered_json json{{"zyfa", ZYFA_VERSION},
                                    {"ok", problems.empty()},
                                    {"runs_on", runs_on},
                                    {"hip", in_json(gpu)},
                                    {"simulator", in_json(simulator)},
                                    {"toolchain",
                                     {{"chosen", toolchain.chosen},
                                      {"llvm", llvm ? llvm->toolchain() : ""},
                                      {"notes", toolchain.notes}}},
                                    {"mode", to_string(options.mode)},
                                    {"cache", nlohmann::ordered_json::array()},
                                    {"problems", nlohmann::ordered_json::array()}};
        for (const cache::Statistics& layer : layers) {
            json["cache"].push_back({{"layer", layer.layer},
                                     {"path", layer.path},
                                     {"writable", layer.writable},
                                     {"binaries", layer.binaries},
                                     {"winners", layer.winners},
                                     {"measurements", layer.measurements},
                                     {"quarantined", layer.quarantined},
                                     {"bytes", layer.bytes},
                                     {"note", layer.note}});
        }
        for (const Finding& problem : problems) {
            json["problems"].push_back({{"what", problem.what}, {"remedy", problem.remedy}});
        }
        fmt::print("{}\n", json.dump(2));
    } else {
        std::string assembling = toolchain.chosen.empty() ? "none" : toolchain.chosen;
        for (const std::string& line : toolchain.notes) {
            assembling += "\n" + line;
        }
        std::string stored;
        for (const cache::Statistics& layer : layers) {
            stored += (stored.empty() ? "" : "\n") + in_words(layer);
        }
        Facts facts("zyfa " ZYFA_VERSION);
        facts.add("HIP", in_words(gpu))
            .add("simulator", in_words(simulator))
            .add("assembler", assembling)
            .add("LLVM", llvm ? llvm->toolchain() : "not built in")
            .add("cache", stored)
            .add("mode", to_string(options.mode))
            .add("runs on", runs_on == "simulator"
                                ? "the simulator" +
                                      std::string(device == "auto" ? ", because there is no usable GPU" : "")
                            : runs_on == "gpu" ? "the GPU"
                                               : "nothing");
        facts.print();
        for (const Finding& problem : problems) {
            fmt::print("\nwrong:  {}\nmend:   {}\n", problem.what, problem.remedy);
        }
        if (problems.empty()) {
            fmt::print("\nNothing is wrong.\n");
        }
    }
    return problems.empty() ? ExitCode::ok : problems.front().code;
}

} // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand(
        "doctor", "What was found here: HIP, devices, assembler, cache; what is wrong and how to mend it");
    add_common_flags(*command, invocation.common);
    command->callback(
        [&invocation] { invocation.action = [&invocation] { return doctor(invocation.common); }; });
}

} // namespace zyfa::cli
