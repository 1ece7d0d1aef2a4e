// SPDX-License-Identifier: Apache-2.0
// zyfa asm: the assembly of a problem and a schedule; on request the code object, and the launch file with
// which `zyfa simulate` runs it.
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/problem_flags.hpp"
#include "cli/schedule_flags.hpp"
#include "cli/shape_json.hpp"
#include "core/keys.hpp"
#include "jit/assembler.hpp"
#include "templates/template.hpp"
#include "tuner/guarded_tensor.hpp"

namespace zyfa::cli {

namespace {

constexpr double gaussian_sd = 0.1; // the paper's Gaussian inputs, Section V-B

struct AsmFlags {
    ProblemFlags problem;
    ScheduleFlags schedule;
    std::string output, object, launch;
    std::uint32_t compute_units = templates::DeviceShape{}.compute_units;
};

/// The check against fp64. The limits leave room for any schedule; `zyfa check` holds a kernel closer.
nlohmann::ordered_json attention_json(const Problem& problem) {
    const auto tensor = [](const char* name, const Strides& strides) {
        return nlohmann::ordered_json{{"buffer", name},
                                      {"strides", {strides.batch, strides.head, strides.seq}}};
    };
    const bool fp8 = problem.dtype == DType::e4m3;
    nlohmann::ordered_json json = shape_json(problem);
    json.update({{"softmax_scale", problem.softmax_scale},
                 {"q", tensor("q", problem.q)},
                 {"k", tensor("k", problem.k)},
                 {"v", tensor("v", problem.v)},
                 {"o", tensor("o", problem.o)},
                 {"relative_rms", fp8 ? 0.04 : 0.005}});
    if (problem.lse) {
        json["lse"] = {{"buffer", "lse"}, {"strides", {problem.lse_batch_stride, problem.lse_head_stride}}};
        json["lse_max_abs"] = fp8 ? 0.07 : 1e-4; // lean P: the row sum is of rounded p, half of 1/8 at most
    }
    return json;
}

/// The plan as a launch file: constants as they are, what varies per call as buffers and scales. BF16 or e4m3
/// input is drawn by the launch file's own generator.
nlohmann::ordered_json launch_json(const Problem& problem, const templates::LaunchPlan& plan) {
    using templates::KernargField;
    const char* type = problem.dtype == DType::e4m3 ? "e4m3" : "bf16";
    const auto input = [&](const tuner::TensorLayout& layout, int seed) {
        return nlohmann::ordered_json{
            {"size", layout.extent_bytes()},
            {"generator", {{"kind", "gaussian"}, {"type", type}, {"seed", seed}, {"sd", gaussian_sd}}}};
    };
    nlohmann::ordered_json json{
        {"kernel", plan.kernel},
        {"grid", plan.grid},
        {"block", plan.block},
        {"dynamic_lds", plan.dynamic_lds},
        {"kernargs", nlohmann::ordered_json::array()},
        {"buffers",
         {{"q", input(tuner::layout_q(problem), 1)},
          {"k", input(tuner::layout_k(problem), 2)},
          {"v", input(tuner::layout_v(problem), 3)},
          {"o", {{"size", tuner::layout_o(problem).extent_bytes()}, {"fill", 255}}}}},
        {"outputs", {{{"buffer", "o"}, {"file", "o.bin"}, {"type", "bf16"}, {"print", 4}}}}};
    if (problem.lse) {
        json["buffers"]["lse"] = {{"size", tuner::layout_lse(problem).extent_bytes()}, {"fill", 255}};
        json["outputs"].push_back({{"buffer", "lse"}, {"file", "lse.bin"}, {"type", "f32"}, {"print", 4}});
    }
    json["attention"] = attention_json(problem);
    std::string hex;
    for (const std::byte byte : plan.kernarg) {
        hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
    }
    json["kernargs"].push_back({{"type", "hex"}, {"value", hex}, {"offset", 0}});
    for (const templates::KernargPatch& patch : plan.patches) {
        nlohmann::ordered_json argument;
        switch (patch.field) {
        case KernargField::q:
            argument["buffer"] = "q";
            break;
        case KernargField::k:
            argument["buffer"] = "k";
            break;
        case KernargField::v:
            argument["buffer"] = "v";
            break;
        case KernargField::o:
            argument["buffer"] = "o";
            break;
        case KernargField::lse:
            if (problem.lse) {
                argument["buffer"] = "lse";
            } else {
                argument = {{"type", "u64"}, {"value", 0}};
            }
            break;
        case KernargField::workspace:
            argument["buffer"] = "workspace";
            json["buffers"]["workspace"] = {{"size", plan.workspace_bytes}, {"fill", 255}};
            break;
        case KernargField::counters:
            argument["buffer"] = "counters";
            json["buffers"]["counters"] = {{"size", plan.counter_bytes}, {"fill", 0}};
            break;
        case KernargField::score_scale:
            argument = {{"type", "f32"},
                        {"value", problem.softmax_scale * problem.q_descale * problem.k_descale *
                                      std::numbers::log2e_v<float>}};
            break;
        case KernargField::output_scale:
            argument = {{"type", "f32"}, {"value", problem.v_descale}};
            break;
        }
        argument["offset"] = patch.offset;
        json["kernargs"].push_back(std::move(argument));
    }
    return json;
}

ExitCode print_assembly(const CommonOptions& common, const AsmFlags& flags) {
    const Problem problem = problem_from(flags.problem);
    const Schedule schedule = schedule_from(flags.schedule, problem);
    const templates::Template& serving = templates::template_named(schedule.template_name);
    const templates::Kernel kernel = serving.instantiate(classify(problem), schedule);
    templates::DeviceShape shape;
    shape.compute_units = flags.compute_units;
    const templates::LaunchPlan plan = serving.plan(problem, schedule, shape);

    jit::CodeObject code;
    if (!flags.object.empty()) {
        const std::unique_ptr<jit::Assembler> assembler =
            jit::make_assembler(ContextOptions::from_environment().comgr_library);
        if (!assembler) {
            throw Error(ErrorCode::assemble_failed, "--object",
                        "nothing here can assemble for gfx950; `zyfa doctor` says what was looked for");
        }
        code = assembler->assemble(kernel.assembly, kernel.target, kernel.name);
        write_file(flags.object, code.elf);
    }
    if (!flags.output.empty()) {
        write_file(flags.output, kernel.assembly);
    }
    if (!flags.launch.empty()) {
        write_file(flags.launch, launch_json(problem, plan).dump(2) + "\n");
    }
    if (common.json) {
        nlohmann::ordered_json json{
            {"problem", to_string(problem)},
            {"schedule", schedule.canonical()},
            {"kernel",
             {{"name", kernel.name},
              {"target", kernel.target},
              {"workgroup_size", kernel.workgroup_size},
              {"lds_bytes", kernel.lds_bytes},
              {"vgprs", kernel.vgprs},
              {"agprs", kernel.agprs},
              {"sgprs", kernel.sgprs},
              {"kernarg_bytes", kernel.kernarg_bytes}}},
            {"launch", {{"grid", plan.grid}, {"block", plan.block}, {"dynamic_lds", plan.dynamic_lds}}},
            {"toolchain", code.toolchain},
            {"assembly", kernel.assembly}};
        fmt::print("{}\n", json.dump(2));
    } else if (flags.output.empty() && flags.object.empty() && flags.launch.empty()) {
        fmt::print("{}", kernel.assembly);
    } else {
        Facts facts(to_string(problem));
        facts.add("schedule", schedule.canonical())
            .add("kernel", fmt::format("{} for {}: {} VGPRs, {} AGPRs, {} SGPRs, {} LDS", kernel.name,
                                       kernel.target, kernel.vgprs, kernel.agprs, kernel.sgprs,
                                       bytes(kernel.lds_bytes + static_cast<double>(plan.dynamic_lds))))
            .add("launch",
                 fmt::format("grid {} x {} x {}, workgroup {} x {} x {}", plan.grid[0], plan.grid[1],
                             plan.grid[2], plan.block[0], plan.block[1], plan.block[2]));
        if (!flags.output.empty()) {
            facts.add("assembly", flags.output);
        }
        if (!flags.object.empty()) {
            facts.add("object", fmt::format("{} by {}", flags.object, code.toolchain));
        }
        if (!flags.launch.empty()) {
            facts.add("launch file", flags.launch);
        }
        facts.print();
    }
    return ExitCode::ok;
}

} // namespace

void add_asm(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("asm", "The assembly of a problem and schedule, readable");
    const std::shared_ptr<AsmFlags> flags = std::make_shared<AsmFlags>();
    add_json_flag(*command, invocation.common);
    add_problem_flags(*command, flags->problem, InputFlags::without);
    add_schedule_flags(*command, flags->schedule);
    command->add_option("-o,--output", flags->output, "Write the assembly to FILE")->type_name("FILE");
    command->add_option("--object", flags->object, "Assemble and link it, and write the code object to FILE")
        ->type_name("FILE");
    command
        ->add_option("--launch", flags->launch,
                     "Write a launch file on drawn input for `zyfa simulate` to FILE")
        ->type_name("FILE");
    command
        ->add_option(
            "--compute-units", flags->compute_units,
            "Compute units that the launch is laid out for; a persistent kernel has as many workgroups")
        ->check(CLI::Range(1u, 1024u))
        ->capture_default_str();
    command->footer(R"(
Examples
  zyfa asm --seq 4096 --heads-q 8 --heads-kv 2
  zyfa asm --no-causal --tau 8 -o kernel.s
  zyfa asm --seq 512 --object kernel.co --launch launch.json && zyfa simulate kernel.co --launch launch.json)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return print_assembly(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
