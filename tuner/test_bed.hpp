// SPDX-License-Identifier: Apache-2.0
// Device tensors, reference rows and a stream, on which every candidate of a tuning is run and judged.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "runtime/runtime.hpp"
#include "tuner/binaries.hpp"
#include "tuner/bound_launch.hpp"
#include "tuner/gate.hpp"
#include "tuner/guarded_tensor.hpp"
#include "tuner/output_bits.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::tuner {

class TestBed {
  public:
    TestBed(std::shared_ptr<runtime::Runtime> runtime, int device, const templates::Template& form,
            const Problem& problem, const TuningInputs& inputs, std::uint32_t gate_rows);

    /// A launch of the candidate on the test bed's tensors.
    BoundLaunch bind(const Binary& binary, const Schedule& schedule);
    /// The same for a device of another shape than the one that it runs on.
    BoundLaunch bind(const Binary& binary, const Schedule& schedule, const templates::DeviceShape& shape);

    /// Makes copies of the tensors; `inputs` are those of the test bed.
    void add_copies(const TuningInputs& inputs, std::uint32_t copies);
    /// A launch on the copy of that number.
    BoundLaunch bind_copy(const Binary& binary, const Schedule& schedule, std::uint32_t copy);
    std::uint64_t tensor_bytes() const; ///< of q, k, v, o and LSE

    /// Two launches over outputs that hold two different sentinels, and every check: all elements written,
    /// nothing written around them, inputs as they were, the same bits twice, the bits of the candidate's
    /// class, the sampled rows against fp64. Fills status, message, output bits and accuracy of `measurement`
    /// and returns the device time of the second launch in milliseconds; a failure is in the status. A launch
    /// that the device answers with an error is `crashed`; where the two are not done after `limit_s` seconds
    /// of wall clock (0: without limit), the candidate is `timed_out` and still on the device.
    double gate(const Schedule& schedule, BoundLaunch& launch, Measurement& measurement, double limit_s = 0);
    /// A candidate that passed before, with the bits that its class must have.
    void remember(const Schedule& schedule, const std::string& output_bits);

    /// After timed launches of a candidate that passed: whether the last of them left the gate's bits. If
    /// not, it is `unstable`.
    bool still_right(const Schedule& schedule, Measurement& measurement);

    const runtime::Stream& stream() const noexcept { return stream_; }
    /// Whether the device still answers, after a crash.
    bool device_alive();

  private:
    struct Launched {
        OutputBits bits;
        std::optional<std::string> fault; ///< what the launch did wrong around its outputs
        double ms = 0;
    };
    Launched launch_over(std::uint8_t sentinel, BoundLaunch& launch, double limit_s);
    std::optional<std::string> inputs_damaged();
    void judge(const Schedule& schedule, const Launched& first, const Launched& second,
               Measurement& measurement);

    struct Copy {
        runtime::DeviceBuffer q, k, v, o, lse;
    };
    BoundLaunch bind_to(const Binary& binary, const Schedule& schedule, const templates::DeviceShape& shape,
                        CallValues values);

    std::shared_ptr<runtime::Runtime> runtime_;
    int device_;
    const templates::Template& form_;
    Problem problem_;
    std::vector<templates::ParameterSpec> space_;
    GuardedTensor q_, k_, v_, o_;
    std::vector<Copy> copies_;
    std::optional<GuardedTensor> lse_;
    std::shared_ptr<const runtime::DeviceBuffer> workspace_; ///< the largest that a candidate asked for
    std::span<const std::byte> o_bytes_, lse_bytes_;         ///< of the last launch
    GateReference reference_;
    runtime::Stream stream_;
    std::map<std::string, OutputBits> class_bits_;    ///< of the first candidate that passed, per bit class
    std::map<std::string, std::string> earlier_bits_; ///< digests from earlier tunings, per bit class
};

} // namespace zyfa::tuner
