// SPDX-License-Identifier: Apache-2.0
// Reproducible random numbers: the same seed gives the same numbers with every compiler, library and machine,
// and a value depends on its place only, not on how many were drawn before it.
#pragma once

#include <array>
#include <cstdint>

namespace zyfa {

/// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3"
/// (SC 2011).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key);

/// One stream of numbers. Streams that differ in seed, `stream` or `substream` are independent.
class Random {
  public:
    Random(std::uint64_t seed, std::uint32_t stream, std::uint64_t substream);

    std::uint32_t bits();
    double uniform(); ///< in (0, 1), 2^-33 away from both ends
    double normal();  ///< mean 0, standard deviation 1 (Box and Muller), from IEEE operations and sqrt only

  private:
    std::uint64_t seed_;
    std::array<std::uint32_t, 4> counter_;
    std::array<std::uint32_t, 4> block_{};
    unsigned used_ = 4;
    double spare_ = 0;
    bool has_spare_ = false;
};

} // namespace zyfa
