// SPDX-License-Identifier: Apache-2.0
// Vector instructions that move data between lanes, register files and the scalar side.
#include "sim/operations.hpp"
#include "sim/wave.hpp"

#include <algorithm>
#include <unordered_map>

namespace zyfa::sim {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// One lane of a vector operand, or the scalar it is.
u32 lane_value(const Wave& w, const Operand& o, unsigned lane) {
    if (o.kind == OperandKind::vgpr)
        return w.v[o.value + lane];
    if (o.kind == OperandKind::lanes)
        return w.pool[o.value];
    return read32(w, o);
}

void read_first_lane(Wave& w, const Instruction& i) {
    // With no active lane, lane 0 is read (CDNA4 ISA, V_READFIRSTLANE_B32).
    const u64 exec = w.exec();
    const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
    write32(w, i.dst, lane_value(w, i.src[0], lane));
}
void read_lane(Wave& w, const Instruction& i) {
    write32(w, i.dst, lane_value(w, i.src[0], lane_value(w, i.src[1], 0) & 63));
}
void write_lane(Wave& w, const Instruction& i) {
    w.v[i.dst.value + (lane_value(w, i.src[1], 0) & 63)] = lane_value(w, i.src[0], 0);
}

void move(Wave& w, const Instruction& i) {
    u32* d = w.v + i.dst.value;
    const u64 exec = w.exec();
    if (i.src[0].kind == OperandKind::vgpr && exec == ~0ull) {
        std::memmove(d, w.v + i.src[0].value, lanes * sizeof(u32));
        return;
    }
    for (unsigned lane = 0; lane < lanes; ++lane)
        if ((exec >> lane & 1) != 0)
            d[lane] = lane_value(w, i.src[0], lane);
}

void swap(Wave& w, const Instruction& i) {
    u32 *a = w.v + i.dst.value, *b = w.v + i.src[0].value;
    const u64 exec = w.exec();
    for (unsigned lane = 0; lane < lanes; ++lane)
        if ((exec >> lane & 1) != 0)
            std::swap(a[lane], b[lane]);
}

/// Swaps the odd rows of D (rows of `Row` lanes) with the even rows of S; each write needs its own lane
/// active.
template <unsigned Row>
void permlane_swap(Wave& w, const Instruction& i) {
    u32 *a = w.v + i.dst.value, *b = w.v + i.src[0].value;
    const u64 exec = w.exec();
    for (unsigned pair = 0; pair < lanes; pair += 2 * Row)
        for (unsigned n = 0; n < Row; ++n) {
            const unsigned in_a = pair + Row + n, in_b = pair + n;
            const u32 old_a = a[in_a], old_b = b[in_b];
            if ((exec >> in_a & 1) != 0)
                a[in_a] = old_b;
            if ((exec >> in_b & 1) != 0)
                b[in_b] = old_a;
        }
}

void nothing(Wave&, const Instruction&) {}

const CrossLaneOp cross_lane_ops[] = {
    {"v_nop", nothing},
    {"v_clrexcp", nothing},
    {"v_readfirstlane_b32", read_first_lane, 1, 1, 0, true},
    {"v_readlane_b32", read_lane, 1, 1, 1, true},
    {"v_writelane_b32", write_lane, 1, 1, 1},
    {"v_accvgpr_read_b32", move, 1, 1},
    {"v_accvgpr_write_b32", move, 1, 1},
    {"v_accvgpr_mov_b32", move, 1, 1},
    {"v_swap_b32", swap, 1, 1, 0, false, true},
    {"v_permlane16_swap_b32", permlane_swap<16>, 1, 1, 0, false, true},
    {"v_permlane32_swap_b32", permlane_swap<32>, 1, 1, 0, false, true},
};

} // namespace

const CrossLaneOp* find_cross_lane_op(std::string_view mnemonic) {
    static const auto table = [] {
        std::unordered_map<std::string_view, const CrossLaneOp*> map;
        for (const CrossLaneOp& op : cross_lane_ops)
            map.emplace(op.mnemonic, &op);
        return map;
    }();
    const auto found = table.find(mnemonic);
    return found == table.end() ? nullptr : found->second;
}

} // namespace zyfa::sim
