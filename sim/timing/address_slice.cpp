// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/address_slice.hpp"

#include <algorithm>
#include <bitset>
#include <optional>
#include <string_view>

#include "sim/operations.hpp"
#include "sim/sanitizer/traits.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim::timing {

namespace {

using sanitizer::Role;
using sanitizer::Traits;
using sanitizer::Use;
using Registers = std::bitset<sanitizer::units>; ///< numbered as in sim/sanitizer/traits.hpp

constexpr unsigned exec_unit = sanitizer::sgpr_unit + scalar_code::exec;
constexpr unsigned vcc_unit = sanitizer::sgpr_unit + scalar_code::vcc;
constexpr std::size_t nowhere = ~std::size_t{0};

void nothing(Wave&, const Instruction&) {}
void jump(Wave& wave, const Instruction& i) {
    wave.next = &i + i.target;
}
/// In place of a vector instruction that tells a scalar register something about the data: nothing holds.
void no_lane(Wave& wave, const Instruction& i) {
    for (const Operand* o : {&i.dst, &i.sdst})
        for (unsigned n = 0; o->kind == OperandKind::sgpr && n < o->words; ++n)
            wave.s[o->index + n] = 0;
}

bool vector_alu(const Instruction& i) {
    return i.kind == InstructionClass::valu || i.kind == InstructionClass::transcendental ||
           i.kind == InstructionClass::packed_fp32;
}

bool starts(const Instruction& i, std::string_view prefix) {
    return i.mnemonic != nullptr && std::string_view(i.mnemonic).starts_with(prefix);
}

bool is(const Instruction& i, std::string_view name) {
    return i.mnemonic != nullptr && i.mnemonic == name;
}

/// What a load does without moving data: no address needs them here.
Handler asked(const Instruction& i) {
    std::string name = i.mnemonic;
    if ((i.flags & flag::lds) != 0)
        name += "_lds";
    const MemoryOp* op = find_memory_op(name);
    return op != nullptr ? op->asked : nullptr;
}

/// Whether a DPP instruction writes all lanes that are active, if all are: no mask, a source for each.
bool writes_every_lane(const Instruction& dpp) {
    const unsigned control = dpp.control >> 8 & 0x1ff;
    const bool zero_outside = (dpp.control >> 19 & 1) != 0; // bound_ctrl (CDNA4 ISA, VOP_DPP)
    bool all = dpp.control >> 24 == 0xff;
    for (unsigned lane = 0; all && !zero_outside && lane < lanes; ++lane)
        all = dpp_source(control, lane) >= 0;
    return all;
}

/// What a dataflow analysis needs of one instruction.
struct Effects {
    Registers reads, writes;
    bool replaces = true; ///< all of what it writes, if every lane is active
};

Effects effects_of(const Instruction& i, const Traits& traits) {
    Effects e;
    const auto set = [](Registers& registers, const Use& use) {
        for (unsigned n = 0; n < use.count && use.first + n < registers.size(); ++n)
            registers.set(use.first + n);
    };
    const bool stores = (i.flags & (flag::store | flag::atomic)) != 0;
    const bool whole_dpp = (i.flags & flag::dpp) != 0 && writes_every_lane(i);
    for (const Use& use : traits.read()) {
        if (use.role == Role::old && whole_dpp)
            continue;
        if (use.role != Role::data || stores)
            set(e.reads, use);
        if (use.role == Role::old)
            e.replaces = false;
    }
    for (const Use& use : traits.written())
        set(e.writes, use);
    const auto pair = [](Registers& registers, unsigned first) {
        registers.set(first);
        registers.set(first + 1);
    };
    for (const Operand& source : i.src)
        if (source.kind == OperandKind::special && source.index == scalar_code::execz)
            pair(e.reads, exec_unit);
    if ((i.flags & flag::vector) != 0 || vector_alu(i))
        pair(e.reads, exec_unit);
    if (traits.is(sanitizer::trait::div_fmas))
        pair(e.reads, vcc_unit);
    if (traits.is(sanitizer::trait::valu_exec))
        pair(e.writes, exec_unit);
    if (traits.is(sanitizer::trait::partial_write | sanitizer::trait::lane_write) ||
        (i.flags & (flag::sdwa | flag::writes_source)) != 0 || ((i.flags & flag::dpp) != 0 && !whole_dpp))
        e.replaces = false;
    if (starts(i, "s_addk") || starts(i, "s_mulk") || starts(i, "s_bitset") || starts(i, "s_cmov")) {
        e.replaces = false;
        e.reads |= e.writes;
    }
    return e;
}

/// What the analysis does not follow.
const char* obstacle(const Instruction& i) {
    if (i.kind == InstructionClass::unknown || i.mnemonic == nullptr)
        return "an unknown instruction";
    if (i.kind == InstructionClass::flat)
        return "flat accesses";
    if (starts(i, "s_setpc") || starts(i, "s_swappc") || starts(i, "s_call"))
        return "indirect jumps or calls";
    if (starts(i, "s_movrel") || starts(i, "s_set_gpr_idx") || is(i, "s_setvskip"))
        return "indexed registers";
    if (i.kind == InstructionClass::smem &&
        ((i.flags & (flag::store | flag::atomic)) != 0 || starts(i, "s_dcache_inv")))
        return "scalar loads of what it writes itself"; // scalar caches are not coherent (CDNA ISA)
    if ((i.flags & flag::atomic) != 0 && i.dst.kind != OperandKind::none)
        return "atomics that return";
    return nullptr;
}

class Slicer {
  public:
    Slicer(std::span<const Instruction> code, std::size_t entry, bool whole_waves,
           const std::map<std::uint32_t, InstructionProfile>& measured)
        : code_(code), entry_(entry), whole_waves_(whole_waves), measured_(measured) {}

    AddressSlice run() {
        AddressSlice slice;
        if (const char* reason = prepare()) {
            slice.refused = reason;
            return slice;
        }
        forward();
        backward();
        for (std::size_t n = 0; n < code_.size(); ++n) {
            if (!reached(n) || !needed_[n])
                continue;
            const Instruction& i = code_[n];
            if (!tells_scalars(n) && i.kind != InstructionClass::salu && way_[n] == Way::open &&
                (i.kind == InstructionClass::matrix || (before_[n]->data & effects_[n].reads).any())) {
                slice.refused = "addresses that depend on loaded data";
                return slice;
            }
        }
        emit(slice);
        return slice;
    }

  private:
    enum class Way : std::uint8_t { open, taken, not_taken }; ///< of a conditional branch

    /// What is known before an instruction, over all paths that lead to it.
    struct State {
        /// May depend on what vector or LDS loads have brought, or on matrix instructions. Scalar
        /// instructions do not hand this on: they run, on what no_lane() leaves them.
        Registers data;
        Registers ones; ///< scalar registers with all bits set
        bool operator==(const State&) const = default;
    };

    static void set_exec(Registers& registers) {
        registers.set(exec_unit);
        registers.set(exec_unit + 1);
    }
    bool reached(std::size_t n) const { return before_[n].has_value(); }
    /// A vector instruction that depends on data and writes scalar registers only, EXEC aside.
    bool tells_scalars(std::size_t n) const {
        const Instruction& i = code_[n];
        return vector_alu(i) && i.dst.kind != OperandKind::vgpr && (i.flags & flag::writes_exec) == 0 &&
               (before_[n]->data & effects_[n].reads).any();
    }
    bool every_lane(std::size_t n) const {
        return before_[n]->ones.test(exec_unit) && before_[n]->ones.test(exec_unit + 1);
    }
    bool conditional(std::size_t n) const {
        return code_[n].kind == InstructionClass::branch && starts(code_[n], "s_cbranch") &&
               !starts(code_[n], "s_cbranch_cdbg");
    }
    static bool ends(const Instruction& i) { return starts(i, "s_endpgm"); }
    std::size_t target(std::size_t n) const {
        const Instruction& i = code_[n];
        if (i.kind != InstructionClass::branch || i.target == no_target || starts(i, "s_cbranch_cdbg"))
            return nowhere;
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(n) + i.target);
    }
    /// Where execution may go on; branches that depend on data go one way.
    template <class F>
    void for_each_successor(std::size_t n, F&& f) const {
        if (ends(code_[n]))
            return;
        const std::size_t to = target(n);
        const bool branch = to != nowhere;
        if (branch && way_[n] != Way::not_taken)
            f(to);
        if ((!branch || conditional(n)) && way_[n] != Way::taken && n + 1 < code_.size())
            f(n + 1);
    }

    const char* prepare() {
        const std::size_t count = code_.size();
        before_.resize(count);
        way_.resize(count, Way::open);
        needed_.resize(count, false);
        effects_.resize(count);
        std::vector<bool> seen(count, false);
        std::vector<std::size_t> work{entry_};
        while (!work.empty()) {
            const std::size_t n = work.back();
            work.pop_back();
            if (n >= count || seen[n])
                continue;
            seen[n] = true;
            if (const char* reason = obstacle(code_[n]))
                return reason;
            effects_[n] = effects_of(code_[n], sanitizer::traits_of(code_[n]));
            for_each_successor(n, [&](std::size_t next) { work.push_back(next); });
        }
        return nullptr;
    }

    State after(std::size_t n) const {
        const Instruction& i = code_[n];
        const Effects& e = effects_[n];
        State state = *before_[n];
        const bool vector = (i.flags & flag::vector) != 0 || vector_alu(i);
        const bool brings_data =
            i.kind == InstructionClass::matrix ||
            ((i.flags & (flag::load | flag::atomic)) != 0 && i.kind != InstructionClass::smem);
        const bool scalar = i.kind == InstructionClass::salu || i.kind == InstructionClass::smem;
        const bool data = brings_data || (!scalar && (state.data & e.reads).any());
        Registers all_ones;
        if (i.kind == InstructionClass::salu) {
            const auto ones = [&](const Operand& o) {
                if (o.kind == OperandKind::constant)
                    return o.value == ~0u;
                bool all = o.kind == OperandKind::sgpr;
                for (unsigned w = 0; all && w < o.words; ++w)
                    all = state.ones.test(sanitizer::sgpr_unit + o.index + w);
                return all;
            };
            const auto mark = [&](const Operand& o) {
                for (unsigned w = 0; o.kind == OperandKind::sgpr && w < o.words; ++w)
                    all_ones.set(sanitizer::sgpr_unit + o.index + w);
            };
            if (is(i, "s_mov_b64") || is(i, "s_mov_b32")
                    ? ones(i.src[0])
                    : starts(i, "s_or_b") && (ones(i.src[0]) || ones(i.src[1])))
                mark(i.dst);
            else if (starts(i, "s_or_saveexec") && ones(i.src[0]))
                set_exec(all_ones);
            if (std::string_view(i.mnemonic).find("saveexec") != std::string_view::npos && every_lane(n))
                mark(i.dst); // the old EXEC
        }
        state.ones = (state.ones & ~e.writes) | all_ones;
        if (data)
            state.data |= e.writes;
        else if (e.replaces && (!vector || every_lane(n)))
            state.data &= ~e.writes;
        return state;
    }

    /// Follows what depends on data, and settles the branches that do, until no more are found. What only the
    /// ways that are not gone would have brought is forgotten.
    void forward() {
        while (flow())
            ;
    }

    /// One pass over the ways left; whether it settled a branch.
    bool flow() {
        bool settled = false;
        std::fill(before_.begin(), before_.end(), std::nullopt);
        State start;
        if (whole_waves_)
            set_exec(start.ones);
        before_[entry_] = start;
        std::vector<std::size_t> work{entry_};
        std::vector<bool> queued(code_.size(), false);
        while (!work.empty()) {
            const std::size_t n = work.back();
            work.pop_back();
            queued[n] = false;
            if (way_[n] == Way::open && conditional(n) && (before_[n]->data & effects_[n].reads).any()) {
                way_[n] = usual_way(n);
                settled = true;
            }
            const State next_state = after(n);
            for_each_successor(n, [&](std::size_t next) {
                if (next >= code_.size())
                    return;
                bool changed = !before_[next];
                if (changed) {
                    before_[next] = next_state;
                } else {
                    State joined{before_[next]->data | next_state.data,
                                 before_[next]->ones & next_state.ones};
                    changed = joined != *before_[next];
                    before_[next] = joined;
                }
                if (changed && !queued[next]) {
                    queued[next] = true;
                    work.push_back(next);
                }
            });
        }
        return settled;
    }

    Way usual_way(std::size_t n) const {
        const auto found = measured_.find(code_[n].pc);
        return found != measured_.end() && 2 * found->second.taken > found->second.count ? Way::taken
                                                                                         : Way::not_taken;
    }

    bool root(std::size_t n) const {
        const Instruction& i = code_[n];
        switch (i.kind) {
        case InstructionClass::vmem:
            return (i.flags & flag::load) != 0;
        case InstructionClass::branch:
            return way_[n] != Way::not_taken;
        case InstructionClass::barrier:
            return true;
        case InstructionClass::control:
            return ends(i) || is(i, "s_sleep") || is(i, "s_trap") || is(i, "s_sethalt");
        default:
            return false;
        }
    }

    /// Liveness over the ways that are left.
    void backward() {
        std::vector<Registers> live(code_.size()); // before each instruction
        bool changed = true;
        while (changed) {
            changed = false;
            for (std::size_t n = code_.size(); n-- > 0;) {
                if (!reached(n))
                    continue;
                const Instruction& i = code_[n];
                const Effects& e = effects_[n];
                Registers now;
                for_each_successor(n, [&](std::size_t next) {
                    if (next < code_.size())
                        now |= live[next];
                });
                const bool store = (i.flags & (flag::store | flag::atomic)) != 0;
                if (!needed_[n])
                    needed_[n] = root(n) || (!store && (now & e.writes).any());
                if (needed_[n]) {
                    const bool vector = (i.flags & flag::vector) != 0 || vector_alu(i);
                    if (e.replaces && (!vector || every_lane(n)))
                        now &= ~e.writes;
                    if (way_[n] == Way::open && !tells_scalars(n))
                        now |= e.reads;
                }
                if (now != live[n]) {
                    live[n] = now;
                    changed = true;
                }
            }
        }
    }

    static void charge(AddressSlice::Cost& cost, const Instruction& i) {
        ++cost.instructions;
        cost.cycles[static_cast<unsigned>(i.pipe)] += i.cycles;
    }

    void emit(AddressSlice& slice) const {
        std::vector<bool> leader(code_.size(), false);
        leader[entry_] = true;
        for (std::size_t n = 0; n < code_.size(); ++n)
            if (reached(n) && code_[n].kind == InstructionClass::branch && way_[n] != Way::not_taken)
                for_each_successor(n, [&](std::size_t next) {
                    if (next < code_.size())
                        leader[next] = true;
                });
        std::vector<std::size_t> place(code_.size(), nowhere), origin;
        const auto add = [&](std::size_t n, const Instruction& i) {
            slice.code.push_back(i);
            slice.costs.emplace_back();
            origin.push_back(n);
        };
        std::size_t block = nowhere; // first instruction of the block under way, in slice.code
        bool carrier = false;        // that one is there for its costs alone
        for (std::size_t n = 0; n < code_.size(); ++n) {
            if (!reached(n)) {
                block = nowhere;
                continue;
            }
            const Instruction& i = code_[n];
            if (leader[n] || block == nowhere) {
                block = slice.code.size();
                place[n] = block;
                carrier = false;
            }
            if (!needed_[n]) {
                if (block == slice.code.size()) {
                    Instruction empty = i;
                    empty.execute = empty.execute_observed = nothing;
                    empty.kind = InstructionClass::control;
                    empty.target = no_target;
                    add(n, empty);
                    carrier = true;
                }
                charge(slice.costs[block], i);
                continue;
            }
            Instruction kept = i;
            if (way_[n] == Way::taken)
                kept.execute = jump;
            else if (tells_scalars(n))
                kept.execute = no_lane;
            else if (const Handler ask = i.kind == InstructionClass::vmem ? asked(i) : nullptr;
                     ask != nullptr)
                kept.execute_observed = ask;
            if (kept.execute_observed == nullptr || kept.execute != i.execute)
                kept.execute_observed = kept.execute;
            if (carrier && block + 1 == slice.code.size()) {
                slice.code.back() = kept; // takes the carrier's place and costs
                origin.back() = n;
                carrier = false;
            } else {
                add(n, kept);
            }
            charge(slice.costs.back(), i);
            if (i.kind == InstructionClass::branch)
                block = nowhere;
        }
        for (std::size_t at = 0; at < slice.code.size(); ++at)
            if (const std::size_t to = target(origin[at]);
                to != nowhere && slice.code[at].target != no_target)
                slice.code[at].target = static_cast<std::int32_t>(static_cast<std::ptrdiff_t>(place[to]) -
                                                                  static_cast<std::ptrdiff_t>(at));
        slice.entry = place[entry_];
    }

    std::span<const Instruction> code_;
    std::size_t entry_;
    bool whole_waves_;
    const std::map<std::uint32_t, InstructionProfile>& measured_;
    std::vector<std::optional<State>> before_; ///< nothing: not reached
    std::vector<Way> way_;
    std::vector<bool> needed_;
    std::vector<Effects> effects_;
};

} // namespace

AddressSlice address_slice(std::span<const Instruction> code, std::size_t entry, bool whole_waves,
                           const std::map<std::uint32_t, InstructionProfile>& measured) {
    return Slicer(code, entry, whole_waves, measured).run();
}

} // namespace zyfa::sim::timing
