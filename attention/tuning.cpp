// SPDX-License-Identifier: Apache-2.0
// Tuning on request, for the public API.
#include "zyfa/tuning.hpp"

#include <cmath>

#include "attention/call_key.hpp"
#include "attention/context_impl.hpp"
#include "core/validate.hpp"

namespace zyfa {
inline namespace v0 {

namespace {

std::vector<std::byte> bytes_of(const void* data, std::uint64_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    return {bytes, bytes + size};
}

/// The inputs cover what the problem's strides reach.
tuner::TuningInputs inputs_of(const Problem& asked, int device, const TuneRequest& request) {
    if (!request.q && !request.k && !request.v)
        return {};
    for (const auto& [name, data] : {std::pair{"q", request.q}, {"k", request.k}, {"v", request.v}})
        if (!data)
            throw Error(ErrorCode::invalid_argument, name,
                        std::string(name) + " is null; accepted: q, k and v to tune on, or none of them");
    const Problem p = validate(call::arguments_of(asked, device));
    const std::uint32_t element = p.dtype == DType::bf16 ? 2 : 1;
    tuner::TuningInputs inputs;
    inputs.q = bytes_of(request.q, extent_bytes(p.q, p.batch, p.heads_q, p.seq_q, p.dim_qk, element));
    inputs.k = bytes_of(request.k, extent_bytes(p.k, p.batch, p.heads_kv, p.seq_kv, p.dim_qk, element));
    inputs.v = bytes_of(request.v, extent_bytes(p.v, p.batch, p.heads_kv, p.seq_kv, p.dim_v, element));
    inputs.profile = request.profile;
    return inputs;
}

} // namespace

Explanation tune(Context& context, const Problem& problem, int device, const TuneRequest& request) {
    if (!(request.budget_s >= 0) || !std::isfinite(request.budget_s))
        throw Error(ErrorCode::invalid_argument, "budget_s",
                    "budget_s is " + std::to_string(request.budget_s) +
                        "; accepted: seconds, 0 for no limit");
    call::PrepareRequest prepare;
    prepare.mode = Mode::tune;
    prepare.inputs = inputs_of(problem, device, request);
    prepare.tuning.emplace().budget_s = request.budget_s;
    prepare.tuning->fresh = request.fresh;
    prepare.retune = request.retune;
    return context.impl().prepare(problem, device, prepare);
}

} // namespace v0
} // namespace zyfa
