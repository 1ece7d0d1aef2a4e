// SPDX-License-Identifier: Apache-2.0
// BF16 to e4m3 on the device, against the definition.
#include "zyfa/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/random.hpp"
#include "core/reference.hpp"
#include "tests/attention/capture.hpp"
#include "tests/attention/rig.hpp"
#include "zyfa/memory.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

struct Case {
    std::int64_t batch = 1, heads = 2, rows = 70, dim = 128;
    bool bshd = false, padded = false;
};

Strides strides_of(const Case& c, std::int64_t pad) {
    const std::int64_t row = c.dim + (c.padded ? pad : 0);
    return c.bshd ? Strides{row * c.heads * c.rows, row, row * c.heads}
                  : Strides{row * c.rows * c.heads, row * c.rows, row};
}

/// Tensors of one quantization on the device; gaps hold NaN before and 0x55 after.
class Rows {
  public:
    Rows(Context& context, const Case& shape, std::uint64_t seed = 1)
        : c(shape), x_strides_(strides_of(shape, 16)), code_strides_(strides_of(shape, 32)),
          elements_(static_cast<std::size_t>(extent(x_strides_)), 0x7fc0),
          bytes_(static_cast<std::size_t>(extent(code_strides_))),
          x_(runtime_of(context), 0, 2 * elements_.size()), codes_(runtime_of(context), 0, bytes_.size()),
          mean_(runtime_of(context), 0, mean_elements() * 4) {
        Random random(seed, 7, 0);
        each([&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
            at(b, h, s, d) = float_to_bf16(static_cast<float>(random.normal()));
        });
    }

    template <class F>
    void each(F&& f) const {
        for (std::int64_t b = 0; b < c.batch; ++b)
            for (std::int64_t h = 0; h < c.heads; ++h)
                for (std::int64_t s = 0; s < c.rows; ++s)
                    for (std::int64_t d = 0; d < c.dim; ++d)
                        f(b, h, s, d);
    }
    std::uint16_t& at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
        return elements_[static_cast<std::size_t>(offset(x_strides_, b, h, s, d))];
    }
    double value(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
        return bf16_to_float(at(b, h, s, d));
    }
    std::uint8_t code(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
        return bytes_[static_cast<std::size_t>(offset(code_strides_, b, h, s, d))];
    }
    float mean(std::int64_t b, std::int64_t h, std::int64_t d) const {
        return means_[static_cast<std::size_t>((b * c.heads + h) * c.dim + d)];
    }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

    QuantizeArgs args() {
        x_.upload(std::as_bytes(std::span(elements_)));
        codes_.fill(0x55);
        QuantizeArgs args;
        args.x = {x_.data(),
                  DType::bf16,
                  0,
                  {c.batch, c.heads, c.rows, c.dim},
                  {x_strides_.batch, x_strides_.head, x_strides_.seq, 1}};
        args.codes = {codes_.data(),
                      DType::e4m3,
                      0,
                      args.x.sizes,
                      {code_strides_.batch, code_strides_.head, code_strides_.seq, 1}};
        return args;
    }
    float* mean_data() { return static_cast<float*>(mean_.data()); }
    void fetch() {
        codes_.download(std::as_writable_bytes(std::span(bytes_)));
        means_.resize(mean_elements());
        mean_.download(std::as_writable_bytes(std::span(means_)));
    }
    /// Bytes between rows that were written to.
    std::size_t strayed() const {
        std::vector<bool> inside(bytes_.size(), false);
        each([&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
            inside[static_cast<std::size_t>(offset(code_strides_, b, h, s, d))] = true;
        });
        std::size_t count = 0;
        for (std::size_t i = 0; i < bytes_.size(); ++i)
            count += !inside[i] && bytes_[i] != 0x55;
        return count;
    }
    /// Mean key in fp64.
    double exact_mean(std::int64_t b, std::int64_t h, std::int64_t d) {
        double sum = 0;
        for (std::int64_t s = 0; s < c.rows; ++s)
            sum += std::isfinite(value(b, h, s, d)) ? value(b, h, s, d) : 0;
        return sum / static_cast<double>(c.rows);
    }

    const Case c;

  private:
    std::int64_t extent(const Strides& s) const {
        return (c.batch - 1) * s.batch + (c.heads - 1) * s.head + (c.rows - 1) * s.seq + c.dim;
    }
    static std::int64_t offset(const Strides& s, std::int64_t b, std::int64_t h, std::int64_t row,
                               std::int64_t d) {
        return b * s.batch + h * s.head + row * s.seq + d;
    }
    std::size_t mean_elements() const { return static_cast<std::size_t>(c.batch * c.heads * c.dim); }

    Strides x_strides_, code_strides_;
    std::vector<std::uint16_t> elements_;
    std::vector<std::uint8_t> bytes_;
    std::vector<float> means_;
    runtime::DeviceBuffer x_, codes_, mean_;
};

/// Rows after smoothing and rotation, in fp64, from the definition of R.
std::vector<double> transformed(Rows& rows, bool smooth, bool rotate, std::int64_t b, std::int64_t h,
                                std::int64_t s) {
    const std::int64_t dim = rows.c.dim;
    std::vector<double> x(static_cast<std::size_t>(dim)), y(x.size(), 0.0);
    for (std::int64_t d = 0; d < dim; ++d)
        x[static_cast<std::size_t>(d)] = rows.value(b, h, s, d) - (smooth ? rows.exact_mean(b, h, d) : 0.0);
    if (!rotate)
        return x;
    for (std::int64_t i = 0; i < dim; ++i)
        for (std::int64_t j = 0; j < dim; ++j)
            y[static_cast<std::size_t>(j)] += x[static_cast<std::size_t>(i)] * rotation_element(dim, i, j);
    return y;
}

/// The code of a value, or its neighbour where the value lies within `slack` of the boundary between them.
bool is_code_of(std::uint8_t code, double scaled, double slack) {
    return code == float_to_e4m3(static_cast<float>(scaled - slack)) ||
           code == float_to_e4m3(static_cast<float>(scaled + slack));
}

bool is_power_of_two(float value) {
    int exponent = 0;
    return std::frexp(value, &exponent) == 0.5f;
}

} // namespace

TEST_CASE("rows are quantised as defined: every dimension, transform, layout, and odd lengths") {
    Context context(simulator(Mode::off));
    struct Run {
        Case c;
        bool smooth, rotate;
    };
    std::vector<Run> runs;
    for (const std::int64_t dim : {64, 96, 128, 192, 256})
        for (const bool smooth : {false, true})
            for (const bool rotate : {false, true})
                runs.push_back({{1, 2, dim == 128 ? 70 : 37, dim, rotate, dim % 128 == 0}, smooth, rotate});
    runs.push_back({{2, 3, 1, 128, false, true}, true, true});
    runs.push_back({{2, 1, 300, 192, true, true}, true, true});
    for (const Run& run : runs) {
        CAPTURE(run.c.dim);
        CAPTURE(run.c.rows);
        CAPTURE(run.smooth);
        CAPTURE(run.rotate);
        Rows rows(context, run.c);
        QuantizeArgs args = rows.args();
        args.rotate = run.rotate;
        args.smoothing = run.smooth ? Smoothing::measured : Smoothing::none;
        args.mean = run.smooth ? rows.mean_data() : nullptr;
        const QuantizeReport report = quantize(context, args);
        rows.fetch();
        CHECK(rows.strayed() == 0);
        CHECK(report.clamped == 0);
        CHECK(report.non_finite == 0);
        CHECK(is_power_of_two(report.descale));

        double largest = 0;
        std::size_t wrong = 0;
        for (std::int64_t b = 0; b < run.c.batch; ++b)
            for (std::int64_t h = 0; h < run.c.heads; ++h) {
                if (run.smooth)
                    for (std::int64_t d = 0; d < run.c.dim; ++d)
                        wrong += std::fabs(rows.mean(b, h, d) - rows.exact_mean(b, h, d)) > 1e-6;
                for (std::int64_t s = 0; s < run.c.rows; ++s) {
                    if (run.rotate && run.c.rows > 64 && s % 5 != 0 && s + 3 < run.c.rows)
                        continue; // fp64 rotations take their time
                    const std::vector<double> y = transformed(rows, run.smooth, run.rotate, b, h, s);
                    for (std::int64_t d = 0; d < run.c.dim; ++d) {
                        const double value = y[static_cast<std::size_t>(d)];
                        largest = std::max(largest, std::fabs(value));
                        const double slack = run.smooth || run.rotate ? 2e-6 / report.descale : 0;
                        wrong += !is_code_of(rows.code(b, h, s, d), value / report.descale, slack);
                    }
                }
            }
        CHECK(wrong == 0);
        CHECK(report.largest >= doctest::Approx(largest).epsilon(1e-5));
        CHECK(report.largest / report.descale <= 448);
        // One row less its mean is 0, and 0 has the unit for its descale.
        CHECK((2 * report.largest / report.descale > 448 || (largest == 0 && report.descale == 1)));
    }
}

TEST_CASE("a static scale clamps and counts, never makes a NaN of a number") {
    Context context(simulator(Mode::off));
    Rows rows(context, {2, 2, 131, 128, true, true});
    rows.at(0, 1, 130, 127) = float_to_bf16(3e38f); // times the scale beyond FP32's range
    rows.at(1, 0, 0, 0) = float_to_bf16(-3e38f);
    std::size_t counted = 0;
    rows.each([&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
        counted += std::fabs(rows.value(b, h, s, d)) > 448.0 / 256;
    });
    QuantizeArgs args = rows.args();
    args.descale = 1.0f / 256;
    const QuantizeReport report = quantize(context, args);
    rows.fetch();
    CHECK(counted > 1000);
    CHECK(report.clamped == counted);
    CHECK(report.non_finite == 0);
    CHECK(report.descale == 1.0f / 256);
    CHECK(rows.strayed() == 0);
    std::size_t wrong = 0;
    rows.each([&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
        wrong += rows.code(b, h, s, d) != float_to_e4m3(static_cast<float>(256 * rows.value(b, h, s, d)));
    });
    CHECK(wrong == 0);
}

TEST_CASE("what is not finite becomes NaN, is counted, and leaves every other row alone") {
    Context context(simulator(Mode::off));
    const Case c{1, 2, 90, 192};
    for (const bool transform : {false, true}) {
        CAPTURE(transform);
        Rows clean(context, c), dirty(context, c);
        dirty.at(0, 0, 40, 3) = float_to_bf16(nan_value);
        dirty.at(0, 1, 89, 191) = 0x7f80; // infinity
        dirty.at(0, 1, 7, 0) = 0xff80;
        // The rows' other elements too: means and maxima are then those of the other rows in both.
        for (Rows* rows : {&clean, &dirty})
            for (const auto& [h, s] : {std::pair{0, 40}, {1, 89}, {1, 7}})
                for (std::int64_t d = 0; d < c.dim; ++d)
                    if (std::isfinite(dirty.value(0, h, s, d)))
                        rows->at(0, h, s, d) = 0;
                    else if (rows == &clean)
                        rows->at(0, h, s, d) = 0;
        QuantizeReport of_clean, of_dirty;
        for (Rows* rows : {&clean, &dirty}) {
            QuantizeArgs args = rows->args();
            args.rotate = transform;
            args.smoothing = transform ? Smoothing::measured : Smoothing::none;
            args.mean = transform ? rows->mean_data() : nullptr;
            (rows == &clean ? of_clean : of_dirty) = quantize(context, args);
            rows->fetch();
        }
        CHECK(of_clean.non_finite == 0);
        CHECK(of_dirty.non_finite == (transform ? 3 * c.dim : 3));
        CHECK(of_dirty.clamped == 0);
        CHECK(of_dirty.descale == of_clean.descale);
        std::size_t nans = 0, different = 0;
        dirty.each([&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
            const std::uint8_t code = dirty.code(b, h, s, d);
            const bool is_nan = (code & 0x7f) == 0x7f;
            nans += is_nan;
            different += !is_nan && code != clean.code(b, h, s, d);
        });
        CHECK(nans == of_dirty.non_finite);
        CHECK(different == 0);
    }
}

TEST_CASE("a folded descale makes the score scale a power of two, and loses no range") {
    Context context(simulator(Mode::off));
    for (const float softmax_scale : {0.088388348f, 0.0721687824f, 1.0f, 0.3f})
        for (const float k_descale : {1.0f / 64, 1.0f / 512}) {
            Rows rows(context, {1, 1, 40, 128});
            QuantizeArgs args = rows.args();
            args.fold_scale = softmax_scale * k_descale;
            const QuantizeReport report = quantize(context, args);
            const double scale =
                static_cast<double>(softmax_scale) * k_descale * report.descale * std::numbers::log2e;
            CHECK(is_power_of_two(static_cast<float>(scale)));
            CHECK(report.clamped == 0);
            CHECK(report.largest / report.descale <= 448.0001f);
            CHECK(2 * report.largest / report.descale > 448);
            CHECK(folded_descale(report.largest / 448, softmax_scale, k_descale) == report.descale);
        }
}

TEST_CASE("the mean key's score brings LSE back") {
    Context context(simulator(Mode::off));
    const Problem bf = Problem::contiguous(DType::bf16, 2, 4, 2, 75, 75, 128, 128, Mask::causal);
    Rows q(context, {2, 4, 75, 128}, 3), k(context, {2, 2, 75, 128, true, true}, 4);
    QuantizeArgs args = k.args();
    args.smoothing = Smoothing::measured;
    args.mean = k.mean_data();
    quantize(context, args);
    k.fetch();
    std::vector<float> lse(2 * 4 * 80, 1.5f);
    lse[5] = -std::numeric_limits<float>::infinity();
    runtime::DeviceBuffer buffer(runtime_of(context), 0, 4 * lse.size());
    buffer.upload(std::as_bytes(std::span(lse)));
    MeanScoreArgs add;
    add.q = q.args().x;
    add.mean = k.mean_data();
    add.heads_kv = 2;
    add.lse = static_cast<float*>(buffer.data());
    add.lse_head_stride = 80, add.lse_batch_stride = 320;
    add.softmax_scale = bf.softmax_scale;
    add_mean_score(context, add);
    std::vector<float> found(lse.size());
    buffer.download(std::as_writable_bytes(std::span(found)));
    std::size_t wrong = 0;
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 4; ++h)
            for (std::int64_t s = 0; s < 80; ++s) {
                const auto i = static_cast<std::size_t>(b * 320 + h * 80 + s);
                double score = 0;
                for (std::int64_t d = 0; s < 75 && d < 128; ++d)
                    score += q.value(b, h, s, d) * k.exact_mean(b, h / 2, d);
                const double expected = lse[i] + bf.softmax_scale * score;
                wrong += std::isinf(expected) ? found[i] != expected : std::fabs(found[i] - expected) > 1e-6;
            }
    CHECK(wrong == 0);
}

TEST_CASE("the mean key's score is not added to rows of LSE that overlap, or to what it is computed from") {
    Context context(simulator(Mode::off));
    Rows q(context, {2, 4, 75, 128}, 3), k(context, {2, 2, 75, 128}, 4);
    QuantizeArgs of_k = k.args();
    of_k.smoothing = Smoothing::measured;
    of_k.mean = k.mean_data();
    quantize(context, of_k);
    runtime::DeviceBuffer buffer(runtime_of(context), 0, 4 * 2 * 4 * 75);
    MeanScoreArgs good;
    good.q = q.args().x;
    good.mean = k.mean_data();
    good.heads_kv = 2;
    good.lse = static_cast<float*>(buffer.data());
    CHECK_NOTHROW(add_mean_score(context, good));
    const auto refused = [&](auto change) {
        MeanScoreArgs args = good;
        change(args);
        return error_of([&] { add_mean_score(context, args); }).argument();
    };
    const std::string strides = "lse_batch_stride, lse_head_stride";
    CHECK(refused([](MeanScoreArgs& a) { a.lse_head_stride = a.lse_batch_stride = 75; }) == strides);
    CHECK(refused([](MeanScoreArgs& a) { a.lse_head_stride = 74, a.lse_batch_stride = 300; }) == strides);
    CHECK(refused([](MeanScoreArgs& a) { a.lse_head_stride = -75; }) == "lse_head_stride");
    CHECK(refused([](MeanScoreArgs& a) { a.lse = nullptr; }) == "lse");
    CHECK(refused([&](MeanScoreArgs& a) { a.lse = k.mean_data(); }) == "lse");
    CHECK(refused([](MeanScoreArgs& a) { a.lse = static_cast<float*>(a.q.data); }) == "lse");
    CHECK(refused([](MeanScoreArgs& a) { a.heads_kv = 3; }) == "heads_kv");
    CHECK(refused([](MeanScoreArgs& a) { a.lse_head_stride = 75, a.lse_batch_stride = 301; }) == "lse");
}

TEST_CASE("a quantization is captured once its kind is resident, and replayed") {
    Context context(simulator(Mode::off));
    Rows rows(context, {1, 2, 100, 128});
    QuantizeArgs args = rows.args();
    args.rotate = true;
    args.smoothing = Smoothing::measured;
    args.mean = rows.mean_data();
    const QuantizeReport report = quantize(context, args);
    rows.fetch();
    const std::vector<std::uint8_t> wanted = rows.bytes();

    runtime::DeviceBuffer device_report(runtime_of(context), 0, sizeof(QuantizeReport));
    const runtime::Stream stream(runtime_of(context), 0);
    args = rows.args();
    args.rotate = true;
    args.smoothing = Smoothing::measured;
    args.mean = rows.mean_data();
    args.stream = stream.handle();
    {
        Capture capture(context, stream.handle());
        const Error waits = error_of([&] { quantize(context, args); });
        CHECK(waits.argument() == "stream");
        QuantizeArgs other = args;
        other.rotate = false;
        const Error absent = error_of(
            [&] { quantize_async(context, other, static_cast<QuantizeReport*>(device_report.data())); });
        CHECK(absent.code() == ErrorCode::not_resident);
        quantize_async(context, args, static_cast<QuantizeReport*>(device_report.data()));
        capture.end();
        for (int i = 0; i < 2; ++i) {
            capture.replay();
            rows.fetch();
            CHECK(rows.bytes() == wanted);
            QuantizeReport found;
            device_report.download(std::as_writable_bytes(std::span(&found, 1)));
            CHECK(found.descale == report.descale);
            CHECK(found.largest == report.largest);
        }
    }
}

TEST_CASE("a binary of the cache is loaded, not assembled") {
    const TemporaryFolder folder;
    for (int round = 0; round < 2; ++round) {
        Context context(simulator(Mode::replay, folder.path().string()));
        Rows rows(context, {1, 1, 5, 64});
        quantize(context, rows.args());
        CHECK(context.counters().assembled == (round == 0 ? 1 : 0));
    }
}

TEST_CASE("arguments that are refused by name") {
    Context context(simulator(Mode::off));
    Rows rows(context, {1, 2, 40, 128});
    struct Refusal {
        const char* argument;
        ErrorCode code;
        void (*change)(QuantizeArgs&);
    };
    static float elsewhere[4];
    const Refusal refusals[] = {
        {"x.data", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.x.data = nullptr; }},
        {"x.dtype", ErrorCode::unsupported, [](QuantizeArgs& a) { a.x.dtype = DType::f32; }},
        {"x.sizes[3]", ErrorCode::unsupported,
         [](QuantizeArgs& a) { a.x.sizes[3] = a.codes.sizes[3] = 112; }},
        {"x.sizes[1]", ErrorCode::unsupported, [](QuantizeArgs& a) { a.x.sizes[1] = 70000; }},
        {"x.strides[2]", ErrorCode::unsupported, [](QuantizeArgs& a) { a.x.strides[2] = 129; }},
        {"x.data", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.x.sizes[0] = a.codes.sizes[0] = 2; }},
        {"codes.dtype", ErrorCode::unsupported, [](QuantizeArgs& a) { a.codes.dtype = DType::e4m3fnuz; }},
        {"codes.sizes[2]", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.codes.sizes[2] = 39; }},
        {"codes.strides", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.codes.strides[1] = 128; }},
        {"codes", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.codes.data = a.x.data; }},
        {"codes.device", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.codes.device = 1; }},
        {"x.device", ErrorCode::no_device, [](QuantizeArgs& a) { a.x.device = a.codes.device = 9; }},
        {"descale", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.descale = 0.0f; }},
        {"descale", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.descale = nan_value; }},
        {"descale", ErrorCode::unsupported, [](QuantizeArgs& a) { a.descale = 1e-38f; }},
        {"fold_scale", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.fold_scale = -1.0f; }},
        {"fold_scale", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.fold_scale = a.descale = 1.0f; }},
        {"mean", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.mean = elsewhere; }},
        {"mean", ErrorCode::invalid_argument, [](QuantizeArgs& a) { a.smoothing = Smoothing::measured; }},
        {"mean", ErrorCode::invalid_argument,
         [](QuantizeArgs& a) {
             a.smoothing = Smoothing::given;
             a.mean = reinterpret_cast<float*>(0x1000);
         }},
    };
    for (const Refusal& refusal : refusals) {
        CAPTURE(std::string(refusal.argument));
        QuantizeArgs args = rows.args();
        refusal.change(args);
        const Error error = error_of([&] { quantize(context, args); });
        CHECK(error.argument() == refusal.argument);
        CHECK(error.code() == refusal.code);
    }
    const Error error = error_of([&] { quantize_async(context, rows.args(), nullptr); });
    CHECK(error.argument() == "report");
    rows.fetch();
    CHECK(std::ranges::all_of(rows.bytes(), [](std::uint8_t byte) { return byte == 0x55; }));
    CHECK(error_of([&] { prepare_quantize(context, 80, false, false); }).argument() == "dim");
}
