// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "cli/files.hpp"
#include "core/distributions.hpp"
#include "core/safetensors.hpp"
#include "tuner/guarded_tensor.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

/// BF16 codes of one tensor as (batch, head, row) -> pointer to its dim codes.
using Rows = std::function<const std::uint16_t*(std::int64_t, std::int64_t, std::int64_t)>;

/// Lays the rows out as the problem has them; in FP8 quantises, and sets `descale`.
std::vector<std::byte> lay_out(const tuner::TensorLayout& layout, DType dtype, const Rows& rows,
                               float& descale) {
    const std::int64_t dim = layout.sizes[3];
    const auto each_row = [&](const auto& visit) {
        for (std::int64_t b = 0; b < layout.sizes[0]; ++b) {
            for (std::int64_t h = 0; h < layout.sizes[1]; ++h) {
                for (std::int64_t s = 0; s < layout.sizes[2]; ++s) {
                    visit(rows(b, h, s), layout.row_offset(b, h, s));
                }
            }
        }
    };
    std::vector<std::byte> out(layout.extent_bytes());
    if (dtype == DType::bf16) {
        each_row([&](const std::uint16_t* row, std::size_t offset) {
            std::memcpy(out.data() + offset, row, static_cast<std::size_t>(dim) * sizeof *row);
        });
        return out;
    }
    std::vector<float> values;
    each_row([&](const std::uint16_t* row, std::size_t) {
        std::transform(row, row + dim, std::back_inserter(values), bf16_to_float);
    });
    std::vector<std::uint8_t> codes(values.size());
    descale = quantise_e4m3(values, codes);
    const std::uint8_t* next = codes.data();
    each_row([&](const std::uint16_t*, std::size_t offset) {
        std::memcpy(out.data() + offset, next, static_cast<std::size_t>(dim));
        next += dim;
    });
    return out;
}

void refuse_shape_flag(const char* flag, const std::optional<std::int64_t>& value, const char* instead) {
    if (value) {
        throw Error(ErrorCode::invalid_argument, flag,
                    fmt::format("{} is not accepted with --input, whose shape counts{}", flag, instead));
    }
}

/// One tensor of the file with named sizes; bshd files are read where they lie.
struct FileTensor {
    const std::uint16_t* data = nullptr;
    std::int64_t batch = 0, heads = 0, rows = 0, dim = 0;
    bool bshd = false;

    const std::uint16_t* row(std::int64_t b, std::int64_t h, std::int64_t s) const {
        const std::int64_t index = bshd ? (b * rows + s) * heads + h : (b * heads + h) * rows + s;
        return data + index * dim;
    }
};

FileTensor tensor_of(const SafeTensors& file, const std::string& name, bool bshd,
                     std::vector<std::uint16_t>& aligned) {
    const SafeTensor& tensor = file.at(name);
    if (tensor.dtype != "BF16" || tensor.shape.size() != 4) {
        throw Error(
            ErrorCode::unsupported, name,
            fmt::format(
                "tensor '{}' is {} with {} dimensions; accepted is BF16 with 4, [batch, heads, rows, dim]",
                name, tensor.dtype, tensor.shape.size()));
    }
    if (std::any_of(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t size) { return size < 1; })) {
        throw Error(ErrorCode::invalid_argument, name, fmt::format("tensor '{}' has a size of 0", name));
    }
    aligned.resize(tensor.data.size() / sizeof(std::uint16_t)); // the file's data may lie at any byte
    std::memcpy(aligned.data(), tensor.data.data(), tensor.data.size());
    return {.data = aligned.data(),
            .batch = tensor.shape[0],
            .heads = tensor.shape[bshd ? 2 : 1],
            .rows = tensor.shape[bshd ? 1 : 2],
            .dim = tensor.shape[3],
            .bshd = bshd};
}

std::int64_t cut(const char* flag, const std::optional<std::int64_t>& asked, std::int64_t available) {
    if (asked && *asked > available) {
        throw Error(ErrorCode::invalid_argument, flag,
                    fmt::format("{} is {}, the file has {}", flag, *asked, available));
    }
    return asked.value_or(available);
}

Inputs from_file(const ProblemFlags& flags) {
    refuse_shape_flag("--batch", flags.batch, "");
    refuse_shape_flag("--heads-q", flags.heads_q, "; --heads N keeps the first N query heads");
    refuse_shape_flag("--heads-kv", flags.heads_kv, "; --heads N keeps the ratio");
    refuse_shape_flag("--dim-qk", flags.dim_qk, "");
    refuse_shape_flag("--dim-v", flags.dim_v, "");

    const std::vector<std::byte> content = read_file(flags.input);
    SafeTensors file;
    try {
        file = parse_safetensors(content);
    } catch (const Error& error) {
        throw Error(error.code(), flags.input, error.what()); // the parser does not know the file's name
    }
    const auto layout = file.metadata.find("layout");
    const bool bshd = layout != file.metadata.end() && layout->second == "bshd";
    std::array<std::vector<std::uint16_t>, 3> storage;
    const FileTensor q = tensor_of(file, "q", bshd, storage[0]);
    const FileTensor k = tensor_of(file, "k", bshd, storage[1]);
    const FileTensor v = tensor_of(file, "v", bshd, storage[2]);
    if (k.batch != q.batch || v.batch != q.batch || v.heads != k.heads || v.rows != k.rows ||
        k.dim != q.dim || q.heads % k.heads != 0) {
        throw Error(
            ErrorCode::invalid_argument, "--input",
            fmt::format("{}: the shapes of q, k and v do not belong to one attention call", flags.input));
    }

    const std::int64_t ratio = q.heads / k.heads;
    const std::int64_t heads_q = cut("--heads", flags.heads, q.heads);
    if (heads_q % ratio != 0) {
        throw Error(
            ErrorCode::invalid_argument, "--heads",
            fmt::format(
                "--heads is {}; {} query heads share a key-value head, so accepted are multiples of {}",
                heads_q, ratio, ratio));
    }
    const std::int64_t seq_q = cut("--seq", flags.seq, q.rows);
    const std::int64_t seq_kv = flags.seq_kv
                                    ? cut("--seq-kv", flags.seq_kv, k.rows)
                                    : cut("--seq", q.rows == k.rows ? flags.seq : std::nullopt, k.rows);

    Inputs inputs;
    inputs.problem =
        Problem::contiguous(dtype_from(flags), q.batch, heads_q, heads_q / ratio, seq_q, seq_kv, q.dim, v.dim,
                            flags.no_causal ? Mask::none : Mask::causal, layout_from(flags), !flags.no_lse);
    if (const auto scale = file.metadata.find("softmax_scale"); scale != file.metadata.end()) {
        char* end = nullptr;
        const float value = std::strtof(scale->second.c_str(), &end);
        if (scale->second.empty() || *end != '\0' || !(value > 0) || !std::isfinite(value)) {
            throw Error(ErrorCode::invalid_argument, "--input",
                        fmt::format("{}: the metadata's softmax_scale is '{}', not a number above 0",
                                    flags.input, scale->second));
        }
        inputs.problem.softmax_scale = value;
    }
    apply_options(flags, inputs.problem);
    Problem& problem = inputs.problem;
    const auto rows_of = [](const FileTensor& tensor) {
        return [&tensor](std::int64_t b, std::int64_t h, std::int64_t s) { return tensor.row(b, h, s); };
    };
    inputs.q = lay_out(tuner::layout_q(problem), problem.dtype, rows_of(q), problem.q_descale);
    inputs.k = lay_out(tuner::layout_k(problem), problem.dtype, rows_of(k), problem.k_descale);
    inputs.v = lay_out(tuner::layout_v(problem), problem.dtype, rows_of(v), problem.v_descale);
    inputs.profile = "captured:" + std::filesystem::path(flags.input).stem().string();
    inputs.source = flags.input;
    if (heads_q != q.heads || seq_q != q.rows || seq_kv != k.rows) {
        inputs.source += fmt::format(", cut from {} heads x {} rows", q.heads, q.rows);
    }
    return inputs;
}

Inputs drawn(const ProblemFlags& flags) {
    const Distribution distribution = distribution_named(flags.distribution);
    Inputs inputs;
    inputs.problem = problem_from(flags);
    DrawnInputs values = draw_inputs(inputs.problem, distribution, flags.seed);
    inputs.q = std::move(values.q);
    inputs.k = std::move(values.k);
    inputs.v = std::move(values.v);
    inputs.problem.q_descale = values.q_descale;
    inputs.problem.k_descale = values.k_descale;
    inputs.problem.v_descale = values.v_descale;
    inputs.profile = to_string(distribution);
    inputs.source = fmt::format("drawn: {}, seed {}", inputs.profile, flags.seed);
    return inputs;
}

} // namespace

Inputs load_inputs(const ProblemFlags& flags) {
    return flags.input.empty() ? drawn(flags) : from_file(flags);
}

} // namespace zyfa::cli
