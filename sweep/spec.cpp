// SPDX-License-Identifier: Apache-2.0
// Reading and writing sweep.json.
//
// FORMAT
//   {
//     "format": "zyfa-sweep/1",
//     "name": "llama-3.1-70b",
//     "models": [{
//       "name": "llama-3.1-70b",
//       "heads_q": 64, "heads_kv": 8, "dim_qk": 128, "dim_v": 128,   heads of the whole model
//       "tensor_parallel": [1, 2, 4, 8],
//       "batches": [1],
//       "contexts": [1024, 4096, [512, 8192]],    Sq = Skv, or [Sq, Skv]
//       "dtypes": ["bf16", "fp8"], "masks": ["causal"], "layouts": ["bshd"], "lse": [true],
//       "probabilities": ["automatic"],           fp8 only
//       "layers": ["layer0.safetensors"]          captured q, k, v; absent: drawn
//     }],
//     "exclude": [{"dtype": "fp8", "seq_q": {"min": 65536}, "reason": "..."}],
//     "tuning": {"budget_s": 60, "gate_rows": 48, "repeats": 3, "tie": 0.01, "policy": ""},
//     "candidates": ["bf16_fwd_d128{tau=8.0}"], what differs from the default; absent: the whole space
//     "data": {"distribution": "gaussian", "seed": 1},
//     "agreement": {"sites": 2, "across": "nodes", "finalists": 4, "tolerance": 0.02},
//     "lease_s": 60, "hang_s": 7200
//   }
// A list with one entry may be written without brackets. Everything but format, name, models, a model's heads
// and contexts may be left out.
#include "sweep/spec.hpp"

#include <cmath>

#include "sweep/json_fields.hpp"
#include "sweep/names.hpp"

namespace zyfa::sweep {

namespace {

constexpr const char* format_name = "zyfa-sweep/1";

std::int64_t size_of(const Json& value, const std::string& path) {
    return read_size(value, path);
}

Lengths read_lengths(const Json& value, const std::string& path) {
    if (!value.is_array()) {
        const std::int64_t length = read_size(value, path);
        return {length, length};
    }
    if (value.size() != 2)
        refuse_field(path, value, "a length, or [Sq, Skv]");
    return {read_size(value[0], path + "[0]"), read_size(value[1], path + "[1]")};
}

Range read_range(const Json& value, const std::string& path) {
    if (!value.is_object()) {
        const std::int64_t only = read_size(value, path);
        return {only, only};
    }
    Range range;
    Fields fields(value, path);
    fields.optional("min", range.min, size_of);
    fields.optional("max", range.max, size_of);
    fields.end();
    return range;
}

bool read_flag(const Json& value, const std::string& path) {
    if (!value.is_boolean())
        refuse_field(path, value, "true, false");
    return value.get<bool>();
}

template <class Names>
auto named(const Names& names) {
    return [&names](const Json& value, const std::string& path) { return value_named(names, value, path); };
}

Model read_model(const Json& value, const std::string& path) {
    Model model;
    Fields fields(value, path);
    fields.optional("name", model.name, read_text);
    model.heads_q = read_size(fields.at("heads_q"), fields.path("heads_q"));
    model.heads_kv = model.heads_q;
    fields.optional("heads_kv", model.heads_kv, size_of);
    if (model.heads_q % model.heads_kv != 0)
        refuse_field(fields.path("heads_kv"), model.heads_kv,
                     "a divisor of heads_q, " + std::to_string(model.heads_q));
    fields.optional("dim_qk", model.dim_qk, size_of);
    model.dim_v = model.dim_qk;
    fields.optional("dim_v", model.dim_v, size_of);
    fields.at("contexts");
    fields.list("contexts", model.contexts, read_lengths);
    fields.list("tensor_parallel", model.tensor_parallel, size_of);
    fields.list("batches", model.batches, size_of);
    fields.list("dtypes", model.dtypes, named(dtype_names));
    fields.list("masks", model.masks, named(mask_names));
    fields.list("layouts", model.layouts, named(layout_names));
    fields.list("lse", model.lse, read_flag);
    fields.list("probabilities", model.probabilities, named(probability_names));
    fields.list("layers", model.layers, read_text, true);
    fields.end();
    return model;
}

Exclusion read_exclusion(const Json& value, const std::string& path) {
    Exclusion exclusion;
    Fields fields(value, path);
    fields.optional("model", exclusion.model, read_text);
    fields.optional("dtype", exclusion.dtype, named(dtype_names));
    fields.optional("mask", exclusion.mask, named(mask_names));
    fields.optional("tensor_parallel", exclusion.tensor_parallel, read_range);
    fields.optional("batch", exclusion.batch, read_range);
    fields.optional("seq_q", exclusion.seq_q, read_range);
    fields.optional("seq_kv", exclusion.seq_kv, read_range);
    fields.optional("heads_q", exclusion.heads_q, read_range);
    fields.optional("reason", exclusion.reason, read_text);
    fields.end();
    if (value.size() == (value.contains("reason") ? 1u : 0u))
        refuse_field(path, value, "at least one field that says what is left out");
    return exclusion;
}

Schedule read_schedule(const Json& value, const std::string& path) {
    try {
        return Schedule::parse(read_text(value, path));
    } catch (const Error& error) {
        throw Error(ErrorCode::invalid_argument, path, path + ": " + error.what());
    }
}

std::uint32_t small(const Json& value, const std::string& path) {
    return static_cast<std::uint32_t>(read_size(value, path, 1, 1 << 20));
}

void read_tuning(const Json& value, const std::string& path, Tuning& tuning) {
    Fields fields(value, path);
    const auto seconds = [](const Json& v, const std::string& p) { return read_number(v, p, 0, 1e6); };
    const auto share = [](const Json& v, const std::string& p) { return read_number(v, p, 0, 1); };
    fields.optional("budget_s", tuning.budget_s, seconds);
    fields.optional("gate_rows", tuning.gate_rows, small);
    fields.optional("repeats", tuning.repeats, small);
    fields.optional("tie", tuning.tie, share);
    fields.optional("policy", tuning.policy, read_text);
    fields.end();
}

void read_agreement(const Json& value, const std::string& path, Agreement& agreement) {
    Fields fields(value, path);
    fields.optional("sites", agreement.sites, [](const Json& v, const std::string& p) {
        return static_cast<std::uint32_t>(read_size(v, p, 1, 16));
    });
    fields.optional("across", agreement.across, named(across_names));
    fields.optional("finalists", agreement.finalists, small);
    fields.optional("tolerance", agreement.tolerance,
                    [](const Json& v, const std::string& p) { return read_number(v, p, 0, 1); });
    fields.end();
}

Json range_json(const Range& range) {
    if (range.min == range.max)
        return range.min;
    Json json = Json::object();
    const Range whole;
    if (range.min != whole.min)
        json["min"] = range.min;
    if (range.max != whole.max)
        json["max"] = range.max;
    return json;
}

template <class Values, class Write>
Json list_json(const Values& values, Write write) {
    Json json = Json::array();
    for (const auto& value : values)
        json.push_back(write(value));
    return json;
}

template <class Value>
Json identity(const Value& value) {
    return Json(value);
}

Json model_json(const Model& model) {
    Json json{{"name", model.name},         {"heads_q", model.heads_q},
              {"heads_kv", model.heads_kv}, {"dim_qk", model.dim_qk},
              {"dim_v", model.dim_v},       {"tensor_parallel", model.tensor_parallel},
              {"batches", model.batches}};
    json["contexts"] = list_json(model.contexts, [](const Lengths& lengths) {
        return lengths.q == lengths.kv ? Json(lengths.q) : Json::array({lengths.q, lengths.kv});
    });
    json["dtypes"] = list_json(model.dtypes, [](DType v) { return name_of(dtype_names, v); });
    json["masks"] = list_json(model.masks, [](Mask v) { return name_of(mask_names, v); });
    json["layouts"] = list_json(model.layouts, [](Problem::Layout v) { return name_of(layout_names, v); });
    json["lse"] = list_json(model.lse, identity<bool>);
    json["probabilities"] =
        list_json(model.probabilities, [](Probability v) { return name_of(probability_names, v); });
    if (!model.layers.empty())
        json["layers"] = model.layers;
    return json;
}

Json exclusion_json(const Exclusion& exclusion) {
    Json json = Json::object();
    if (exclusion.model)
        json["model"] = *exclusion.model;
    if (exclusion.dtype)
        json["dtype"] = name_of(dtype_names, *exclusion.dtype);
    if (exclusion.mask)
        json["mask"] = name_of(mask_names, *exclusion.mask);
    const auto range = [&json](const char* name, const std::optional<Range>& value) {
        if (value)
            json[name] = range_json(*value);
    };
    range("tensor_parallel", exclusion.tensor_parallel);
    range("batch", exclusion.batch);
    range("seq_q", exclusion.seq_q);
    range("seq_kv", exclusion.seq_kv);
    range("heads_q", exclusion.heads_q);
    json["reason"] = exclusion.reason;
    return json;
}

} // namespace

Spec parse_spec(std::string_view text) {
    const Json json = parse_json(text, "sweep.json");
    Spec spec;
    Fields fields(json, "");
    if (const Json& format = fields.at("format"); format != format_name)
        refuse_field("format", format, Json(format_name).dump());
    spec.name = read_text(fields.at("name"), "name");
    if (spec.name.empty())
        refuse_field("name", spec.name, "a name that is not empty");
    fields.at("models");
    fields.list("models", spec.models, read_model);
    fields.list("exclude", spec.exclusions, read_exclusion, true);
    fields.list("candidates", spec.candidates, read_schedule, true);
    if (const Json* tuning = fields.find("tuning"))
        read_tuning(*tuning, "tuning", spec.tuning);
    if (const Json* data = fields.find("data")) {
        Fields inner(*data, "data");
        inner.optional("distribution", spec.distribution, [](const Json& v, const std::string& path) {
            try {
                return distribution_named(read_text(v, path));
            } catch (const Error& error) {
                throw Error(ErrorCode::invalid_argument, path, path + ": " + error.what());
            }
        });
        inner.optional("seed", spec.seed, [](const Json& v, const std::string& path) {
            return static_cast<std::uint64_t>(read_size(v, path, 0));
        });
        inner.end();
    }
    if (const Json* agreement = fields.find("agreement"))
        read_agreement(*agreement, "agreement", spec.agreement);
    fields.optional("lease_s", spec.lease_s,
                    [](const Json& v, const std::string& p) { return read_number(v, p, 1, 86400); });
    fields.optional("hang_s", spec.hang_s,
                    [](const Json& v, const std::string& p) { return read_number(v, p, 1, 1e7); });
    fields.end();
    return spec;
}

std::string to_json(const Spec& spec) {
    Json json{{"format", format_name}, {"name", spec.name}};
    json["models"] = list_json(spec.models, model_json);
    json["exclude"] = list_json(spec.exclusions, exclusion_json);
    json["tuning"] = {{"budget_s", spec.tuning.budget_s},
                      {"gate_rows", spec.tuning.gate_rows},
                      {"repeats", spec.tuning.repeats},
                      {"tie", spec.tuning.tie},
                      {"policy", spec.tuning.policy}};
    if (!spec.candidates.empty())
        json["candidates"] = list_json(spec.candidates, [](const Schedule& s) { return s.canonical(); });
    json["data"] = {{"distribution", to_string(spec.distribution)}, {"seed", spec.seed}};
    json["agreement"] = {{"sites", spec.agreement.sites},
                         {"across", name_of(across_names, spec.agreement.across)},
                         {"finalists", spec.agreement.finalists},
                         {"tolerance", spec.agreement.tolerance}};
    json["lease_s"] = spec.lease_s;
    json["hang_s"] = spec.hang_s;
    return json.dump(2) + "\n";
}

} // namespace zyfa::sweep
