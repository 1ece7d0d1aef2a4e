// SPDX-License-Identifier: Apache-2.0
// LLVM's gfx950 disassembler behind a small face: what an instruction is called, how long it is, how it
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace zyfa::sim {

struct Disassembled {
    const char* mnemonic = nullptr; ///< without encoding suffix ("v_add_f32"); null: not an instruction
    unsigned opcode = 0;            ///< LLVM's MCInst opcode; stable within a process
    unsigned size = 0;              ///< bytes
};

/// One per process; calls are serialised.
class Disassembler {
  public:
    static Disassembler& instance();
    Disassembled decode(std::span<const std::byte> bytes, std::uint64_t address);
    /// Assembly text, without leading white space; for an undecodable word its hexadecimal form.
    std::string text(std::span<const std::byte> bytes, std::uint64_t address);
    ~Disassembler();

  private:
    Disassembler();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace zyfa::sim
