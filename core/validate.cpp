// SPDX-License-Identifier: Apache-2.0
// The order of checks is that of a reader: what each tensor is, then how tensors fit together, then how they
// lie in memory. Messages are composed out of line; the accepting path only compares.
#include "core/validate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace zyfa {

namespace {

constexpr std::int64_t max_size = std::numeric_limits<std::int32_t>::max();
constexpr auto max_stride = static_cast<std::int64_t>(max_extent_bytes);

struct Named {
    const char* name;
    const TensorView& view;
};

[[noreturn]] void refuse(ErrorCode code, const std::string& argument, const std::string& value,
                         const std::string& accepted) {
    throw Error(code, argument, argument + " is " + value + "; accepted: " + accepted);
}

std::string element(const char* tensor, const char* member, int index) {
    return std::string(tensor) + "." + member + "[" + std::to_string(index) + "]";
}

std::uint32_t bytes_per_element(DType dtype) {
    return dtype == DType::e4m3 || dtype == DType::e4m3fnuz ? 1 : dtype == DType::bf16 ? 2 : 4;
}

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

void check_present(const Named& t) {
    if (t.view.data == nullptr)
        refuse(ErrorCode::invalid_argument, std::string(t.name) + ".data", "null", "a device pointer");
}

void check_input_dtype(const Named& t) {
    if (t.view.dtype == DType::bf16 || t.view.dtype == DType::e4m3)
        return;
    std::string accepted = "bf16, e4m3";
    if (t.view.dtype == DType::e4m3fnuz)
        accepted += " (gfx950 computes in OCP E4M3; convert e4m3fnuz data first)";
    refuse(ErrorCode::unsupported, std::string(t.name) + ".dtype", to_string(t.view.dtype), accepted);
}

void check_dtypes(const AttentionArgs& args) {
    check_input_dtype({"q", args.q});
    for (const Named& t : {Named{"k", args.k}, Named{"v", args.v}}) {
        check_input_dtype(t);
        if (t.view.dtype != args.q.dtype)
            refuse(ErrorCode::invalid_argument, std::string(t.name) + ".dtype", to_string(t.view.dtype),
                   std::string(to_string(args.q.dtype)) + ", the dtype of q");
    }
    if (args.o.dtype != DType::bf16)
        refuse(ErrorCode::unsupported, "o.dtype", to_string(args.o.dtype), "bf16");
}

void check_devices(const AttentionArgs& args) {
    for (const Named& t : {Named{"k", args.k}, Named{"v", args.v}, Named{"o", args.o}})
        if (t.view.device != args.q.device)
            refuse(ErrorCode::invalid_argument, std::string(t.name) + ".device",
                   std::to_string(t.view.device), std::to_string(args.q.device) + ", the device of q");
}

void check_sizes(const Named& t) {
    for (int i = 0; i < 4; ++i) {
        const std::int64_t size = t.view.sizes[static_cast<std::size_t>(i)];
        if (size < 1)
            refuse(ErrorCode::invalid_argument, element(t.name, "sizes", i), std::to_string(size),
                   "at least 1");
        if (size > max_size)
            refuse(ErrorCode::unsupported, element(t.name, "sizes", i), std::to_string(size),
                   "at most " + std::to_string(max_size));
    }
}

void check_equal_size(const Named& t, int index, std::int64_t wanted, const char* same_as) {
    const std::int64_t size = t.view.sizes[static_cast<std::size_t>(index)];
    if (size != wanted)
        refuse(ErrorCode::invalid_argument, element(t.name, "sizes", index), std::to_string(size),
               std::to_string(wanted) + ", " + same_as);
}

void check_shapes(const AttentionArgs& args) {
    for (const Named& t : {Named{"q", args.q}, Named{"k", args.k}, Named{"v", args.v}, Named{"o", args.o}})
        check_sizes(t);
    check_equal_size({"k", args.k}, 0, args.q.sizes[0], "the batch of q");
    check_equal_size({"v", args.v}, 0, args.q.sizes[0], "the batch of q");
    check_equal_size({"o", args.o}, 0, args.q.sizes[0], "the batch of q");
    check_equal_size({"v", args.v}, 1, args.k.sizes[1], "the heads of k");
    check_equal_size({"o", args.o}, 1, args.q.sizes[1], "the heads of q");
    check_equal_size({"v", args.v}, 2, args.k.sizes[2], "the length of k");
    check_equal_size({"o", args.o}, 2, args.q.sizes[2], "the length of q");
    check_equal_size({"k", args.k}, 3, args.q.sizes[3], "the head dimension of q");
    check_equal_size({"o", args.o}, 3, args.v.sizes[3], "the head dimension of v");
    if (args.q.sizes[1] % args.k.sizes[1] != 0)
        refuse(ErrorCode::invalid_argument, "q.sizes[1]", std::to_string(args.q.sizes[1]) + " (heads of q)",
               "a multiple of k.sizes[1] = " + std::to_string(args.k.sizes[1]) + " (heads of k and v)");
}

/// The tensor's strides, those over a size of 1 replaced by what a contiguous tensor would have: they move
/// nothing, but they are part of what a Problem compares.
Strides canonical_strides(const TensorView& t) {
    const std::int64_t elements_of_16_bytes = 16 / bytes_per_element(t.dtype);
    Strides s{t.strides[0], t.strides[1], t.strides[2]};
    if (t.sizes[2] == 1)
        s.seq = (t.sizes[3] + elements_of_16_bytes - 1) / elements_of_16_bytes * elements_of_16_bytes;
    if (t.sizes[1] == 1)
        s.head = s.seq * t.sizes[2];
    if (t.sizes[0] == 1)
        s.batch = std::max(s.head * t.sizes[1], s.seq * t.sizes[2]);
    return s;
}

void check_alignment(const Named& t) {
    if (address(t.view.data) % 16 != 0)
        refuse(ErrorCode::invalid_argument, std::string(t.name) + ".data",
               std::to_string(address(t.view.data) % 16) + " bytes past a multiple of 16",
               "a multiple of 16 bytes");
    if (t.view.sizes[3] > 1 && t.view.strides[3] != 1)
        refuse(ErrorCode::unsupported, element(t.name, "strides", 3), std::to_string(t.view.strides[3]),
               "1 (elements of a row are contiguous)");
    const std::int64_t unit = 16 / bytes_per_element(t.view.dtype);
    for (int i = 0; i < 3; ++i) {
        const std::int64_t stride = t.view.strides[static_cast<std::size_t>(i)];
        if (t.view.sizes[static_cast<std::size_t>(i)] == 1)
            continue;
        if (stride < 0)
            refuse(ErrorCode::unsupported, element(t.name, "strides", i), std::to_string(stride),
                   "0 or more elements");
        if (stride % unit != 0)
            refuse(ErrorCode::unsupported, element(t.name, "strides", i),
                   std::to_string(stride) + " elements",
                   "a multiple of " + std::to_string(unit) + " elements (16 bytes)");
    }
    const std::int64_t max_row = max_row_stride_bytes / bytes_per_element(t.view.dtype);
    if (t.view.sizes[2] > 1 && t.view.strides[2] > max_row)
        refuse(ErrorCode::unsupported, element(t.name, "strides", 2), std::to_string(t.view.strides[2]),
               "at most " + std::to_string(max_row) + " (128 rows within 4 GiB)");
    if (t.view.sizes[2] > 1 && t.view.strides[2] < t.view.sizes[3])
        refuse(ErrorCode::unsupported, element(t.name, "strides", 2), std::to_string(t.view.strides[2]),
               "at least " + std::to_string(t.view.sizes[3]) + ", the head dimension");
}

std::uint64_t check_extent(const Named& t, const Strides& s) {
    const std::array strides{s.batch, s.head, s.seq};
    for (int i = 0; i < 3; ++i)
        if (t.view.sizes[static_cast<std::size_t>(i)] > 1 &&
            strides[static_cast<std::size_t>(i)] > max_stride)
            refuse(ErrorCode::unsupported, element(t.name, "strides", i),
                   std::to_string(strides[static_cast<std::size_t>(i)]),
                   "an extent of the tensor of at most " + std::to_string(max_extent_bytes) + " bytes");
    const auto& n = t.view.sizes;
    const std::uint64_t bytes = extent_bytes(s, n[0], n[1], n[2], n[3], bytes_per_element(t.view.dtype));
    if (bytes > max_extent_bytes)
        refuse(ErrorCode::unsupported, t.name,
               "a tensor of " + std::to_string(bytes) + " bytes from first to last element",
               "at most " + std::to_string(max_extent_bytes) + " bytes");
    return bytes;
}

/// Output elements must be distinct: in ascending order, each stride covers what lies below it.
void check_no_overlap(const char* name, const char* member,
                      std::array<std::pair<std::int64_t, std::int64_t>, 3> dims, std::int64_t row) {
    if (dims[0].first > dims[1].first)
        std::swap(dims[0], dims[1]);
    if (dims[1].first > dims[2].first)
        std::swap(dims[1], dims[2]);
    if (dims[0].first > dims[1].first)
        std::swap(dims[0], dims[1]);
    std::int64_t covered = row;
    for (const auto& [stride, size] : dims) {
        if (size == 1)
            continue;
        if (stride < covered)
            refuse(ErrorCode::invalid_argument, std::string(name) + member,
                   "a stride of " + std::to_string(stride) + " over elements that reach " +
                       std::to_string(covered),
                   "output strides that do not overlap");
        covered += stride * (size - 1);
    }
}

ValidLse check_lse(const float* lse, std::int64_t batch, std::int64_t heads, std::int64_t seq,
                   std::int64_t batch_stride, std::int64_t head_stride) {
    if (address(lse) % alignof(float) != 0)
        refuse(ErrorCode::invalid_argument, "lse", "not a multiple of 4 bytes",
               "a pointer to aligned floats");
    ValidLse s{batch_stride, head_stride, 0};
    if (s.batch == 0 && s.head == 0)
        s = {heads * seq, seq, 0};
    if (s.head < 0 || s.head > max_stride)
        refuse(ErrorCode::invalid_argument, "lse_head_stride", std::to_string(s.head),
               "0 to " + std::to_string(max_stride) + " elements");
    if (s.batch < 0 || s.batch > max_stride)
        refuse(ErrorCode::invalid_argument, "lse_batch_stride", std::to_string(s.batch),
               "0 to " + std::to_string(max_stride) + " elements");
    if (heads == 1)
        s.head = seq;
    if (batch == 1)
        s.batch = s.head * heads;
    check_no_overlap("lse", "_batch_stride, lse_head_stride", {{{s.batch, batch}, {s.head, heads}, {1, 1}}},
                     seq);
    s.bytes = extent_bytes({s.batch, s.head, 1}, batch, heads, 1, seq, sizeof(float));
    if (s.bytes > max_extent_bytes)
        refuse(ErrorCode::unsupported, "lse", std::to_string(s.bytes) + " bytes from first to last element",
               "at most " + std::to_string(max_extent_bytes) + " bytes");
    return s;
}

void check_apart(const char* output, const void* out, std::uint64_t out_bytes, const char* input,
                 const void* in, std::uint64_t in_bytes) {
    if (address(out) < address(in) + in_bytes && address(in) < address(out) + out_bytes)
        refuse(ErrorCode::invalid_argument, output, std::string("in the same memory as ") + input,
               "an output apart from every input");
}

void check_positive(const char* name, float value) {
    if (!(value > 0.0f) || !std::isfinite(value))
        refuse(ErrorCode::invalid_argument, name, std::to_string(value), "finite and greater than 0");
}

float descale(const char* name, const std::optional<float>& value, DType dtype) {
    if (!value)
        return 1.0f;
    if (dtype != DType::e4m3)
        refuse(ErrorCode::invalid_argument, name, std::to_string(*value),
               std::string("unset where q, k and v are ") + to_string(dtype));
    check_positive(name, *value);
    return *value;
}

} // namespace

std::uint64_t extent_bytes(const Strides& strides, std::int64_t batch, std::int64_t heads, std::int64_t seq,
                           std::int64_t dim, std::uint32_t element_bytes) {
    constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t total = static_cast<std::uint64_t>(dim);
    for (const auto& [stride, size] :
         {std::pair{strides.batch, batch}, std::pair{strides.head, heads}, std::pair{strides.seq, seq}}) {
        std::uint64_t reach = 0;
        if (__builtin_mul_overflow(static_cast<std::uint64_t>(stride), static_cast<std::uint64_t>(size - 1),
                                   &reach) ||
            __builtin_add_overflow(total, reach, &total))
            return huge;
    }
    return __builtin_mul_overflow(total, std::uint64_t{element_bytes}, &total) ? huge : total;
}

Problem validate(const AttentionArgs& args) {
    const std::array<Named, 4> tensors{Named{"q", args.q}, {"k", args.k}, {"v", args.v}, {"o", args.o}};
    for (const Named& t : tensors)
        check_present(t);
    check_dtypes(args);
    check_devices(args);
    check_shapes(args);
    if (args.mask != Mask::none && args.mask != Mask::causal)
        refuse(ErrorCode::unsupported, "mask", std::to_string(static_cast<int>(args.mask)), "none, causal");
    if (args.probability > Probability::exact)
        refuse(ErrorCode::unsupported, "probability", std::to_string(static_cast<int>(args.probability)),
               "automatic, lean, exact");

    Problem p;
    p.dtype = args.q.dtype;
    p.batch = args.q.sizes[0];
    p.heads_q = args.q.sizes[1];
    p.seq_q = args.q.sizes[2];
    p.dim_qk = args.q.sizes[3];
    p.heads_kv = args.k.sizes[1];
    p.seq_kv = args.k.sizes[2];
    p.dim_v = args.v.sizes[3];
    p.mask = args.mask;
    p.nan_exact = args.nan_exact;
    p.probability = p.dtype == DType::bf16 ? Probability::automatic : args.probability;

    std::array<std::uint64_t, 4> extents{};
    const std::array<Strides*, 4> strides{&p.q, &p.k, &p.v, &p.o};
    for (std::size_t i = 0; i < 4; ++i) {
        check_alignment(tensors[i]);
        *strides[i] = canonical_strides(tensors[i].view);
        extents[i] = check_extent(tensors[i], *strides[i]);
    }
    check_no_overlap("o", ".strides", {{{p.o.batch, p.batch}, {p.o.head, p.heads_q}, {p.o.seq, p.seq_q}}},
                     p.dim_v);
    const ValidLse lse = args.lse ? check_lse(args.lse, args.q.sizes[0], args.q.sizes[1], args.q.sizes[2],
                                              args.lse_batch_stride, args.lse_head_stride)
                                  : ValidLse{};
    p.lse = args.lse != nullptr;
    p.lse_batch_stride = lse.batch;
    p.lse_head_stride = lse.head;
    for (std::size_t i = 0; i < 3; ++i)
        check_apart("o", args.o.data, extents[3], tensors[i].name, tensors[i].view.data, extents[i]);
    if (p.lse)
        for (std::size_t i = 0; i < 4; ++i)
            check_apart("lse", args.lse, lse.bytes, tensors[i].name, tensors[i].view.data, extents[i]);

    p.softmax_scale =
        args.softmax_scale.value_or(static_cast<float>(1.0 / std::sqrt(static_cast<double>(p.dim_qk))));
    check_positive("softmax_scale", p.softmax_scale);
    p.q_descale = descale("q_descale", args.q_descale, p.dtype);
    p.k_descale = descale("k_descale", args.k_descale, p.dtype);
    p.v_descale = descale("v_descale", args.v_descale, p.dtype);
    return p;
}

ValidTensor validate_tensor(const char* name, const TensorView& view) {
    const Named tensor{name, view};
    check_present(tensor);
    check_sizes(tensor);
    check_alignment(tensor);
    ValidTensor out{canonical_strides(view), 0};
    out.bytes = check_extent(tensor, out.strides);
    return out;
}

void validate_output(const char* name, const TensorView& view, const Strides& strides) {
    check_no_overlap(
        name, ".strides",
        {{{strides.batch, view.sizes[0]}, {strides.head, view.sizes[1]}, {strides.seq, view.sizes[2]}}},
        view.sizes[3]);
}

ValidLse validate_lse(const float* lse, std::int64_t batch, std::int64_t heads, std::int64_t seq,
                      std::int64_t batch_stride, std::int64_t head_stride) {
    return check_lse(lse, batch, heads, seq, batch_stride, head_stride);
}

void validate_apart(const char* output, const void* out, std::uint64_t out_bytes, const char* input,
                    const void* in, std::uint64_t in_bytes) {
    check_apart(output, out, out_bytes, input, in, in_bytes);
}

} // namespace zyfa
