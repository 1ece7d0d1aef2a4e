// SPDX-License-Identifier: Apache-2.0
// The fp64 reference against a second implementation written from the formula, and on inputs whose answer is
// known without computing.
#include "core/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "zyfa/error.hpp"

using namespace zyfa;

namespace {

/// Tensors in host memory, filled through logical indices.
struct Host {
    Problem problem;
    std::vector<std::byte> q, k, v;

    explicit Host(const Problem& p)
        : problem(p), q(bytes(p.q, p.heads_q, p.seq_q, p.dim_qk)),
          k(bytes(p.k, p.heads_kv, p.seq_kv, p.dim_qk)), v(bytes(p.v, p.heads_kv, p.seq_kv, p.dim_v)) {}

    std::size_t bytes(const Strides& s, std::int64_t heads, std::int64_t seq, std::int64_t dim) const {
        const auto elements = (problem.batch - 1) * s.batch + (heads - 1) * s.head + (seq - 1) * s.seq + dim;
        return static_cast<std::size_t>(elements) * (problem.dtype == DType::bf16 ? 2 : 1);
    }
    void set(std::vector<std::byte>& memory, std::int64_t index, float value) const {
        if (problem.dtype == DType::bf16) {
            const std::uint16_t code = float_to_bf16(value);
            std::memcpy(memory.data() + 2 * index, &code, 2);
        } else {
            memory[static_cast<std::size_t>(index)] = std::byte{float_to_e4m3(value)};
        }
    }
    double get(const std::vector<std::byte>& memory, std::int64_t index) const {
        if (problem.dtype != DType::bf16)
            return e4m3_to_float(std::to_integer<std::uint8_t>(memory[static_cast<std::size_t>(index)]));
        std::uint16_t code;
        std::memcpy(&code, memory.data() + 2 * index, 2);
        return bf16_to_float(code);
    }
    template <class Function>
    void fill(std::vector<std::byte>& memory, const Strides& s, std::int64_t heads, std::int64_t seq,
              std::int64_t dim, Function value) {
        for (std::int64_t b = 0; b < problem.batch; ++b)
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t i = 0; i < seq; ++i)
                    for (std::int64_t d = 0; d < dim; ++d)
                        set(memory, b * s.batch + h * s.head + i * s.seq + d, value(b, h, i, d));
    }
    void fill_q(auto f) { fill(q, problem.q, problem.heads_q, problem.seq_q, problem.dim_qk, f); }
    void fill_k(auto f) { fill(k, problem.k, problem.heads_kv, problem.seq_kv, problem.dim_qk, f); }
    void fill_v(auto f) { fill(v, problem.v, problem.heads_kv, problem.seq_kv, problem.dim_v, f); }
    HostTensors tensors() const { return {q, k, v}; }
};

Host drawn(const Problem& problem) {
    Host host(problem);
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    const auto any = [&](auto...) { return normal(engine); };
    host.fill_q(any);
    host.fill_k(any);
    host.fill_v(any);
    return host;
}

/// softmax(c q k^T) v without a running or subtracted maximum: a different route to the same number.
ReferenceRow by_formula(const Host& host, std::int64_t b, std::int64_t h, std::int64_t i) {
    const Problem& p = host.problem;
    const std::int64_t group = h / (p.heads_q / p.heads_kv);
    std::vector<double> o(static_cast<std::size_t>(p.dim_v));
    double total = 0;
    for (std::int64_t j = 0; j < p.seq_kv; ++j) {
        if (p.mask == Mask::causal && i - j < p.seq_q - p.seq_kv)
            continue;
        double score = 0;
        for (std::int64_t d = 0; d < p.dim_qk; ++d)
            score += host.get(host.q, b * p.q.batch + h * p.q.head + i * p.q.seq + d) *
                     host.get(host.k, b * p.k.batch + group * p.k.head + j * p.k.seq + d);
        const double weight = std::exp(score * p.softmax_scale * p.q_descale * p.k_descale);
        total += weight;
        for (std::int64_t d = 0; d < p.dim_v; ++d)
            o[static_cast<std::size_t>(d)] +=
                weight * p.v_descale * host.get(host.v, b * p.v.batch + group * p.v.head + j * p.v.seq + d);
    }
    for (double& value : o)
        value = total > 0 ? value / total : 0;
    return {o, std::log(total)};
}

/// O row values and LSE agree to a few fp64 roundings (or are the same special value).
bool close(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-12 * (1 + std::fabs(b));
}

void check_rows(const Host& host) {
    const Problem& p = host.problem;
    std::vector<double> o(static_cast<std::size_t>(p.seq_q * p.dim_v)),
        lse(static_cast<std::size_t>(p.seq_q));
    for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t h = 0; h < p.heads_q; ++h) {
            reference_head(p, host.tensors(), b, h, o, lse, 2);
            for (std::int64_t i = 0; i < p.seq_q; ++i) {
                const ReferenceRow row = reference_row(p, host.tensors(), b, h, i);
                const ReferenceRow other = by_formula(host, b, h, i);
                bool same = close(row.lse, other.lse) && close(lse[static_cast<std::size_t>(i)], row.lse);
                for (std::int64_t d = 0; d < p.dim_v; ++d) {
                    const auto at = static_cast<std::size_t>(d);
                    same = same && close(row.o[at], other.o[at]) &&
                           close(o[static_cast<std::size_t>(i * p.dim_v + d)], row.o[at]);
                }
                CHECK_MESSAGE(same, to_string(p), " b=", b, " h=", h, " i=", i);
            }
        }
    }
}

} // namespace

TEST_CASE("reference agrees with the formula over masks, layouts, groups and lengths") {
    using Layout = Problem::Layout;
    check_rows(drawn(Problem::contiguous(DType::bf16, 2, 6, 2, 33, 33, 32, 32, Mask::causal)));
    check_rows(drawn(Problem::contiguous(DType::bf16, 1, 3, 1, 17, 50, 24, 20, Mask::causal, Layout::bshd)));
    check_rows(drawn(Problem::contiguous(DType::bf16, 1, 2, 2, 50, 17, 32, 40, Mask::causal)));
    check_rows(drawn(Problem::contiguous(DType::bf16, 1, 1, 1, 1, 1, 128, 128, Mask::causal)));
    check_rows(drawn(Problem::contiguous(DType::bf16, 1, 2, 1, 9, 31, 128, 128, Mask::none)));
    Problem fp8 = Problem::contiguous(DType::e4m3, 1, 4, 2, 21, 21, 192, 128, Mask::causal);
    fp8.q_descale = 0.25f;
    fp8.k_descale = 0.5f;
    fp8.v_descale = 2.0f;
    check_rows(drawn(fp8));
}

TEST_CASE("padded strides and broadcast heads reach the right elements") {
    Problem p = Problem::contiguous(DType::bf16, 2, 2, 2, 5, 7, 16, 16, Mask::causal);
    p.q.seq += 8;
    p.q.head = p.q.seq * 5 + 16;
    p.q.batch = p.q.head * 2 + 24;
    p.k.head = 0;
    check_rows(drawn(p));
}

TEST_CASE("causal is bottom-right aligned") {
    // pytorch#108108: Q = 0, V[j] = j mod 16, Sq 2, Skv 5.
    Host host(Problem::contiguous(DType::bf16, 1, 1, 1, 2, 5, 128, 128, Mask::causal));
    host.fill_v([](auto, auto, auto j, auto) { return static_cast<float>(j % 16); });
    CHECK(reference_row(host.problem, host.tensors(), 0, 0, 0).o[3] == doctest::Approx(1.5));
    CHECK(reference_row(host.problem, host.tensors(), 0, 0, 1).o[3] == doctest::Approx(2.0));
    CHECK(reference_row(host.problem, host.tensors(), 0, 0, 1).lse == doctest::Approx(std::log(5.0)));
}

TEST_CASE("rows that see no key give zero and minus infinity") {
    Host host = drawn(Problem::contiguous(DType::bf16, 1, 1, 1, 5, 2, 128, 128, Mask::causal));
    for (std::int64_t i = 0; i < 3; ++i) {
        const ReferenceRow row = reference_row(host.problem, host.tensors(), 0, 0, i);
        CHECK(row.lse == -std::numeric_limits<double>::infinity());
        CHECK(row.o == std::vector<double>(128, 0.0));
        CHECK(emulate_bf16_row(host.problem, host.tensors(), 0, 0, i).o == row.o);
    }
    const ReferenceRow fourth = reference_row(host.problem, host.tensors(), 0, 0, 3);
    CHECK(fourth.o[5] == doctest::Approx(host.get(host.v, 5)));
}

TEST_CASE("NaN stays in its row, and in the rows that see its key") {
    Host host = drawn(Problem::contiguous(DType::bf16, 1, 1, 1, 20, 20, 32, 32, Mask::causal));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    host.set(host.k, 12 * 32 + 3, nan);
    host.set(host.v, 15 * 32 + 4, nan);
    std::vector<double> o(20 * 32), lse(20);
    reference_head(host.problem, host.tensors(), 0, 0, o, lse);
    for (std::size_t i = 0; i < 20; ++i) {
        CHECK(std::isnan(lse[i]) == (i >= 12));
        CHECK(std::isnan(o[i * 32 + 5]) == (i >= 12));
    }
    host = drawn(host.problem);
    host.set(host.v, 15 * 32 + 4, nan);
    reference_head(host.problem, host.tensors(), 0, 0, o, lse);
    for (std::size_t i = 0; i < 20; ++i) {
        CHECK(!std::isnan(lse[i]));
        CHECK(std::isnan(o[i * 32 + 4]) == (i >= 15));
        CHECK(!std::isnan(o[i * 32 + 5]));
    }
}

TEST_CASE("the BF16 emulation errs by BF16 rounding, not more") {
    const Host host = drawn(Problem::contiguous(DType::bf16, 1, 1, 1, 300, 300, 128, 128, Mask::causal));
    double error = 0, square = 0;
    for (std::int64_t i = 0; i < 300; i += 13) {
        const ReferenceRow exact = reference_row(host.problem, host.tensors(), 0, 0, i);
        const ReferenceRow rounded = emulate_bf16_row(host.problem, host.tensors(), 0, 0, i);
        for (std::size_t d = 0; d < 128; ++d) {
            error += (rounded.o[d] - exact.o[d]) * (rounded.o[d] - exact.o[d]);
            square += exact.o[d] * exact.o[d];
        }
        CHECK(std::fabs(rounded.lse - exact.lse) < 1e-5);
    }
    const double relative = std::sqrt(error / square);
    CHECK(relative > 1e-3); // rounding O alone costs 1.7e-3
    CHECK(relative < 2.6e-3);
}

TEST_CASE("too little memory and unknown element types are refused by name") {
    Host host(Problem::contiguous(DType::bf16, 1, 1, 1, 4, 4, 16, 16, Mask::none));
    host.k.pop_back();
    CHECK_THROWS_WITH_AS(reference_row(host.problem, host.tensors(), 0, 0, 0),
                         "k: has 127 bytes; accepted: at least 128", Error);
    host.problem.dtype = DType::f32;
    CHECK_THROWS_AS(reference_row(host.problem, host.tensors(), 0, 0, 0), Error);
}

TEST_CASE("BF16 conversion rounds to nearest even") {
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
        const float value = bf16_to_float(static_cast<std::uint16_t>(code));
        const std::uint16_t back = float_to_bf16(value);
        CHECK_UNARY(std::isnan(value) ? std::isnan(bf16_to_float(back)) : back == code);
    }
    CHECK(float_to_bf16(1.0f + 0x1p-8f) == 0x3f80);           // tie to even
    CHECK(float_to_bf16(1.0f + 0x1p-7f + 0x1p-8f) == 0x3f82); // tie to even, upwards
    CHECK(float_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
    CHECK(float_to_bf16(1e-45f) == 0);
}

TEST_CASE("OCP E4M3 conversion rounds to nearest even and saturates") {
    for (unsigned code = 0; code < 256; ++code) {
        const float value = e4m3_to_float(static_cast<std::uint8_t>(code));
        if ((code & 0x7f) == 0x7f)
            CHECK(std::isnan(value));
        else
            CHECK(float_to_e4m3(value) == code);
    }
    CHECK(e4m3_to_float(0x80) == 0.0f); // minus zero; NaN only in the fnuz format
    CHECK(std::signbit(e4m3_to_float(0x80)));
    CHECK(e4m3_to_float(0x7e) == 448.0f);
    CHECK(float_to_e4m3(1e30f) == 0x7e);
    CHECK(float_to_e4m3(-std::numeric_limits<float>::infinity()) == 0xfe);
    CHECK((float_to_e4m3(std::numeric_limits<float>::quiet_NaN()) & 0x7f) == 0x7f);
    // Every midpoint between neighbouring codes goes to the even one, and a little beside it to the nearer.
    for (unsigned code = 0; code < 0x7e; ++code) {
        const float low = e4m3_to_float(static_cast<std::uint8_t>(code));
        const float high = e4m3_to_float(static_cast<std::uint8_t>(code + 1));
        const float middle = (low + high) / 2;
        CHECK(float_to_e4m3(middle) == (code % 2 == 0 ? code : code + 1));
        CHECK(float_to_e4m3(std::nextafter(middle, 0.0f)) == code);
        CHECK(float_to_e4m3(std::nextafter(middle, 1e9f)) == code + 1);
    }
}
