// SPDX-License-Identifier: Apache-2.0
// Who touched which dword since the last barrier (LDS) or since the launch began (global memory).
#pragma once

#include "sim/sanitizer/pending.hpp"

#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

namespace zyfa::sim::sanitizer {

/// Index of an instruction in its code object.
using SiteIndex = std::uint32_t;
inline constexpr SiteIndex no_site = ~0u;

/// Waves of a workgroup by byte of a dword: 16 bits each.
using ByteWaves = std::uint64_t;
inline constexpr ByteWaves bytes_of_waves(unsigned bytes) noexcept {
    return (bytes & 1 ? 0xffffull : 0) | (bytes & 2 ? 0xffffull << 16 : 0) |
           (bytes & 4 ? 0xffffull << 32 : 0) | (bytes & 8 ? 0xffffull << 48 : 0);
}
/// The wave's bit in every byte.
inline constexpr ByteWaves in_all_bytes(unsigned wave) noexcept {
    return 0x0001000100010001ull << wave;
}
/// One of the waves that stand in any byte; not 0.
inline unsigned any_wave(ByteWaves waves) noexcept {
    return static_cast<unsigned>(std::countr_zero(waves)) % 16;
}

/// A dword of LDS. Epochs count barriers from 1; an access is ordered before those of later epochs.
struct LdsCell {
    std::uint32_t write_epoch = 0, read_epoch = 0;
    std::uint32_t write_issued = 0, read_issued = 0; ///< the epochs of issue: earlier where it is late
    SiteIndex write_site = no_site, read_site = no_site;
    ByteWaves read_waves = 0;
    std::uint8_t write_wave = 0, read_wave = 0;
    std::uint8_t write_bytes = 0; ///< of the four
    std::uint8_t valid = 0;       ///< bytes ever written
    bool write_atomic = false, write_late = false, read_late = false;
    std::uint32_t load = 0; ///< serial of the load to LDS that wrote last; 0: something else did
};

/// A dword of global memory during one launch.
struct GlobalCell {
    static constexpr std::uint32_t several = ~0u;
    std::uint32_t writer = 0;                        ///< workgroup + 1; 0: none
    std::uint32_t reader[4] = {}, read_tick[4] = {}; ///< likewise, by byte
    std::uint32_t last_reader = 0;                   ///< whose waves in read_epoch read_waves has
    std::uint32_t write_epoch = 0, read_epoch = 0;
    SiteIndex write_site = no_site, read_site = no_site;
    std::uint32_t write_tick = 0;
    ByteWaves read_waves = 0;
    std::uint8_t write_wave = 0, write_bytes = 0;
    bool write_atomic = false;
};

/// Cells of global memory by page, up to a bounded number of pages. Thread-safe.
class GlobalRaces {
  public:
    static constexpr unsigned page_bytes = 4096;
    struct Page {
        std::mutex mutex;
        GlobalCell cells[page_bytes / 4];
    };
    /// Null beyond the bound.
    Page* page(std::uint64_t address);
    bool limited() const noexcept { return limited_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::size_t page_limit = 12288; ///< 48 MiB watched, about 0.9 GiB of cells
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::atomic<bool> limited_{false};
};

} // namespace zyfa::sim::sanitizer
