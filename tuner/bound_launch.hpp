// SPDX-License-Identifier: Apache-2.0
// Fills a call's pointers and scales into the kernel-argument block of a launch plan.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::tuner {

/// What varies from call to call of one resident kernel.
struct CallValues {
    const void *q = nullptr, *k = nullptr, *v = nullptr;
    void *o = nullptr, *lse = nullptr;
    void *workspace = nullptr, *counters = nullptr; ///< where the plan asks for them
    float score_scale = 0;                          ///< softmax_scale * q_descale * k_descale * log2(e)
    float output_scale = 1;                         ///< v_descale
};

inline float score_scale(float softmax_scale, float q_descale, float k_descale) {
    constexpr double log2_e = 1.4426950408889634074;
    return static_cast<float>(static_cast<double>(softmax_scale) * static_cast<double>(q_descale) *
                              static_cast<double>(k_descale) * log2_e);
}

/// No allocation, no lock.
inline void patch(std::span<std::byte> kernarg, std::span<const templates::KernargPatch> patches,
                  const CallValues& values) noexcept {
    using templates::KernargField;
    const auto store = [&kernarg](std::size_t offset, const auto& value) {
        std::memcpy(kernarg.data() + offset, &value, sizeof value);
    };
    for (const templates::KernargPatch& slot : patches) {
        switch (slot.field) {
        case KernargField::q:
            store(slot.offset, values.q);
            break;
        case KernargField::k:
            store(slot.offset, values.k);
            break;
        case KernargField::v:
            store(slot.offset, values.v);
            break;
        case KernargField::o:
            store(slot.offset, values.o);
            break;
        case KernargField::lse:
            store(slot.offset, values.lse);
            break;
        case KernargField::workspace:
            store(slot.offset, values.workspace);
            break;
        case KernargField::counters:
            store(slot.offset, values.counters);
            break;
        case KernargField::score_scale:
            store(slot.offset, values.score_scale);
            break;
        case KernargField::output_scale:
            store(slot.offset, values.output_scale);
            break;
        }
    }
}

/// A plan with its pointers filled in, ready to be launched any number of times.
class BoundLaunch {
  public:
    /// `workspace`, `counters`: what values' fields of these names point to, kept alive.
    BoundLaunch(const runtime::Runtime& runtime, void* function, templates::LaunchPlan plan,
                const CallValues& values, std::shared_ptr<const runtime::DeviceBuffer> workspace,
                std::shared_ptr<const runtime::DeviceBuffer> counters)
        : runtime_(&runtime), function_(function), plan_(std::move(plan)), workspace_(std::move(workspace)),
          counters_(std::move(counters)) {
        patch(plan_.kernarg, plan_.patches, values);
    }
    void operator()(void* stream) {
        runtime::launch(*runtime_, function_, plan_.grid, plan_.block, plan_.dynamic_lds, stream,
                        plan_.kernarg);
    }

  private:
    const runtime::Runtime* runtime_;
    void* function_;
    templates::LaunchPlan plan_;
    std::shared_ptr<const runtime::DeviceBuffer> workspace_, counters_;
};

} // namespace zyfa::tuner
