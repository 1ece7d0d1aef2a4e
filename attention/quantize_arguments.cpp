// SPDX-License-Identifier: Apache-2.0
#include "attention/quantize_arguments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "core/rotation.hpp"
#include "core/validate.hpp"
#include "tuner/bound_launch.hpp"
#include "zyfa/error.hpp"

namespace zyfa::call {

namespace q = templates::quantize;

namespace {

constexpr float largest_code = 448; // of e4m3
constexpr int largest_exponent = 120;
constexpr std::int64_t grid_limit = 65535; // HIP: grid y and z
constexpr std::uint32_t waves_ahead = 8;   ///< workgroups per compute unit that keep it busy

[[noreturn]] void refuse(ErrorCode code, const std::string& argument, const std::string& value,
                         const std::string& accepted) {
    throw Error(code, argument, argument + " is " + value + "; accepted: " + accepted);
}

void require_scale(const char* argument, const std::optional<float>& value) {
    if (value && !(std::isfinite(*value) && *value > 0))
        refuse(ErrorCode::invalid_argument, argument, std::to_string(*value), "finite and greater than 0");
}

void require_dtype(const char* argument, DType dtype, DType wanted) {
    if (dtype != wanted)
        refuse(ErrorCode::unsupported, argument, to_string(dtype), to_string(wanted));
}

void require_dim(const char* argument, std::int64_t dim) {
    if (q::has_dim(dim))
        return;
    std::string accepted;
    for (const std::int64_t d : q::dims)
        accepted += (accepted.empty() ? "" : ", ") + std::to_string(d);
    refuse(ErrorCode::unsupported, argument, std::to_string(dim), accepted);
}

void require_grid(const char* name, const TensorView& view) {
    for (int i = 0; i < 2; ++i)
        if (view.sizes[static_cast<std::size_t>(i)] > grid_limit)
            refuse(ErrorCode::unsupported, std::string(name) + ".sizes[" + std::to_string(i) + "]",
                   std::to_string(view.sizes[static_cast<std::size_t>(i)]),
                   "at most " + std::to_string(grid_limit));
}

void require_floats(const char* argument, const void* pointer) {
    if (!pointer || reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0)
        refuse(ErrorCode::invalid_argument, argument, pointer ? "not a multiple of 16 bytes" : "null",
               "device memory, a multiple of 16 bytes");
}

std::uint64_t pointer_of(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Workgroups of a head: enough to fill the device, each with several tiles where there are more.
void set_grid(QuantizePlan& plan, std::int64_t rows, std::int64_t heads, std::int64_t batch,
              std::uint32_t compute_units) {
    const std::int64_t tiles = (rows + q::workgroup_rows - 1) / q::workgroup_rows;
    const std::int64_t wanted =
        std::max<std::int64_t>(1, std::int64_t{compute_units} * waves_ahead / (heads * batch));
    const std::int64_t turns = std::max<std::int64_t>(1, tiles / wanted);
    const auto groups = static_cast<std::uint32_t>((tiles + turns - 1) / turns);
    plan.grid = {groups, static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(batch)};
    plan.kernarg.step = groups * q::workgroup_rows;
}

/// The score scale of a descale is a power of two?
bool folds(float score_scale) {
    int exponent = 0;
    return std::frexp(score_scale, &exponent) == 0.5f;
}

/// The value in [1, 2) that is a power of two over `scale` * log2(e), as float arithmetic has it.
float fold_unit(float scale) {
    const double exact = 1.0 / static_cast<double>(tuner::score_scale(scale, 1.0f, 1.0f));
    int exponent = 0;
    const auto unit = static_cast<float>(std::frexp(exact, &exponent) * 2);
    for (const float candidate : {unit, std::nextafter(unit, 0.0f), std::nextafter(unit, 4.0f)})
        if (folds(tuner::score_scale(scale, candidate, 1.0f)))
            return candidate;
    throw Error(ErrorCode::internal, "fold_scale",
                "no descale makes " + std::to_string(scale) + " * log2(e) a power of two");
}

void set_scale(QuantizePlan& plan, const QuantizeArgs& args) {
    q::Kernarg& k = plan.kernarg;
    k.norm = args.rotate ? q::rotation_norm(args.x.sizes[3]) : 1.0f;
    if (args.descale) {
        k.descale = *args.descale;
        k.multiplier = k.norm * (1.0f / *args.descale);
        return;
    }
    plan.per_call = true;
    k.per_call = 1;
    k.descale = args.fold_scale ? fold_unit(*args.fold_scale) : 1.0f;
    const float inverse = 1.0f / k.descale;
    k.multiplier = k.norm * inverse;
    float limit = largest_code * k.descale;
    while (limit * inverse > largest_code)
        limit = std::nextafter(limit, 0.0f);
    k.limit_bits = std::bit_cast<std::uint32_t>(limit);
}

void set_mean(QuantizePlan& plan, std::int64_t rows, std::int64_t heads, std::int64_t batch,
              std::int64_t dim) {
    const auto groups = static_cast<std::uint32_t>((rows + q::mean_rows - 1) / q::mean_rows);
    plan.sum_grid = {groups, static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(batch)};
    plan.mean_grid = {1, static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(batch)};
    plan.kernarg.parts = 4 * groups;
    plan.kernarg.inverse_rows = static_cast<float>(1.0 / static_cast<double>(rows));
    plan.sums_bytes = static_cast<std::uint64_t>(batch * heads * dim) * plan.kernarg.parts * sizeof(float);
}

std::uint32_t row_bytes(const Strides& strides, std::int64_t rows, std::int64_t dim, std::int64_t bytes) {
    return static_cast<std::uint32_t>((rows > 1 ? strides.seq : dim) * bytes);
}

} // namespace

QuantizePlan plan_quantize(const QuantizeArgs& args, std::uint32_t compute_units) {
    const ValidTensor x = validate_tensor("x", args.x);
    require_dtype("x.dtype", args.x.dtype, DType::bf16);
    require_dim("x.sizes[3]", args.x.sizes[3]);
    require_grid("x", args.x);
    const ValidTensor codes = validate_tensor("codes", args.codes);
    require_dtype("codes.dtype", args.codes.dtype, DType::e4m3);
    for (std::size_t i = 0; i < 4; ++i)
        if (args.codes.sizes[i] != args.x.sizes[i])
            refuse(ErrorCode::invalid_argument, "codes.sizes[" + std::to_string(i) + "]",
                   std::to_string(args.codes.sizes[i]), std::to_string(args.x.sizes[i]) + ", that of x");
    if (args.codes.device != args.x.device)
        refuse(ErrorCode::invalid_argument, "codes.device", std::to_string(args.codes.device),
               std::to_string(args.x.device) + ", the device of x");
    validate_output("codes", args.codes, codes.strides);
    validate_apart("codes", args.codes.data, codes.bytes, "x", args.x.data, x.bytes);
    const auto [batch, heads, rows, dim] = args.x.sizes;

    if (args.smoothing > Smoothing::given)
        refuse(ErrorCode::unsupported, "smoothing", std::to_string(static_cast<int>(args.smoothing)),
               "none, measured, given");
    const bool smooth = args.smoothing != Smoothing::none;
    if (smooth) {
        require_floats("mean", args.mean);
        const auto mean_bytes = static_cast<std::uint64_t>(batch * heads * dim) * sizeof(float);
        validate_apart("codes", args.codes.data, codes.bytes, "mean", args.mean, mean_bytes);
        if (args.smoothing == Smoothing::measured)
            validate_apart("mean", args.mean, mean_bytes, "x", args.x.data, x.bytes);
    } else if (args.mean) {
        refuse(ErrorCode::invalid_argument, "mean", "set", "null without smoothing");
    }
    require_scale("descale", args.descale);
    if (args.descale && std::abs(std::ilogb(*args.descale)) > largest_exponent)
        refuse(ErrorCode::unsupported, "descale", std::to_string(*args.descale), "2^-120 to 2^121");
    require_scale("fold_scale", args.fold_scale);
    if (args.descale && args.fold_scale)
        refuse(ErrorCode::invalid_argument, "fold_scale", "set beside descale",
               "one of the two; folded_descale() chooses a static scale");
    if (args.fold_scale && std::abs(std::ilogb(*args.fold_scale)) > largest_exponent)
        refuse(ErrorCode::unsupported, "fold_scale", std::to_string(*args.fold_scale), "2^-120 to 2^121");

    QuantizePlan plan;
    plan.kind = {dim, args.rotate, smooth};
    q::Kernarg& k = plan.kernarg;
    k.x = pointer_of(args.x.data), k.codes = pointer_of(args.codes.data), k.mean = pointer_of(args.mean);
    k.x_batch = 2 * x.strides.batch, k.x_head = 2 * x.strides.head;
    k.codes_batch = codes.strides.batch, k.codes_head = codes.strides.head;
    k.x_row = row_bytes(x.strides, rows, dim, 2), k.codes_row = row_bytes(codes.strides, rows, dim, 1);
    k.rows = static_cast<std::uint32_t>(rows), k.heads = static_cast<std::uint32_t>(heads);
    set_grid(plan, rows, heads, batch, compute_units);
    set_scale(plan, args);
    if (args.smoothing == Smoothing::measured) {
        plan.measure_mean = true;
        set_mean(plan, rows, heads, batch, dim);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(dim); ++i)
        k.signs[i] = rotation_negates(static_cast<std::int64_t>(i)) ? 0x8000 : 0;
    return plan;
}

QuantizePlan plan_mean_score(const MeanScoreArgs& args, std::uint32_t compute_units) {
    const ValidTensor x = validate_tensor("q", args.q);
    require_dtype("q.dtype", args.q.dtype, DType::bf16);
    require_dim("q.sizes[3]", args.q.sizes[3]);
    require_grid("q", args.q);
    require_floats("mean", args.mean);
    const auto [batch, heads, rows, dim] = args.q.sizes;
    if (args.heads_kv < 1 || heads % args.heads_kv != 0)
        refuse(ErrorCode::invalid_argument, "heads_kv", std::to_string(args.heads_kv),
               "a divisor of q.sizes[1] = " + std::to_string(heads));
    if (!args.lse)
        refuse(ErrorCode::invalid_argument, "lse", "null", "device memory");
    const ValidLse lse =
        validate_lse(args.lse, batch, heads, rows, args.lse_batch_stride, args.lse_head_stride);
    validate_apart("lse", args.lse, lse.bytes, "q", args.q.data, x.bytes);
    validate_apart("lse", args.lse, lse.bytes, "mean", args.mean,
                   static_cast<std::uint64_t>(batch * args.heads_kv * dim) * sizeof(float));
    require_scale("softmax_scale", args.softmax_scale);

    QuantizePlan plan;
    plan.kind = {dim, false, true};
    q::Kernarg& k = plan.kernarg;
    k.x = pointer_of(args.q.data), k.mean = pointer_of(args.mean), k.lse = pointer_of(args.lse);
    k.x_batch = 2 * x.strides.batch, k.x_head = 2 * x.strides.head;
    k.x_row = row_bytes(x.strides, rows, dim, 2);
    k.rows = static_cast<std::uint32_t>(rows), k.heads = static_cast<std::uint32_t>(heads);
    k.lse_batch = 4 * lse.batch, k.lse_head = 4 * lse.head;
    k.softmax_scale =
        args.softmax_scale.value_or(static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim))));
    k.by_group = templates::attention::make_divider(static_cast<std::uint32_t>(heads / args.heads_kv));
    k.mean_heads = static_cast<std::uint32_t>(args.heads_kv);
    set_grid(plan, rows, heads, batch, compute_units);
    return plan;
}

void check_reach(const runtime::Runtime& runtime, const char* argument, const void* pointer,
                 std::uint64_t bytes, int device) {
    const runtime::PointerInfo info = runtime::pointer_info(runtime, pointer);
    if (info.device < 0)
        refuse(ErrorCode::invalid_argument, argument, "not memory that the device run time knows",
               "device memory");
    if (info.device != device)
        refuse(ErrorCode::invalid_argument, argument, "on device " + std::to_string(info.device),
               "memory of device " + std::to_string(device) + ", that of the tensors");
    if (info.bytes_to_end < bytes)
        refuse(ErrorCode::invalid_argument, argument,
               "in an allocation that ends after " + std::to_string(info.bytes_to_end) + " bytes",
               std::to_string(bytes) + " bytes by its sizes and strides");
}

} // namespace zyfa::call

namespace zyfa {
inline namespace v0 {

const char* to_string(Smoothing smoothing) noexcept {
    switch (smoothing) {
    case Smoothing::none:
        return "none";
    case Smoothing::measured:
        return "measured";
    case Smoothing::given:
        return "given";
    }
    return "unknown";
}

float folded_descale(float at_least, float softmax_scale, float k_descale) {
    call::require_scale("at_least", at_least);
    call::require_scale("softmax_scale", softmax_scale);
    call::require_scale("k_descale", k_descale);
    const float unit = call::fold_unit(softmax_scale * k_descale);
    int exponent = 0;
    const float ratio = std::frexp(at_least / unit, &exponent);
    float descale = std::ldexp(unit, ratio == 0.5f ? exponent - 1 : exponent);
    if (descale < at_least) // the division has rounded down
        descale *= 2;
    return descale;
}

double rotation_element(std::int64_t dim, std::int64_t row, std::int64_t column) {
    call::require_dim("dim", dim);
    if (row < 0 || row >= dim || column < 0 || column >= dim)
        throw Error(ErrorCode::invalid_argument, row < 0 || row >= dim ? "row" : "column",
                    "row and column are " + std::to_string(row) + " and " + std::to_string(column) +
                        "; accepted: 0 to " + std::to_string(dim - 1));
    return rotation(dim, row, column);
}

} // namespace v0
} // namespace zyfa
