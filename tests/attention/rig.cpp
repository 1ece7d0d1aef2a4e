// SPDX-License-Identifier: Apache-2.0
// Contexts and tensors for the tests of calls.
#include "tests/attention/rig.hpp"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "tuner/gate.hpp"
#include "tuner/output_bits.hpp"

namespace zyfa::test {

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "zyfa-test-XXXXXX").string();
    if (!mkdtemp(name.data()))
        throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

ContextOptions simulator(Mode mode, const std::string& cache_dir) {
    setenv("ZYFA_SIM_DEVICES", "2", 0); // read by the simulator when it is first used
    ContextOptions options = ContextOptions::from_environment();
    options.device = "sim";
    options.cache_dir = cache_dir;
    options.cache_layers.clear();
    options.mode = mode;
    return options;
}

const std::shared_ptr<runtime::Runtime>& runtime_of(Context& context) {
    return context.impl().services().runtime();
}

void call_and_check(Context& context, const Problem& problem) {
    Tensors tensors(context, problem);
    context.attention(tensors.args());
    const std::string fault = tensors.check(64);
    CHECK_MESSAGE(fault.empty(), fault);
}

Explanation tune_shortly(Context& context, const Problem& problem, bool again, std::size_t candidates) {
    call::PrepareRequest request;
    request.mode = Mode::tune;
    request.retune = again;
    request.tuning.emplace();
    request.tuning->budget_s = 0;
    const templates::Template& form = templates::template_for(problem);
    request.tuning->candidates = templates::enumerate(form, problem);
    request.tuning->candidates->resize(candidates);
    return context.impl().prepare(problem, 0, request);
}

Tensors::Tensors(Context& context, const Problem& problem, int device, Distribution distribution)
    : runtime_(runtime_of(context)), problem_(problem), device_(device),
      inputs_(draw_inputs(problem, distribution, 5)), q_(runtime_, device, tuner::layout_q(problem)),
      k_(runtime_, device, tuner::layout_k(problem)), v_(runtime_, device, tuner::layout_v(problem)),
      o_(runtime_, device, tuner::layout_o(problem)) {
    if (problem.dtype == DType::e4m3) {
        problem_.q_descale = inputs_.q_descale;
        problem_.k_descale = inputs_.k_descale;
        problem_.v_descale = inputs_.v_descale;
    }
    q_.upload(inputs_.q);
    k_.upload(inputs_.k);
    v_.upload(inputs_.v);
    if (problem.lse)
        lse_.emplace(runtime_, device, tuner::layout_lse(problem));
    clear();
}

void Tensors::clear() {
    o_.fill(0xff);
    if (lse_)
        lse_->fill(0xff);
    runtime::synchronize(*runtime_, device_);
}

AttentionArgs Tensors::args() {
    const auto view = [this](const tuner::GuardedTensor& tensor, DType dtype) {
        const Strides& s = tensor.layout().strides;
        return TensorView{tensor.data(), dtype, device_, tensor.layout().sizes, {s.batch, s.head, s.seq, 1}};
    };
    AttentionArgs args;
    args.q = view(q_, problem_.dtype);
    args.k = view(k_, problem_.dtype);
    args.v = view(v_, problem_.dtype);
    args.o = view(o_, DType::bf16);
    if (lse_) {
        args.lse = static_cast<float*>(lse_->data());
        args.lse_batch_stride = problem_.lse_batch_stride;
        args.lse_head_stride = problem_.lse_head_stride;
    }
    args.mask = problem_.mask;
    args.softmax_scale = problem_.softmax_scale;
    args.nan_exact = problem_.nan_exact;
    args.probability = problem_.probability;
    if (problem_.dtype == DType::e4m3) {
        args.q_descale = problem_.q_descale;
        args.k_descale = problem_.k_descale;
        args.v_descale = problem_.v_descale;
    }
    return args;
}

std::vector<std::byte> Tensors::output() {
    runtime::synchronize(*runtime_, device_);
    const auto bytes = o_.download();
    return {bytes.begin(), bytes.end()};
}

std::string Tensors::check_surroundings() {
    o_bytes_ = o_.download();
    if (const auto fault = o_.check_guards(0xff))
        return "around O, " + *fault;
    if (const auto fault = tuner::unwritten(o_.layout(), o_bytes_, 0xff, "O"))
        return *fault;
    if (lse_) {
        lse_bytes_ = lse_->download();
        if (const auto fault = lse_->check_guards(0xff))
            return "around LSE, " + *fault;
        if (const auto fault = tuner::unwritten(lse_->layout(), lse_bytes_, 0xff, "LSE"))
            return *fault;
    }
    for (tuner::GuardedTensor* input : {&q_, &k_, &v_}) {
        input->download();
        if (!input->unchanged())
            return "an input was written";
    }
    return {};
}

std::string Tensors::check(std::optional<std::size_t> rows) {
    runtime::synchronize(*runtime_, device_);
    if (std::string fault = check_surroundings(); !fault.empty())
        return fault;
    const auto all = static_cast<std::size_t>(problem_.batch * problem_.heads_q * problem_.seq_q);
    const tuner::GateReference reference(problem_, inputs_.tensors(),
                                         tuner::sample_rows(problem_, std::min(rows.value_or(all), all)));
    Measurement measurement;
    tuner::check_rows(reference, tuner::gate_limits(problem_), o_bytes_, lse_bytes_, measurement);
    return measurement.message;
}

Problem bf16(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv, std::int64_t seq_q,
             std::int64_t seq_kv, Mask mask, Problem::Layout layout) {
    return Problem::contiguous(DType::bf16, batch, heads_q, heads_kv, seq_q, seq_kv, 128, 128, mask, layout);
}

Problem padded(Problem problem, Problem::Layout layout) {
    const auto widen = [layout](Strides& strides, std::int64_t heads, std::int64_t seq, std::int64_t dim) {
        if (layout == Problem::Layout::bhsd) {
            strides.seq = dim + 8;
            strides.head = seq * strides.seq + 16;
            strides.batch = heads * strides.head + 24;
        } else {
            strides.head = dim + 16;
            strides.seq = heads * strides.head + 8;
            strides.batch = seq * strides.seq + 40;
        }
    };
    widen(problem.q, problem.heads_q, problem.seq_q, problem.dim_qk);
    widen(problem.k, problem.heads_kv, problem.seq_kv, problem.dim_qk);
    widen(problem.v, problem.heads_kv, problem.seq_kv, problem.dim_v);
    widen(problem.o, problem.heads_q, problem.seq_q, problem.dim_v);
    if (problem.lse) {
        problem.lse_head_stride = problem.seq_q + 3;
        problem.lse_batch_stride = problem.heads_q * problem.lse_head_stride + 5;
    }
    return problem;
}

} // namespace zyfa::test
