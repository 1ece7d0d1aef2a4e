// SPDX-License-Identifier: Apache-2.0
#include "core/problem_json.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "zyfa/error.hpp"

namespace zyfa {

namespace {

using Json = nlohmann::json;

template <class Enum, std::size_t count>
void read_name(const Json& json, const std::array<Enum, count>& all, Enum& value) {
    const auto& name = json.get_ref<const std::string&>();
    for (const Enum one : all)
        if (name == to_string(one))
            return void(value = one);
    throw Error(ErrorCode::invalid_argument, "problem", "the problem's text says \"" + name + "\"");
}

Json write(const Strides& strides) {
    return {strides.batch, strides.head, strides.seq};
}

void read(const Json& json, Strides& strides) {
    strides = {json.at(0), json.at(1), json.at(2)};
}

} // namespace

std::string to_json(const Problem& p) {
    return Json{{"dtype", to_string(p.dtype)},
                {"batch", p.batch},
                {"heads", {p.heads_q, p.heads_kv}},
                {"seq", {p.seq_q, p.seq_kv}},
                {"dim", {p.dim_qk, p.dim_v}},
                {"mask", to_string(p.mask)},
                {"q", write(p.q)},
                {"k", write(p.k)},
                {"v", write(p.v)},
                {"o", write(p.o)},
                {"lse", p.lse},
                {"lse_strides", {p.lse_batch_stride, p.lse_head_stride}},
                {"softmax_scale", p.softmax_scale},
                {"descale", {p.q_descale, p.k_descale, p.v_descale}},
                {"probability", to_string(p.probability)},
                {"nan_exact", p.nan_exact}}
        .dump();
}

Problem problem_from_json(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        Problem p;
        read_name(json.at("dtype"), std::array{DType::bf16, DType::e4m3, DType::e4m3fnuz, DType::f32},
                  p.dtype);
        read_name(json.at("mask"), std::array{Mask::none, Mask::causal}, p.mask);
        read_name(json.at("probability"),
                  std::array{Probability::automatic, Probability::lean, Probability::exact}, p.probability);
        json.at("batch").get_to(p.batch);
        json.at("heads").at(0).get_to(p.heads_q);
        json.at("heads").at(1).get_to(p.heads_kv);
        json.at("seq").at(0).get_to(p.seq_q);
        json.at("seq").at(1).get_to(p.seq_kv);
        json.at("dim").at(0).get_to(p.dim_qk);
        json.at("dim").at(1).get_to(p.dim_v);
        read(json.at("q"), p.q);
        read(json.at("k"), p.k);
        read(json.at("v"), p.v);
        read(json.at("o"), p.o);
        json.at("lse").get_to(p.lse);
        json.at("lse_strides").at(0).get_to(p.lse_batch_stride);
        json.at("lse_strides").at(1).get_to(p.lse_head_stride);
        json.at("softmax_scale").get_to(p.softmax_scale);
        json.at("descale").at(0).get_to(p.q_descale);
        json.at("descale").at(1).get_to(p.k_descale);
        json.at("descale").at(2).get_to(p.v_descale);
        json.at("nan_exact").get_to(p.nan_exact);
        return p;
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::invalid_argument, "problem",
                    std::string("the problem's text cannot be read: ") + error.what());
    }
}

} // namespace zyfa
