// SPDX-License-Identifier: Apache-2.0
// Which schedule and binary serve a winner key on a device, with the module loaded, and why.
#pragma once

#include <memory>
#include <string>

#include "core/schedule.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "zyfa/context.hpp"

namespace zyfa::call {

/// A binary on a device; schedules that share it share this.
struct LoadedBinary {
    LoadedBinary(std::shared_ptr<runtime::Runtime> runtime, int device, std::vector<std::byte> elf,
                 const std::string& kernel, std::string made_by)
        : module(std::move(runtime), device, std::move(elf)), function(module.function(kernel)),
          toolchain(std::move(made_by)) {}

    runtime::Module module;
    void* function; ///< hipFunction_t
    std::string toolchain;
};

struct Selection {
    const templates::Template* form = nullptr;
    Schedule schedule;
    std::shared_ptr<const LoadedBinary> binary;
    Explanation explanation;
};

} // namespace zyfa::call
