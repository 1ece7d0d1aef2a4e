// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_layers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/core.h>

#include "cli/files.hpp"
#include "cli/inputs.hpp"
#include "core/digest.hpp"
#include "core/keys.hpp"
#include "core/safetensors.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

struct Shape {
    std::int64_t batch = 0, heads_q = 0, heads_kv = 0, seq_q = 0, seq_kv = 0, dim_qk = 0, dim_v = 0;
};

Shape shape_of(const std::string& path) {
    const std::vector<std::byte> content = read_file(path);
    try {
        const SafeTensors file = parse_safetensors(content);
        const auto layout = file.metadata.find("layout");
        const bool bshd = layout != file.metadata.end() && layout->second == "bshd";
        std::array<std::vector<std::int64_t>, 3> sizes;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            sizes.at(i) = file.at(std::array{"q", "k", "v"}.at(i)).shape;
            if (sizes.at(i).size() != 4) {
                throw Error(ErrorCode::invalid_argument, path, "q, k and v need four dimensions");
            }
        }
        const std::size_t heads = bshd ? 2 : 1, rows = bshd ? 1 : 2;
        return {sizes[0][0],    sizes[0][heads], sizes[1][heads], sizes[0][rows],
                sizes[1][rows], sizes[0][3],     sizes[2][3]};
    } catch (const Error& error) {
        throw Error(error.code(), path, fmt::format("{}: {}", path, error.what()));
    }
}

std::string why_not(const Shape& file, const Problem& problem) {
    if (file.batch != problem.batch) {
        return fmt::format("has batch {}", file.batch);
    }
    if (file.dim_qk != problem.dim_qk || file.dim_v != problem.dim_v) {
        return fmt::format("has head dimensions {} and {}", file.dim_qk, file.dim_v);
    }
    if (file.heads_q < problem.heads_q ||
        file.heads_q * problem.heads_kv != file.heads_kv * problem.heads_q) {
        return fmt::format("has {} query and {} key-value heads", file.heads_q, file.heads_kv);
    }
    if (file.seq_q < problem.seq_q || file.seq_kv < problem.seq_kv) {
        return fmt::format("has {} rows", std::min(file.seq_q, file.seq_kv));
    }
    return "";
}

} // namespace

void copy_layers(sweep::Spec& spec, const sweep::Folder& folder) {
    for (sweep::Model& model : spec.models) {
        for (std::string& layer : model.layers) {
            if (std::filesystem::exists(folder.path("inputs/" + layer))) {
                continue;
            }
            const std::vector<std::byte> content = read_file(layer);
            shape_of(layer);
            const std::string name = digest(std::span<const std::byte>(content)).hex().substr(0, 12) + "-" +
                                     std::filesystem::path(layer).filename().string();
            write_file(folder.path("inputs/" + name), std::span<const std::byte>(content));
            layer = name;
        }
    }
}

std::function<std::string(const std::string&, const Problem&)> layer_fits(const sweep::Folder& folder) {
    auto shapes = std::make_shared<std::map<std::string, Shape>>();
    return [folder, shapes](const std::string& layer, const Problem& problem) {
        auto known = shapes->find(layer);
        if (known == shapes->end()) {
            known = shapes->emplace(layer, shape_of(folder.path("inputs/" + layer))).first;
        }
        return why_not(known->second, problem);
    };
}

tuner::TuningInputs load_layer(const std::string& path, Problem& problem) {
    ProblemFlags flags;
    flags.input = path;
    flags.heads = problem.heads_q;
    flags.seq = problem.seq_q;
    flags.seq_kv = problem.seq_kv;
    flags.layout = stride_class(problem) == StrideClass::bshd ? "bshd" : "bhsd";
    flags.dtype = problem.dtype == DType::bf16 ? "bf16" : "fp8";
    flags.no_causal = problem.mask == Mask::none;
    flags.no_lse = !problem.lse;
    Inputs inputs = load_inputs(flags);
    const Problem& loaded = inputs.problem;
    if (loaded.batch != problem.batch || loaded.heads_kv != problem.heads_kv ||
        loaded.dim_qk != problem.dim_qk || loaded.dim_v != problem.dim_v || !(loaded.q == problem.q)) {
        throw Error(
            ErrorCode::invalid_argument, path,
            fmt::format("{} is {}, which cannot be cut to {}", path, to_string(loaded), to_string(problem)));
    }
    problem.softmax_scale = loaded.softmax_scale;
    problem.q_descale = loaded.q_descale;
    problem.k_descale = loaded.k_descale;
    problem.v_descale = loaded.v_descale;
    return {.q = std::move(inputs.q),
            .k = std::move(inputs.k),
            .v = std::move(inputs.v),
            .profile = std::move(inputs.profile)};
}

} // namespace zyfa::cli
