// SPDX-License-Identifier: Apache-2.0
// zyfa simulate: one launch of any gfx950 code object, described by LAUNCH.json, through the HIP API of the
// simulator (or of a GPU, with --device N).
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/attention_check.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/launch_file.hpp"
#include "cli/launch_results.hpp"
#include "cli/problem_flags.hpp"
#include "cli/sanitize.hpp"
#include "runtime/runtime.hpp"
#include "sim/hip/zyfa_sim.h"

namespace zyfa::cli {

namespace {

struct SimulateFlags {
    std::string code_object, launch;
    std::vector<std::string> options; ///< of the simulated device, "name=value"
    bool timing = false;
    bool instructions = false;    ///< JSON: of every instruction too
    bool grid = false;            ///< the grid model: time only
    std::string trace;            ///< file, or empty
    std::string picture, listing; ///< files of zyfa trace
    long long from = -1;
    unsigned long long cycles = 4000;
    SanitizeFlags sanitizer;

    /// A trace is of a timed workgroup.
    std::vector<std::string> all_options() const {
        std::vector<std::string> all;
        if (timing || grid || !trace.empty() || !picture.empty() || !listing.empty()) {
            all.push_back("timed_workgroups=1");
        }
        if (!trace.empty() || !picture.empty()) {
            all.push_back("events=1");
        }
        if (grid) {
            all.push_back("grid=1");
        }
        all.insert(all.end(), options.begin(), options.end());
        return all;
    }
};

/// The simulator's own functions; null members on a GPU.
struct Extension {
    explicit Extension(const runtime::Runtime& runtime)
        : set_device(find<decltype(set_device)>(runtime, "zyfaSimSetDevice")),
          last_launch(find<decltype(last_launch)>(runtime, "zyfaSimLastLaunch")),
          last_timing(find<decltype(last_timing)>(runtime, "zyfaSimLastTiming")),
          last_trace(find<decltype(last_trace)>(runtime, "zyfaSimLastTrace")),
          last_picture(find<decltype(last_picture)>(runtime, "zyfaSimLastPicture")),
          last_grid(find<decltype(last_grid)>(runtime, "zyfaSimLastGrid")),
          last_listing(find<decltype(last_listing)>(runtime, "zyfaSimLastListing")) {}

    decltype(&zyfaSimSetDevice) set_device;
    decltype(&zyfaSimLastLaunch) last_launch;
    decltype(&zyfaSimLastTiming) last_timing;
    decltype(&zyfaSimLastTrace) last_trace;
    decltype(&zyfaSimLastPicture) last_picture;
    decltype(&zyfaSimLastGrid) last_grid;
    decltype(&zyfaSimLastListing) last_listing;

  private:
    template <class Function>
    static Function find(const runtime::Runtime& runtime, const char* name) {
        return reinterpret_cast<Function>(runtime.extension(name));
    }
};

void set_options(const Extension& extension, int device, const std::vector<std::string>& options) {
    for (const std::string& option : options) {
        const std::size_t equals = option.find('=');
        if (equals == std::string::npos) {
            throw Error(ErrorCode::invalid_argument, "--sim-option",
                        "'" + option + "'; accepted is NAME=VALUE");
        }
        if (extension.set_device == nullptr) {
            throw Error(ErrorCode::invalid_argument, "--sim-option", "the device is not simulated");
        }
        const char* wrong =
            extension.set_device(device, option.substr(0, equals).c_str(), option.substr(equals + 1).c_str());
        if (wrong != nullptr) {
            throw Error(ErrorCode::invalid_argument, "--sim-option", fmt::format("{}: {}", option, wrong));
        }
    }
}

std::vector<std::byte> kernarg_block(const LaunchFile& launch, const std::map<std::string, Content>& contents,
                                     const std::map<std::string, runtime::DeviceBuffer>& buffers) {
    std::vector<std::byte> block(launch.kernarg_bytes);
    for (const KernargSpec& spec : launch.kernargs) {
        std::vector<std::byte> value = spec.value;
        if (!spec.buffer.empty()) {
            const std::uint64_t address =
                reinterpret_cast<std::uint64_t>(buffers.at(spec.buffer).data()) + spec.buffer_offset;
            std::memcpy(value.data(), &address, sizeof address);
        } else if (!spec.descale_of.empty()) {
            store(ElementType::f32, contents.at(spec.descale_of).descale, value);
        }
        std::copy(value.begin(), value.end(), block.begin() + spec.offset);
    }
    return block;
}

std::vector<OutputResult> collect(const LaunchFile& launch,
                                  const std::map<std::string, runtime::DeviceBuffer>& buffers) {
    std::vector<OutputResult> results;
    for (const OutputSpec& spec : launch.outputs) {
        const runtime::DeviceBuffer& buffer = buffers.at(spec.buffer);
        std::vector<std::byte> content(buffer.size());
        buffer.download(content);
        OutputResult result{.spec = &spec, .size = content.size(), .comparison = {}, .values = {}};
        if (!spec.file.empty()) {
            write_file(spec.file, content);
        }
        if (!spec.equals.empty()) {
            result.comparison = compare(spec, content, read_file(spec.equals));
        }
        const std::size_t step = size_of(spec.type);
        for (std::size_t i = 0; i < std::min<std::size_t>(spec.print, content.size() / step); ++i) {
            result.values.push_back(load(spec.type, std::span(content).subspan(i * step, step)));
        }
        results.push_back(std::move(result));
    }
    return results;
}

std::optional<AttentionResult> attention_result(const LaunchFile& launch,
                                                const std::map<std::string, Content>& contents,
                                                const std::map<std::string, runtime::DeviceBuffer>& buffers) {
    if (!launch.attention) {
        return std::nullopt;
    }
    std::map<std::string, std::vector<std::byte>> outputs;
    for (const TensorPlace* place : {&launch.attention->o, &launch.attention->lse}) {
        if (const auto buffer = buffers.find(place->buffer); buffer != buffers.end()) {
            outputs[place->buffer].resize(buffer->second.size());
            buffer->second.download(outputs[place->buffer]);
        }
    }
    return check_attention(*launch.attention, contents, outputs);
}

/// Of one SIMD and cycle (paper Table I: 2.5 and 5.0 PFLOP/s at 2.4 GHz on 1024 SIMDs).
double matrix_flops(DType dtype) {
    return dtype == DType::bf16 ? 1024 : 2048;
}

/// Of a launch that did not come to its end under the sanitizer.
ExitCode stopped(const CommonOptions& common, const std::string& kernel, const Error& error,
                 const Sanitizing& sanitizing) {
    if (common.json) {
        const nlohmann::ordered_json json{{"result", "fault"},
                                          {"kernel", kernel},
                                          {"error", error.what()},
                                          {"sanitizer", nlohmann::ordered_json::parse(sanitizing.json())}};
        fmt::print("{}\n", json.dump(2));
    } else {
        fmt::print("{}", sanitizing.text());
    }
    return ExitCode::check_failed;
}

ExitCode simulate(const CommonOptions& common, const SimulateFlags& flags) {
    const std::vector<std::byte> text = read_file(flags.launch);
    const LaunchFile launch =
        parse_launch(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()),
                     std::filesystem::path(flags.launch).parent_path().string());
    std::vector<std::byte> elf = read_file(flags.code_object);

    const std::shared_ptr<runtime::Runtime> runtime =
        runtime::Runtime::open(common.device, ContextOptions::from_environment().hip_library);
    const int device = device_ordinal(common);
    const Extension extension(*runtime);
    set_options(extension, device, flags.all_options());
    const Sanitizing sanitizing(*runtime, device, flags.sanitizer);
    std::map<std::string, runtime::DeviceBuffer> buffers;
    const std::map<std::string, Content> contents = initial_contents(launch);
    for (const auto& [name, content] : contents) {
        buffers.emplace(name, runtime::DeviceBuffer(runtime, device, content.bytes.size()))
            .first->second.upload(content.bytes);
    }
    std::vector<std::byte> kernarg = kernarg_block(launch, contents, buffers);

    const runtime::DeviceGuard guard(*runtime, device);
    const runtime::Module module(runtime, device, std::move(elf));
    void* function = module.function(launch.kernel);
    const runtime::Stream stream(runtime, device);
    runtime::Event start(runtime, device), stop(runtime, device);
    start.record(stream.handle());
    runtime::launch(*runtime, function, launch.grid, launch.block, launch.dynamic_lds, stream.handle(),
                    kernarg);
    stop.record(stream.handle());
    try {
        stream.synchronize();
    } catch (const Error& error) {
        if (!sanitizing) {
            throw;
        }
        return stopped(common, launch.kernel, error, sanitizing); // the fault is one of its findings
    }
    const double kernel_ms = runtime::Event::elapsed_ms(start, stop);
    zyfaSimLaunch model{};
    const bool modelled = extension.last_launch != nullptr && extension.last_launch(device, &model) == 0;

    // Of attention: the matrix cycles of the paper's formula (1) over those that went by where the launch has
    // workgroups; multiplying masked blocks and waiting both lower it.
    std::optional<double> useful;
    if (modelled && launch.attention && model.cycles > 0) {
        const std::uint64_t workgroups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
        const runtime::DeviceInfo& info = runtime->devices().at(static_cast<std::size_t>(device));
        const auto units = static_cast<double>(std::min<std::uint64_t>(workgroups, info.compute_units));
        useful = flops(launch.attention->problem) /
                 (matrix_flops(launch.attention->problem.dtype) * 4 * units * model.cycles);
    }

    // The first timed workgroup's report; null where none was asked for.
    nlohmann::ordered_json timing;
    if (const char* reports = flags.timing && extension.last_timing != nullptr
                                  ? extension.last_timing(device, flags.instructions ? 1 : 0)
                                  : nullptr) {
        timing = nlohmann::ordered_json::parse(reports).at(0);
    }
    nlohmann::ordered_json grid;
    if (const char* report =
            flags.grid && extension.last_grid != nullptr ? extension.last_grid(device) : nullptr) {
        grid = nlohmann::ordered_json::parse(report);
    }
    const auto write_report = [](const std::string& file, const char* flag, const char* report) {
        if (report == nullptr) {
            throw Error(ErrorCode::device_error, flag, "the simulator kept no trace of this launch");
        }
        write_file(file, std::string_view(report));
    };
    if (!flags.trace.empty()) {
        write_report(flags.trace, "--trace",
                     extension.last_trace != nullptr ? extension.last_trace(device) : nullptr);
    }
    if (!flags.picture.empty()) {
        write_report(flags.picture, "--svg",
                     extension.last_picture != nullptr
                         ? extension.last_picture(device, flags.from, flags.cycles)
                         : nullptr);
    }
    if (!flags.listing.empty()) {
        write_report(flags.listing, "--listing",
                     extension.last_listing != nullptr ? extension.last_listing(device) : nullptr);
    }

    std::vector<OutputResult> outputs;
    std::optional<AttentionResult> attention;
    if (!flags.grid) { // the grid model computes nothing
        outputs = collect(launch, buffers);
        attention = attention_result(launch, contents, buffers);
    }
    const bool passed = (!attention || attention->passed) &&
                        std::all_of(outputs.begin(), outputs.end(), [](const OutputResult& output) {
                            return !output.comparison || output.comparison->passed;
                        });
    if (common.json) {
        nlohmann::ordered_json json{
            {"result", passed ? "ok" : "differs"},
            {"kernel", launch.kernel},
            {"simulated", runtime->simulated()},
            {"kernel_ms", kernel_ms},
            {"instructions", model.instructions},
            {"timing",
             {{"cycles", model.cycles},
              {"clock_ghz", model.seconds > 0 ? model.cycles / model.seconds / 1e9 : 0}}},
            {"outputs", nlohmann::ordered_json::array()}};
        if (!timing.is_null()) { // figures of one workgroup; the launch's own cycles stay
            for (const char* member :
                 {"matrix_busy", "idle_beside_softmax", "activity", "pipes", "phase_cycles", "stalls", "late",
                  "complete", "waves", "between_barriers"}) {
                json["timing"][member] = timing.at(member);
            }
            json["timing"]["workgroup"] = {{"number", timing.at("workgroup")},
                                           {"cycles", timing.at("cycles")}};
            if (flags.instructions) {
                json["timing"]["instructions"] = timing.at("instructions");
            }
        }
        if (useful) {
            json["timing"]["useful"] = *useful;
        }
        if (!grid.is_null()) {
            json["grid"] = grid;
        }
        if (!modelled) {
            json["instructions"] = nullptr;
            json["timing"] = nullptr;
        }
        if (sanitizing) {
            json["sanitizer"] = nlohmann::ordered_json::parse(sanitizing.json());
        }
        if (attention) {
            json["attention"] = in_json(*launch.attention, *attention);
        }
        for (const OutputResult& output : outputs) {
            json["outputs"].push_back(in_json(output));
        }
        fmt::print("{}\n", json.dump(2));
    } else {
        Facts facts(fmt::format("{} in {}", launch.kernel, flags.code_object));
        facts
            .add("launch",
                 fmt::format("grid {} x {} x {}, block {} x {} x {}, {} dynamic LDS, {} kernarg bytes",
                             launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
                             launch.block[2], bytes(launch.dynamic_lds), kernarg.size()))
            .add("time", milliseconds(kernel_ms) + (runtime->simulated() ? " simulated" : ""));
        if (modelled) {
            facts.add("model", fmt::format("{:.0f} cycles at {:.2f} GHz, {} wave instructions", model.cycles,
                                           model.seconds > 0 ? model.cycles / model.seconds / 1e9 : 0.0,
                                           model.instructions));
        }
        if (!timing.is_null()) {
            const nlohmann::ordered_json& busy = timing.at("matrix_busy");
            const std::string steady =
                busy.at("steady").is_null()
                    ? "has no tile long enough for a steady state"
                    : fmt::format("busy {:.1f}% in steady state (phases of {:.0f} cycles)",
                                  100 * busy.at("steady").get<double>(),
                                  timing.at("phase_cycles").get<double>());
            facts.add("workgroup",
                      fmt::format(
                          "{} took {} cycles (simulated){}; matrix pipe {}, busy {:.1f}% over the whole loop",
                          timing.at("workgroup").get<std::uint64_t>(),
                          timing.at("cycles").get<std::uint64_t>(),
                          timing.at("complete").get<bool>() ? "" : " until the measurement stopped", steady,
                          100 * busy.at("whole_loop").get<double>()));
            const nlohmann::ordered_json& activity = timing.at("activity");
            const auto share = [&](const char* pipe) { return 100 * activity.at(pipe).get<double>(); };
            const auto load = [&](const char* part) { return activity.at("load").at(part).get<double>(); };
            facts.add("clock",
                      fmt::format(
                          "{:.2f} GHz if all compute units did this for seconds (within {:.1f}% of published "
                          "clocks); of the current limit: {:.2f} always, {:.2f} matrix ({:.0f}% busy), "
                          "{:.2f} vector ({:.0f}%), {:.2f} LDS ({:.0f}%)",
                          activity.at("clock_ghz").get<double>(),
                          100 * activity.at("clock_model").at("held_out_error").get<double>(), load("base"),
                          load("matrix"), share("matrix"), load("vector"), share("vector"), load("lds"),
                          share("lds")));
        }
        if (useful) {
            facts.add("useful",
                      fmt::format("{:.1f}% of the matrix pipes' cycles, where the launch has workgroups, "
                                  "are operations that attention needs",
                                  100 * *useful));
        }
        if (!grid.is_null()) {
            facts.add(
                "grid",
                fmt::format(
                    "{} workgroups; {:.1f}% of {} lines hit L2, {} came from HBM; {:.1f}% slower "
                    "than without waits for memory. {}",
                    grid.at("workgroups").get<std::uint64_t>(), 100 * grid.at("l2_hit_share").get<double>(),
                    grid.at("lines").get<std::uint64_t>(), bytes(grid.at("hbm_bytes").get<double>()),
                    100 * (grid.at("cycles").get<double>() / grid.at("compute_cycles").get<double>() - 1),
                    grid.at("executed_whole").get<std::string>().empty()
                        ? "Outputs hold no results."
                        : fmt::format("The kernel ran as a whole, because of {}.",
                                      grid.at("executed_whole").get<std::string>())));
        }
        if (!flags.trace.empty()) {
            facts.add("trace", flags.trace + " (open it in ui.perfetto.dev)");
        }
        if (!flags.picture.empty()) {
            facts.add("picture", flags.picture);
        }
        if (!flags.listing.empty()) {
            facts.add("listing", flags.listing);
        }
        if (attention) {
            facts.add("attention", in_words(*launch.attention, *attention));
        }
        for (const OutputResult& output : outputs) {
            facts.add(output.spec->buffer, in_words(output));
        }
        facts.print();
        if (sanitizing) {
            fmt::print("{}", sanitizing.text());
        }
    }
    return passed && sanitizing.errors() == 0 ? ExitCode::ok : ExitCode::check_failed;
}

} // namespace

void add_simulate(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("simulate", "Run any gfx950 code object on the simulator");
    const std::shared_ptr<SimulateFlags> flags = std::make_shared<SimulateFlags>();
    command->add_option("code-object", flags->code_object, "ELF for gfx950 (.co, .hsaco)")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--launch", flags->launch, "The launch: kernel, grid, arguments, buffers (docs/cli.md)")
        ->required()
        ->type_name("LAUNCH.json");
    command->add_flag("--timing", flags->timing,
                      "Time one workgroup on the cycle model: pipes, stalls, phases");
    command
        ->add_flag(
            "--instructions", flags->instructions,
            "With --timing and --json: executions, pipe cycles and waits by reason of every instruction")
        ->needs("--timing");
    command->add_flag("--grid", flags->grid,
                      "Time the whole grid by the addresses of all workgroups; outputs hold no results");
    command->add_option("--trace", flags->trace, "Write a Perfetto trace of one workgroup to FILE")
        ->type_name("FILE");
    command
        ->add_option("--sim-option", flags->options,
                     "Option of the simulated device: seed, clock_factor, threads, compute_units, xcds (may "
                     "be repeated)")
        ->type_name("NAME=VALUE");
    add_sanitize_flags(*command, flags->sanitizer);
    command->get_option("--sanitize")->excludes("--grid"); // which computes nothing that could be watched
    add_common_flags(*command, invocation.common);
    command->footer(R"(
Without --device the simulator is meant here.

Example of a LAUNCH.json
  { "kernel": "scale", "grid": [4], "block": [256],
    "kernargs": [ {"buffer": "x"}, {"buffer": "y"}, {"type": "f32", "value": 0.5}, {"type": "u32", "value": 1024} ],
    "buffers": { "x": {"size": 4096, "generator": {"kind": "ramp", "type": "f32"}},
                 "y": {"size": 4096, "fill": 255} },
    "outputs": [ {"buffer": "y", "file": "y.bin", "type": "f32", "print": 8} ] })");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] {
            CommonOptions common = invocation.common;
            if (common.device.empty() || common.device == "auto") {
                common.device = "sim";
            }
            return simulate(common, *flags);
        };
    });
}

void add_trace(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand(
        "trace", "Run a code object with one workgroup on the cycle model and draw its time");
    const std::shared_ptr<SimulateFlags> flags = std::make_shared<SimulateFlags>();
    flags->timing = true;
    flags->trace = "trace.json";
    flags->picture = "trace.svg";
    command->add_option("code-object", flags->code_object, "ELF for gfx950 (.co, .hsaco)")
        ->required()
        ->type_name("FILE");
    command->add_option("--launch", flags->launch, "The launch, as for zyfa simulate")
        ->required()
        ->type_name("LAUNCH.json");
    command
        ->add_option("--out", flags->trace,
                     "Trace for ui.perfetto.dev: waves, pipes, barriers, waits (default trace.json)")
        ->type_name("FILE");
    command->add_option("--svg", flags->picture, "Picture of a window of SIMD 0 (default trace.svg)")
        ->type_name("FILE");
    command->add_option("--listing", flags->listing, "Assembly with executions, cycles waited and why")
        ->type_name("FILE");
    command
        ->add_option("--from", flags->from, "First cycle of the picture (default: the barrier in the middle)")
        ->type_name("CYCLE");
    command->add_option("--cycles", flags->cycles, "Cycles that the picture shows (default 4000)")
        ->type_name("N");
    command->add_option("--sim-option", flags->options, "Option of the simulated device")
        ->type_name("NAME=VALUE");
    add_common_flags(*command, invocation.common);
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] {
            CommonOptions common = invocation.common;
            if (common.device.empty() || common.device == "auto") {
                common.device = "sim";
            }
            return simulate(common, *flags);
        };
    });
}

} // namespace zyfa::cli
