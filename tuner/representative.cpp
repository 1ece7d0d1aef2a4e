// SPDX-License-Identifier: Apache-2.0
// Cutting a problem to what the simulator computes within a budget.
#include "tuner/representative.hpp"

#include <algorithm>
#include <compare>

#include "core/keys.hpp"
#include "core/validate.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// About half of `length`, with the same remainder modulo the largest tile (256 rows); `length` itself where
/// no shorter one has it.
std::int64_t halve(std::int64_t length) {
    constexpr std::int64_t tile = 256;
    const std::int64_t tiles = length / tile;
    return tiles < 2 ? length : tiles / 2 * tile + length % tile;
}

bool cut_sequences(Problem& problem) {
    const Problem before = problem;
    const auto order = [](const Problem& p) { return p.seq_q <=> p.seq_kv; };
    (problem.seq_q > problem.seq_kv ? problem.seq_q : problem.seq_kv) =
        halve(std::max(problem.seq_q, problem.seq_kv));
    if (order(problem) != order(before)) {
        problem.seq_q = halve(before.seq_q);
        problem.seq_kv = halve(before.seq_kv);
    }
    if (order(problem) != order(before))
        problem = before;
    return !(problem == before);
}

/// The strides of contiguous tensors in the problem's order of dimensions.
void make_dense(Problem& p) {
    const auto layout = stride_class(p) == StrideClass::bshd ? Problem::Layout::bshd : Problem::Layout::bhsd;
    const Problem dense = Problem::contiguous(p.dtype, p.batch, p.heads_q, p.heads_kv, p.seq_q, p.seq_kv,
                                              p.dim_qk, p.dim_v, p.mask, layout, p.lse);
    p.q = dense.q, p.k = dense.k, p.v = dense.v, p.o = dense.o;
    p.lse_batch_stride = dense.lse_batch_stride, p.lse_head_stride = dense.lse_head_stride;
}

/// Gigabytes between rows would be held twice, on the device and on the host, for nothing.
bool close_gaps(Problem& p) {
    struct Tensor {
        std::int64_t heads, rows, width;
        std::uint32_t bytes;
        const Strides& strides;
    };
    constexpr std::uint64_t tolerated = std::uint64_t{1} << 32;
    const std::uint32_t element = p.dtype == DType::bf16 ? 2 : 1;
    bool wide = false;
    for (const Tensor& x : {Tensor{p.heads_q, p.seq_q, p.dim_qk, element, p.q},
                            {p.heads_kv, p.seq_kv, p.dim_qk, element, p.k},
                            {p.heads_kv, p.seq_kv, p.dim_v, element, p.v},
                            {p.heads_q, p.seq_q, p.dim_v, 2, p.o}}) {
        const auto dense = static_cast<std::uint64_t>(p.batch * x.heads * x.rows * x.width) * x.bytes;
        const std::uint64_t extent = extent_bytes(x.strides, p.batch, x.heads, x.rows, x.width, x.bytes);
        wide = wide || (extent > tolerated && extent / 2 > dense);
    }
    if (!wide)
        return false;
    make_dense(p);
    return true;
}

} // namespace

double scores(const Problem& problem) {
    const auto sq = static_cast<double>(problem.seq_q), skv = static_cast<double>(problem.seq_kv);
    const double heads = static_cast<double>(problem.batch) * static_cast<double>(problem.heads_q);
    if (problem.mask == Mask::none)
        return heads * sq * skv;
    // Row i sees clamp(i + Skv - Sq + 1, 0, Skv) keys.
    const double rows = std::min(sq, skv);
    return heads * (rows * skv - rows * (rows - 1) / 2);
}

std::uint64_t tensor_bytes(const Problem& p) {
    const std::uint32_t element = p.dtype == DType::bf16 ? 2 : 1;
    return extent_bytes(p.q, p.batch, p.heads_q, p.seq_q, p.dim_qk, element) +
           extent_bytes(p.k, p.batch, p.heads_kv, p.seq_kv, p.dim_qk, element) +
           extent_bytes(p.v, p.batch, p.heads_kv, p.seq_kv, p.dim_v, element) +
           extent_bytes(p.o, p.batch, p.heads_q, p.seq_q, p.dim_v, 2) +
           (p.lse
                ? extent_bytes({p.lse_batch_stride, p.lse_head_stride, 0}, p.batch, p.heads_q, 1, p.seq_q, 4)
                : 0);
}

Representative representative(const Problem& problem, bool simulated, double budget_s,
                              std::uint64_t memory_bytes) {
    Representative result{problem, {}};
    const bool closed = close_gaps(result.problem);
    if (closed)
        result.note = "measured without the gaps between rows, heads and batch entries";
    if (memory_bytes > 0 && tensor_bytes(result.problem) > memory_bytes) {
        Problem& p = result.problem;
        const std::int64_t per_kv = p.heads_q / p.heads_kv;
        while (tensor_bytes(p) > memory_bytes) {
            if (p.batch > 1) {
                p.batch = (p.batch + 1) / 2;
            } else if (p.heads_kv > 1) {
                p.heads_kv = (p.heads_kv + 1) / 2;
                p.heads_q = p.heads_kv * per_kv;
            } else if (!cut_sequences(p)) {
                throw Error(ErrorCode::invalid_argument, "memory_bytes",
                            "tuning " + to_string(problem) + " needs at least " +
                                std::to_string(tensor_bytes(p)) +
                                " bytes of device memory, cut to one head; allowed are " +
                                std::to_string(memory_bytes));
            }
            make_dense(p);
        }
        result.note = "measured on " + to_string(p) + ", contiguous, cut to the memory that tuning may take";
    }
    if (!simulated)
        return result;
    const double seconds = budget_s > 0 ? std::min(0.5, budget_s / 16) : 0.5;
    const double limit = seconds * simulated_scores_per_second;
    const std::int64_t group = problem.heads_q / problem.heads_kv;
    Problem& cut = result.problem;
    const std::string before = to_string(cut);
    while (scores(cut) > limit) {
        if (cut.batch > 1) {
            cut.batch = (cut.batch + 1) / 2;
        } else if (cut.heads_kv > 1) {
            cut.heads_kv = (cut.heads_kv + 1) / 2;
            cut.heads_q = cut.heads_kv * group;
        } else if (budget_s <= 0 || !cut_sequences(cut)) {
            break;
        }
    }
    if (to_string(cut) != before)
        result.note = "measured on " + to_string(cut) + ", cut for the simulator" +
                      (closed ? ", without gaps between rows, heads and batch entries" : "");
    return result;
}

} // namespace zyfa::tuner
