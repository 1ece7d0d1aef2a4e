// SPDX-License-Identifier: Apache-2.0
// What stands behind a Context. Private to zyfa: the command-line tool and the benchmarks reach the services
// and prepare() with inputs of their own through it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "attention/background.hpp"
#include "attention/counters.hpp"
#include "attention/dispatch_table.hpp"
#include "attention/part_counters.hpp"
#include "attention/prepare.hpp"
#include "attention/proposal.hpp"
#include "attention/quantize_kernels.hpp"
#include "attention/resident.hpp"
#include "attention/selector.hpp"
#include "attention/services.hpp"
#include "tuner/bound_launch.hpp"
#include "zyfa/context.hpp"

namespace zyfa {
inline namespace v0 {

class [[gnu::visibility("hidden")]] Context::Impl {
  public:
    explicit Impl(ContextOptions options);
    ~Impl();

    void attention(const AttentionArgs& args);
    Explanation prepare(const Problem& problem, int device, const call::PrepareRequest& request);
    Explanation explain(const Problem& problem, int device, std::optional<Mode> mode);

    // The parts of agree(): what this rank would run; whether this rank can run what another one proposes
    // (throws if not; changes nothing); taking it.
    std::shared_ptr<const call::Selection> propose(const Problem& problem, int device,
                                                   call::Proposal& proposal);
    std::shared_ptr<const call::Selection> try_proposal(const Problem& problem, int device,
                                                        const call::Proposal& proposal);
    Explanation take_proposal(const Problem& problem, int device, const call::Proposal& proposal,
                              std::shared_ptr<const call::Selection> selection);

    /// What schedules are chosen for.
    Problem basis_of(Problem problem) const;
    /// Every shape is selected anew at its next call. Calls in flight keep what they have.
    void forget();

    Counters counters();
    std::vector<LayerSummary> layers();
    std::vector<DeviceSummary> devices();
    const ContextOptions& options() const noexcept { return options_; }
    call::Services& services() noexcept { return services_; }
    call::QuantizeKernels& quantize_kernels() noexcept { return quantize_kernels_; }

  private:
    const call::Resident* make_resident(const AttentionArgs& args, const call::CallKey& key);
    const call::Resident* install(const Problem& problem, std::shared_ptr<const call::Selection> selection,
                                  const runtime::DeviceInfo& device);
    void launch(const AttentionArgs& args, const call::Resident& resident);
    template <class Start>
    void launch_parts(const call::Resident& resident, void* stream, tuner::CallValues& values, Start start);
    void offer_to_background(const Problem& problem, int device, const call::Selection& selection);
    call::BackgroundTuner::Done tune_in_background(const call::BackgroundJob& job,
                                                   const std::function<bool()>& interrupted);
    void refuse_capture(int device);

    ContextOptions options_;
    call::Services services_;
    call::AtomicCounters counters_;
    call::Selector selector_;
    call::QuantizeKernels quantize_kernels_;
    call::PartCounters part_counters_;
    call::DispatchTable table_;
    std::atomic<const runtime::Runtime*> runtime_{nullptr}; ///< of services_, once a shape is resident
    bool several_devices_ = false;                          ///< written before runtime_

    std::mutex residents_lock_;
    std::vector<std::unique_ptr<const call::Resident>> residents_; ///< they live as long as the context
    std::unique_ptr<call::BackgroundTuner>
        background_; ///< where the options ask for it; ends before the rest
};

} // namespace v0
} // namespace zyfa
