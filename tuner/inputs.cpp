// SPDX-License-Identifier: Apache-2.0
// Gaussian inputs from a counter-based generator and a table of normal values: about a nanosecond per
// element, since a GPU-sized problem has thousands of millions of them.
#include "tuner/inputs.hpp"

#include <cmath>
#include <cstring>
#include <numbers>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double uniform(std::uint64_t bits) {
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

/// 2^16 normal values by Box and Muller; an element takes one of them at random.
std::vector<float> normal_table(double standard_deviation) {
    std::vector<float> table(1u << 16);
    for (std::size_t i = 0; i < table.size(); i += 2) {
        const double radius = standard_deviation * std::sqrt(-2 * std::log(uniform(mix(2 * i))));
        const double angle = 2 * std::numbers::pi * uniform(mix(2 * i + 1));
        table[i] = static_cast<float>(radius * std::cos(angle));
        table[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
    return table;
}

template <class Code> // the element's bits
std::vector<std::byte> draw(const TensorLayout& layout, const std::vector<Code>& table, std::uint64_t seed) {
    std::vector<std::byte> bytes(layout.extent_bytes());
    std::uint64_t counter = mix(seed);
    std::vector<Code> row(static_cast<std::size_t>(layout.sizes[3]));
    for (std::int64_t b = 0; b < layout.sizes[0]; ++b)
        for (std::int64_t h = 0; h < layout.sizes[1]; ++h)
            for (std::int64_t s = 0; s < layout.sizes[2]; ++s) {
                std::uint64_t bits = 0;
                for (std::size_t d = 0; d < row.size(); ++d, bits >>= 16) {
                    if (d % 4 == 0)
                        bits = mix(counter++);
                    row[d] = table[bits & 0xffff];
                }
                std::memcpy(bytes.data() + layout.row_offset(b, h, s), row.data(), layout.row_bytes());
            }
    return bytes;
}

template <class Code>
TuningInputs draw_all(const Problem& problem, const std::vector<Code>& table, std::uint64_t seed) {
    TuningInputs inputs;
    inputs.q = draw(layout_q(problem), table, 3 * seed);
    inputs.k = draw(layout_k(problem), table, 3 * seed + 1);
    inputs.v = draw(layout_v(problem), table, 3 * seed + 2);
    return inputs;
}

template <class Code, class Round>
std::vector<Code> rounded(const std::vector<float>& values, Round round) {
    std::vector<Code> codes(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        codes[i] = round(values[i]);
    return codes;
}

} // namespace

TuningInputs gaussian_inputs(const Problem& problem, double standard_deviation, std::uint64_t seed) {
    const std::vector<float> values = normal_table(standard_deviation);
    switch (problem.dtype) {
    case DType::bf16:
        return draw_all(problem, rounded<std::uint16_t>(values, float_to_bf16), seed);
    case DType::e4m3:
        return draw_all(problem, rounded<std::uint8_t>(values, float_to_e4m3), seed);
    default:
        throw Error(ErrorCode::unsupported, "dtype",
                    std::string("no inputs can be drawn in ") + to_string(problem.dtype) +
                        "; accepted: bf16, e4m3");
    }
}

} // namespace zyfa::tuner
