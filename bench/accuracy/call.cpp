// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/call.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>

#include "attention/context_impl.hpp"
#include "core/random.hpp"
#include "core/safetensors.hpp"
#include "templates/template.hpp"
#include "tuner/bound_launch.hpp"
#include "zyfa/error.hpp"
#include "zyfa/quantize.hpp"

namespace zyfa::accuracy {

namespace {

Problem problem_of(DType dtype, std::int64_t heads_q, std::int64_t heads_kv, std::int64_t seq,
                   std::int64_t dim_qk, std::int64_t dim_v) {
    return Problem::contiguous(dtype, 1, heads_q, heads_kv, seq, seq, dim_qk, dim_v, Mask::causal);
}

runtime::DeviceBuffer uploaded(Context& context, std::span<const std::byte> bytes) {
    runtime::DeviceBuffer buffer(context.impl().services().runtime(), 0, bytes.size());
    buffer.upload(bytes);
    return buffer;
}

runtime::DeviceBuffer room(Context& context, std::size_t bytes) {
    return {context.impl().services().runtime(), 0, bytes};
}

std::vector<std::byte> downloaded(const runtime::DeviceBuffer& buffer) {
    std::vector<std::byte> bytes(buffer.size());
    buffer.download(bytes);
    return bytes;
}

std::vector<std::byte> normal(std::size_t count, std::uint64_t seed, std::uint32_t stream, double sd) {
    Random random(seed, stream, 0);
    std::vector<std::byte> bytes(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t bits = float_to_bf16(static_cast<float>(sd * random.normal()));
        std::memcpy(bytes.data() + 2 * i, &bits, sizeof bits);
    }
    return bytes;
}

/// The first rows of the first heads of a tensor [1, H, S, D].
std::vector<std::byte> cut(const SafeTensor& tensor, std::int64_t heads, std::int64_t seq) {
    const std::int64_t rows = tensor.shape[2], dim = tensor.shape[3];
    std::vector<std::byte> out;
    for (std::int64_t h = 0; h < heads; ++h) {
        const auto head = tensor.data.subspan(static_cast<std::size_t>(2 * h * rows * dim),
                                              static_cast<std::size_t>(2 * seq * dim));
        out.insert(out.end(), head.begin(), head.end());
    }
    return out;
}

/// Codes of one tensor; `problem_descale` gets the descale.
std::vector<std::byte> codes_of(Context& context, std::span<const std::byte> values, std::int64_t heads,
                                std::int64_t seq, std::int64_t dim, bool rotate, bool smooth,
                                float& problem_descale) {
    const runtime::DeviceBuffer x = uploaded(context, values), codes = room(context, values.size() / 2),
                                mean = room(context, static_cast<std::size_t>(heads * dim) * sizeof(float));
    QuantizeArgs args;
    args.x = {x.data(), DType::bf16, 0, {1, heads, seq, dim}, {heads * seq * dim, seq * dim, dim, 1}};
    args.codes = args.x;
    args.codes.data = codes.data();
    args.codes.dtype = DType::e4m3;
    args.rotate = rotate;
    if (smooth) {
        args.smoothing = Smoothing::measured;
        args.mean = static_cast<float*>(mean.data());
    }
    problem_descale = quantize(context, args).descale;
    return downloaded(codes);
}

} // namespace

Values drawn(Distribution distribution, std::int64_t heads, std::int64_t seq, std::uint64_t seed) {
    Values out;
    out.problem = problem_of(DType::bf16, heads, heads, seq, 128, 128);
    DrawnInputs inputs = draw_inputs(out.problem, distribution, seed);
    out.q = std::move(inputs.q), out.k = std::move(inputs.k), out.v = std::move(inputs.v);
    return out;
}

Values with_outliers(std::int64_t seq, std::uint64_t seed) {
    Values out;
    out.problem = problem_of(DType::bf16, 1, 1, seq, 128, 128);
    const auto count = static_cast<std::size_t>(seq * 128);
    out.q = normal(count, seed, 1, 0.25), out.k = normal(count, seed, 2, 0.25),
    out.v = normal(count, seed, 3, 1);
    for (std::vector<std::byte>* tensor : {&out.q, &out.k})
        for (std::size_t row = 0; row < static_cast<std::size_t>(seq); ++row)
            for (const std::size_t channel : {std::size_t{5}, std::size_t{77}}) {
                std::byte* const at = tensor->data() + 2 * (128 * row + channel);
                std::uint16_t bits = 0;
                std::memcpy(&bits, at, sizeof bits);
                bits = float_to_bf16(16 * bf16_to_float(bits));
                std::memcpy(at, &bits, sizeof bits);
            }
    return out;
}

Values captured(const std::string& file, std::int64_t seq, std::int64_t heads) {
    std::ifstream in(file, std::ios::binary);
    std::vector<char> text((std::istreambuf_iterator<char>(in)), {});
    if (!in && text.empty())
        throw Error(ErrorCode::io_error, file, file + " cannot be read");
    const SafeTensors content = parse_safetensors(std::as_bytes(std::span(text)));
    const SafeTensor &q = content.at("q"), &k = content.at("k"), &v = content.at("v");
    for (const SafeTensor* tensor : {&q, &k, &v})
        if (tensor->dtype != "BF16" || tensor->shape.size() != 4 || tensor->shape[0] != 1 ||
            tensor->shape[2] < seq || q.shape[1] % tensor->shape[1] != 0)
            throw Error(ErrorCode::invalid_argument, file,
                        file + " does not hold BF16 tensors [1, heads, " + std::to_string(seq) +
                            " or more rows, dim] of one call");
    const std::int64_t group = q.shape[1] / k.shape[1];
    if (heads == 0)
        heads = q.shape[1];
    if (heads % group != 0 || heads > q.shape[1])
        throw Error(ErrorCode::invalid_argument, "--heads",
                    std::to_string(heads) + "; accepted: multiples of " + std::to_string(group) + " up to " +
                        std::to_string(q.shape[1]));
    Values out;
    out.problem = problem_of(DType::bf16, heads, heads / group, seq, q.shape[3], v.shape[3]);
    if (const auto scale = content.metadata.find("softmax_scale"); scale != content.metadata.end())
        out.problem.softmax_scale = std::stof(scale->second);
    out.q = cut(q, heads, seq), out.k = cut(k, heads / group, seq), out.v = cut(v, heads / group, seq);
    return out;
}

Codes quantised(Context& context, const Values& values, Transform transform) {
    const Problem& p = values.problem;
    Codes out;
    out.problem = problem_of(DType::e4m3, p.heads_q, p.heads_kv, p.seq_q, p.dim_qk, p.dim_v);
    out.problem.softmax_scale = p.softmax_scale;
    out.q = codes_of(context, values.q, p.heads_q, p.seq_q, p.dim_qk, transform.rotate, false,
                     out.problem.q_descale);
    out.k = codes_of(context, values.k, p.heads_kv, p.seq_kv, p.dim_qk, transform.rotate, transform.smooth,
                     out.problem.k_descale);
    out.v = codes_of(context, values.v, p.heads_kv, p.seq_kv, p.dim_v, false, false, out.problem.v_descale);
    return out;
}

Output run(Context& context, const Codes& codes, Probability probability, const std::string& key_order) {
    Problem problem = codes.problem;
    problem.probability = probability;
    const templates::Template& form = templates::template_for(problem);
    Schedule schedule = form.default_schedule(problem);
    schedule.parameters["key_order"] = key_order;
    if (const auto parts = schedule.parameters.find("key_parts"); parts != schedule.parameters.end())
        parts->second = std::int64_t{1};
    if (const auto why = form.reject(problem, schedule))
        throw Error(ErrorCode::internal, "schedule", *why);

    call::Services& services = context.impl().services();
    const templates::Kernel kernel = form.instantiate(classify(problem), schedule);
    static std::map<std::string, std::vector<std::byte>> assembled; // the same few kernels for all inputs
    std::vector<std::byte>& elf = assembled[schedule.canonical()];
    if (elf.empty())
        elf = services.assembler().assemble(kernel.assembly, kernel.target, kernel.name).elf;
    const runtime::Module module(services.runtime(), 0, elf);
    const runtime::DeviceBuffer q = uploaded(context, codes.q), k = uploaded(context, codes.k),
                                v = uploaded(context, codes.v);
    const auto rows = static_cast<std::size_t>(problem.heads_q * problem.seq_q);
    const runtime::DeviceBuffer o = room(context, rows * static_cast<std::size_t>(problem.dim_v) * 2),
                                lse = room(context, rows * sizeof(float));
    tuner::CallValues values;
    values.q = q.data(), values.k = k.data(), values.v = v.data();
    values.o = o.data(), values.lse = lse.data();
    values.score_scale = tuner::score_scale(problem.softmax_scale, problem.q_descale, problem.k_descale);
    values.output_scale = problem.v_descale;
    tuner::BoundLaunch launch(*services.runtime(), module.function(kernel.name),
                              form.plan(problem, schedule, call::shape_of(services.device(0))), values,
                              nullptr, nullptr);
    launch(nullptr);
    runtime::synchronize(*services.runtime(), 0);
    return {downloaded(o), downloaded(lse)};
}

} // namespace zyfa::accuracy
