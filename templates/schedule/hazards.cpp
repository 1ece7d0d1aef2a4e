// SPDX-License-Identifier: Apache-2.0
#include "templates/schedule/hazards.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "templates/schedule/flow.hpp"

namespace zyfa::templates::schedule {

using isa::Instruction;
using isa::Kind;
using isa::Units;

namespace {

constexpr const char* llvm = "LLVM 22 GCNHazardRecognizer, gfx950";

bool reads_vgpr_as_data_or_address(const Instruction& i) {
    return i.is_valu() || i.kind == Kind::lds_read || i.kind == Kind::lds_write ||
           i.kind == Kind::vmem_load || i.kind == Kind::vmem_store || i.kind == Kind::lds_dma;
}

bool writes_vgpr(const Instruction& i) {
    return i.is_valu() || i.kind == Kind::lds_read || i.kind == Kind::vmem_load;
}

bool is_scalar(Units u) {
    return u.first >= isa::sgpr_unit && u.first < isa::exec_unit;
}

bool reads_scalar_from(const Instruction& producer, const Instruction& consumer) {
    for (Units u : producer.writes)
        if (is_scalar(u) && consumer.reads.overlaps(u))
            return true;
    return false;
}

// The wait states grow with the passes P of the matrix instruction. gfx950 needs one more than gfx942 from
// 4 passes on: 2 passes 5, 4 passes 8, 8 passes 12, 16 passes 20.
unsigned matrix_result(unsigned passes) {
    return passes == 2 ? 5 : passes + 4;
}

unsigned mfma_result_used(const Instruction& p, const Instruction& c) {
    if (p.kind != Kind::mfma)
        return 0;
    if (reads_vgpr_as_data_or_address(c) && c.reads.overlaps(p.writes))
        return matrix_result(p.passes);
    if (c.kind == Kind::mfma && (p.writes.overlaps(c.mfma_a) || p.writes.overlaps(c.mfma_b)))
        return matrix_result(p.passes);
    return 0;
}

unsigned mfma_result_overwritten(const Instruction& p, const Instruction& c) {
    return p.kind == Kind::mfma && writes_vgpr(c) && c.writes.overlaps(p.writes) ? matrix_result(p.passes)
                                                                                 : 0;
}

unsigned mfma_accumulator_chain(const Instruction& p, const Instruction& c) {
    if (p.kind != Kind::mfma || c.kind != Kind::mfma || !p.writes.overlaps(c.mfma_c))
        return 0;
    const bool same_tuple = *p.writes.begin() == c.mfma_c;
    if (same_tuple && p.opcode == c.opcode)
        return p.passes == 2 ? 2 : 0; // forwarded
    // Overlapping tuples; and, to be safe, an accumulator handed from one opcode to another: whether that is
    // forwarded is disputed (LLVM PR 218363).
    return p.passes + 2u;
}

unsigned mfma_accumulator_overwritten(const Instruction& p, const Instruction& c) {
    if (p.kind != Kind::mfma || p.mfma_c.empty() || !writes_vgpr(c) || !c.writes.overlaps(p.mfma_c))
        return 0;
    return p.passes - 1u;
}

unsigned valu_result_to_mfma(const Instruction& p, const Instruction& c) {
    return p.is_valu() && c.kind == Kind::mfma && c.reads.overlaps(p.writes) ? 2 : 0;
}

unsigned trans_result(const Instruction& p, const Instruction& c) {
    return p.kind == Kind::trans && (c.kind == Kind::valu || c.kind == Kind::permlane) &&
                   c.reads.overlaps(p.writes)
               ? 1
               : 0;
}

unsigned partial_write(const Instruction& p, const Instruction& c) {
    if (!p.partial_write || !c.is_valu())
        return 0;
    return c.reads.overlaps(p.writes) || c.writes.overlaps(p.writes) ? 1 : 0;
}

unsigned valu_to_permlane(const Instruction& p, const Instruction& c) {
    return p.is_valu() && c.kind == Kind::permlane && c.reads.overlaps(p.writes) ? 2 : 0;
}

unsigned valu_to_dpp(const Instruction& p, const Instruction& c) {
    return p.is_valu() && c.dpp && c.reads.overlaps(p.writes) ? 2 : 0;
}

unsigned valu_to_lane_read(const Instruction& p, const Instruction& c) {
    return p.is_valu() && c.lane_select && c.reads.overlaps(p.writes) ? 1 : 0;
}

unsigned valu_scalar_to_valu(const Instruction& p, const Instruction& c) {
    return p.writes_scalar && c.is_valu() && reads_scalar_from(p, c) ? 2 : 0;
}

unsigned valu_scalar_to_memory(const Instruction& p, const Instruction& c) {
    return p.writes_scalar && c.counts_vm() && reads_scalar_from(p, c) ? 5 : 0;
}

unsigned m0_to_lds_dma(const Instruction& p, const Instruction& c) {
    return p.kind == Kind::salu && c.kind == Kind::lds_dma && p.writes.overlaps(isa::m0.units) ? 1 : 0;
}

unsigned store_data_overwritten(const Instruction& p, const Instruction& c) {
    return p.kind == Kind::vmem_store && p.store_dwords > 2 && !p.scalar_offset && c.is_valu() &&
                   c.writes.overlaps(p.store_data)
               ? 2
               : 0;
}

constexpr std::array rules{
    HazardRule{"matrix result used", "LLVM 22 GCNHazardRecognizer; paper Section III-A: no interlock",
               mfma_result_used},
    HazardRule{"matrix result overwritten", llvm, mfma_result_overwritten},
    HazardRule{"matrix accumulator chain", "LLVM 22 GCNHazardRecognizer; LLVM PR 218363",
               mfma_accumulator_chain},
    HazardRule{"matrix accumulator overwritten", llvm, mfma_accumulator_overwritten},
    HazardRule{"vector result to matrix operand", llvm, valu_result_to_mfma},
    HazardRule{"transcendental result used", llvm, trans_result},
    HazardRule{"partial register write", llvm, partial_write},
    HazardRule{"vector result to v_permlane*_swap", llvm, valu_to_permlane},
    HazardRule{"vector result to DPP", llvm, valu_to_dpp},
    HazardRule{"vector result to lane read", llvm, valu_to_lane_read},
    HazardRule{"scalar result of vector instruction to vector instruction", llvm, valu_scalar_to_valu},
    HazardRule{"scalar result of vector instruction to memory instruction", llvm, valu_scalar_to_memory},
    HazardRule{"M0 to LDS-DMA", llvm, m0_to_lds_dma},
    HazardRule{"store data overwritten", llvm, store_data_overwritten},
};

/// Calls visit(producer, wait states between) for every instruction within the window on some path before
/// `consumer`. `ahead` are wait states already supplied right before the consumer.
template <typename Visit>
void look_back(const Flow& flow, const std::vector<unsigned>& nops_before, std::size_t consumer,
               Visit&& visit) {
    // Shortest distance to each instruction; paths only matter through their length.
    std::vector<std::pair<std::size_t, unsigned>> work{{consumer, nops_before[consumer]}};
    std::vector<std::pair<std::size_t, unsigned>> seen; // instruction, shortest distance visited
    while (!work.empty()) {
        const auto [at, distance] = work.back();
        work.pop_back();
        if (distance >= hazard_window)
            continue;
        for (std::size_t previous : flow.before[at]) {
            const auto known = std::find_if(seen.begin(), seen.end(),
                                            [previous](const auto& s) { return s.first == previous; });
            if (known != seen.end()) {
                if (known->second <= distance)
                    continue;
                known->second = distance;
            } else {
                seen.emplace_back(previous, distance);
            }
            visit(*flow.code[previous], distance);
            work.emplace_back(previous, distance + flow.code[previous]->wait_states + nops_before[previous]);
        }
    }
}

} // namespace

std::span<const HazardRule> hazard_rules() {
    return rules;
}

Requirement required_wait_states(const Instruction& producer, const Instruction& consumer) {
    Requirement out;
    for (const HazardRule& rule : rules)
        if (const unsigned n = rule.required(producer, consumer); n > out.wait_states)
            out = {n, &rule};
    return out;
}

unsigned insert_hazard_nops(isa::Stream& stream) {
    const Flow flow = make_flow(stream);
    std::vector<unsigned> nops_before(flow.code.size(), 0);
    unsigned total = 0;
    // Program order. Nops placed later on a backward path only lengthen it, so one sweep is enough.
    for (std::size_t i = 0; i < flow.code.size(); ++i) {
        unsigned missing = 0;
        look_back(flow, nops_before, i, [&](const Instruction& producer, unsigned distance) {
            const unsigned need = required_wait_states(producer, *flow.code[i]).wait_states;
            if (need > distance)
                missing = std::max(missing, need - distance);
        });
        nops_before[i] = missing;
        total += missing;
    }
    std::vector<isa::Item> items;
    items.reserve(stream.items.size() + total / 4);
    std::size_t next = 0;
    for (std::size_t i = 0; i < stream.items.size(); ++i) {
        if (next < flow.item.size() && flow.item[next] == i) {
            for (unsigned left = nops_before[next]; left > 0;) {
                const unsigned step = std::min(left, 16u);
                items.push_back({isa::Item::Type::instruction, isa::make_nop(step), {}});
                left -= step;
            }
            ++next;
        }
        items.push_back(stream.items[i]);
    }
    stream.items = std::move(items);
    return total;
}

std::vector<std::string> hazard_violations(const isa::Stream& stream) {
    const Flow flow = make_flow(stream);
    const std::vector<unsigned> none(flow.code.size(), 0);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < flow.code.size(); ++i)
        look_back(flow, none, i, [&](const Instruction& producer, unsigned distance) {
            const Requirement need = required_wait_states(producer, *flow.code[i]);
            if (need.wait_states > distance)
                out.push_back(producer.text + " -> " + flow.code[i]->text + ": " + need.rule->name +
                              " needs " + std::to_string(need.wait_states) + " wait states, has " +
                              std::to_string(distance));
        });
    return out;
}

} // namespace zyfa::templates::schedule
