// SPDX-License-Identifier: Apache-2.0
// The cross product, the tasks, and the plan's text.
//
// FORMAT of plan.jsonl: a line with what holds for the whole plan, then one line per task, each a JSON
// object.
#include "sweep/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/digest.hpp"
#include "core/keys.hpp"
#include "sweep/json_fields.hpp"
#include "sweep/problem_json.hpp"
#include "templates/template.hpp"
#include "tuner/representative.hpp"

namespace zyfa::sweep {

namespace {

constexpr const char* plan_format = "zyfa-sweep-plan/1";
constexpr std::size_t key_digits = 24;

bool matches(const Exclusion& exclusion, const Wanted& wanted, std::int64_t tensor_parallel) {
    const Problem& problem = wanted.problem;
    const auto within = [](const std::optional<Range>& range, std::int64_t value) {
        return !range || range->contains(value);
    };
    return (!exclusion.model || *exclusion.model == wanted.model) &&
           (!exclusion.dtype || *exclusion.dtype == problem.dtype) &&
           (!exclusion.mask || *exclusion.mask == problem.mask) &&
           within(exclusion.tensor_parallel, tensor_parallel) && within(exclusion.batch, problem.batch) &&
           within(exclusion.seq_q, problem.seq_q) && within(exclusion.seq_kv, problem.seq_kv) &&
           within(exclusion.heads_q, problem.heads_q);
}

/// Why nothing here computes the problem, or empty.
std::string refusal(const Problem& problem) {
    try {
        templates::template_for(problem);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

/// A model's heads on one of `degree` GPUs. Fewer key-value heads than GPUs are replicated.
struct Split {
    std::int64_t heads_q = 0, heads_kv = 0;
    std::string problem; ///< why it cannot be split so
};
Split split(const Model& model, std::int64_t degree) {
    const std::string parts = std::to_string(degree) + " GPUs";
    if (model.heads_q % degree != 0)
        return {0, 0, std::to_string(model.heads_q) + " query heads cannot be split over " + parts};
    if (model.heads_kv % degree != 0 && degree % model.heads_kv != 0)
        return {0, 0, std::to_string(model.heads_kv) + " key-value heads cannot be split over " + parts};
    return {model.heads_q / degree, std::max<std::int64_t>(1, model.heads_kv / degree), ""};
}

class Expander {
  public:
    Expander(const Spec& spec, Expansion& result) : spec_(spec), result_(result) {}

    void add(const Model& model) {
        for (const std::int64_t degree : model.tensor_parallel) {
            const Split heads = split(model, degree);
            if (!heads.problem.empty()) {
                result_.refused.push_back(
                    {model.name + ", tensor parallel " + std::to_string(degree), heads.problem});
                continue;
            }
            for (const std::int64_t batch : model.batches)
                for (const Lengths& lengths : model.contexts)
                    add(model, degree, heads, batch, lengths);
        }
    }

  private:
    void add(const Model& model, std::int64_t degree, const Split& heads, std::int64_t batch,
             const Lengths& lengths) {
        for (const DType dtype : model.dtypes)
            for (const Mask mask : model.masks)
                for (const Problem::Layout layout : model.layouts)
                    for (const bool lse : model.lse)
                        for (const Probability probability : model.probabilities) {
                            Wanted wanted{Problem::contiguous(dtype, batch, heads.heads_q, heads.heads_kv,
                                                              lengths.q, lengths.kv, model.dim_qk,
                                                              model.dim_v, mask, layout, lse),
                                          model.name, model.layers};
                            if (dtype != DType::bf16) // BF16 ignores it
                                wanted.problem.probability = probability;
                            add(std::move(wanted), degree);
                        }
    }

    void add(Wanted wanted, std::int64_t degree) {
        for (const Exclusion& exclusion : spec_.exclusions)
            if (matches(exclusion, wanted, degree)) {
                result_.excluded.push_back({to_string(wanted.problem), exclusion.reason});
                return;
            }
        if (std::string why = refusal(wanted.problem); !why.empty())
            result_.refused.push_back({to_string(wanted.problem), std::move(why)});
        else
            result_.wanted.push_back(std::move(wanted));
    }

    const Spec& spec_;
    Expansion& result_;
};

/// Everything that a measurement depends on beside problem and site.
std::string candidate_set(const Spec& spec, const Task& task) {
    std::string text = task.template_name + "\n";
    if (spec.candidates.empty()) {
        for (const templates::ParameterSpec& axis :
             templates::template_named(task.template_name).space(task.problem)) {
            text += axis.name + "=";
            for (const ParameterValue& value : axis.grid)
                text += to_string(value) + ",";
            text += "\n";
        }
    } else {
        for (const Schedule& schedule : spec.candidates)
            if (schedule.template_name == task.template_name)
                text += schedule.canonical() + "\n";
    }
    text +=
        Json{spec.tuning.budget_s, spec.tuning.gate_rows,    spec.tuning.repeats,          spec.tuning.tie,
             spec.tuning.policy,   spec.agreement.finalists, to_string(spec.distribution), spec.seed}
            .dump();
    for (const std::string& layer : task.layers)
        text += "\n" + layer;
    return text;
}

std::uint64_t count_schedules(const Spec& spec, const Task& task) {
    if (!spec.candidates.empty())
        return 1 + static_cast<std::uint64_t>(
                       std::count_if(spec.candidates.begin(), spec.candidates.end(), [&](const Schedule& s) {
                           return s.template_name == task.template_name;
                       }));
    std::uint64_t count = 1;
    for (const templates::ParameterSpec& axis :
         templates::template_named(task.template_name).space(task.problem))
        count *= std::max<std::size_t>(axis.grid.size(), 1);
    return count;
}

void drop_unfit_layers(Task& task, const LayerFits& fits, std::vector<LeftOut>& drawn) {
    if (!fits || task.layers.empty())
        return;
    std::string why;
    std::erase_if(task.layers, [&](const std::string& layer) {
        const std::string reason = fits(layer, task.problem);
        if (!reason.empty() && why.empty())
            why = layer + " " + reason;
        return !reason.empty();
    });
    if (task.layers.empty())
        drawn.push_back({to_string(task.problem), why});
}

Json left_out_json(const std::vector<LeftOut>& list) {
    Json json = Json::array();
    for (const LeftOut& entry : list)
        json.push_back({entry.problem, entry.reason});
    return json;
}

std::vector<LeftOut> left_out_from(const Json& json) {
    std::vector<LeftOut> list;
    for (const Json& entry : json)
        list.push_back({entry.at(0).get<std::string>(), entry.at(1).get<std::string>()});
    return list;
}

} // namespace

Expansion expand(const Spec& spec) {
    Expansion result;
    Expander expander(spec, result);
    for (const Model& model : spec.models)
        expander.add(model);
    return result;
}

double Plan::search_cost(const Task& task) const {
    return task.cost * static_cast<double>(task.schedules);
}

double Plan::confirm_cost(const Task& task) const {
    return task.cost *
           static_cast<double>(std::min<std::uint64_t>(spec.agreement.finalists + 1, task.schedules));
}

Plan make_plan(const Spec& spec, std::string id, std::uint64_t unix_time, const LayerFits& fits) {
    Plan plan;
    plan.id = std::move(id);
    plan.spec = spec;
    plan.version = ZYFA_VERSION;
    plan.unix_time = unix_time;
    Expansion expansion = expand(spec);
    plan.excluded = std::move(expansion.excluded);
    plan.refused = std::move(expansion.refused);
    plan.problems = expansion.wanted.size();

    // Problems with one winner key, whatever the device: the one with the most work is measured.
    std::map<std::string, Task> by_winner;
    for (Wanted& wanted : expansion.wanted) {
        Task task;
        task.cost = tuner::scores(wanted.problem);
        task.problem = wanted.problem;
        task.model = std::move(wanted.model);
        task.layers = std::move(wanted.layers);
        const auto [place, fresh] =
            by_winner.try_emplace(winner_key(task.problem, DeviceIdentity{}).canonical());
        Task& present = place->second;
        if (fresh) {
            present = std::move(task);
        } else if (!(present.problem == task.problem)) {
            if (task.cost > present.cost) {
                std::swap(present, task);
                present.covers = std::move(task.covers);
            }
            present.covers.push_back(to_string(task.problem));
        }
    }
    for (auto& [winner, task] : by_winner) {
        task.template_name = templates::template_for(task.problem).name();
        task.schedules = count_schedules(spec, task);
        drop_unfit_layers(task, fits, plan.drawn);
        std::sort(task.covers.begin(), task.covers.end());
        task.covers.erase(std::unique(task.covers.begin(), task.covers.end()), task.covers.end());
        task.key = digest("zyfa-sweep-task/1\n" + problem_json(task.problem).dump() + "\n" +
                          candidate_set(spec, task))
                       .hex()
                       .substr(0, key_digits);
        plan.tasks.push_back(std::move(task));
    }
    if (plan.tasks.empty())
        throw Error(ErrorCode::invalid_argument, "sweep.json",
                    "nothing is left to tune: " + std::to_string(plan.excluded.size()) + " excluded, " +
                        std::to_string(plan.refused.size()) + " refused" +
                        (plan.refused.empty() ? "" : "; the first: " + plan.refused.front().reason));
    std::sort(plan.tasks.begin(), plan.tasks.end(), [&](const Task& a, const Task& b) {
        return std::tuple(-plan.search_cost(a), a.key) < std::tuple(-plan.search_cost(b), b.key);
    });
    return plan;
}

std::string to_text(const Plan& plan) {
    Json head{{"format", plan_format},
              {"id", plan.id},
              {"zyfa", plan.version},
              {"unix_time", plan.unix_time},
              {"problems", plan.problems},
              {"tasks", plan.tasks.size()},
              {"excluded", left_out_json(plan.excluded)},
              {"refused", left_out_json(plan.refused)},
              {"drawn", left_out_json(plan.drawn)},
              {"sweep", Json::parse(to_json(plan.spec))}};
    std::string text = dump(head) + "\n";
    for (const Task& task : plan.tasks) {
        Json line{
            {"key", task.key},       {"problem", problem_json(task.problem)}, {"model", task.model},
            {"covers", task.covers}, {"template", task.template_name},        {"schedules", task.schedules},
            {"cost", task.cost}};
        if (!task.layers.empty())
            line["layers"] = task.layers;
        text += dump(line) + "\n";
    }
    return text;
}

Plan parse_plan(std::string_view text) {
    const auto malformed = [](const std::string& why) {
        return Error(ErrorCode::invalid_argument, "plan.jsonl", "plan.jsonl is malformed: " + why);
    };
    Plan plan;
    std::size_t line = 0, tasks = 0;
    try {
        for (std::size_t from = 0; from < text.size(); ++line) {
            const std::size_t to = std::min(text.find('\n', from), text.size());
            const Json json = Json::parse(text.substr(from, to - from));
            from = to + 1;
            if (line == 0) {
                if (json.at("format") != plan_format)
                    throw malformed("format " + json.at("format").dump());
                json.at("id").get_to(plan.id);
                json.at("zyfa").get_to(plan.version);
                json.at("unix_time").get_to(plan.unix_time);
                json.at("problems").get_to(plan.problems);
                json.at("tasks").get_to(tasks);
                plan.excluded = left_out_from(json.at("excluded"));
                plan.refused = left_out_from(json.at("refused"));
                plan.drawn = left_out_from(json.at("drawn"));
                plan.spec = parse_spec(json.at("sweep").dump());
                plan.tasks.reserve(std::min<std::size_t>(tasks, text.size() / 64));
                continue;
            }
            Task task;
            json.at("key").get_to(task.key);
            task.problem = problem_from_json(json.at("problem"));
            json.at("model").get_to(task.model);
            json.at("covers").get_to(task.covers);
            json.at("template").get_to(task.template_name);
            json.at("schedules").get_to(task.schedules);
            json.at("cost").get_to(task.cost);
            if (json.contains("layers"))
                json.at("layers").get_to(task.layers);
            plan.tasks.push_back(std::move(task));
        }
    } catch (const Json::exception& error) {
        throw malformed("line " + std::to_string(line + 1) + ": " + error.what());
    }
    if (line == 0 || plan.tasks.size() != tasks)
        throw malformed(std::to_string(plan.tasks.size()) + " tasks of " + std::to_string(tasks));
    return plan;
}

} // namespace zyfa::sweep
