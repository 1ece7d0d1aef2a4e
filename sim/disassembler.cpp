// SPDX-License-Identifier: Apache-2.0
// The only file of the engine that sees LLVM.
#include "sim/disassembler.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

// From LLVM's TargetSelect.h, which would name every target of the build.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace zyfa::sim {

namespace {

constexpr std::size_t longest = 20; ///< bytes, and some to spare

/// SDWA selectors that stand for nothing: SDWA_SEL 7 and DST_UNUSED 3 (CDNA4 ISA, "SDWA"). LLVM 22 decodes
/// them, and its printer (AMDGPUInstPrinter::printSDWASel, printSDWADstUnused) takes them for unreachable.
bool has_reserved_sdwa(std::span<const std::byte> bytes) {
    std::uint32_t word[2];
    if (bytes.size() < sizeof word)
        return false;
    std::memcpy(word, bytes.data(), sizeof word);
    // VOP1, VOP2 and VOPC (bit 31 clear) with 249 in place of SRC0; of VOPC the destination fields are an
    // SGPR's.
    if (word[0] >> 31 != 0 || (word[0] & 0x1ff) != 249)
        return false;
    const bool compare = word[0] >> 25 == 0x3e, unary = word[0] >> 25 == 0x3f;
    const std::uint32_t selectors = word[1];
    if (!compare && ((selectors >> 8 & 7) == 7 || (selectors >> 11 & 3) == 3))
        return true;
    return (selectors >> 16 & 7) == 7 || (!unary && (selectors >> 24 & 7) == 7);
}

/// A constant as A or B of v_mfma_f32_*_f8f6f4, plain or scaled, which take vector registers alone (CDNA4
/// ISA, VOP3P-MAI: bit 8 of SRC0 and SRC1). LLVM 22 decodes it, and where the format asks for fewer registers
/// than eight takes the constant for a register (AMDGPUDisassembler, adjustMFMA_F8F6F4OpRegClass).
bool has_constant_in_f8f6f4(std::span<const std::byte> bytes) {
    std::uint32_t word[4] = {};
    std::memcpy(word, bytes.data(), std::min(bytes.size(), sizeof word));
    const auto opcode = [](std::uint32_t first) { return first >> 16; };
    constexpr std::uint32_t scales = 0xd3ac, small = 0xd3ad, large = 0xd3ae;
    const std::uint32_t* const matrix = opcode(word[0]) == scales ? word + 2 : word;
    if (opcode(matrix[0]) != small && opcode(matrix[0]) != large)
        return false;
    return (matrix[1] >> 8 & 1) == 0 || (matrix[1] >> 17 & 1) == 0;
}

/// v_madmk_f16 and v_madak_f16 (VOP2) whose literal is 0xff, the number that stands for a literal: LLVM 22
/// looks for another literal behind it and crashes.
constexpr std::uint32_t ambiguous_literal = 0xff;

bool has_ambiguous_literal(std::span<const std::uint8_t> bytes) {
    std::uint32_t word[2];
    std::memcpy(word, bytes.data(), sizeof word);
    constexpr std::uint32_t madmk = 0x24, madak = 0x25;
    return (word[0] >> 25 == madmk || word[0] >> 25 == madak) && word[1] == ambiguous_literal;
}

} // namespace

struct Disassembler::Impl {
    std::mutex mutex;
    llvm::Triple triple{"amdgcn-amd-amdhsa"};
    llvm::MCTargetOptions options;
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembly;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCDisassembler> decoder;
    std::unique_ptr<llvm::MCInstPrinter> printer;
    std::unordered_map<unsigned, std::string> mnemonics; ///< node-based: the strings stay where they are

    bool decode(std::span<const std::byte> bytes, std::uint64_t address, llvm::MCInst& out,
                std::uint64_t& size) {
        if (has_reserved_sdwa(bytes) || has_constant_in_f8f6f4(bytes))
            return false;
        // Never fewer bytes than the longest instruction has: LLVM 22 crashes where a literal is cut off, in
        // the text of the error (AMDGPUDisassembler::errOperand).
        std::uint8_t padded[longest] = {};
        const std::size_t here = std::min(bytes.size(), sizeof padded);
        std::memcpy(padded, bytes.data(), here);
        // The upper half of such a literal is ignored (it is an FP16 number): set while LLVM decodes.
        const bool ambiguous = has_ambiguous_literal(padded);
        if (ambiguous)
            padded[6] = 1;
        if (decoder->getInstruction(out, size, padded, address, llvm::nulls()) !=
                llvm::MCDisassembler::Success ||
            size > here)
            return false;
        if (ambiguous)
            for (llvm::MCOperand& operand : out)
                if (operand.isImm() && operand.getImm() == (0x10000 | ambiguous_literal))
                    operand.setImm(ambiguous_literal);
        return true;
    }

    /// What the instruction is called, encoding suffix removed.
    std::string mnemonic(const llvm::MCInst& inst) const {
        std::string name = printer->getMnemonic(inst).first;
        name.resize(std::min(name.size(), name.find_first_of(" \t"))); // some carry " off, " along
        for (const char* suffix : {"_e32", "_e64", "_dpp", "_sdwa"}) {
            const std::size_t length = std::strlen(suffix);
            if (name.size() > length && name.compare(name.size() - length, length, suffix) == 0)
                name.resize(name.size() - length);
        }
        return name;
    }
};

Disassembler::Disassembler() : impl_(std::make_unique<Impl>()) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    Impl& i = *impl_;
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(i.triple, error);
    if (target == nullptr)
        throw std::runtime_error("LLVM without AMDGPU: " + error);
    i.registers.reset(target->createMCRegInfo(i.triple));
    i.assembly.reset(target->createMCAsmInfo(*i.registers, i.triple, i.options));
    i.instructions.reset(target->createMCInstrInfo());
    i.subtarget.reset(target->createMCSubtargetInfo(i.triple, "gfx950", ""));
    i.context =
        std::make_unique<llvm::MCContext>(i.triple, i.assembly.get(), i.registers.get(), i.subtarget.get());
    i.decoder.reset(target->createMCDisassembler(*i.subtarget, *i.context));
    i.printer.reset(target->createMCInstPrinter(i.triple, 0, *i.assembly, *i.instructions, *i.registers));
    if (!i.decoder || !i.printer)
        throw std::runtime_error("LLVM without a gfx950 disassembler");
}

Disassembler::~Disassembler() = default;

Disassembler& Disassembler::instance() {
    // Never destroyed: reports may be written while static objects go away.
    static Disassembler* const disassembler = new Disassembler;
    return *disassembler;
}

Disassembled Disassembler::decode(std::span<const std::byte> bytes, std::uint64_t address) {
    const std::scoped_lock lock(impl_->mutex);
    llvm::MCInst inst;
    std::uint64_t size = 0;
    Disassembled result;
    if (!impl_->decode(bytes, address, inst, size)) {
        result.size = 4;
        return result;
    }
    auto [entry, inserted] = impl_->mnemonics.try_emplace(inst.getOpcode());
    if (inserted)
        entry->second = impl_->mnemonic(inst);
    result.mnemonic = entry->second.c_str();
    result.opcode = inst.getOpcode();
    result.size = static_cast<unsigned>(size);
    return result;
}

std::string Disassembler::text(std::span<const std::byte> bytes, std::uint64_t address) {
    const std::scoped_lock lock(impl_->mutex);
    llvm::MCInst inst;
    std::uint64_t size = 0;
    if (!impl_->decode(bytes, address, inst, size)) {
        std::uint32_t word = 0;
        std::memcpy(&word, bytes.data(), std::min(sizeof word, bytes.size()));
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, ".long 0x%08x", word);
        return buffer;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    impl_->printer->printInst(&inst, address, "", *impl_->subtarget, stream);
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? text : text.substr(begin);
}

} // namespace zyfa::sim
