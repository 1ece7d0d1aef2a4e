// SPDX-License-Identifier: Apache-2.0
// fp64 attention from the definition: a row's visible keys are listed, their scores normalised and their
// values averaged. An invisible key is never read, so that nothing in it can reach a row.
#include "core/reference.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <thread>
#include <utility>
#include <vector>

#include "core/reference_kernel.hpp"
#include "zyfa/error.hpp"

namespace zyfa {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t element_bytes(DType dtype) {
    switch (dtype) {
    case DType::bf16:
        return 2;
    case DType::e4m3:
        return 1;
    default:
        throw Error(ErrorCode::unsupported, "dtype",
                    std::string(to_string(dtype)) + "; the reference accepts bf16 and e4m3");
    }
}

/// One tensor's memory, read row by row in fp64.
class Rows {
  public:
    Rows(const char* name, std::span<const std::byte> memory, DType dtype, const Strides& strides,
         std::int64_t batch, std::int64_t heads, std::int64_t seq, std::int64_t dim)
        : memory_(memory), bytes_(element_bytes(dtype)), strides_(strides), dim_(dim) {
        const std::int64_t elements =
            (batch - 1) * strides.batch + (heads - 1) * strides.head + (seq - 1) * strides.seq + dim;
        if (memory.size() < static_cast<std::size_t>(elements) * bytes_)
            throw Error(ErrorCode::invalid_argument, name,
                        "has " + std::to_string(memory.size()) + " bytes; accepted: at least " +
                            std::to_string(static_cast<std::size_t>(elements) * bytes_));
    }

    void read(std::int64_t batch, std::int64_t head, std::int64_t row, double* out) const {
        const std::int64_t first = batch * strides_.batch + head * strides_.head + row * strides_.seq;
        const std::byte* from = memory_.data() + static_cast<std::size_t>(first) * bytes_;
        for (std::int64_t d = 0; d < dim_; ++d)
            out[d] = value(from, d);
    }

    std::vector<double> read(std::int64_t batch, std::int64_t head, std::int64_t row) const {
        std::vector<double> values(static_cast<std::size_t>(dim_));
        read(batch, head, row, values.data());
        return values;
    }

    /// All rows of one head, as [seq, dim].
    std::vector<double> read_head(std::int64_t batch, std::int64_t head, std::int64_t seq) const {
        std::vector<double> values(static_cast<std::size_t>(seq * dim_));
        for (std::int64_t row = 0; row < seq; ++row)
            read(batch, head, row, values.data() + row * dim_);
        return values;
    }

  private:
    double value(const std::byte* from, std::int64_t d) const {
        if (bytes_ == 1)
            return e4m3_to_float(std::to_integer<std::uint8_t>(from[d]));
        std::uint16_t bits;
        std::memcpy(&bits, from + 2 * d, 2);
        return bf16_to_float(bits);
    }

    std::span<const std::byte> memory_;
    std::size_t bytes_;
    Strides strides_;
    std::int64_t dim_;
};

struct Tensors {
    Rows q, k, v;
    Tensors(const Problem& p, const HostTensors& t)
        : q("q", t.q, p.dtype, p.q, p.batch, p.heads_q, p.seq_q, p.dim_qk),
          k("k", t.k, p.dtype, p.k, p.batch, p.heads_kv, p.seq_kv, p.dim_qk),
          v("v", t.v, p.dtype, p.v, p.batch, p.heads_kv, p.seq_kv, p.dim_v) {}
};

std::int64_t kv_head(const Problem& problem, std::int64_t head) {
    return head / (problem.heads_q / problem.heads_kv);
}

bool is_visible(const Problem& problem, std::int64_t row, std::int64_t key) {
    return problem.mask == Mask::none || key <= row + problem.seq_kv - problem.seq_q;
}

std::vector<std::int64_t> visible_keys(const Problem& problem, std::int64_t row) {
    std::vector<std::int64_t> keys;
    for (std::int64_t key = 0; key < problem.seq_kv; ++key)
        if (is_visible(problem, row, key))
            keys.push_back(key);
    return keys;
}

double dot(const double* a, const double* b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

/// Factor from the dot product of codes to the score in nats.
double score_scale(const Problem& problem) {
    const double descale =
        problem.dtype == DType::e4m3 ? static_cast<double>(problem.q_descale) * problem.k_descale : 1.0;
    return problem.softmax_scale * descale;
}

double value_scale(const Problem& problem) {
    return problem.dtype == DType::e4m3 ? problem.v_descale : 1.0;
}

/// The largest score; a NaN among them is found by the exponentials that follow.
double largest(const double* scores, std::size_t count, std::size_t stride) {
    double result = -infinity;
    for (std::size_t j = 0; j < count; ++j)
        result = std::max(result, scores[j * stride]);
    return result;
}

/// The row's scores with these keys: `scale` times their dot products.
std::vector<double> scores_of(const Problem& problem, const Tensors& t, std::int64_t batch, std::int64_t head,
                              std::int64_t row, const std::vector<std::int64_t>& keys, double scale) {
    const std::vector<double> q = t.q.read(batch, head, row);
    std::vector<double> scores;
    scores.reserve(keys.size());
    for (const std::int64_t key : keys)
        scores.push_back(scale *
                         dot(q.data(), t.k.read(batch, kv_head(problem, head), key).data(), problem.dim_qk));
    return scores;
}

ReferenceRow empty_row(const Problem& problem) {
    return {std::vector<double>(static_cast<std::size_t>(problem.dim_v), 0.0), -infinity};
}

/// One tile of `tile_rows` query rows of one head. The keys that all rows of the tile see go through the
/// blocked kernel; each row's further keys are added one by one.
class HeadTile {
  public:
    static constexpr std::int64_t rows = reference_kernel::tile_rows;

    HeadTile(const Problem& problem, const std::vector<double>& k, const std::vector<double>& v)
        : problem_(problem), k_(k), v_(v), q_(static_cast<std::size_t>(problem.dim_qk * rows)),
          scores_(static_cast<std::size_t>(problem.seq_kv * rows)),
          sums_(static_cast<std::size_t>(rows * problem.dim_v)) {}

    void compute(const Rows& q, std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                 double* o, double* lse) {
        load_queries(q, batch, head, first, count);
        const std::int64_t common = common_keys(first, count);
        reference_kernel::scores(q_.data(), k_.data(), common, problem_.dim_qk, scores_.data());
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (std::int64_t r = 0; r < count; ++r)
            lse[r] = normalise(first + r, r, common);
        reference_kernel::weigh(scores_.data(), v_.data(), common, problem_.dim_v, sums_.data());
        for (std::int64_t r = 0; r < count; ++r)
            finish(first + r, r, common, o + r * problem_.dim_v);
    }

  private:
    double& score(std::int64_t key, std::int64_t r) {
        return scores_[static_cast<std::size_t>(key * rows + r)];
    }

    void load_queries(const Rows& q, std::int64_t batch, std::int64_t head, std::int64_t first,
                      std::int64_t count) {
        std::fill(q_.begin(), q_.end(), 0.0);
        for (std::int64_t r = 0; r < count; ++r) {
            const std::vector<double> row = q.read(batch, head, first + r);
            for (std::int64_t d = 0; d < problem_.dim_qk; ++d)
                q_[static_cast<std::size_t>(d * rows + r)] = row[static_cast<std::size_t>(d)];
        }
    }

    /// Number of leading keys that every row of the tile sees.
    std::int64_t common_keys(std::int64_t first, std::int64_t count) const {
        std::int64_t common = 0;
        const auto seen_by_all = [&](std::int64_t key) {
            for (std::int64_t r = 0; r < count; ++r)
                if (!is_visible(problem_, first + r, key))
                    return false;
            return true;
        };
        while (common < problem_.seq_kv && seen_by_all(common))
            ++common;
        return common;
    }

    /// Turns the row's scores into unnormalised probabilities; returns the LSE and keeps 1/sum in scale_.
    double normalise(std::int64_t row, std::int64_t r, std::int64_t common) {
        const double scale = score_scale(problem_);
        const std::int64_t seen = last_seen(row) + 1;
        for (std::int64_t key = 0; key < common; ++key)
            score(key, r) *= scale;
        for (std::int64_t key = common; key < seen; ++key) {
            double sum = 0;
            for (std::int64_t d = 0; d < problem_.dim_qk; ++d)
                sum += q_[static_cast<std::size_t>(d * rows + r)] *
                       k_[static_cast<std::size_t>(key * problem_.dim_qk + d)];
            score(key, r) = sum * scale;
        }
        const double maximum = largest(&score(0, r), static_cast<std::size_t>(seen), rows);
        double sum = 0;
        for (std::int64_t key = 0; key < seen; ++key) {
            double& s = score(key, r);
            s = std::exp(s - maximum);
            sum += s;
        }
        scale_[static_cast<std::size_t>(r)] = value_scale(problem_) / sum;
        return seen == 0 ? -infinity : maximum + std::log(sum);
    }

    void finish(std::int64_t row, std::int64_t r, std::int64_t common, double* o) {
        const std::int64_t seen = last_seen(row) + 1;
        for (std::int64_t d = 0; d < problem_.dim_v; ++d) {
            double sum = sums_[static_cast<std::size_t>(r * problem_.dim_v + d)];
            for (std::int64_t key = common; key < seen; ++key)
                sum += score(key, r) * v_[static_cast<std::size_t>(key * problem_.dim_v + d)];
            o[d] = seen == 0 ? 0.0 : sum * scale_[static_cast<std::size_t>(r)];
        }
    }

    /// Index of the row's last visible key, -1 if there is none. Both masks show a leading run of keys.
    std::int64_t last_seen(std::int64_t row) const {
        std::int64_t key = problem_.seq_kv - 1;
        while (key >= 0 && !is_visible(problem_, row, key))
            --key;
        return key;
    }

    const Problem& problem_;
    const std::vector<double>&k_, &v_;
    std::vector<double> q_;      // [dim_qk, rows]
    std::vector<double> scores_; // [seq_kv, rows]
    std::vector<double> sums_;   // [rows, dim_v]
    std::array<double, rows> scale_{};
};

} // namespace

ReferenceRow reference_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                           std::int64_t head, std::int64_t row) {
    const Tensors t(problem, tensors);
    const std::vector<std::int64_t> keys = visible_keys(problem, row);
    ReferenceRow result = empty_row(problem);
    if (keys.empty())
        return result;
    const std::vector<double> scores = scores_of(problem, t, batch, head, row, keys, score_scale(problem));
    const double maximum = largest(scores.data(), scores.size(), 1);
    double sum = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
        const double p = std::exp(scores[j] - maximum);
        sum += p;
        const std::vector<double> v = t.v.read(batch, kv_head(problem, head), keys[j]);
        for (std::size_t d = 0; d < result.o.size(); ++d)
            result.o[d] += p * v[d];
    }
    for (double& value : result.o)
        value *= value_scale(problem) / sum;
    result.lse = maximum + std::log(sum);
    return result;
}

void reference_head(const Problem& problem, const HostTensors& tensors, std::int64_t batch, std::int64_t head,
                    std::span<double> o, std::span<double> lse, unsigned threads) {
    const Tensors t(problem, tensors);
    const auto rows = static_cast<std::size_t>(problem.seq_q);
    if (o.size() < rows * static_cast<std::size_t>(problem.dim_v) || lse.size() < rows)
        throw Error(ErrorCode::invalid_argument, "o", "or lse is shorter than seq_q rows");
    const std::vector<double> k = t.k.read_head(batch, kv_head(problem, head), problem.seq_kv);
    const std::vector<double> v = t.v.read_head(batch, kv_head(problem, head), problem.seq_kv);
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
        HeadTile tile(problem, k, v);
        for (;;) {
            const std::int64_t first = next.fetch_add(HeadTile::rows);
            if (first >= problem.seq_q)
                return;
            const std::int64_t count = std::min(HeadTile::rows, problem.seq_q - first);
            tile.compute(t.q, batch, head, first, count, o.data() + first * problem.dim_v,
                         lse.data() + first);
        }
    };
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads; ++i)
        helpers.emplace_back(work);
    work();
}

ReferenceRow emulate_bf16_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                              std::int64_t head, std::int64_t row) {
    const Tensors t(problem, tensors);
    const std::vector<std::int64_t> keys = visible_keys(problem, row);
    ReferenceRow result = empty_row(problem);
    if (keys.empty())
        return result;
    const std::vector<double> q = t.q.read(batch, head, row);
    // Scores are FP32 in base 2, as the matrix unit and the softmax scale leave them.
    const auto scale = static_cast<float>(score_scale(problem) * std::numbers::log2e);
    std::vector<float> scores;
    float maximum = -std::numeric_limits<float>::infinity();
    for (const std::int64_t key : keys) {
        scores.push_back(static_cast<float>(
            dot(q.data(), t.k.read(batch, kv_head(problem, head), key).data(), problem.dim_qk)));
        maximum = std::max(maximum, scores.back() * scale);
    }
    float sum = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
        const float p = std::exp2(std::fma(scores[j], scale, -maximum));
        sum += p;
        const double rounded = bf16_to_float(float_to_bf16(p));
        const std::vector<double> v = t.v.read(batch, kv_head(problem, head), keys[j]);
        for (std::size_t d = 0; d < result.o.size(); ++d)
            result.o[d] += rounded * v[d];
    }
    for (double& value : result.o)
        value = bf16_to_float(float_to_bf16(static_cast<float>(value * value_scale(problem) / sum)));
    result.lse = (static_cast<double>(maximum) + std::log2(static_cast<double>(sum))) * std::numbers::ln2;
    return result;
}

ReferenceRow emulate_fp8_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                             std::int64_t head, std::int64_t row, Probability probability,
                             AppliedMaximum applied) {
    constexpr double sigma = 6, beta = 0.35, tau = 2.75;
    const Tensors t(problem, tensors);
    const std::vector<std::int64_t> keys = visible_keys(problem, row);
    ReferenceRow result = empty_row(problem);
    if (keys.empty())
        return result;
    const std::vector<double> scores =
        scores_of(problem, t, batch, head, row, keys, score_scale(problem) * std::numbers::log2e);
    const auto largest_of = [&](std::size_t first, std::size_t end) {
        return largest(scores.data() + first, end - first, 1);
    };
    /// End of the keys that share their group of `width` keys with number `first`.
    const auto group_end = [&](std::size_t first, std::int64_t width) {
        std::size_t end = first;
        while (end < keys.size() && keys[end] / width == keys[first] / width)
            ++end;
        return end;
    };
    std::vector<std::pair<std::size_t, std::size_t>> blocks;
    for (std::size_t first = 0; first < keys.size(); first = blocks.back().second)
        blocks.emplace_back(first, group_end(first, 128));
    if (applied == AppliedMaximum::lazy_backwards)
        std::reverse(blocks.begin(), blocks.end());

    double maximum = applied == AppliedMaximum::exact ? largest_of(0, keys.size()) : -infinity;
    double sum = 0;
    for (const auto& [block_first, block_end] : blocks) {
        const double found = largest_of(block_first, block_end);
        if (applied != AppliedMaximum::exact && found - maximum > tau) {
            const double factor = std::exp2(maximum - found);
            sum *= factor;
            for (double& value : result.o)
                value *= factor;
            maximum = found;
        }
        for (std::size_t first = block_first; first < block_end;) {
            const std::size_t end = group_end(first, 64);
            const double offset = std::clamp(std::floor(maximum - largest_of(first, end)), 0.0, 120.0);
            for (; first < end; ++first) {
                const double x = scores[first] - maximum + offset;
                double p;
                if (std::isnan(x))
                    p = x;
                else if (probability == Probability::exact)
                    p = e4m3_to_float(float_to_e4m3(static_cast<float>(std::exp2(x + sigma))));
                else
                    p = e4m3_to_float(static_cast<std::uint8_t>(
                        std::clamp(std::nearbyint(8 * (x + sigma + 7) - beta), 0.0, 126.0)));
                p = std::ldexp(p, -static_cast<int>(offset));
                sum += p;
                const std::vector<double> v = t.v.read(batch, kv_head(problem, head), keys[first]);
                for (std::size_t d = 0; d < result.o.size(); ++d)
                    result.o[d] += p * v[d];
            }
        }
    }
    for (double& value : result.o)
        value = bf16_to_float(float_to_bf16(static_cast<float>(value * value_scale(problem) / sum)));
    result.lse = (maximum + std::log2(sum) - sigma) * std::numbers::ln2;
    return result;
}

} // namespace zyfa
