// SPDX-License-Identifier: Apache-2.0
// Copies as operations: built from HIP's parameter forms, checked, submitted.
#pragma once

#include <hip/hip_runtime_api.h>

#include "sim/hip/operation.hpp"
#include "sim/hip/stream.hpp"

namespace zyfa::sim::hip {

CopyOperation linear_copy(void* dst, const void* src, std::size_t bytes);
CopyOperation pitched_copy(void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch,
                           std::size_t width, std::size_t height);
CopyOperation box_copy(const hipMemcpy3DParms& parameters);
CopyOperation driver_copy(const hip_Memcpy2D& parameters);
CopyOperation driver_copy(const HIP_MEMCPY3D& parameters);

bool empty(const CopyOperation& copy);

/// Whether pageable host memory takes part. Throws Failure where a range or the direction is wrong.
bool check_copy(const CopyOperation& copy, hipMemcpyKind kind);

void submit_copy(const CopyOperation& copy, hipMemcpyKind kind, hipStream_t stream, Wait wait);

} // namespace zyfa::sim::hip
