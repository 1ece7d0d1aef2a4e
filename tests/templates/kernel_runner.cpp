// SPDX-License-Identifier: Apache-2.0
#include "tests/templates/kernel_runner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>

#include "core/random.hpp"
#include "core/reference.hpp"
#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "sim/sanitizer/report.hpp"

namespace zyfa::test {

namespace {

constexpr std::uint16_t sentinel = 0x5a5a;
constexpr std::uint32_t sentinel_lse = 0x5a5a5a5a;

std::size_t extent(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d, const Strides& strides) {
    return static_cast<std::size_t>((b - 1) * strides.batch + (h - 1) * strides.head + (s - 1) * strides.seq +
                                    d);
}

std::vector<std::byte> assemble(const templates::Kernel& kernel) {
    static std::map<std::string, std::vector<std::byte>> cache;
    const auto found = cache.find(kernel.assembly);
    if (found != cache.end())
        return found->second;
    static const std::unique_ptr<jit::Assembler> assembler = [] {
        auto made = jit::make_llvm_assembler();
        if (!made)
            made = jit::make_assembler("");
        if (!made)
            throw std::runtime_error("no assembler for gfx950");
        return made;
    }();
    return cache[kernel.assembly] = assembler->assemble(kernel.assembly, kernel.target, kernel.name).elf;
}

std::uint64_t upload(sim::Memory& memory, const void* data, std::size_t bytes) {
    const std::uint64_t address = memory.allocate(bytes, sim::AllocationKind::device, 0);
    std::memcpy(reinterpret_cast<void*>(address), data, bytes);
    return address;
}

/// One tensor on the device with strides of its own.
struct Placed {
    std::int64_t batch, heads, rows, width; ///< width in bytes
    Strides host, device;                   ///< bytes
    std::uint64_t address = 0;

    template <class Action>
    void for_rows(const Action& action) const {
        auto offset = [](const Strides& s, std::int64_t b, std::int64_t h, std::int64_t r) {
            return static_cast<std::size_t>(b * s.batch + h * s.head + r * s.seq);
        };
        for (std::int64_t b = 0; b < batch; ++b)
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t r = 0; r < rows; ++r)
                    action(offset(host, b, h, r), address + offset(device, b, h, r));
    }
    void upload(sim::Memory& memory, const void* data) {
        address = memory.allocate(extent(batch, heads, rows, width, device), sim::AllocationKind::device, 0);
        for_rows([&](std::size_t from, std::uint64_t to) {
            std::memcpy(reinterpret_cast<void*>(to), static_cast<const std::byte*>(data) + from,
                        static_cast<std::size_t>(width));
        });
    }
    void download(void* data) const {
        for_rows([&](std::size_t to, std::uint64_t from) {
            std::memcpy(static_cast<std::byte*>(data) + to, reinterpret_cast<const void*>(from),
                        static_cast<std::size_t>(width));
        });
    }
};

Placed placed_tensor(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t dim,
                     std::int64_t element, const Strides& host, const Strides& device) {
    auto bytes = [element](const Strides& s) {
        return Strides{s.batch * element, s.head * element, s.seq * element};
    };
    return {batch, heads, rows, dim * element, bytes(host), bytes(device)};
}

} // namespace

Problem padded(Problem p, Problem::Layout layout) {
    auto pad = [layout](Strides& s, std::int64_t heads, std::int64_t rows, std::int64_t width) {
        const std::int64_t row = width + 16;
        if (layout == Problem::Layout::bhsd) {
            s.seq = row;
            s.head = row * (rows + 1);
            s.batch = s.head * heads + row;
        } else {
            s.head = row;
            s.seq = row * heads + 8;
            s.batch = s.seq * (rows + 1);
        }
    };
    pad(p.q, p.heads_q, p.seq_q, p.dim_qk);
    pad(p.k, p.heads_kv, p.seq_kv, p.dim_qk);
    pad(p.v, p.heads_kv, p.seq_kv, p.dim_v);
    pad(p.o, p.heads_q, p.seq_q, p.dim_v);
    p.lse_head_stride = p.seq_q + 4;
    p.lse_batch_stride = p.lse_head_stride * p.heads_q + 4;
    return p;
}

Inputs draw(const Problem& p, std::uint64_t seed, double sd_q, double sd_k, double sd_v) {
    Inputs out;
    auto fill = [seed](std::vector<std::uint16_t>& values, std::size_t count, double sd,
                       std::uint32_t which) {
        Random random(seed, which, 0);
        values.resize(count);
        for (std::uint16_t& value : values)
            value = float_to_bf16(static_cast<float>(sd * random.normal()));
    };
    fill(out.q, extent(p.batch, p.heads_q, p.seq_q, p.dim_qk, p.q), sd_q, 1);
    fill(out.k, extent(p.batch, p.heads_kv, p.seq_kv, p.dim_qk, p.k), sd_k, 2);
    fill(out.v, extent(p.batch, p.heads_kv, p.seq_kv, p.dim_v, p.v), sd_v, 3);
    return out;
}

Inputs8 draw8(Problem& p, std::uint64_t seed, double sd_q, double sd_k, double sd_v) {
    const Inputs drawn = draw(p, seed, sd_q, sd_k, sd_v);
    p.q_descale = p.k_descale = p.v_descale = 1.0f / 16;
    Inputs8 out;
    for (const auto& [to, from] : {std::pair{&out.q, &drawn.q}, {&out.k, &drawn.k}, {&out.v, &drawn.v}})
        for (const std::uint16_t bits : *from)
            to->push_back(float_to_e4m3(16 * bf16_to_float(bits)));
    return out;
}

Outputs run(const Problem& p, const Schedule& schedule, const HostTensors& inputs, RunOptions options) {
    const templates::Template& t = templates::template_for(p);
    const templates::Kernel kernel = t.instantiate(classify(p), schedule);
    templates::DeviceShape shape;
    shape.compute_units = options.compute_units;
    const Problem& there = options.placed ? *options.placed : p; // strides on the device
    templates::LaunchPlan plan = t.plan(there, schedule, shape);

    sim::Memory memory;
    sim::DeviceConfig config;
    config.seed = options.seed;
    config.threads = 2;
    sim::Engine engine(memory, config);
    const auto code = sim::CodeObject::load(memory, assemble(kernel), 0);

    Outputs out;
    out.o.assign(extent(p.batch, p.heads_q, p.seq_q, p.dim_v, p.o), sentinel);
    out.lse.assign(extent(p.batch, p.heads_q, 1, p.seq_q, {p.lse_batch_stride, p.lse_head_stride, 1}),
                   std::bit_cast<float>(sentinel_lse));
    const std::int64_t element = p.dtype == DType::bf16 ? 2 : 1;
    Placed on_q = placed_tensor(p.batch, p.heads_q, p.seq_q, p.dim_qk, element, p.q, there.q),
           on_k = placed_tensor(p.batch, p.heads_kv, p.seq_kv, p.dim_qk, element, p.k, there.k),
           on_v = placed_tensor(p.batch, p.heads_kv, p.seq_kv, p.dim_v, element, p.v, there.v),
           on_o = placed_tensor(p.batch, p.heads_q, p.seq_q, p.dim_v, 2, p.o, there.o),
           on_lse =
               placed_tensor(p.batch, p.heads_q, 1, p.seq_q, 4, {p.lse_batch_stride, p.lse_head_stride, 1},
                             {there.lse_batch_stride, there.lse_head_stride, 1});
    if (options.placed) {
        on_q.upload(memory, inputs.q.data());
        on_k.upload(memory, inputs.k.data());
        on_v.upload(memory, inputs.v.data());
        on_o.upload(memory, out.o.data());
        on_lse.upload(memory, out.lse.data());
    } else { // the gaps too
        on_q.address = upload(memory, inputs.q.data(), inputs.q.size());
        on_k.address = upload(memory, inputs.k.data(), inputs.k.size());
        on_v.address = upload(memory, inputs.v.data(), inputs.v.size());
        on_o.address = upload(memory, out.o.data(), out.o.size() * 2);
        on_lse.address = upload(memory, out.lse.data(), out.lse.size() * 4);
    }
    const std::uint64_t q = on_q.address, k = on_k.address, v = on_v.address, o = on_o.address,
                        lse = on_lse.address;
    const std::uint64_t workspace =
        plan.workspace_bytes ? memory.allocate(plan.workspace_bytes, sim::AllocationKind::device, 0) : 0;
    if (workspace) // what no part writes would be NaN
        std::memset(reinterpret_cast<void*>(workspace), 0xff, plan.workspace_bytes);
    std::uint64_t counters = 0;
    if (plan.counter_bytes) {
        const std::vector<std::byte> zeros(plan.counter_bytes);
        counters = upload(memory, zeros.data(), zeros.size());
    }
    for (const templates::KernargPatch& patch : plan.patches) {
        const std::uint64_t pointer = patch.field == templates::KernargField::q           ? q
                                      : patch.field == templates::KernargField::k         ? k
                                      : patch.field == templates::KernargField::v         ? v
                                      : patch.field == templates::KernargField::o         ? o
                                      : patch.field == templates::KernargField::lse       ? lse
                                      : patch.field == templates::KernargField::workspace ? workspace
                                      : patch.field == templates::KernargField::counters  ? counters
                                                                                          : 0;
        if (pointer != 0)
            std::memcpy(plan.kernarg.data() + patch.offset, &pointer, 8);
    }
    sim::Launch launch;
    launch.code = code;
    launch.kernel = code->kernel(plan.kernel);
    launch.grid = plan.grid;
    launch.block = plan.block;
    launch.dynamic_lds = plan.dynamic_lds;
    launch.kernarg = plan.kernarg;
    launch.sanitize = options.sanitize;
    const sim::LaunchResult result = engine.run(launch);
    if (result.sanitizer && result.sanitizer->errors(false) > 0)
        out.fault = "sanitizer: " + sim::sanitizer::to_text(std::span(result.sanitizer.get(), 1), false);
    if (result.fault)
        out.fault = result.fault->kind + ": " + result.fault->text;
    else if (const auto* counter = reinterpret_cast<const std::uint32_t*>(counters);
             std::any_of(counter, counter + plan.counter_bytes / 4, [](std::uint32_t n) { return n != 0; }))
        out.fault = "a counter of parts is not 0 for the next launch";
    out.cycles = result.cycles;
    out.instructions = result.instructions;
    if (options.placed) {
        on_o.download(out.o.data());
        on_lse.download(out.lse.data());
    } else {
        std::memcpy(out.o.data(), reinterpret_cast<const void*>(o), out.o.size() * 2);
        std::memcpy(out.lse.data(), reinterpret_cast<const void*>(lse), out.lse.size() * 4);
    }

    std::vector<bool> owned(out.o.size(), false), owned_lse(out.lse.size(), false);
    for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < p.heads_q; ++h)
            for (std::int64_t row = 0; row < p.seq_q; ++row) {
                const auto at = b * p.o.batch + h * p.o.head + row * p.o.seq;
                std::fill_n(owned.begin() + at, p.dim_v, true);
                owned_lse[static_cast<std::size_t>(b * p.lse_batch_stride + h * p.lse_head_stride + row)] =
                    true;
            }
    for (std::size_t i = 0; i < out.o.size(); ++i)
        out.gaps_intact = out.gaps_intact && (owned[i] || out.o[i] == sentinel);
    for (std::size_t i = 0; i < out.lse.size(); ++i)
        out.gaps_intact =
            out.gaps_intact && (owned_lse[i] || std::bit_cast<std::uint32_t>(out.lse[i]) == sentinel_lse);
    return out;
}

std::uint16_t o_at(const Problem& p, const Outputs& out, std::int64_t b, std::int64_t h, std::int64_t row,
                   std::int64_t column) {
    return out.o[static_cast<std::size_t>(b * p.o.batch + h * p.o.head + row * p.o.seq + column)];
}

float lse_at(const Problem& p, const Outputs& out, std::int64_t b, std::int64_t h, std::int64_t row) {
    return out.lse[static_cast<std::size_t>(b * p.lse_batch_stride + h * p.lse_head_stride + row)];
}

Comparison compare(const Problem& p, const HostTensors& tensors, const Outputs& outputs) {
    Comparison out;
    double error = 0, power = 0;
    std::vector<double> o(static_cast<std::size_t>(p.seq_q * p.dim_v)),
        lse(static_cast<std::size_t>(p.seq_q));
    for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < p.heads_q; ++h) {
            reference_head(p, tensors, b, h, o, lse, 2);
            for (std::int64_t row = 0; row < p.seq_q; ++row) {
                const auto r = static_cast<std::size_t>(row);
                for (std::int64_t d = 0; d < p.dim_v; ++d) {
                    const double expected =
                        o[r * static_cast<std::size_t>(p.dim_v) + static_cast<std::size_t>(d)];
                    const double got = bf16_to_float(o_at(p, outputs, b, h, row, d));
                    const double difference = std::abs(got - expected);
                    if (!(difference <= std::numeric_limits<double>::max()) && out.mismatch.empty())
                        out.mismatch = "O[" + std::to_string(b) + "," + std::to_string(h) + "," +
                                       std::to_string(row) + "," + std::to_string(d) + "] is " +
                                       std::to_string(got) + ", expected " + std::to_string(expected);
                    error += difference * difference;
                    power += expected * expected;
                    out.max_abs = std::max(out.max_abs, difference);
                }
                if (!p.lse)
                    continue;
                const double got = lse_at(p, outputs, b, h, row);
                if (std::isinf(lse[r])) {
                    if (got != lse[r] && out.mismatch.empty())
                        out.mismatch = "LSE[" + std::to_string(row) + "] is " + std::to_string(got);
                } else {
                    const double difference = std::abs(got - lse[r]);
                    if (!(difference <= std::numeric_limits<double>::max()) && out.mismatch.empty())
                        out.mismatch = "LSE[" + std::to_string(row) + "] is " + std::to_string(got);
                    out.lse_max_abs = std::max(out.lse_max_abs, difference);
                }
            }
        }
    out.relative_rms = power > 0 ? std::sqrt(error / power) : std::sqrt(error);
    return out;
}

} // namespace zyfa::test
