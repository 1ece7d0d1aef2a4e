// SPDX-License-Identifier: Apache-2.0
// One instruction as a record: its text, its pipe, what it reads and writes. The scheduling passes work on
// these records; the text is only printed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "templates/asm/registers.hpp"

namespace zyfa::templates::isa {

enum class Kind : std::uint8_t {
    valu,       ///< vector pipe
    trans,      ///< vector pipe, transcendental unit
    mfma,       ///< matrix pipe
    permlane,   ///< v_permlane*_swap: vector pipe, hazards of its own
    lds_read,   ///< lgkmcnt, in order
    lds_write,  ///< lgkmcnt, in order
    vmem_load,  ///< vmcnt, in order
    vmem_store, ///< vmcnt, in order
    lds_dma,    ///< buffer load to LDS: vmcnt, in order
    smem,       ///< lgkmcnt, out of order
    salu,
    branch,
    barrier,
    wait, ///< s_waitcnt
    nop,
    other, ///< s_setprio, s_sleep: no dependences
    end,
};

/// Small list of unit runs without heap memory.
class UnitList {
  public:
    void add(Units units) {
        if (units.empty())
            return;
        if (size_ == items_.size())
            defect("too many operands");
        items_[size_++] = units;
    }
    const Units* begin() const { return items_.data(); }
    const Units* end() const { return items_.data() + size_; }
    bool overlaps(Units units) const {
        for (Units u : *this)
            if (u.overlaps(units))
                return true;
        return false;
    }
    bool overlaps(const UnitList& other) const {
        for (Units u : other)
            if (overlaps(u))
                return true;
        return false;
    }

  private:
    std::array<Units, 7> items_{};
    std::uint8_t size_ = 0;
};

struct Instruction {
    std::string text;    ///< mnemonic and operands
    std::string comment; ///< printed behind the text
    Kind kind = Kind::other;
    UnitList reads, writes;

    std::uint8_t valu_cycles = 0; ///< vector-pipe occupancy (paper Section III-A): 2, 4 or 8
    std::uint8_t passes = 0;      ///< MFMA: 1 pass = 4 matrix-pipe cycles
    Units mfma_a, mfma_b, mfma_c; ///< MFMA operands; D is writes
    std::uint16_t opcode = 0;     ///< MFMA: equal numbers mean equal opcodes

    bool writes_scalar = false;    ///< VALU with an SGPR or VCC result (v_cmp, v_readfirstlane)
    bool partial_write = false;    ///< VALU that writes a byte or the high half of its destination
    bool lane_select = false;      ///< v_readlane, v_readfirstlane: reads a VGPR across lanes
    bool dpp = false;              ///< VALU that reads its first source from other lanes (DPP)
    std::uint8_t store_dwords = 0; ///< VMEM store: dwords of data
    Units store_data;
    bool scalar_offset = false; ///< VMEM: soffset is an SGPR

    std::int8_t wait_vm = -1, wait_lgkm = -1; ///< s_waitcnt: -1 means no wait
    std::uint8_t wait_states = 1;             ///< what the instruction adds to the distance of two others
    std::string target;                       ///< branch target
    bool conditional = false;

    bool counts_vm() const {
        return kind == Kind::vmem_load || kind == Kind::vmem_store || kind == Kind::lds_dma;
    }
    bool counts_lgkm() const {
        return kind == Kind::lds_read || kind == Kind::lds_write || kind == Kind::smem;
    }
    bool is_valu() const { return kind == Kind::valu || kind == Kind::trans || kind == Kind::permlane; }
};

/// s_waitcnt for the pass and the builder alike.
Instruction make_waitcnt(int vm, int lgkm);
/// s_nop that supplies `wait_states` (1 to 16).
Instruction make_nop(unsigned wait_states);

/// A line of the program.
struct Item {
    enum class Type : std::uint8_t { instruction, label, remark, directive } type = Type::instruction;
    Instruction instruction; ///< instruction
    std::string text;        ///< label name, comment or directive
};

/// A run of program lines in program order.
class Stream {
  public:
    std::vector<Item> items;

    void label(std::string name) { items.push_back({Item::Type::label, {}, std::move(name)}); }
    void remark(std::string text) { items.push_back({Item::Type::remark, {}, std::move(text)}); }
    void directive(std::string text) { items.push_back({Item::Type::directive, {}, std::move(text)}); }
    void add(Instruction instruction) {
        items.push_back({Item::Type::instruction, std::move(instruction), {}});
    }
    void append(const Stream& other) { items.insert(items.end(), other.items.begin(), other.items.end()); }
    std::size_t instruction_count() const;
};

/// The program as assembler text, comments in one column.
std::string to_text(const Stream& stream);

} // namespace zyfa::templates::isa
