// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_shape_table: the paper's configurations (Table VI, Figure 8) on the simulator's timing
// model.
//
// Per configuration, workgroup 0 of the launch as a GPU of 256 compute units would get it runs on the cycle
// model, with all its query tiles; the others have the same work (tiles come in pairs of equal length). All
// heads read the same data, so that memory stays small. TFLOP/s by the paper's formula (1), at the clock that
// the model says a whole chip of such workgroups settles at. Nothing here is measured on a GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/keys.hpp"
#include "core/random.hpp"
#include "core/reference.hpp"
#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "sim/timing/clock_model.hpp"
#include "sim/timing/report.hpp"
#include "templates/template.hpp"

namespace {

using namespace zyfa;

constexpr std::uint32_t compute_units = 256;

struct Row {
    double cycles = 0, steady = 0, whole = 0, useful = 0, clock_ghz = 0, tflops = 0;
};

/// Formula (1): half of the products of a full score matrix.
double flops(const Problem& p) {
    const auto s = static_cast<double>(p.seq_q);
    return static_cast<double>(p.batch * p.heads_q) * s * s * static_cast<double>(p.dim_qk + p.dim_v);
}

std::uint64_t gaussian(sim::Memory& memory, std::int64_t elements, std::uint32_t which) {
    const auto count = static_cast<std::size_t>(elements);
    const std::uint64_t address = memory.allocate(2 * count, sim::AllocationKind::device, 0);
    Random random(1, which, 0);
    auto* values = reinterpret_cast<std::uint16_t*>(address);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = float_to_bf16(static_cast<float>(0.1 * random.normal())); // paper Section V-B
    return address;
}

Row measure(std::int64_t dim_qk, std::int64_t group, std::int64_t seq, jit::Assembler& assembler,
            const char* schedule_text) {
    const std::int64_t heads = std::max<std::int64_t>(32, 262144 / seq);
    Problem p =
        Problem::contiguous(DType::bf16, 1, heads, heads / group, seq, seq, dim_qk, 128, Mask::causal);
    for (Strides* s : {&p.q, &p.k, &p.v, &p.o})
        s->head = s->batch = 0;
    p.lse_head_stride = p.lse_batch_stride = 0;
    const templates::Template& form = templates::template_for(p);
    Schedule schedule = form.default_schedule(p);
    if (schedule_text) // "name=value" of a number
        schedule.parameters[std::string(schedule_text, std::strchr(schedule_text, '='))] =
            std::atof(std::strchr(schedule_text, '=') + 1);
    const templates::Kernel kernel = form.instantiate(classify(p), schedule);
    templates::LaunchPlan plan = form.plan(p, schedule, {});

    sim::Memory memory;
    sim::DeviceConfig config;
    config.threads = 1;
    sim::Engine engine(memory, config);
    const auto code =
        sim::CodeObject::load(memory, assembler.assemble(kernel.assembly, kernel.target, kernel.name).elf, 0);
    const std::uint64_t q = gaussian(memory, seq * dim_qk, 1), k = gaussian(memory, seq * dim_qk, 2),
                        v = gaussian(memory, seq * 128, 3), o = gaussian(memory, seq * 128, 4),
                        lse = gaussian(memory, seq * 2, 5);
    for (const templates::KernargPatch& patch : plan.patches) {
        using Field = templates::KernargField;
        const std::uint64_t pointer = patch.field == Field::q     ? q
                                      : patch.field == Field::k   ? k
                                      : patch.field == Field::v   ? v
                                      : patch.field == Field::o   ? o
                                      : patch.field == Field::lse ? lse
                                                                  : 0;
        if (pointer != 0)
            std::memcpy(plan.kernarg.data() + patch.offset, &pointer, sizeof pointer);
    }
    sim::Launch launch;
    launch.code = code;
    launch.kernel = code->kernel(plan.kernel);
    launch.grid = {1, 1, 1}; // its step stays that of the whole grid
    launch.block = plan.block;
    launch.kernarg = plan.kernarg;
    launch.timed_workgroups = 1;
    const sim::LaunchResult result = engine.run(launch);
    if (result.fault) {
        std::fprintf(stderr, "%s\n", result.fault->text.c_str());
        std::exit(1);
    }
    const sim::timing::TimingReport& report = *result.timing.at(0);
    Row row;
    row.cycles = static_cast<double>(report.cycles);
    row.steady = report.steady().matrix_busy; // inside one tile; 0 where none is long enough
    row.whole = report.whole_loop();
    double matrix_cycles = 0; // of all SIMDs of the chip
    for (const std::uint64_t cycles : report.matrix)
        matrix_cycles += static_cast<double>(cycles) * compute_units;
    row.useful = flops(p) / (1024 * matrix_cycles); // 1024 FLOP per cycle of a SIMD (paper Section III-A)
    row.clock_ghz = sim::timing::sustained_ghz(report.activity());
    row.tflops = flops(p) / (row.cycles / row.clock_ghz) * 1e-3;
    return row;
}

} // namespace

int main(int argc, char** argv) {
    const std::int64_t longest = argc > 1 ? std::atoll(argv[1]) : 32768;
    const char* parameter = argc > 2 ? argv[2] : nullptr; // tau=8, say
    std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    if (!assembler) {
        std::fprintf(stderr, "no assembler for gfx950\n");
        return 1;
    }
    std::printf("kernel,heads,S,cycles,matrix_busy_steady,matrix_busy_whole,useful_share,clock_ghz,tflops\n");
    for (const std::int64_t dim_qk : {128, 192})
        for (const std::int64_t group : {1, 4})
            for (std::int64_t seq = 1024; seq <= longest; seq *= 2) {
                const Row r = measure(dim_qk, group, seq, *assembler, parameter);
                std::printf("bf16_%lld,%s,%lld,%.0f,%.3f,%.3f,%.3f,%.2f,%.0f\n",
                            static_cast<long long>(dim_qk), group == 1 ? "MHA" : "GQA",
                            static_cast<long long>(seq), r.cycles, r.steady, r.whole, r.useful, r.clock_ghz,
                            r.tflops);
                std::fflush(stdout);
            }
    return 0;
}
