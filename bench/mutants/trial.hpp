// SPDX-License-Identifier: Apache-2.0
// Runs of one kernel: what it writes, and what the sanitizer says.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/engine.hpp"

namespace zyfa::mutants {

/// A kernel of a code object with its launch and the contents of its buffers.
struct Subject {
    std::string kernel;
    std::array<std::uint32_t, 3> grid{1, 1, 1}, block{64, 1, 1};
    std::uint32_t dynamic_lds = 0;
    std::vector<std::byte> kernarg;
    struct Pointer {
        std::uint32_t offset = 0; ///< in kernarg
        std::size_t buffer = 0;
        std::uint64_t at = 0; ///< byte of the buffer
    };
    std::vector<Pointer> pointers;
    std::vector<std::vector<std::byte>> buffers;
};

struct Outcome {
    std::vector<std::vector<std::byte>> buffers; ///< after the launch
    bool fault = false;
    std::vector<std::string> errors, notes; ///< rules, each once
    std::uint64_t instructions = 0;
    std::uint64_t covered_by_stalls = 0; ///< wait states, as the sanitizer's Report counts them
};

/// Runs of code objects in one address space.
class Bench {
  public:
    /// `seed` as DeviceConfig's; `limit`: instructions of a wave, 0: the engine's own.
    Outcome run(std::span<const std::byte> elf, const Subject& subject, bool sanitize, std::uint64_t seed,
                std::uint64_t limit = 0);

  private:
    sim::Memory memory_;
};

} // namespace zyfa::mutants
