// SPDX-License-Identifier: Apache-2.0
// The binaries of one tuning: each distinct assembly text is assembled and loaded once, however many
// schedules share it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/digest.hpp"
#include "core/keys.hpp"
#include "core/measurement.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "tuner/foreign.hpp"

namespace zyfa::tuner {

struct Binary {
    Digest digest; ///< of the BinaryKey
    templates::Kernel kernel;
    const ForeignCandidate* file = nullptr; ///< where it comes from; null: the template
    bool built = false; ///< whether it was tried to assemble and load it; the rest comes of that
    jit::CodeObject code;
    std::unique_ptr<runtime::Module> module;
    void* function = nullptr;
    CandidateStatus status =
        CandidateStatus::measured; ///< assemble_failed or load_failed where `message` is set
    std::string message;
};

/// Identity of a kernel's binary.
BinaryKey binary_key(const templates::Kernel& kernel);

class Binaries {
  public:
    Binaries(std::shared_ptr<runtime::Runtime> runtime, int device, jit::Assembler& assembler,
             const templates::Template& form, const ProblemClass& problem_class,
             const std::vector<ForeignCandidate>& files = {});

    /// The binary of a schedule, which need not be built yet; fills `binary_digest`. Returns null and fills
    /// status and message where the template cannot instantiate the schedule.
    Binary* identify(const Schedule& schedule, Measurement& measurement);
    /// Assembles and loads it, unless that was done. A failure is a value (and stays one for every schedule
    /// that shares the binary): false, with status and message filled in.
    bool build(Binary& binary, Measurement& measurement);
    /// Both; null where either fails.
    Binary* get(const Schedule& schedule, Measurement& measurement) {
        Binary* binary = identify(schedule, measurement);
        return binary && build(*binary, measurement) ? binary : nullptr;
    }

    jit::Assembler& assembler() const noexcept { return assembler_; }
    std::uint64_t assembled() const noexcept { return assembled_; }
    double instantiate_ms() const noexcept { return instantiate_ms_; }
    double assemble_ms() const noexcept { return assemble_ms_; }

  private:
    void assemble_and_load(Binary& binary);
    const ForeignCandidate* file_of(const Schedule& schedule) const;

    std::shared_ptr<runtime::Runtime> runtime_;
    int device_;
    jit::Assembler& assembler_;
    const templates::Template& form_;
    ProblemClass problem_class_;
    std::vector<ForeignCandidate> files_;
    std::map<Digest, Binary> binaries_;
    std::uint64_t assembled_ = 0;
    double instantiate_ms_ = 0, assemble_ms_ = 0;
};

} // namespace zyfa::tuner
