// SPDX-License-Identifier: Apache-2.0
// Sizes of gfx950 that launches and occupancy depend on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zyfa::sim::hip::limits {

inline constexpr unsigned wave_size = 64, simds = 4;
inline constexpr unsigned workgroup_size = 1024; ///< work-items
inline constexpr unsigned vgprs_per_simd = 512; ///< per lane, ArchVGPRs and AccVGPRs together (LLVM: gfx90a+)
inline constexpr unsigned vgpr_granule = 8;     ///< LLVM: AMDGPUBaseInfo getVGPRAllocGranule
inline constexpr unsigned waves_per_simd = 8;   ///< LLVM: AMDGPUBaseInfo getMaxWavesPerEU, gfx90a+
inline constexpr unsigned work_items_per_cu = 2048;  ///< 4 SIMDs x 8 waves x 64 lanes
inline constexpr std::size_t lds_bytes = 160 * 1024; ///< AMD CDNA4 white paper
inline constexpr std::size_t lds_granule = 1280;     ///< LLVM: gfx950 allocation granule, 320 dwords

} // namespace zyfa::sim::hip::limits
