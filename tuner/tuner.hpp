// SPDX-License-Identifier: Apache-2.0
// Enumerate, assemble, gate, time, choose. Writes to a MeasurementSink; does not know the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "tuner/foreign.hpp"

namespace zyfa::tuner {

/// Receives each candidate's measurement as soon as it exists, so that nothing measured is lost.
class MeasurementSink {
  public:
    virtual ~MeasurementSink() = default;
    virtual void measured(const Measurement& measurement) = 0;
};

/// Inputs to tune on: host tensors in the problem's strides. Empty: seeded Gaussian of SD 0.1 (paper Section
/// V-B).
struct TuningInputs {
    /// The same shape with other data: another layer of a model.
    struct Layer {
        std::vector<std::byte> q, k, v;
        std::string name;
        double weight = 1;
        float q_descale = 1, k_descale = 1, v_descale = 1; ///< FP8: its own, whatever the problem's
    };

    std::vector<std::byte> q, k, v;
    std::string profile = "gaussian";
    /// Not empty: every candidate has to pass the gate on all of them, and what is timed is a pass over all,
    /// each launched as often as its weight says beside `weight`, that of the inputs above
    /// (tuner/passes.hpp).
    std::vector<Layer> layers{};
    double weight = 1;
};

/// Blocks of the policy "race" (tuner/timing.hpp).
struct RaceLimits {
    double screen_ms = 5;                ///< device time of a screening block
    double block_ms = 50;                ///< device time of a block of the final
    std::uint32_t most_launches = 20000; ///< per block
    std::size_t finalists = 3;           ///< beside the default; of every policy that has a final
};

struct Options {
    double budget_s = 3.0;        ///< wall clock; 0: unlimited
    std::uint32_t gate_rows = 48; ///< sampled rows per candidate
    std::uint32_t repeats = 3;    ///< race: ABBA rounds of each finalist against the default
    RaceLimits race;
    double tie = 0.01; ///< relative difference below which the default schedule stays
    std::optional<std::vector<Schedule>> candidates; ///< instead of the whole space; the default is added
    std::vector<ForeignCandidate> files;             ///< kernels from files, beside `candidates` (or alone)
    /// Takes the default schedule's part: it goes first, and the others are compared with it.
    std::optional<Schedule> baseline;
    std::vector<std::string> banned; ///< canonical schedules that do not take part
    std::optional<Schedule> hint;    ///< a former winner: tried right after the default
    std::function<void(const std::string&, std::size_t, std::size_t)> progress; ///< (what, done, of)
    std::function<bool()>
        cancelled;      ///< asked between candidates: true ends the search, what is measured counts
    std::string policy; ///< name of a protocol (tuner/protocols.hpp); empty: "model" or "race", by the device
    /// Name of a strategy (tuner/strategy.hpp); empty: "coordinate" for the whole space, "exhaustive" for
    /// `candidates` and `files`.
    std::string search;
    std::string
        guide; ///< "model": the timing model leaves out slow candidates (tuner/guide.hpp); empty: none
    /// File that holds what has been measured, so that a later tuning of the same thing goes on from there
    /// (tuner/journal.hpp); empty: none.
    std::string journal;
    /// What earlier tunings have measured. A candidate that is among it, measured on the same
    /// (tuner/known.hpp), is not measured again; of a policy with a final, that is: not screened again.
    std::vector<Measurement> known;
    /// Executable and arguments of a process in which each candidate is gated before it meets the device in
    /// this one (tuner/gate_worker.hpp). Empty: one that tears its process down takes this one along, and one
    /// that hangs on a GPU keeps this process from using the device; the simulator is made to end it.
    std::vector<std::string> worker;
    /// Wall clock of one gate; 0, in the worker: 60 s for the first candidate, then 20 times the longest that
    /// passed, at least 5 s. In this process: as long as it takes. Never beyond the budget, but for the
    /// default schedule in this process.
    double candidate_limit_s = 0;
    /// Copies of the tensors that timed launches take in turn, so that none finds its inputs in a cache, as
    /// in a model whose other layers ran in between; 1: the same tensors every time. 0: as many as fill the
    /// Infinity Cache twice.
    std::uint32_t rotating = 1;
    std::uint64_t memory_bytes = 0; ///< most device memory for tensors; larger problems are cut. 0: no limit
    bool fresh = false;             ///< whatever the journal and `known` hold, measure all again
};

struct Outcome {
    Schedule schedule; ///< the chosen one
    templates::Kernel kernel;
    jit::CodeObject code_object;
    Evidence evidence;
    std::vector<Measurement>
        measurements; ///< of every candidate, the default first; those not reached: `skipped`
    std::uint64_t assembled = 0, gated = 0, timed = 0;
    std::uint64_t resumed = 0;  ///< measurements that an earlier process had taken, from the journal
    std::uint64_t recalled = 0; ///< measurements of Options::known
    double instantiate_ms = 0, assemble_ms = 0, gate_ms = 0, tune_ms = 0;
};

/// Tries the default schedule, then the others, nearest to it first; each is assembled (once per distinct
/// binary), gated and timed on `inputs` (Gaussian where empty). What is not reached within the budget is
/// `skipped`. One process at a time tunes on a device (tuner/device_lock.hpp); where another one does for
/// longer than the budget: Error{device_error} with argument "lock"; where the budget ended in the default's
/// gate: argument "budget"; where a candidate hangs on the device and cannot be ended: argument "hang", now
/// and whenever this process asks again; where the worker cannot be started: Error{io_error} with argument
/// "worker". On
/// the simulator large problems are cut (tuner/representative.hpp); the measurements then say so in
/// `message`. Throws Error{unsupported} where no template serves the problem, Error{device_error} where the
/// device is lost, and the first candidate's error where no candidate can be used. Measurements taken before
/// that have reached the sink.
Outcome tune(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
             const Problem& problem, const TuningInputs& inputs, const Options& options,
             MeasurementSink& sink);

/// The same with a given template, which need not be registered.
Outcome tune(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
             const templates::Template& form, const Problem& problem, const TuningInputs& inputs,
             const Options& options, MeasurementSink& sink);

} // namespace zyfa::tuner
