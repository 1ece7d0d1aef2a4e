// SPDX-License-Identifier: Apache-2.0
// From the many forms of a launch to one KernelOperation.
#pragma once

#include <array>
#include <memory>

#include "sim/hip/module.hpp"
#include "sim/hip/operation.hpp"

namespace zyfa::sim::hip {

struct LaunchShape {
    std::array<std::uint64_t, 3> grid{1, 1, 1}, block{1, 1, 1}; ///< workgroups, work-items
    std::size_t dynamic_lds = 0;
    bool cooperative = false;
};

/// Checks the shape and packs the arguments: `parameters` one pointer per explicit argument, or `extra` a
/// ready block (HIP_LAUNCH_PARAM_...). Throws Failure.
KernelOperation make_kernel(std::shared_ptr<Function> function, const LaunchShape& shape, void** parameters,
                            void** extra);

/// Explicit arguments of a kernel, as metadata names them.
std::vector<const KernelArgument*> explicit_arguments(const Kernel& kernel);

/// hipFunction_t or the host stub of a `__global__` function.
std::shared_ptr<Function> function_from_any(const void* handle);

/// Workgroups of a CU at once, by waves, registers and LDS (0: does not fit).
unsigned resident_workgroups(const Kernel& kernel, unsigned block_size, std::size_t dynamic_lds);

} // namespace zyfa::sim::hip
