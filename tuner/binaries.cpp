// SPDX-License-Identifier: Apache-2.0
// Instantiate, assemble once per digest, load.
#include "tuner/binaries.hpp"

#include "tuner/stopwatch.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

BinaryKey binary_key(const templates::Kernel& kernel) {
    return {digest(kernel.assembly), kernel.target, templates::kernarg_abi};
}

Binaries::Binaries(std::shared_ptr<runtime::Runtime> runtime, int device, jit::Assembler& assembler,
                   const templates::Template& form, const ProblemClass& problem_class,
                   const std::vector<ForeignCandidate>& files)
    : runtime_(std::move(runtime)), device_(device), assembler_(assembler), form_(form),
      problem_class_(problem_class), files_(files) {}

const ForeignCandidate* Binaries::file_of(const Schedule& schedule) const {
    for (const ForeignCandidate& file : files_)
        if (file.schedule == schedule)
            return &file;
    return nullptr;
}

Binary* Binaries::identify(const Schedule& schedule, Measurement& measurement) {
    templates::Kernel kernel;
    const ForeignCandidate* const file = file_of(schedule);
    if (file) {
        kernel = file->kernel;
    } else {
        const StopwatchScope timed(instantiate_ms_);
        try {
            kernel = form_.instantiate(problem_class_, schedule);
        } catch (const Error& error) {
            measurement.status = CandidateStatus::assemble_failed;
            measurement.message = error.what();
            return nullptr;
        }
    }
    const Digest key = binary_key(kernel).digest();
    const auto [entry, fresh] = binaries_.try_emplace(key);
    Binary& binary = entry->second;
    if (fresh) {
        binary.digest = key;
        binary.kernel = std::move(kernel);
        binary.file = file;
    }
    measurement.binary_digest = key.hex();
    return &binary;
}

bool Binaries::build(Binary& binary, Measurement& measurement) {
    if (!binary.built)
        assemble_and_load(binary);
    binary.built = true;
    if (binary.function)
        return true;
    measurement.status = binary.status;
    measurement.message = binary.message;
    return false;
}

void Binaries::assemble_and_load(Binary& binary) {
    const StopwatchScope timed(assemble_ms_);
    try {
        binary.status = CandidateStatus::assemble_failed;
        if (binary.file) {
            binary.code = binary.file->code;
        } else {
            binary.code =
                assembler_.assemble(binary.kernel.assembly, binary.kernel.target, binary.kernel.name);
            ++assembled_;
        }
        binary.status = CandidateStatus::load_failed;
        const runtime::DeviceGuard guard(*runtime_, device_);
        binary.module = std::make_unique<runtime::Module>(runtime_, device_, binary.code.elf);
        binary.function = binary.module->function(binary.kernel.name);
        binary.status = CandidateStatus::measured;
    } catch (const Error& error) {
        binary.message = error.what();
    }
}

} // namespace zyfa::tuner
