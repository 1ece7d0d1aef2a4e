// SPDX-License-Identifier: Apache-2.0
// A loaded code object: segments in simulated memory, kernels, and its instructions decoded.
#pragma once

#include "sim/engine.hpp"
#include "sim/instruction.hpp"

#include <map>
#include <unordered_map>

namespace zyfa::sim {

struct ElfImage;

/// One constant over the 64 lanes of a register.
struct alignas(64) LaneConstant {
    std::uint32_t lane[64];
};

/// Constants of a code object's vector instructions, each value once.
class ConstantPool {
  public:
    /// First word of `words` (1 or 2) registers that hold the value in every lane.
    std::uint32_t add(std::uint64_t value, unsigned words);
    const std::uint32_t* data() const noexcept { return blocks_.empty() ? nullptr : blocks_.front().lane; }

  private:
    std::vector<LaneConstant> blocks_;
    std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> known_;
};

class CodeObjectImpl final : public CodeObject {
  public:
    CodeObjectImpl(Memory& memory, std::span<const std::byte> elf, int device);
    ~CodeObjectImpl() override;
    CodeObjectImpl(const CodeObjectImpl&) = delete;
    CodeObjectImpl& operator=(const CodeObjectImpl&) = delete;

    const Kernel* kernel(const std::string& name) const override;
    std::vector<const Kernel*> kernels() const override;
    const Variable* variable(const std::string& name) const override;

    /// Instruction at a simulated address; null if none starts there.
    const Instruction* at(std::uint64_t address) const noexcept;
    std::uint64_t base() const noexcept { return base_; }
    const std::uint32_t* pool() const noexcept { return pool_.data(); }
    std::span<const Instruction> instructions() const noexcept { return instructions_; }
    std::string disassemble(const Instruction& instruction) const;
    /// Function that holds the instruction and the offset in it: "name+0x40"; empty if no symbol does.
    std::string location(const Instruction& instruction) const;
    unsigned v_end() const noexcept {
        return v_end_;
    } ///< one past the highest VGPR that any instruction names
    unsigned a_end() const noexcept { return a_end_; }

  private:
    void map(const ElfImage& image, std::span<const std::byte> elf, int device);
    void relocate(const ElfImage& image);
    void decode(const ElfImage& image);
    void find_kernels(const ElfImage& image);
    void check(std::uint64_t address, std::uint64_t size, const char* what) const;

    Memory& memory_;
    std::uint64_t base_ = 0;             ///< simulated address of ELF address 0
    std::uint64_t begin_ = 0, size_ = 0; ///< allocation
    ConstantPool pool_;
    std::vector<Instruction> instructions_;
    std::unordered_map<std::uint32_t, std::uint32_t> index_; ///< byte offset -> instruction
    std::map<std::uint64_t, std::string> functions_;         ///< ELF address -> name
    std::map<std::string, Kernel> kernels_;
    std::map<std::string, Variable> variables_;
    unsigned v_end_ = 0, a_end_ = 0;
};

} // namespace zyfa::sim
