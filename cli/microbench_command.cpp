// SPDX-License-Identifier: Apache-2.0
// zyfa microbench: what instructions cost, alone and beside others, and at which clock. The same code objects
// run on the simulator and on a GPU.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/microbench_cases.hpp"
#include "core/random.hpp"
#include "core/reference.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "sim/hip/zyfa_sim.h"

namespace zyfa::cli {

namespace {

using namespace microbench;

constexpr std::uint32_t block_size = 64 * waves;
/// Simulated compute units: one per XCD, all busy, so that a launch loads the device as one of 256 workgroups
/// loads an MI355X.
constexpr std::uint32_t simulated_units = 8;
constexpr double real_clock_ghz = 0.1; ///< s_memrealtime on gfx94x and gfx950

std::vector<std::byte> operand_data(Operands kind) {
    std::vector<std::byte> data(operand_bytes);
    Random random(1, static_cast<std::uint32_t>(kind), 0);
    for (std::size_t at = 0; at < data.size(); at += 2) {
        std::uint16_t value = 0;
        if (kind == Operands::gaussian_e4m3)
            value = static_cast<std::uint16_t>(float_to_e4m3(static_cast<float>(random.normal())) |
                                               float_to_e4m3(static_cast<float>(random.normal())) << 8);
        else if (kind == Operands::gaussian_bf16)
            value = float_to_bf16(static_cast<float>(random.normal()));
        else if (kind == Operands::random_bits)
            value = static_cast<std::uint16_t>(random.bits());
        std::memcpy(data.data() + at, &value, sizeof value);
    }
    return data;
}

class Bench {
  public:
    /// `operands`: in place of those that the cases name; empty: theirs.
    Bench(std::shared_ptr<runtime::Runtime> runtime, int device, std::vector<std::byte> operands)
        : given_(std::move(operands)), runtime_(std::move(runtime)), device_(device),
          guard_(*runtime_, device), stream_(runtime_, device),
          assembler_(jit::make_assembler(ContextOptions::from_environment().comgr_library)),
          operands_(runtime_, device, operand_bytes), addresses_(runtime_, device, 256),
          zeros_(runtime_, device, 4096) {
        if (!assembler_)
            throw Error(ErrorCode::assemble_failed, "",
                        "no assembler for gfx950 was found; zyfa doctor says what was looked for");
        zeros_.fill(0);
        if (const auto set =
                reinterpret_cast<decltype(&zyfaSimSetDevice)>(runtime_->extension("zyfaSimSetDevice"))) {
            set(device, "timed_workgroups", "65536"); // clocks that kernels read are those of the cycle model
            set(device, "compute_units", std::to_string(simulated_units).c_str());
            set(device, "xcds", std::to_string(simulated_units).c_str());
            units_ = simulated_units;
        } else {
            units_ = runtime_->devices().at(static_cast<std::size_t>(device)).compute_units;
        }
        times_ = runtime::DeviceBuffer(runtime_, device, sizeof(WaveTimes) * waves * units_);
        read_telemetry_ =
            reinterpret_cast<decltype(read_telemetry_)>(runtime_->extension("zyfaSimReadTelemetry"));
    }

    double measure(const Case& test) {
        if (test.measure == Measure::slowdown) {
            Case alone = test;
            alone.kernel.first = {};
            return elapsed(run(test), 4, 8) / elapsed(run(alone), 4, 8);
        }
        const std::vector<WaveTimes> times = run(test);
        const Role& role = test.kernel.first;
        const double count = static_cast<double>(role.instructions) * role.repeats;
        switch (test.measure) {
        case Measure::cost:
            return elapsed(times, 0, 8) / (2 * count);
        case Measure::port:
            return elapsed(times, 0, 4) / (2 * count);
        case Measure::clock:
            return clock_ghz(times);
        default:
            return elapsed(times, 0, 4) / count;
        }
    }

  private:
    /// From the first wave's begin to the last one's end, of the first workgroup's waves [from, to) that
    /// share SIMD 0; for an LDS port those of SIMD 0 and 1.
    static double elapsed(std::span<const WaveTimes> times, unsigned from, unsigned to) {
        std::uint64_t begin = ~0ull, end = 0;
        for (unsigned wave = from; wave < to; wave += 4) {
            begin = std::min(begin, times[wave].begin);
            end = std::max(end, times[wave].end);
        }
        return static_cast<double>(end - begin);
    }

    double clock_ghz(std::span<const WaveTimes> times) const {
        zyfaSimTelemetry telemetry{};
        if (read_telemetry_ != nullptr && read_telemetry_(device_, &telemetry) == 0)
            return telemetry.shader_clock_ghz;
        const WaveTimes& wave = times.front();
        return real_clock_ghz * static_cast<double>(wave.end - wave.begin) /
               static_cast<double>(wave.real_end - wave.real_begin);
    }

    std::vector<WaveTimes> run(const Case& test) {
        operands_.upload(given_.empty() ? operand_data(test.operands) : given_);
        std::array<std::uint32_t, 64> address{};
        for (std::uint32_t lane = 0; lane < 64; ++lane)
            address[lane] = lane * test.lds_pitch;
        addresses_.upload(std::as_bytes(std::span(address)));
        const jit::CodeObject code = assembler_->assemble(assembly(test.kernel), "gfx950", test.kernel.name);
        const runtime::Module module(runtime_, device_, code.elf);
        std::array<const void*, 4> arguments{operands_.data(), addresses_.data(), times_.data(),
                                             zeros_.data()};
        void* const function = module.function(test.kernel.name);
        // On a GPU the clock needs seconds to settle; the simulator's model is that of the settled clock.
        const unsigned launches = runtime_->simulated() ? 1 : test.measure == Measure::clock ? 20000 : 3;
        for (unsigned n = 0; n < launches; ++n)
            runtime::launch(*runtime_, function, {units_, 1, 1}, {block_size, 1, 1}, 0, stream_.handle(),
                            std::as_writable_bytes(std::span(arguments)));
        stream_.synchronize();
        std::vector<WaveTimes> times(waves * units_);
        times_.download(std::as_writable_bytes(std::span(times)));
        return times;
    }

    std::vector<std::byte> given_;
    std::shared_ptr<runtime::Runtime> runtime_;
    int device_;
    runtime::DeviceGuard guard_;
    runtime::Stream stream_;
    std::unique_ptr<jit::Assembler> assembler_;
    runtime::DeviceBuffer operands_, addresses_, zeros_, times_;
    std::uint32_t units_ = 1;
    decltype(&zyfaSimReadTelemetry) read_telemetry_ = nullptr;
};

const char* unit(Measure measure) {
    return measure == Measure::slowdown ? "times" : measure == Measure::clock ? "GHz" : "cycles";
}

ExitCode microbench_all(const CommonOptions& common, const std::string& filter, const std::string& operands) {
    std::vector<std::byte> given;
    if (!operands.empty()) {
        given = read_file(operands);
        if (given.size() != operand_bytes)
            throw Error(ErrorCode::invalid_argument, "--operands",
                        fmt::format("{} holds {} bytes; 256 for each of 64 lanes are {}", operands,
                                    given.size(), operand_bytes));
    }
    const std::shared_ptr<runtime::Runtime> runtime =
        runtime::Runtime::open(common.device, ContextOptions::from_environment().hip_library);
    Bench bench(runtime, device_ordinal(common), std::move(given));
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    Table table({{"group"}, {"what"}, {"value", true}, {"unit"}});
    for (const Case& test : all_cases()) {
        if (!filter.empty() && (test.group + ": " + test.name).find(filter) == std::string::npos)
            continue;
        const double value = bench.measure(test);
        list.push_back(
            {{"group", test.group}, {"name", test.name}, {"value", value}, {"unit", unit(test.measure)}});
        table.add({test.group, test.name, fmt::format("{:.3g}", value), unit(test.measure)});
    }
    if (table.empty())
        throw Error(ErrorCode::invalid_argument, "--only", "no case holds '" + filter + "'");
    if (common.json)
        fmt::print("{}\n",
                   nlohmann::ordered_json{{"simulated", runtime->simulated()}, {"cases", list}}.dump(2));
    else {
        table.print();
        if (runtime->simulated())
            fmt::print("\nsimulated: these are the cycle model's figures, not measurements\n");
    }
    return ExitCode::ok;
}

} // namespace

void add_microbench(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand(
        "microbench",
        "Measure instruction costs, overlap, latencies, LDS ports and clocks with code objects of our own");
    const std::shared_ptr<std::string> filter = std::make_shared<std::string>();
    command->add_option("--only", *filter, "Only cases whose \"group: name\" holds this text")
        ->type_name("TEXT");
    const std::shared_ptr<std::string> operands = std::make_shared<std::string>();
    command
        ->add_option(
            "--operands", *operands,
            "Operand registers v[64:127] from FILE, 256 bytes for each of 64 lanes, in place of drawn ones")
        ->type_name("FILE");
    add_common_flags(*command, invocation.common);
    command->footer(
        "\nWithout --device the simulator is meant here. docs/timing.md compares with published numbers.");
    command->callback([&invocation, filter, operands] {
        invocation.action = [&invocation, filter, operands] {
            CommonOptions common = invocation.common;
            if (common.device.empty() || common.device == "auto")
                common.device = "sim";
            return microbench_all(common, *filter, *operands);
        };
    });
}

} // namespace zyfa::cli
