// SPDX-License-Identifier: Apache-2.0
#include "bench/mutants/trial.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "sim/sanitizer/report.hpp"

namespace zyfa::mutants {

Outcome Bench::run(std::span<const std::byte> elf, const Subject& subject, bool sanitize, std::uint64_t seed,
                   std::uint64_t limit) {
    if (sanitize)
        memory_.track_initialisation();
    const std::shared_ptr<sim::CodeObject> code = sim::CodeObject::load(memory_, elf, 0);
    sim::DeviceConfig config;
    config.seed = seed;
    if (limit != 0)
        config.instruction_limit = limit;
    sim::Engine engine(memory_, config);
    std::vector<std::byte> kernarg = subject.kernarg;
    std::vector<std::uint64_t> addresses;
    for (const std::vector<std::byte>& content : subject.buffers) {
        addresses.push_back(memory_.allocate(content.size(), sim::AllocationKind::device, 0));
        std::memcpy(reinterpret_cast<void*>(addresses.back()), content.data(), content.size());
        memory_.mark_initialised(addresses.back(), content.size());
    }
    for (const Subject::Pointer& pointer : subject.pointers) {
        const std::uint64_t address = addresses[pointer.buffer] + pointer.at;
        std::memcpy(kernarg.data() + pointer.offset, &address, sizeof address);
    }
    sim::Launch launch;
    launch.code = code;
    launch.kernel = code->kernel(subject.kernel);
    if (launch.kernel == nullptr)
        throw std::runtime_error("no kernel " + subject.kernel);
    launch.grid = subject.grid;
    launch.block = subject.block;
    launch.dynamic_lds = subject.dynamic_lds;
    launch.kernarg = kernarg;
    launch.sanitize = sanitize;
    const sim::LaunchResult result = engine.run(launch);
    Outcome outcome;
    outcome.fault = result.fault.has_value();
    outcome.instructions = result.instructions;
    if (result.sanitizer) {
        outcome.covered_by_stalls = result.sanitizer->covered_by_stalls;
        for (const sim::sanitizer::Finding& f : result.sanitizer->findings) {
            std::vector<std::string>& rules =
                f.severity == sim::sanitizer::Severity::error ? outcome.errors : outcome.notes;
            if (std::find(rules.begin(), rules.end(), f.rule) == rules.end())
                rules.push_back(f.rule);
        }
    }
    for (std::size_t n = 0; n < addresses.size(); ++n) {
        std::vector<std::byte>& content = outcome.buffers.emplace_back(subject.buffers[n].size());
        std::memcpy(content.data(), reinterpret_cast<const void*>(addresses[n]), content.size());
        memory_.release(addresses[n]);
    }
    return outcome;
}

} // namespace zyfa::mutants
