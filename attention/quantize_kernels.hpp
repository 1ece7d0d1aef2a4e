// SPDX-License-Identifier: Apache-2.0
// The kernels of quantizations that a context has loaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "attention/counters.hpp"
#include "attention/services.hpp"
#include "runtime/runtime.hpp"
#include "templates/quantize/kernel.hpp"

namespace zyfa::call {

/// A kind's code object on a device. hipFunction_t each; null where the kind has no such kernel.
struct QuantizeBinary {
    QuantizeBinary(std::shared_ptr<runtime::Runtime> runtime, int device, std::vector<std::byte> elf,
                   const templates::quantize::Kind& kind);
    runtime::Module module;
    void *cast, *largest, *sum = nullptr, *mean = nullptr, *lse = nullptr;
};

/// Thread-safe. A kind stays loaded for the life of the context. Binaries are looked up in the cache and
/// published to it as those of attention are, except in mode off.
class QuantizeKernels {
  public:
    QuantizeKernels(const ContextOptions& options, Services& services, AtomicCounters& counters)
        : options_(options), services_(services), counters_(counters) {}

    /// Null if the kind is not resident.
    const QuantizeBinary* find(const templates::quantize::Kind& kind, int device);
    /// Assembles or loads it; not while a stream of the device captures.
    const QuantizeBinary& get(const templates::quantize::Kind& kind, int device);

  private:
    std::unique_ptr<const QuantizeBinary> make(const templates::quantize::Kind& kind, int device);

    const ContextOptions& options_;
    Services& services_;
    AtomicCounters& counters_;
    std::mutex making_; ///< one kind is made at a time
    std::mutex lock_;   ///< over the map
    std::map<std::pair<templates::quantize::Kind, int>, std::unique_ptr<const QuantizeBinary>> loaded_;
};

} // namespace zyfa::call
