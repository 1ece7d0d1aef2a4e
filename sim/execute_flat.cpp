// SPDX-License-Identifier: Apache-2.0
// FLAT, GLOBAL and SCRATCH instructions (CDNA4 ISA, flat memory instructions).
#include "sim/lane_access.hpp"

namespace zyfa::sim {

namespace {

using namespace access;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::byte* scratch_pointer(Wave& w, const Instruction& i, unsigned lane, u64 offset, unsigned bytes,
                           const char* what) {
    if (offset > w.scratch_bytes || bytes > w.scratch_bytes - offset)
        return beyond(
            w, i,
            {OutOfBounds::Space::scratch, what, offset, bytes, static_cast<int>(lane), w.scratch_bytes});
    return w.scratch.data() + u64{lane} * w.scratch_bytes + offset;
}

std::byte* global_pointer(Wave& w, const Instruction& i, unsigned lane, u64 address, unsigned bytes,
                          const char* what, std::uint8_t use) {
    if (!w.thread->view.contains(address, bytes, use))
        return beyond(w, i, {OutOfBounds::Space::global, what, address, bytes, static_cast<int>(lane)});
    return reinterpret_cast<std::byte*>(address);
}

std::byte* flat_pointer(Wave& w, const Instruction& i, unsigned lane, u64 address, unsigned bytes,
                        const char* what, std::uint8_t use) {
    const u64 aperture = address & ~0xffffffffull;
    if (aperture == shared_aperture) {
        const u64 offset = address & 0xffffffff;
        if (offset + bytes > w.group->lds_bytes)
            return beyond(
                w, i,
                {OutOfBounds::Space::lds, what, offset, bytes, static_cast<int>(lane), w.group->lds_bytes});
        return w.group->lds.data() + offset;
    }
    if (aperture == private_aperture)
        return scratch_pointer(w, i, lane, address & 0xffffffff, bytes, what);
    return global_pointer(w, i, lane, address, bytes, what, use);
}

struct Flat {
    static constexpr bool pairs_data = true;

    static u64 resolve(Wave& w, const Instruction& i, unsigned bytes, const char* what) {
        const u64 active = w.exec();
        ThreadContext& t = *w.thread;
        const u64 offset = static_cast<u64>(static_cast<std::int64_t>(static_cast<std::int32_t>(i.imm)));
        if ((i.flags & flag::scratch) != 0) {
            scratch_addresses(w, i, active, offset);
            for_each_lane(active, [&](unsigned lane) {
                t.pointers[lane] = scratch_pointer(w, i, lane, t.addresses[lane] & 0xffffffff, bytes, what);
            });
            return active;
        }
        const u32* low = w.v + i.src[0].value;
        if (i.src[2].kind == OperandKind::sgpr) {
            const u64 base = w.s64(i.src[2].index) + offset;
            for (unsigned lane = 0; lane < lanes; ++lane)
                t.addresses[lane] = base + low[lane];
        } else {
            for (unsigned lane = 0; lane < lanes; ++lane)
                t.addresses[lane] = (u64{low[lane]} | u64{low[lanes + lane]} << 32) + offset;
        }
        if (active == 0)
            return 0;
        if ((i.flags & flag::global) != 0) {
            const std::uint8_t use = memory_use(i);
            u64 lowest = ~0ull, highest = 0;
            for_each_lane(active, [&](unsigned lane) {
                lowest = std::min(lowest, t.addresses[lane]);
                highest = std::max(highest, t.addresses[lane]);
            });
            if (highest <= ~0ull - bytes && t.view.contains(lowest, highest - lowest + bytes, use)) {
                for (unsigned lane = 0; lane < lanes; ++lane)
                    t.pointers[lane] = reinterpret_cast<std::byte*>(t.addresses[lane]);
                return active;
            }
            for_each_lane(active, [&](unsigned lane) {
                t.pointers[lane] = global_pointer(w, i, lane, t.addresses[lane], bytes, what, use);
            });
            return active;
        }
        for_each_lane(active, [&](unsigned lane) {
            t.pointers[lane] = flat_pointer(w, i, lane, t.addresses[lane], bytes, what, memory_use(i));
        });
        return active;
    }

    static void finish_store(Wave&) {}

  private:
    static void scratch_addresses(Wave& w, const Instruction& i, u64 active, u64 offset) {
        const u32 base = i.src[2].kind == OperandKind::sgpr ? w.s[i.src[2].index] : 0;
        for_each_lane(active, [&](unsigned lane) {
            const u32 own = i.src[0].kind == OperandKind::vgpr ? w.v[i.src[0].value + lane] : 0;
            w.thread->addresses[lane] = private_aperture | static_cast<u32>(base + own + offset);
        });
    }
};

template <class Access, bool Observed>
void load_to_lds(Wave& w, const Instruction& i) {
    const u64 active = Flat::resolve(w, i, Access::bytes, "load");
    observe<Observed>(w, i, active, Access::bytes);
    copy_to_lds(w, i, active, Access::bytes, i.imm);
}
template <class Access>
constexpr MemoryOp lds_op(std::string_view name) {
    return {name,          load_to_lds<Access, false>, load_to_lds<Access, true>, 0, 0, 0,
            Access::bytes, flag::load | flag::lds};
}

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u8 = std::uint8_t;
using i8 = std::int8_t;

// Each name is entered for the segments that have it.
#define ZYFA_SEGMENTS(row, name) row("flat_" name), row("global_" name), row("scratch_" name)
#define ZYFA_ATOMIC(row, name) row("flat_" name), row("global_" name)

const MemoryOp ops[] = {
    ZYFA_SEGMENTS((load_op<Flat, Extended<u8>>), "load_ubyte"),
    ZYFA_SEGMENTS((load_op<Flat, Extended<i8>>), "load_sbyte"),
    ZYFA_SEGMENTS((load_op<Flat, Extended<u16>>), "load_ushort"),
    ZYFA_SEGMENTS((load_op<Flat, Extended<i16>>), "load_sshort"),
    ZYFA_SEGMENTS((load_op<Flat, Words<1>>), "load_dword"),
    ZYFA_SEGMENTS((load_op<Flat, Words<2>>), "load_dwordx2"),
    ZYFA_SEGMENTS((load_op<Flat, Words<3>>), "load_dwordx3"),
    ZYFA_SEGMENTS((load_op<Flat, Words<4>>), "load_dwordx4"),
    ZYFA_SEGMENTS((load_op<Flat, Half<u8, false>>), "load_ubyte_d16"),
    ZYFA_SEGMENTS((load_op<Flat, Half<u8, true>>), "load_ubyte_d16_hi"),
    ZYFA_SEGMENTS((load_op<Flat, Half<i8, false>>), "load_sbyte_d16"),
    ZYFA_SEGMENTS((load_op<Flat, Half<i8, true>>), "load_sbyte_d16_hi"),
    ZYFA_SEGMENTS((load_op<Flat, Half<u16, false>>), "load_short_d16"),
    ZYFA_SEGMENTS((load_op<Flat, Half<u16, true>>), "load_short_d16_hi"),
    ZYFA_SEGMENTS((store_op<Flat, Extended<u8>>), "store_byte"),
    ZYFA_SEGMENTS((store_op<Flat, Half<u8, true>>), "store_byte_d16_hi"),
    ZYFA_SEGMENTS((store_op<Flat, Extended<u16>>), "store_short"),
    ZYFA_SEGMENTS((store_op<Flat, Half<u16, true>>), "store_short_d16_hi"),
    ZYFA_SEGMENTS((store_op<Flat, Words<1>>), "store_dword"),
    ZYFA_SEGMENTS((store_op<Flat, Words<2>>), "store_dwordx2"),
    ZYFA_SEGMENTS((store_op<Flat, Words<3>>), "store_dwordx3"),
    ZYFA_SEGMENTS((store_op<Flat, Words<4>>), "store_dwordx4"),
    lds_op<Extended<u8>>("global_load_lds_ubyte"),
    lds_op<Extended<i8>>("global_load_lds_sbyte"),
    lds_op<Extended<u16>>("global_load_lds_ushort"),
    lds_op<Extended<i16>>("global_load_lds_sshort"),
    lds_op<Words<1>>("global_load_lds_dword"),
    lds_op<Words<3>>("global_load_lds_dwordx3"),
    lds_op<Words<4>>("global_load_lds_dwordx4"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, swap<u32>>), "atomic_swap"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, add<u32>>), "atomic_add"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, sub<u32>>), "atomic_sub"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, smin<u32>>), "atomic_smin"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, umin<u32>>), "atomic_umin"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, smax<u32>>), "atomic_smax"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, umax<u32>>), "atomic_umax"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, bit_and<u32>>), "atomic_and"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, bit_or<u32>>), "atomic_or"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, bit_xor<u32>>), "atomic_xor"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, increment<u32>>), "atomic_inc"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, decrement<u32>>), "atomic_dec"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, add_f32>), "atomic_add_f32"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, pk_f16>), "atomic_pk_add_f16"),
    ZYFA_ATOMIC((atomic_op<Flat, u32, pk_bf16>), "atomic_pk_add_bf16"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, swap<u64>>), "atomic_swap_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, add<u64>>), "atomic_add_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, sub<u64>>), "atomic_sub_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, smin<u64>>), "atomic_smin_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, umin<u64>>), "atomic_umin_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, smax<u64>>), "atomic_smax_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, umax<u64>>), "atomic_umax_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, bit_and<u64>>), "atomic_and_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, bit_or<u64>>), "atomic_or_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, bit_xor<u64>>), "atomic_xor_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, increment<u64>>), "atomic_inc_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, decrement<u64>>), "atomic_dec_x2"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, add_f64>), "atomic_add_f64"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, min_f64>), "atomic_min_f64"),
    ZYFA_ATOMIC((atomic_op<Flat, u64, max_f64>), "atomic_max_f64"),
    atomic_op<Flat, u32, compare_swap<u32>>("flat_atomic_cmpswap", true, 2),
    atomic_op<Flat, u32, compare_swap<u32>>("global_atomic_cmpswap", true, 2),
    atomic_op<Flat, u64, compare_swap<u64>>("flat_atomic_cmpswap_x2", true, 4),
    atomic_op<Flat, u64, compare_swap<u64>>("global_atomic_cmpswap_x2", true, 4),
};
#undef ZYFA_SEGMENTS
#undef ZYFA_ATOMIC

} // namespace

std::span<const MemoryOp> flat_ops() {
    return ops;
}

} // namespace zyfa::sim
