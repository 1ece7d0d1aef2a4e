// SPDX-License-Identifier: Apache-2.0
// Untyped buffer instructions (MUBUF), loads to LDS among them (CDNA4 ISA, vector memory buffer
// instructions).
#include "sim/lane_access.hpp"

namespace zyfa::sim {

namespace {

using namespace access;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Descriptor {
    u64 base, records;
    u32 stride;
};

Descriptor descriptor(const Wave& w, const Operand& o) {
    const u32* v = w.s + o.index;
    if ((v[1] >> 31) != 0)
        fault("unsupported buffer", "the descriptor asks for swizzled addressing");
    if ((v[3] >> 23 & 1) != 0)
        fault("unsupported buffer", "the descriptor has ADD_TID_ENABLE");
    return {u64{v[0]} | u64{v[1] & 0xffff} << 32, v[2], v[1] >> 16 & 0x3fff};
}

/// Raw buffers are bounded per dword: ((vaddr + inst_offset) mod 2^32) + soffset + 4 (i + 1) <= num_records;
/// with an index and a stride the index is bounded instead. Out of range, loads give 0 and stores are
/// dropped. (rocm-systems PR #10928, verified there on gfx950.)
struct Buffer {
    static constexpr bool pairs_data = true;

    static u64 resolve(Wave& w, const Instruction& i, unsigned bytes, const char* what) {
        const u64 active = w.exec();
        ThreadContext& t = *w.thread;
        t.partial = 0;
        const Descriptor v = descriptor(w, i.src[2]);
        const bool indexed = (i.flags & flag::idxen) != 0;
        const bool structured = indexed && v.stride != 0;
        const u32* index = indexed ? w.v + i.src[0].value : nullptr;
        const u32* offset = nullptr;
        if ((i.flags & flag::offen) != 0)
            offset = w.v + i.src[0].value + (indexed ? lanes : 0);
        const u32 soffset = read32(w, i.src[3]);
        const unsigned unit = std::min(bytes, 4u);
        const bool whole = what[0] == 'a'; // atomics: all or nothing
        const std::uint8_t use = memory_use(i);
        u64 lowest = ~0ull, highest = 0;
        for_each_lane(active, [&](unsigned lane) {
            const u32 own = (offset != nullptr ? offset[lane] : 0) + i.imm;
            u64 at = u64{own} + soffset; // against num_records
            u64 room = 0;                // bytes in range
            if (structured) {
                room = index[lane] < v.records ? bytes : 0;
                at += u64{index[lane]} * v.stride;
            } else if (at < v.records) {
                room = std::min<u64>(v.records - at, bytes) / unit * unit;
            }
            u64 address = v.base + at;
            if (bytes >= 4)
                address &= ~3ull; // dword and wider accesses ignore the low bits
            t.addresses[lane] = address;
            t.pointers[lane] = reinterpret_cast<std::byte*>(address);
            if (room < bytes) {
                t.partial |= 1ull << lane;
                t.in_range[lane] = static_cast<std::uint8_t>(whole ? 0 : room);
            } else {
                lowest = std::min(lowest, address);
                highest = std::max(highest, address);
            }
        });
        if (lowest <= highest && !t.view.contains(lowest, highest - lowest + bytes, use))
            for_each_lane(active & ~t.partial, [&](unsigned lane) {
                if (!t.view.contains(t.addresses[lane], bytes, use))
                    t.pointers[lane] = unmapped(w, i, lane, bytes, what);
            });
        if (t.partial != 0)
            detour(w, i, what, use);
        return active;
    }

    /// Copies what lies in range of the partly covered lanes.
    static void finish_store(Wave& w) {
        ThreadContext& t = *w.thread;
        for_each_lane(t.partial, [&](unsigned lane) {
            if (t.in_range[lane] != 0)
                std::memcpy(reinterpret_cast<void*>(t.addresses[lane]), t.bounce[lane], t.in_range[lane]);
        });
    }

  private:
    /// In range of the descriptor, and yet not there.
    static std::byte* unmapped(Wave& w, const Instruction& i, unsigned lane, unsigned bytes,
                               const char* what) {
        return beyond(
            w, i,
            {OutOfBounds::Space::global, what, w.thread->addresses[lane], bytes, static_cast<int>(lane)});
    }

    /// Lanes not wholly in range work on a buffer of their own: zeros, and the dwords in range.
    static void detour(Wave& w, const Instruction& i, const char* what, std::uint8_t use) {
        ThreadContext& t = *w.thread;
        for_each_lane(t.partial, [&](unsigned lane) {
            std::memset(t.bounce[lane], 0, sizeof t.bounce[lane]);
            t.pointers[lane] = t.bounce[lane];
            const unsigned size = t.in_range[lane];
            if (size == 0)
                return;
            if (!t.view.contains(t.addresses[lane], size, use)) {
                unmapped(w, i, lane, size, what);
                t.in_range[lane] = 0;
                return;
            }
            std::memcpy(t.bounce[lane], reinterpret_cast<const void*>(t.addresses[lane]), size);
        });
    }
};

template <class Access, bool Observed>
void load_to_lds(Wave& w, const Instruction& i) {
    const u64 active = Buffer::resolve(w, i, Access::bytes, "load");
    observe<Observed>(w, i, active, Access::bytes);
    copy_to_lds(w, i, active, Access::bytes, i.imm);
}
template <class Access>
constexpr MemoryOp lds_op(std::string_view name) {
    return {name,          load_to_lds<Access, false>, load_to_lds<Access, true>, 0, 0, 0,
            Access::bytes, flag::load | flag::lds,     ask<Buffer, Access>};
}

void nothing(Wave&, const Instruction&) {}

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u8 = std::uint8_t;
using i8 = std::int8_t;

const MemoryOp ops[] = {
    load_op<Buffer, Extended<u8>>("buffer_load_ubyte"),
    load_op<Buffer, Extended<i8>>("buffer_load_sbyte"),
    load_op<Buffer, Extended<u16>>("buffer_load_ushort"),
    load_op<Buffer, Extended<i16>>("buffer_load_sshort"),
    load_op<Buffer, Words<1>>("buffer_load_dword"),
    load_op<Buffer, Words<2>>("buffer_load_dwordx2"),
    load_op<Buffer, Words<3>>("buffer_load_dwordx3"),
    load_op<Buffer, Words<4>>("buffer_load_dwordx4"),
    load_op<Buffer, Half<u8, false>>("buffer_load_ubyte_d16"),
    load_op<Buffer, Half<u8, true>>("buffer_load_ubyte_d16_hi"),
    load_op<Buffer, Half<i8, false>>("buffer_load_sbyte_d16"),
    load_op<Buffer, Half<i8, true>>("buffer_load_sbyte_d16_hi"),
    load_op<Buffer, Half<u16, false>>("buffer_load_short_d16"),
    load_op<Buffer, Half<u16, true>>("buffer_load_short_d16_hi"),
    store_op<Buffer, Extended<u8>>("buffer_store_byte"),
    store_op<Buffer, Half<u8, true>>("buffer_store_byte_d16_hi"),
    store_op<Buffer, Extended<u16>>("buffer_store_short"),
    store_op<Buffer, Half<u16, true>>("buffer_store_short_d16_hi"),
    store_op<Buffer, Words<1>>("buffer_store_dword"),
    store_op<Buffer, Words<2>>("buffer_store_dwordx2"),
    store_op<Buffer, Words<3>>("buffer_store_dwordx3"),
    store_op<Buffer, Words<4>>("buffer_store_dwordx4"),
    lds_op<Extended<u8>>("buffer_load_ubyte_lds"),
    lds_op<Extended<i8>>("buffer_load_sbyte_lds"),
    lds_op<Extended<u16>>("buffer_load_ushort_lds"),
    lds_op<Extended<i16>>("buffer_load_sshort_lds"),
    lds_op<Words<1>>("buffer_load_dword_lds"),
    lds_op<Words<3>>("buffer_load_dwordx3_lds"),
    lds_op<Words<4>>("buffer_load_dwordx4_lds"),
    atomic_op<Buffer, u32, swap<u32>>("buffer_atomic_swap"),
    atomic_op<Buffer, u32, compare_swap<u32>>("buffer_atomic_cmpswap", true, 2),
    atomic_op<Buffer, u32, add<u32>>("buffer_atomic_add"),
    atomic_op<Buffer, u32, sub<u32>>("buffer_atomic_sub"),
    atomic_op<Buffer, u32, smin<u32>>("buffer_atomic_smin"),
    atomic_op<Buffer, u32, umin<u32>>("buffer_atomic_umin"),
    atomic_op<Buffer, u32, smax<u32>>("buffer_atomic_smax"),
    atomic_op<Buffer, u32, umax<u32>>("buffer_atomic_umax"),
    atomic_op<Buffer, u32, bit_and<u32>>("buffer_atomic_and"),
    atomic_op<Buffer, u32, bit_or<u32>>("buffer_atomic_or"),
    atomic_op<Buffer, u32, bit_xor<u32>>("buffer_atomic_xor"),
    atomic_op<Buffer, u32, increment<u32>>("buffer_atomic_inc"),
    atomic_op<Buffer, u32, decrement<u32>>("buffer_atomic_dec"),
    atomic_op<Buffer, u32, add_f32>("buffer_atomic_add_f32"),
    atomic_op<Buffer, u32, pk_f16>("buffer_atomic_pk_add_f16"),
    atomic_op<Buffer, u32, pk_bf16>("buffer_atomic_pk_add_bf16"),
    atomic_op<Buffer, u64, swap<u64>>("buffer_atomic_swap_x2"),
    atomic_op<Buffer, u64, compare_swap<u64>>("buffer_atomic_cmpswap_x2", true, 4),
    atomic_op<Buffer, u64, add<u64>>("buffer_atomic_add_x2"),
    atomic_op<Buffer, u64, sub<u64>>("buffer_atomic_sub_x2"),
    atomic_op<Buffer, u64, smin<u64>>("buffer_atomic_smin_x2"),
    atomic_op<Buffer, u64, umin<u64>>("buffer_atomic_umin_x2"),
    atomic_op<Buffer, u64, smax<u64>>("buffer_atomic_smax_x2"),
    atomic_op<Buffer, u64, umax<u64>>("buffer_atomic_umax_x2"),
    atomic_op<Buffer, u64, bit_and<u64>>("buffer_atomic_and_x2"),
    atomic_op<Buffer, u64, bit_or<u64>>("buffer_atomic_or_x2"),
    atomic_op<Buffer, u64, bit_xor<u64>>("buffer_atomic_xor_x2"),
    atomic_op<Buffer, u64, increment<u64>>("buffer_atomic_inc_x2"),
    atomic_op<Buffer, u64, decrement<u64>>("buffer_atomic_dec_x2"),
    atomic_op<Buffer, u64, add_f64>("buffer_atomic_add_f64"),
    atomic_op<Buffer, u64, min_f64>("buffer_atomic_min_f64"),
    atomic_op<Buffer, u64, max_f64>("buffer_atomic_max_f64"),
    {"buffer_wbl2", nothing, nothing}, // caches hold nothing that memory does not
    {"buffer_inv", nothing, nothing},
};

} // namespace

std::span<const MemoryOp> buffer_ops() {
    return ops;
}

} // namespace zyfa::sim
