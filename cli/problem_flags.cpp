// SPDX-License-Identifier: Apache-2.0
#include "cli/problem_flags.hpp"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "core/distributions.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {
constexpr std::int64_t default_heads = 4, default_seq = 1024, default_dim = 128;

std::string distribution_names() {
    std::string text;
    for (const Distribution distribution : all_distributions()) {
        text += (text.empty() ? "" : ", ") + std::string(to_string(distribution));
    }
    return text;
}

void add_size(CLI::App& command, const char* name, std::optional<std::int64_t>& value,
              const std::string& text) {
    command.add_option(name, value, text)
        ->check(CLI::Validator(
            [](const std::string& given) {
                std::int64_t number = 0;
                return CLI::detail::lexical_cast(given, number) && number >= 1
                           ? std::string()
                           : "'" + given + "'; accepted is a whole number, at least 1";
            },
            ""))
        ->type_name("N")
        ->group("Shape");
}
} // namespace

void add_problem_flags(CLI::App& command, ProblemFlags& flags, InputFlags inputs) {
    if (inputs == InputFlags::with) {
        command
            .add_option("--input", flags.input,
                        "Safetensors file with q, k and v, BF16, [batch, heads, rows, dim]; the metadata's "
                        "softmax_scale "
                        "and layout are used")
            ->type_name("FILE")
            ->group("Input");
        command
            .add_option("--distribution", flags.distribution,
                        "Distribution of drawn input: " + distribution_names())
            ->capture_default_str()
            ->type_name("NAME")
            ->group("Input");
        command.add_option("--seed", flags.seed, "Seed of drawn input")
            ->capture_default_str()
            ->type_name("N")
            ->group("Input");
    }
    add_size(command, "--batch", flags.batch, "Batch size (default 1)");
    add_size(command, "--heads", flags.heads,
             inputs == InputFlags::with
                 ? "With --input: keep the first N query heads and their key-value heads; else as --heads-q"
                 : "As --heads-q");
    add_size(command, "--heads-q", flags.heads_q, fmt::format("Query heads (default {})", default_heads));
    add_size(command, "--heads-kv", flags.heads_kv,
             "Key-value heads, a divisor of the query heads (default: as many)");
    add_size(
        command, "--seq", flags.seq,
        inputs == InputFlags::with
            ? fmt::format("Query rows (default {}), and keys unless --seq-kv; with --input: keep the first N",
                          default_seq)
            : fmt::format("Query rows (default {}), and keys unless --seq-kv", default_seq));
    add_size(command, "--seq-kv", flags.seq_kv, "Keys");
    add_size(command, "--dim-qk", flags.dim_qk, "Head dimension of q and k (default 128)");
    add_size(command, "--dim-v", flags.dim_v, "Head dimension of v (default 128)");
    command.add_option("--layout", flags.layout, "Memory layout of the tensors on the device")
        ->check(CLI::IsMember({"bhsd", "bshd"}))
        ->capture_default_str()
        ->group("Shape");
    command.add_flag("--no-causal", flags.no_causal, "Every key is visible to every row")->group("Problem");
    command.add_option("--dtype", flags.dtype, "Element type of q, k and v")
        ->check(CLI::IsMember({"bf16", "fp8"}))
        ->capture_default_str()
        ->group("Problem");
    command
        .add_option("--probability", flags.probability, "How FP8 probabilities are formed; BF16 ignores it")
        ->check(CLI::IsMember({"automatic", "lean", "exact"}))
        ->capture_default_str()
        ->group("Problem");
    command
        .add_option("--softmax-scale", flags.softmax_scale, "Default: that of the input, else 1/sqrt(dim-qk)")
        ->type_name("X")
        ->group("Problem");
    command.add_flag("--no-lse", flags.no_lse, "Do not write the log-sum-exp")->group("Problem");
    command.add_flag("--no-nan-exact", flags.no_nan_exact, "Allow the faster NaN rule of docs/numerics.md")
        ->group("Problem");
}

Problem::Layout layout_from(const ProblemFlags& flags) {
    return flags.layout == "bshd" ? Problem::Layout::bshd : Problem::Layout::bhsd;
}

DType dtype_from(const ProblemFlags& flags) {
    return flags.dtype == "fp8" ? DType::e4m3 : DType::bf16;
}

void apply_options(const ProblemFlags& flags, Problem& problem) {
    problem.probability = flags.probability == "lean"    ? Probability::lean
                          : flags.probability == "exact" ? Probability::exact
                                                         : Probability::automatic;
    problem.nan_exact = !flags.no_nan_exact;
    if (flags.softmax_scale) {
        problem.softmax_scale = *flags.softmax_scale;
    }
}

Problem problem_from(const ProblemFlags& flags) {
    if (flags.heads && flags.heads_q && *flags.heads != *flags.heads_q) {
        throw Error(ErrorCode::invalid_argument, "--heads",
                    fmt::format("--heads {} and --heads-q {} disagree; without --input they mean the same",
                                *flags.heads, *flags.heads_q));
    }
    const std::int64_t heads_q = flags.heads_q.value_or(flags.heads.value_or(default_heads));
    const std::int64_t seq = flags.seq.value_or(default_seq);
    Problem problem = Problem::contiguous(
        dtype_from(flags), flags.batch.value_or(1), heads_q, flags.heads_kv.value_or(heads_q), seq,
        flags.seq_kv.value_or(seq), flags.dim_qk.value_or(default_dim), flags.dim_v.value_or(default_dim),
        flags.no_causal ? Mask::none : Mask::causal, layout_from(flags), !flags.no_lse);
    apply_options(flags, problem);
    return problem;
}

double flops(const Problem& problem) {
    const double rows = static_cast<double>(problem.seq_q), keys = static_cast<double>(problem.seq_kv);
    const double area = problem.mask == Mask::none ? rows * keys
                        : keys >= rows             ? rows * keys - rows * rows / 2
                                                   : keys * keys / 2;
    return 2 * static_cast<double>(problem.batch * problem.heads_q) * area *
           static_cast<double>(problem.dim_qk + problem.dim_v);
}

} // namespace zyfa::cli
