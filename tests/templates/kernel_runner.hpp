// SPDX-License-Identifier: Apache-2.0
// Runs a template's kernel on the simulator's engine, on tensors that are exactly as large as their strides
// reach (the engine faults on anything read or written beyond), with sentinels in the gaps of the outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/reference.hpp"
#include "templates/template.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::test {

/// One head-major problem with every stride padded: rows by 16 elements, heads and batches by a row more.
Problem padded(Problem problem, Problem::Layout layout);

struct Inputs {
    std::vector<std::uint16_t> q, k, v; ///< BF16, in the problem's layout
    HostTensors view() const {
        return {std::as_bytes(std::span(q)), std::as_bytes(std::span(k)), std::as_bytes(std::span(v))};
    }
};
struct Inputs8 {
    std::vector<std::uint8_t> q, k, v; ///< e4m3, in the problem's layout
    HostTensors view() const {
        return {std::as_bytes(std::span(q)), std::as_bytes(std::span(k)), std::as_bytes(std::span(v))};
    }
};
/// Normal values of the given standard deviations.
Inputs draw(const Problem& problem, std::uint64_t seed, double sd_q = 1.0, double sd_k = 1.0,
            double sd_v = 1.0);
/// The same rounded to e4m3 times 2^4, with the problem's descales set to 2^-4.
Inputs8 draw8(Problem& problem, std::uint64_t seed, double sd_q = 1.0, double sd_k = 1.0, double sd_v = 1.0);

struct Outputs {
    std::vector<std::uint16_t> o; ///< in the problem's layout, gaps included
    std::vector<float> lse;
    std::string fault;       ///< of the simulator, or empty
    bool gaps_intact = true; ///< nothing was written between the rows
    double cycles = 0;
    std::uint64_t instructions = 0;
};

struct RunOptions {
    std::uint64_t seed = 0;
    std::uint32_t compute_units = 256;
    /// The problem with the strides that the tensors have on the device, where those differ from the strides
    /// of the vectors; gaps are never touched, so they may be gigabytes.
    std::optional<Problem> placed = std::nullopt;
    bool sanitize = false; ///< an error of the simulator's sanitizer is a fault
};

Outputs run(const Problem& problem, const Schedule& schedule, const HostTensors& inputs,
            RunOptions options = {});
template <class Drawn>
Outputs run(const Problem& problem, const Schedule& schedule, const Drawn& inputs, RunOptions options = {}) {
    return run(problem, schedule, inputs.view(), options);
}
template <class Drawn>
Outputs run(const Problem& problem, const Drawn& inputs) { ///< default schedule
    return run(problem, templates::template_for(problem).default_schedule(problem), inputs.view());
}

/// Element of O and of LSE.
std::uint16_t o_at(const Problem& p, const Outputs& out, std::int64_t b, std::int64_t h, std::int64_t row,
                   std::int64_t column);
float lse_at(const Problem& p, const Outputs& out, std::int64_t b, std::int64_t h, std::int64_t row);

struct Comparison {
    double relative_rms = 0, max_abs = 0, lse_max_abs = 0;
    std::string mismatch; ///< first row whose LSE or zero-ness is wrong in kind (inf, NaN), or empty
};
/// All rows against fp64.
Comparison compare(const Problem& problem, const HostTensors& inputs, const Outputs& outputs);

} // namespace zyfa::test
