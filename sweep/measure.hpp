// SPDX-License-Identifier: Apache-2.0
// One stage of one task on one GPU: what the tuner finds, with the binaries that a pack may need.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "sweep/journal.hpp"
#include "sweep/plan.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::sweep {

/// Assembles each text once and keeps what came out: binaries do not depend on lengths, so that the tasks of
/// a sweep share most of them.
class KeepingAssembler : public jit::Assembler {
  public:
    explicit KeepingAssembler(std::unique_ptr<jit::Assembler> assembler) : assembler_(std::move(assembler)) {}
    std::string toolchain() const override { return assembler_->toolchain(); }
    jit::CodeObject assemble(const std::string& assembly, const std::string& target,
                             const std::string& name_for_messages) override;
    const jit::CodeObject* find(const std::string& assembly) const;
    std::uint64_t assembled() const noexcept { return assembled_; }

  private:
    std::unique_ptr<jit::Assembler> assembler_;
    std::map<Digest, jit::CodeObject> kept_;
    std::uint64_t assembled_ = 0;
};

/// A captured layer's q, k and v, cut to the problem (to the heads and lengths that it has) and laid out in
/// its strides. Sets the problem's descales. Throws Error where the layer does not fit.
using LayerLoader = std::function<tuner::TuningInputs(const std::string& path, Problem& problem)>;

struct Bench {
    std::shared_ptr<runtime::Runtime> runtime;
    int ordinal = 0;
    KeepingAssembler& assembler;
    LayerLoader layer;
    std::function<std::string(const std::string&)> layer_path; ///< where the folder has a layer
};

struct Request {
    Stage stage = Stage::search;
    std::vector<Schedule> finalists; ///< confirm
    std::function<void(const std::string& what, std::size_t done, std::size_t of)> progress;
    std::function<bool()> cancelled;
};

/// Runs the tuner once per captured layer, or once on drawn data. Throws as tuner::tune does, and
/// Error{io_error or invalid_argument} where a layer cannot be used. nullopt: cancelled.
std::optional<Result> measure(Bench& bench, const Plan& plan, const Task& task, const Request& request);

/// The schedules that later sites measure: the search's fastest, its choice and the default.
std::vector<Schedule> finalists_of(const Result& search, std::size_t count);

} // namespace zyfa::sweep
