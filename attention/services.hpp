// SPDX-License-Identifier: Apache-2.0
// What a context opens when it is first needed: HIP, the assembler, the cache.
#pragma once

#include <memory>
#include <mutex>

#include "cache/store.hpp"
#include "core/keys.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "zyfa/context.hpp"

namespace zyfa::call {

/// Thread-safe. What could not be opened is tried again at the next need.
class Services {
  public:
    explicit Services(const ContextOptions& options) : options_(options) {}

    const std::shared_ptr<runtime::Runtime>& runtime(); ///< throws Error{no_device}
    jit::Assembler& assembler(); ///< throws Error{assemble_failed} that says what was looked for
    cache::Cache& cache();

    /// Throws Error{no_device} naming `argument` where the run time has no device of that ordinal.
    const runtime::DeviceInfo& device(int ordinal, const char* argument = "device");

    /// Whether HIP shows several devices, used by this context or not: then the current device has to be
    /// looked at.
    bool several_devices();

    /// Of the cache; zeros while it is not open.
    cache::Counters cache_counters();

  private:
    const ContextOptions& options_;
    std::mutex opening_;
    std::shared_ptr<runtime::Runtime> runtime_;
    std::unique_ptr<jit::Assembler> assembler_;
    std::unique_ptr<cache::Cache> cache_;
};

DeviceIdentity identity_of(const runtime::DeviceInfo& info);
templates::DeviceShape shape_of(const runtime::DeviceInfo& info);

/// Folder of the user layer: the option, $XDG_CACHE_HOME/zyfa, ~/.cache/zyfa, or ":memory:" where there is no
/// home.
std::string user_cache_dir(const ContextOptions& options);

} // namespace zyfa::call
