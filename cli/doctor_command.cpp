// SPDX-License-Identifier: Apache-2.0
// zyfa doctor: what was found on this machine, what is wrong, and how to mend it.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attention/refusals.hpp"
#include "attention/services.hpp"
#include "cache/store.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/selftest.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"

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

/// What the templates take for granted, tried on the device that calls would run on.
struct SelfTest {
    std::string device;
    std::vector<selftest::Outcome> outcomes;
    struct Verdict {
        std::string name;
        std::vector<std::string> needs, failed;
    };
    std::vector<Verdict> templates;

    bool held() const {
        return std::all_of(outcomes.begin(), outcomes.end(),
                           [](const auto& outcome) { return outcome.held; });
    }
};

/// A problem that the template serves, to see what its kernel is made of.
std::optional<Problem> served_by(const templates::Template& t) {
    for (const DType dtype : {DType::bf16, DType::e4m3}) {
        for (const std::int64_t dim : {128, 192, 64, 256}) {
            const Problem problem = Problem::contiguous(dtype, 1, 8, 2, 1024, 1024, dim, 128, Mask::causal);
            if (t.serves(problem)) {
                return problem;
            }
        }
    }
    return std::nullopt;
}

SelfTest self_test(const std::string& device_name, int device, jit::Assembler& assembler,
                   const ContextOptions& options) {
    const std::shared_ptr<runtime::Runtime> runtime =
        runtime::Runtime::open(device_name, options.hip_library);
    SelfTest test;
    const runtime::DeviceInfo& info = runtime->devices().at(static_cast<std::size_t>(device));
    test.device = in_words(info);
    const std::vector<selftest::Fact>& facts = selftest::all_facts();
    test.outcomes = selftest::run(runtime, device, assembler, facts);
    for (const templates::Template* t : templates::all_templates()) {
        const std::optional<Problem> problem = served_by(*t);
        if (!problem) {
            continue;
        }
        const templates::Kernel kernel = t->instantiate(classify(*problem), t->default_schedule(*problem));
        SelfTest::Verdict verdict{.name = std::string(t->name()),
                                  .needs = selftest::relies_on(kernel.assembly, facts),
                                  .failed = {}};
        for (const selftest::Outcome& outcome : test.outcomes) {
            if (!outcome.held && std::find(verdict.needs.begin(), verdict.needs.end(), outcome.fact->name) !=
                                     verdict.needs.end()) {
                verdict.failed.push_back(outcome.fact->name);
            }
        }
        test.templates.push_back(std::move(verdict));
    }
    std::vector<call::Refusal> refusals; // contexts find them there
    for (const SelfTest::Verdict& verdict : test.templates) {
        if (!verdict.failed.empty()) {
            refusals.push_back({verdict.name, verdict.failed});
        }
    }
    call::keep_refusals(call::user_cache_dir(options), call::identity_of(info), refusals);
    return test;
}

nlohmann::ordered_json in_json(const SelfTest& test) {
    nlohmann::ordered_json json{{"device", test.device},
                                {"passed", test.held()},
                                {"facts", nlohmann::ordered_json::array()},
                                {"templates", nlohmann::ordered_json::array()}};
    for (const selftest::Outcome& outcome : test.outcomes) {
        json["facts"].push_back({{"name", outcome.fact->name},
                                 {"what", outcome.fact->what},
                                 {"held", outcome.held},
                                 {"message", outcome.message}});
    }
    for (const SelfTest::Verdict& verdict : test.templates) {
        json["templates"].push_back({{"name", verdict.name},
                                     {"needs", verdict.needs},
                                     {"refused", !verdict.failed.empty()},
                                     {"failed", verdict.failed}});
    }
    return json;
}

void print(const SelfTest& test) {
    fmt::print("\nself-test on {}\n", test.device);
    for (const selftest::Outcome& outcome : test.outcomes) {
        fmt::print("  {}  {:<18} {}{}\n", outcome.held ? "holds " : "FAILED", outcome.fact->name,
                   outcome.fact->what, outcome.message.empty() ? "" : "\n          " + outcome.message);
    }
    for (const SelfTest::Verdict& verdict : test.templates) {
        if (verdict.failed.empty()) {
            fmt::print("  {} may be used: {} facts needed, all hold\n", verdict.name, verdict.needs.size());
        } else {
            fmt::print("  {} is REFUSED: it needs {}\n", verdict.name, fmt::join(verdict.failed, ", "));
        }
    }
}

ExitCode doctor(const CommonOptions& common, bool with_self_test) {
    const ContextOptions options = ContextOptions::from_environment();
    const std::string device = common.device.empty() ? "auto" : common.device;
    const Library gpu = look(device == "sim" ? "auto" : device, options.hip_library);
    const Library simulator = look("sim", "");

    jit::ToolchainReport toolchain;
    const std::unique_ptr<jit::Assembler> assembler = jit::make_assembler(options.comgr_library, &toolchain);
    const std::unique_ptr<jit::Assembler> llvm = jit::make_llvm_assembler();

    cache::Cache cache({.user_dir = call::user_cache_dir(options), .read_only = options.cache_layers});
    const std::vector<cache::Statistics> layers = cache.statistics();

    std::vector<Finding> problems = diagnose(device, gpu, simulator, toolchain.chosen, layers);
    const bool on_simulator = device == "sim" || (device == "auto" && !gpu.why_unusable.empty());
    const std::string runs_on = !problems.empty() && problems.front().code == ExitCode::no_device ? "nothing"
                                : on_simulator ? "simulator"
                                               : "gpu";
    std::optional<SelfTest> test;
    if (with_self_test && assembler && runs_on != "nothing") {
        test = self_test(on_simulator ? "sim" : device, device_ordinal(common), *assembler, options);
        if (!test->held()) {
            problems.push_back({"the device does not do what zyfa's kernels take for granted",
                                "do not use the refused templates there; please report the facts that failed",
                                ExitCode::check_failed});
        }
    } else if (with_self_test) {
        problems.push_back(
            {"the self-test needs a device and an assembler", "see above", ExitCode::no_device});
    }
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
        if (test) {
            json["selftest"] = in_json(*test);
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
        if (test) {
            print(*test);
        }
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
    const std::shared_ptr<bool> with_self_test = std::make_shared<bool>(false);
    command->add_flag("--selftest", *with_self_test,
                      "Try on the device what the kernels take for granted; refuse templates where it fails");
    add_common_flags(*command, invocation.common);
    command->callback([&invocation, with_self_test] {
        invocation.action = [&invocation, with_self_test] {
            return doctor(invocation.common, *with_self_test);
        };
    });
}

} // namespace zyfa::cli
