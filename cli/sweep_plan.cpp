// SPDX-License-Identifier: Apache-2.0
// zyfa sweep init|plan: from a model to a sweep, from a sweep to tasks in a shared folder.
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/problem_flags.hpp"
#include "cli/sweep_commands.hpp"
#include "cli/sweep_layers.hpp"
#include "sweep/spec.hpp"

namespace zyfa::cli {

namespace {

struct InitFlags {
    std::string config, output;
    sweep::ModelOptions model;
    std::vector<std::string> dtypes{"bf16", "fp8"}, layouts{"bshd"};
};

struct PlanFlags {
    std::string file, folder;
    bool update = false, dry_run = false;
};

std::string read_text(const std::string& path) {
    const std::vector<std::byte> bytes = read_file(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ExitCode init(const CommonOptions& common, InitFlags flags) {
    flags.model.dtypes.clear();
    for (const std::string& name : flags.dtypes) {
        ProblemFlags one;
        one.dtype = name;
        flags.model.dtypes.push_back(dtype_from(one));
    }
    flags.model.layouts.clear();
    for (const std::string& name : flags.layouts) {
        ProblemFlags one;
        one.layout = name;
        flags.model.layouts.push_back(layout_from(one));
    }
    const sweep::Spec spec = sweep::spec_for_model(read_text(flags.config), flags.model);
    const std::string text = sweep::to_json(spec);
    if (flags.output.empty()) {
        fmt::print("{}", text);
        return ExitCode::ok;
    }
    write_file(flags.output, std::string_view(text));
    const sweep::Expansion expansion = sweep::expand(spec);
    if (common.json) {
        fmt::print("{}\n", nlohmann::ordered_json{{"file", flags.output},
                                                  {"problems", expansion.wanted.size()},
                                                  {"refused", expansion.refused.size()}}
                               .dump(2));
        return ExitCode::ok;
    }
    fmt::print("{}: {}, {} refused\n", flags.output, counted(expansion.wanted.size(), "problem"),
               expansion.refused.size());
    return ExitCode::ok;
}

std::string random_id() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", static_cast<std::uint32_t>(random()),
                       static_cast<std::uint32_t>(random()));
}

nlohmann::ordered_json left_out_json(const std::vector<sweep::LeftOut>& list) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const sweep::LeftOut& entry : list) {
        json.push_back({{"problem", entry.problem}, {"reason", entry.reason}});
    }
    return json;
}

void print_plan(const sweep::Plan& plan, const std::string& where) {
    Facts facts(plan.spec.name);
    facts.add("problems", fmt::format("{}, in {}", plan.problems, counted(plan.tasks.size(), "task")));
    facts.add("refused", std::to_string(plan.refused.size()));
    if (!plan.refused.empty()) {
        facts.add("  the first", plan.refused.front().problem + ": " + plan.refused.front().reason);
    }
    facts.add("excluded", std::to_string(plan.excluded.size()));
    if (!plan.drawn.empty()) {
        facts.add("drawn data", fmt::format("{}, which no captured layer fits; the first: {} {}",
                                            counted(plan.drawn.size(), "task"), plan.drawn.front().problem,
                                            plan.drawn.front().reason));
    }
    facts.add("folder", where);
    facts.print();
}

ExitCode make_plan(const CommonOptions& common, const PlanFlags& flags) {
    sweep::Spec spec = sweep::parse_spec(read_text(flags.file));
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    sweep::Plan plan;
    std::string where = "none: a dry run";
    if (flags.dry_run) {
        plan = sweep::make_plan(spec, random_id(), now);
    } else {
        if (flags.folder.empty()) {
            throw Error(ErrorCode::invalid_argument, "--folder",
                        "--folder is missing; it has to be a folder that all nodes share");
        }
        const sweep::Folder folder = sweep::Folder::create(flags.folder);
        copy_layers(spec, folder);
        plan = sweep::make_plan(spec, random_id(), now, layer_fits(folder));
        folder.write_plan(plan, flags.update);
        where = fmt::format("{} on {}", folder.path(), folder.file_system());
        if (folder.file_system().ends_with("(local)")) {
            note(
                fmt::format("{} is on a file system of this machine ({}); nodes that do not see it refuse to "
                            "run",
                            folder.path(), folder.file_system()));
        }
    }
    if (!common.json) {
        print_plan(plan, where);
        return ExitCode::ok;
    }
    nlohmann::ordered_json json{{"name", plan.spec.name},
                                {"id", plan.id},
                                {"problems", plan.problems},
                                {"excluded", left_out_json(plan.excluded)},
                                {"refused", left_out_json(plan.refused)},
                                {"drawn", left_out_json(plan.drawn)},
                                {"tasks", nlohmann::ordered_json::array()}};
    for (const sweep::Task& task : plan.tasks) {
        json["tasks"].push_back({{"key", task.key},
                                 {"problem", to_string(task.problem)},
                                 {"model", task.model},
                                 {"template", task.template_name},
                                 {"schedules", task.schedules},
                                 {"layers", task.layers},
                                 {"covers", task.covers}});
    }
    fmt::print("{}\n", json.dump(2));
    return ExitCode::ok;
}

} // namespace

void add_sweep_plan(CLI::App& sweep, Invocation& invocation) {
    CLI::App* command = sweep.add_subcommand("init", "Write a sweep.json for a model");
    const auto init_flags = std::make_shared<InitFlags>();
    command->add_option("--config", init_flags->config, "The model's config.json")
        ->required()
        ->type_name("FILE");
    command->add_option("-o,--output", init_flags->output, "Default: stdout")->type_name("FILE");
    command->add_option("--name", init_flags->model.name, "Default: the configuration's")->type_name("NAME");
    command
        ->add_option("--tensor-parallel", init_flags->model.tensor_parallel,
                     "Over how many GPUs heads are split; default: 1, 2, 4, 8 as far as they can be")
        ->delimiter(',')
        ->type_name("N,...");
    command
        ->add_option("--contexts", init_flags->model.contexts,
                     "Context lengths; default: powers of two from 256 to the longest")
        ->delimiter(',')
        ->type_name("N,...");
    command->add_option("--longest", init_flags->model.longest, "Longest context; default: the model's")
        ->type_name("N");
    command->add_option("--batches", init_flags->model.batches, "Batch sizes; default: 1")
        ->delimiter(',')
        ->type_name("N,...");
    command->add_option("--dtypes", init_flags->dtypes, "Default: bf16,fp8")
        ->delimiter(',')
        ->type_name("NAME,...");
    command->add_option("--layouts", init_flags->layouts, "Default: bshd")
        ->delimiter(',')
        ->type_name("NAME,...");
    command
        ->add_option("--layer", init_flags->model.layers,
                     "safetensors file with captured q, k, v to tune on (may be repeated)")
        ->type_name("FILE");
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, init_flags] {
        invocation.action = [&invocation, init_flags] { return init(invocation.common, *init_flags); };
    });

    command = sweep.add_subcommand("plan", "Expand a sweep.json to tasks, in a folder that all nodes share");
    const auto plan_flags = std::make_shared<PlanFlags>();
    command->add_option("sweep", plan_flags->file, "sweep.json (docs/sweeps.md)")
        ->required()
        ->type_name("FILE");
    command->add_option("--folder", plan_flags->folder, "The shared folder; made if it is not there")
        ->type_name("DIR");
    command->add_flag("--update", plan_flags->update,
                      "Replace the folder's plan; what was measured for tasks that stay the same is kept");
    command->add_flag("--dry-run", plan_flags->dry_run, "Expand only; captured layers are not read");
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, plan_flags] {
        invocation.action = [&invocation, plan_flags] { return make_plan(invocation.common, *plan_flags); };
    });
}

} // namespace zyfa::cli
