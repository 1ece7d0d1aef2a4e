// SPDX-License-Identifier: Apache-2.0
// A call on tensors that end where their last element ends, so that the simulator faults on any byte beyond,
// and that nobody fills, reads or copies as a whole, so that gaps of gigabytes cost nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "core/distributions.hpp"
#include "zyfa/context.hpp"

namespace zyfa::test {

/// O (BF16) and LSE, both contiguous, BHSD.
struct Result {
    std::vector<std::uint16_t> o;
    std::vector<float> lse;
    bool operator==(const Result& other) const; ///< the same bits
};

/// Runs `p` on `values`, which are laid out as `dense` says; p differs from dense in its strides only. The
/// bytes between the rows of O and LSE are zeros at first; throws std::logic_error if any next to a row
/// changed.
Result call(Context& context, const Problem& dense, const DrawnInputs& values, const Problem& p);

/// Contiguous BHSD inputs of a problem, one value each for all elements of q and k; v[b, h, j, :] = ramp(j).
/// Descales are 1.
template <class Ramp>
DrawnInputs constant_inputs(const Problem& p, float q, float k, const Ramp& ramp);

void put(DType dtype, std::vector<std::byte>& tensor, std::size_t element, float value); ///< rounded
DrawnInputs constant_qk(const Problem& p, float q, float k);                             ///< v all zeros

template <class Ramp>
DrawnInputs constant_inputs(const Problem& p, float q, float k, const Ramp& ramp) {
    DrawnInputs inputs = constant_qk(p, q, k);
    for (std::int64_t bh = 0; bh < p.batch * p.heads_kv; ++bh)
        for (std::int64_t j = 0; j < p.seq_kv; ++j)
            for (std::int64_t d = 0; d < p.dim_v; ++d)
                put(p.dtype, inputs.v, static_cast<std::size_t>((bh * p.seq_kv + j) * p.dim_v + d),
                    static_cast<float>(ramp(j)));
    return inputs;
}

} // namespace zyfa::test
