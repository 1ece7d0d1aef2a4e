// SPDX-License-Identifier: Apache-2.0
// From a model's config.json to a sweep.
#include <algorithm>

#include "sweep/json_fields.hpp"
#include "sweep/spec.hpp"

namespace zyfa::sweep {

namespace {

/// A field of the configuration; null counts as absent.
const Json* find(const Json& config, const char* name) {
    const auto found = config.find(name);
    return found == config.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t size_or(const Json& config, const char* name, std::int64_t otherwise) {
    const Json* value = find(config, name);
    return value ? read_size(*value, name) : otherwise;
}

std::int64_t required(const Json& config, const char* name) {
    const Json* value = find(config, name);
    if (!value)
        throw Error(ErrorCode::invalid_argument, name,
                    std::string("config.json has no ") + name + "; is it a decoder's configuration?");
    return read_size(*value, name);
}

/// One per bucket of lengths: winners are shared within (2^(n-1), 2^n], and the longest of them decides.
std::vector<Lengths> contexts_to(std::int64_t longest) {
    std::vector<Lengths> contexts;
    for (std::int64_t length = 256; length < longest; length *= 2)
        contexts.push_back({length, length});
    contexts.push_back({longest, longest});
    return contexts;
}

} // namespace

Spec spec_for_model(std::string_view text, const ModelOptions& options) {
    const Json root = parse_json(text, "config.json");
    if (!root.is_object())
        refuse_field("config.json", root, "an object");
    // Models that also see or hear keep the decoder's configuration inside.
    const Json* inner = find(root, "text_config");
    const Json& config = inner && inner->is_object() ? *inner : root;

    Model model;
    model.name = options.name;
    if (model.name.empty())
        for (const char* field : {"_name_or_path", "model_type"})
            if (const Json* value = find(root, field); model.name.empty() && value && value->is_string())
                model.name = value->get<std::string>();
    if (model.name.empty())
        model.name = "model";
    model.heads_q = required(config, "num_attention_heads");
    if (find(config, "kv_lora_rank")) {
        // Latent attention (DeepSeek-V2): keys and values are decompressed per head for prefill.
        model.heads_kv = model.heads_q;
        model.dim_qk = required(config, "qk_nope_head_dim") + required(config, "qk_rope_head_dim");
        model.dim_v = required(config, "v_head_dim");
    } else {
        model.heads_kv = size_or(config, "num_key_value_heads", model.heads_q);
        model.dim_qk = find(config, "head_dim") ? required(config, "head_dim")
                                                : required(config, "hidden_size") / model.heads_q;
        model.dim_v = model.dim_qk;
    }
    if (model.heads_q % model.heads_kv != 0)
        refuse_field("num_key_value_heads", model.heads_kv,
                     "a divisor of num_attention_heads, " + std::to_string(model.heads_q));
    model.tensor_parallel.clear();
    for (const std::int64_t degree :
         options.tensor_parallel.empty() ? std::vector<std::int64_t>{1, 2, 4, 8} : options.tensor_parallel)
        if (!options.tensor_parallel.empty() || model.heads_q % degree == 0)
            model.tensor_parallel.push_back(degree);
    const std::int64_t longest = options.longest > 0        ? options.longest
                                 : options.contexts.empty() ? required(config, "max_position_embeddings")
                                                            : 0;
    if (options.contexts.empty())
        model.contexts = contexts_to(longest);
    for (const std::int64_t length : options.contexts)
        if (longest == 0 || length <= longest)
            model.contexts.push_back({length, length});
    model.batches = options.batches;
    model.dtypes = options.dtypes;
    model.layouts = options.layouts;
    model.layers = options.layers;

    Spec spec;
    spec.name = model.name;
    spec.models.push_back(std::move(model));
    return spec;
}

} // namespace zyfa::sweep
