// SPDX-License-Identifier: Apache-2.0
// The member "attention" of LAUNCH.json.
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "cli/launch_json.hpp"

namespace zyfa::cli::launch_json {

namespace {

constexpr std::uint64_t max_size = std::numeric_limits<std::int32_t>::max();

std::int64_t size_member(const Json& json, const std::string& where, const char* member,
                         std::optional<std::int64_t> otherwise = {}) {
    const std::string place = at(where, member);
    if (!json.contains(member)) {
        if (!otherwise) {
            fail(place, "needed");
        }
        return *otherwise;
    }
    const std::uint64_t value = unsigned_number(json[member], place, max_size);
    if (value == 0) {
        fail(place, "0 is not accepted; at least 1");
    }
    return static_cast<std::int64_t>(value);
}

std::string one_of(const Json& json, const std::string& where, const char* member, const char* first,
                   const char* second, const char* otherwise) {
    const std::string value = json.contains(member) ? text(json[member], at(where, member)) : otherwise;
    if (value != first && value != second) {
        fail(at(where, member), fmt::format("'{}' is not known; accepted are {}, {}", value, first, second));
    }
    return value;
}

/// A limit that has to be there, since a check without one accepts everything.
double limit(const Json& json, const std::string& where, const char* member) {
    if (!json.contains(member)) {
        fail(at(where, member), "needed: the largest accepted value");
    }
    const double value = number(json[member], at(where, member));
    if (!(value >= 0)) {
        fail(at(where, member), "at least 0 is needed");
    }
    return value;
}

/// "q": "buffer", or {"buffer", "offset", "strides"}; the default is the buffer of the tensor's name.
TensorPlace place_of(const Json& json, const std::string& where, const char* tensor, std::size_t dimensions,
                     Strides& strides) {
    TensorPlace place{.buffer = tensor, .offset = 0};
    if (!json.contains(tensor)) {
        return place;
    }
    const Json& member = json[tensor];
    const std::string there = at(where, tensor);
    if (member.is_string()) {
        place.buffer = member.get<std::string>();
        return place;
    }
    check_members(member, there, {"buffer", "offset", "strides"});
    if (member.contains("buffer")) {
        place.buffer = text(member["buffer"], at(there, "buffer"));
    }
    place.offset = optional_unsigned(member, there, "offset", max_buffer_bytes, 0);
    if (member.contains("strides")) {
        const Json& list = member["strides"];
        const std::string at_list = at(there, "strides");
        if (!list.is_array() || list.size() != dimensions) {
            fail(at_list, fmt::format("{} strides are needed, in elements: {}", dimensions,
                                      dimensions == 3 ? "batch, head, row" : "batch, head"));
        }
        const auto stride = [&](std::size_t i) {
            return static_cast<std::int64_t>(
                unsigned_number(list[i], fmt::format("{}[{}]", at_list, i), std::uint64_t{1} << 32));
        };
        strides = {.batch = stride(0), .head = stride(1), .seq = dimensions == 3 ? stride(2) : 1};
    }
    return place;
}

} // namespace

AttentionSpec parse_attention(const Json& json, const std::string& where) {
    check_members(json, where,
                  {"dtype",
                   "batch",
                   "heads_q",
                   "heads_kv",
                   "seq_q",
                   "seq_kv",
                   "dim_qk",
                   "dim_v",
                   "mask",
                   "softmax_scale",
                   "layout",
                   "q",
                   "k",
                   "v",
                   "o",
                   "lse",
                   "relative_rms",
                   "row_relative_rms",
                   "lse_max_abs",
                   "probabilities"});
    const bool fp8 = one_of(json, where, "dtype", "bf16", "e4m3", "bf16") == "e4m3";
    const bool causal = one_of(json, where, "mask", "causal", "none", "causal") == "causal";
    const bool bshd = one_of(json, where, "layout", "bhsd", "bshd", "bhsd") == "bshd";
    const std::int64_t heads_q = size_member(json, where, "heads_q", 1);
    const std::int64_t heads_kv = size_member(json, where, "heads_kv", heads_q);
    if (heads_q % heads_kv != 0) {
        fail(at(where, "heads_kv"), fmt::format("{} does not divide heads_q, {}", heads_kv, heads_q));
    }
    const std::int64_t seq_q = size_member(json, where, "seq_q");
    const std::int64_t dim_qk = size_member(json, where, "dim_qk", 128);
    AttentionSpec spec;
    Problem& problem = spec.problem;
    problem = Problem::contiguous(fp8 ? DType::e4m3 : DType::bf16, size_member(json, where, "batch", 1),
                                  heads_q, heads_kv, seq_q, size_member(json, where, "seq_kv", seq_q), dim_qk,
                                  size_member(json, where, "dim_v", 128), causal ? Mask::causal : Mask::none,
                                  bshd ? Problem::Layout::bshd : Problem::Layout::bhsd, json.contains("lse"));
    problem.softmax_scale =
        static_cast<float>(optional_number(json, where, "softmax_scale", problem.softmax_scale));
    if (!(problem.softmax_scale > 0) || !std::isfinite(problem.softmax_scale)) {
        fail(at(where, "softmax_scale"), "a number above 0 is needed");
    }
    spec.q = place_of(json, where, "q", 3, problem.q);
    spec.k = place_of(json, where, "k", 3, problem.k);
    spec.v = place_of(json, where, "v", 3, problem.v);
    spec.o = place_of(json, where, "o", 3, problem.o);
    spec.relative_rms = limit(json, where, "relative_rms");
    spec.row_relative_rms = optional_number(json, where, "row_relative_rms", 0);
    if (problem.lse) {
        Strides strides{.batch = problem.lse_batch_stride, .head = problem.lse_head_stride, .seq = 1};
        spec.lse = place_of(json, where, "lse", 2, strides);
        problem.lse_batch_stride = strides.batch;
        problem.lse_head_stride = strides.head;
        spec.lse_max_abs = limit(json, where, "lse_max_abs");
    } else if (json.contains("lse_max_abs")) {
        fail(at(where, "lse_max_abs"), "only meant with lse");
    }
    if (json.contains("probabilities")) {
        spec.probabilities = one_of(json, where, "probabilities", "bf16", "e4m3", "") == "bf16"
                                 ? ElementType::bf16
                                 : ElementType::e4m3;
    }
    return spec;
}

} // namespace zyfa::cli::launch_json
