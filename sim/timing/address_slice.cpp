// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/address_slice.hpp"

#include <bitset>

#include "sim/wave.hpp"

namespace zyfa::sim::timing {

namespace {

constexpr unsigned scalars_from = 512;
using Registers = std::bitset<scalars_from + 128>; ///< vector registers, then scalar ones by operand code

void nothing(Wave&, const Instruction&) {}

template <class F>
void for_each_register(const Operand& operand, F&& f) {
    const bool scalar = operand.kind == OperandKind::sgpr;
    if (!scalar && operand.kind != OperandKind::vgpr)
        return;
    for (unsigned n = 0; n < operand.words; ++n)
        if (const unsigned at = operand.index + n + (scalar ? scalars_from : 0); at < Registers{}.size())
            f(at);
}

void add(Registers& set, const Operand& operand) {
    for_each_register(operand, [&](unsigned at) { set.set(at); });
}

bool touches(const Registers& set, const Operand& operand) {
    bool found = false;
    for_each_register(operand, [&](unsigned at) { found |= set.test(at); });
    return found;
}

void add_pair(Registers& set, unsigned code) {
    set.set(scalars_from + code);
    set.set(scalars_from + code + 1);
}

bool vector_alu(const Instruction& i) {
    return i.kind == InstructionClass::valu || i.kind == InstructionClass::transcendental ||
           i.kind == InstructionClass::packed_fp32;
}

bool reads_what_it_writes(const Instruction& i) {
    return (i.valu != nullptr && i.valu->reads_d) ||
           (i.flags & (flag::dpp | flag::sdwa | flag::writes_source)) != 0;
}

/// Backward liveness of vector registers, instruction by instruction, with the addresses of memory accesses
/// and the sources of scalar results as uses.
class Slice {
  public:
    explicit Slice(std::span<const Instruction> code) : code_(code), live_(code.size() + 1) {
        bool lds_before = true;
        while (lds_before != lds_) { // an address out of LDS makes its stores count: once more then
            lds_before = lds_;
            while (sweep())
                ;
        }
    }

    bool keeps(std::size_t n) const {
        const Instruction& i = code_[n];
        if (i.kind == InstructionClass::matrix)
            return false;
        if (vector_alu(i))
            return (i.flags & flag::writes_exec) != 0 || writes_live(n);
        if (i.kind == InstructionClass::lds)
            return (i.flags & flag::store) != 0 ? lds_ : writes_live(n);
        if (i.kind == InstructionClass::vmem || i.kind == InstructionClass::flat)
            return (i.flags & flag::store) == 0; // its data may be stale
        return true;
    }

  private:
    /// Live after instruction n.
    Registers after(std::size_t n) const {
        const Instruction& i = code_[n];
        Registers live = live_[n + 1];
        if (i.kind == InstructionClass::branch && i.target != no_target) {
            const auto target = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(n) + i.target);
            if (target < code_.size())
                live |= live_[target];
        }
        return live;
    }

    bool writes_live(std::size_t n) const {
        const Instruction& i = code_[n];
        const Registers live = after(n);
        return touches(live, i.dst) || touches(live, i.sdst) ||
               ((i.flags & flag::writes_source) != 0 && touches(live, i.src[0]));
    }

    bool sweep() {
        bool changed = false;
        for (std::size_t n = code_.size(); n-- > 0;) {
            const Instruction& i = code_[n];
            Registers live = after(n);
            const bool memory = i.kind == InstructionClass::vmem || i.kind == InstructionClass::flat;
            if (memory) {
                live.set(scalars_from + scalar_code::m0);
                for (unsigned source : {0u, 2u, 3u}) // all but the data
                    add(live, i.src[source]);
                if ((i.flags & flag::atomic) != 0)
                    add(live, i.src[1]);
            } else if (i.kind == InstructionClass::branch) {
                add(live, i.src[0]);
                add_pair(live, scalar_code::vcc);
                add_pair(live, scalar_code::exec);
            } else if (i.kind == InstructionClass::salu || i.kind == InstructionClass::smem) {
                for (const Operand& source : i.src) {
                    add(live, source);
                    if (source.kind == OperandKind::special) // vccz, execz
                        add_pair(live, scalar_code::vcc);
                }
            } else if (keeps(n) && (vector_alu(i) || i.kind == InstructionClass::lds)) {
                // Lanes that EXEC leaves out keep what they had; like a compiler, take the result for whole.
                if (!reads_what_it_writes(i)) {
                    Registers written;
                    add(written, i.dst);
                    add(written, i.sdst);
                    live &= ~written;
                }
                for (const Operand& source : i.src)
                    add(live, source);
                lds_ |= i.kind == InstructionClass::lds && (i.flags & flag::load) != 0;
            }
            if (live != live_[n]) {
                live_[n] = live;
                changed = true;
            }
        }
        return changed;
    }

    std::span<const Instruction> code_;
    std::vector<Registers> live_; ///< before each instruction
    bool lds_ = false;            ///< an address comes out of LDS: what is written there counts
};

} // namespace

std::vector<Instruction> address_slice(std::span<const Instruction> code) {
    const Slice slice(code);
    std::vector<Instruction> result(code.begin(), code.end());
    for (std::size_t n = 0; n < result.size(); ++n) {
        Instruction& i = result[n];
        if (!slice.keeps(n))
            i.execute = i.execute_observed = nothing;
        else if (i.execute_observed == nullptr)
            i.execute_observed = i.execute;
    }
    return result;
}

} // namespace zyfa::sim::timing
