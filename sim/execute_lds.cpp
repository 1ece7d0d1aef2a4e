// SPDX-License-Identifier: Apache-2.0
// LDS instructions (CDNA4 ISA, data share instructions), transposed reads and lane permutations among them.
#include "sim/lane_access.hpp"

namespace zyfa::sim {

/// Lane that swizzle mode `control` makes `lane` read (CDNA4 ISA, DS_SWIZZLE_B32).
unsigned swizzle_source(std::uint32_t control, unsigned lane) {
    const unsigned half = lane & 32, position = lane & 31;
    if ((control & 0xe000) == 0xc000) { // rotate within groups: 0xC000 | direction << 10 | amount << 5 | mask
        const unsigned mask = control & 31, amount = control >> 5 & 31;
        const unsigned moved = (control >> 10 & 1) != 0 ? position - amount : position + amount;
        return half | (position & mask) | (moved & ~mask & 31);
    }
    if ((control & 0x8000) != 0) // quad permutation
        return (lane & ~3u) | (control >> (2 * (lane & 3)) & 3);
    const unsigned and_mask = control & 31, or_mask = control >> 5 & 31, xor_mask = control >> 10 & 31;
    return half | (((position & and_mask) | or_mask) ^ xor_mask);
}

namespace {

using namespace access;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::byte* lds_pointer(Wave& w, const Instruction& i, u64 at, unsigned bytes, const char* what, int lane) {
    if (at + bytes > w.group->lds_bytes)
        return beyond(w, i, {OutOfBounds::Space::lds, what, at, bytes, lane, w.group->lds_bytes});
    return w.group->lds.data() + at;
}

/// Pointers of the active lanes at address + offset.
u64 resolve_at(Wave& w, const Instruction& i, u32 offset, unsigned bytes, const char* what, u64 active) {
    ThreadContext& t = *w.thread;
    const u32* a = w.v + i.src[0].value;
    std::byte* const lds = w.group->lds.data();
    const u64 limit = w.group->lds_bytes;
    for_each_lane(active, [&](unsigned lane) {
        const u64 at = static_cast<u32>(a[lane] + offset); // 32-bit sum: compilers use negative bases
        t.addresses[lane] = shared_aperture + at;
        t.pointers[lane] =
            at + bytes <= limit ? lds + at : lds_pointer(w, i, at, bytes, what, static_cast<int>(lane));
    });
    return active;
}

struct Lds {
    static constexpr bool pairs_data = false;
    static u64 resolve(Wave& w, const Instruction& i, unsigned bytes, const char* what) {
        return resolve_at(w, i, i.imm, bytes, what, w.exec());
    }
    static void finish_store(Wave&) {}
};

/// Two accesses at offset0 and offset1, in units of the element or of 64 elements.
template <unsigned N, unsigned Unit, bool Observed>
void read2(Wave& w, const Instruction& i) {
    const u64 active = w.exec();
    // The address register may be one of the destination: read both before writing either.
    u32* first = w.thread->temporary[0];
    resolve_at(w, i, (i.imm & 0xff) * Unit, 4 * N, "load", active);
    observe<Observed>(w, i, active, 4 * N);
    Words<N>::load(first, w.thread->pointers, active);
    resolve_at(w, i, (i.imm >> 8) * Unit, 4 * N, "load", active);
    observe<Observed>(w, i, active, 4 * N);
    u32* d = w.v + i.dst.value;
    Words<N>::load(d + N * lanes, w.thread->pointers, active);
    for (unsigned n = 0; n < N; ++n)
        for_each_lane(active, [&](unsigned lane) { d[n * lanes + lane] = first[n * lanes + lane]; });
}

template <unsigned N, unsigned Unit, bool Observed>
void write2(Wave& w, const Instruction& i) {
    const u64 active = w.exec();
    resolve_at(w, i, (i.imm & 0xff) * Unit, 4 * N, "store", active);
    observe<Observed>(w, i, active, 4 * N);
    Words<N>::store(w.v + i.src[1].value, w.thread->pointers, active);
    resolve_at(w, i, (i.imm >> 8) * Unit, 4 * N, "store", active);
    observe<Observed>(w, i, active, 4 * N);
    Words<N>::store(w.v + i.src[2].value, w.thread->pointers, active);
}

/// Masked or: (old & ~data) | data2.
template <bool Observed>
void masked_or(Wave& w, const Instruction& i) {
    const u64 active = Lds::resolve(w, i, 4, "atomic");
    observe<Observed>(w, i, active, 4);
    for_each_lane(active, [&](unsigned lane) {
        std::byte* p = w.thread->pointers[lane];
        const u32 old = peek<u32>(p);
        poke(p, (old & ~w.v[i.src[1].value + lane]) | w.v[i.src[2].value + lane]);
        if (i.dst.kind == OperandKind::vgpr)
            w.v[i.dst.value + lane] = old;
    });
}

/// Exchanges at offset0 and offset1, as the pairs of read2 and write2.
template <unsigned N, unsigned Unit, bool Observed>
void exchange2(Wave& w, const Instruction& i) {
    const u64 active = w.exec();
    u32* old = w.thread->temporary[0];
    for (unsigned n = 0; n < 2; ++n) {
        resolve_at(w, i, (i.imm >> (8 * n) & 0xff) * Unit, 4 * N, "atomic", active);
        observe<Observed>(w, i, active, 4 * N);
        Words<N>::load(old + n * N * lanes, w.thread->pointers, active);
        Words<N>::store(w.v + i.src[1 + n].value, w.thread->pointers, active);
    }
    u32* d = w.v + i.dst.value;
    for (unsigned n = 0; n < 2 * N; ++n)
        for_each_lane(active, [&](unsigned lane) { d[n * lanes + lane] = old[n * lanes + lane]; });
}

// --- Transposed reads
// Each group of 16 lanes works alone; lanes supply addresses, data comes from the addresses of other lanes of
// the group (mappings: FlyDSL CDNA4 CopyAtom; rocjitsu ds_transpose).

/// Lane j, element e of a group: element `column` of what lane `row` addressed.
template <unsigned Bits>
struct Transpose {
    static constexpr unsigned per_lane = 64 / Bits; ///< elements in the 8 bytes of one lane
    static constexpr unsigned rows_per_step = 16 / per_lane;
    static unsigned lane_of(unsigned j, unsigned e) { return rows_per_step * e + j / per_lane; }
    static unsigned element_of(unsigned j) { return j % per_lane; }
};

template <unsigned Bits>
void transpose_group(u32* d, const u64* words) {
    using T = Transpose<Bits>;
    constexpr u64 mask = (1ull << Bits) - 1;
    for (unsigned j = 0; j < 16; ++j) {
        u64 result = 0;
        for (unsigned e = 0; e < T::per_lane; ++e)
            result |= (words[T::lane_of(j, e)] >> (Bits * T::element_of(j)) & mask) << (Bits * e);
        d[j] = static_cast<u32>(result);
        d[lanes + j] = static_cast<u32>(result >> 32);
    }
}

#if defined(__SSE2__)
inline __m128i row(u64 word) {
    return _mm_cvtsi64_si128(static_cast<long long>(word));
}
/// Four lanes' results, 64 bits each, to their two registers.
inline void put_four(u32* d, __m128i first, __m128i second) {
    const __m128 a = _mm_castsi128_ps(first), b = _mm_castsi128_ps(second);
    _mm_storeu_ps(reinterpret_cast<float*>(d), _mm_shuffle_ps(a, b, 0x88));
    _mm_storeu_ps(reinterpret_cast<float*>(d + lanes), _mm_shuffle_ps(a, b, 0xdd));
}

/// Lanes 4r to 4r + 3 hold the columns of the rows that lanes r, r + 4, r + 8, r + 12 addressed.
template <>
void transpose_group<16>(u32* d, const u64* words) {
    for (unsigned r = 0; r < 4; ++r) {
        const __m128i ab = _mm_unpacklo_epi16(row(words[r]), row(words[r + 4]));
        const __m128i ce = _mm_unpacklo_epi16(row(words[r + 8]), row(words[r + 12]));
        put_four(d + 4 * r, _mm_unpacklo_epi32(ab, ce), _mm_unpackhi_epi32(ab, ce));
    }
}

/// Lanes 8r to 8r + 7 hold the columns of the rows that lanes r, r + 2, ..., r + 14 addressed.
template <>
void transpose_group<8>(u32* d, const u64* words) {
    for (unsigned r = 0; r < 2; ++r) {
        __m128i pairs[4];
        for (unsigned n = 0; n < 4; ++n)
            pairs[n] = _mm_unpacklo_epi8(row(words[r + 4 * n]), row(words[r + 4 * n + 2]));
        const __m128i low0 = _mm_unpacklo_epi16(pairs[0], pairs[1]),
                      low1 = _mm_unpackhi_epi16(pairs[0], pairs[1]);
        const __m128i high0 = _mm_unpacklo_epi16(pairs[2], pairs[3]),
                      high1 = _mm_unpackhi_epi16(pairs[2], pairs[3]);
        u32* const out = d + 8 * r;
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low0);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 4), low1);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + lanes), high0);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + lanes + 4), high1);
    }
}
#endif

template <unsigned Bits, bool Observed>
void read_transposed(Wave& w, const Instruction& i) {
    const u64 active = Lds::resolve(w, i, 8, "load");
    if (active != ~0ull)
        fault("partial EXEC", "transposed LDS reads need all lanes active (CDNA4 ISA)");
    observe<Observed>(w, i, active, 8);
    u64 words[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane)
        words[lane] = peek<u64>(w.thread->pointers[lane]);
    u32* d = w.v + i.dst.value;
    for (unsigned group = 0; group < lanes; group += 16)
        transpose_group<Bits>(d + group, words + group);
}

/// 6-bit fields: field e of lane j is field j of lane e.
template <bool Observed>
void read_transposed_6(Wave& w, const Instruction& i) {
    const u64 active = Lds::resolve(w, i, 12, "load");
    if (active != ~0ull)
        fault("partial EXEC", "transposed LDS reads need all lanes active (CDNA4 ISA)");
    observe<Observed>(w, i, active, 12);
    u32* d = w.v + i.dst.value;
    std::uint8_t in[lanes][16] = {};
    for (unsigned lane = 0; lane < lanes; ++lane)
        std::memcpy(in[lane], w.thread->pointers[lane], 12);
    const auto extract = [&](unsigned lane, unsigned f) {
        const unsigned bit = f * 6;
        const unsigned pair = in[lane][bit / 8] | in[lane][bit / 8 + 1] << 8;
        return pair >> (bit % 8) & 63;
    };
    for (unsigned lane = 0; lane < lanes; ++lane) {
        u32 out[4] = {};
        for (unsigned e = 0; e < 16; ++e) {
            const u64 value = u64{extract((lane & ~15u) + e, lane & 15)} << (e * 6 % 32);
            out[e * 6 / 32] |= static_cast<u32>(value);
            out[e * 6 / 32 + 1] |= static_cast<u32>(value >> 32);
        }
        for (unsigned n = 0; n < 3; ++n)
            d[n * lanes + lane] = out[n];
    }
}

// --- Permutations; no LDS is touched

void bpermute(Wave& w, const Instruction& i) {
    const u64 exec = w.exec();
    const u32 *address = w.v + i.src[0].value, *data = w.v + i.src[1].value;
    u32 out[lanes];
    for_each_lane(exec, [&](unsigned lane) {
        const unsigned from = (address[lane] + i.imm) / 4 % lanes;
        out[lane] = (exec >> from & 1) != 0 ? data[from] : 0;
    });
    u32* d = w.v + i.dst.value;
    for_each_lane(exec, [&](unsigned lane) { d[lane] = out[lane]; });
}

void permute(Wave& w, const Instruction& i) {
    const u64 exec = w.exec();
    const u32 *address = w.v + i.src[0].value, *data = w.v + i.src[1].value;
    u32 out[lanes] = {};
    for_each_lane(exec, [&](unsigned lane) { out[(address[lane] + i.imm) / 4 % lanes] = data[lane]; });
    u32* d = w.v + i.dst.value;
    for_each_lane(exec, [&](unsigned lane) { d[lane] = out[lane]; });
}

void swizzle(Wave& w, const Instruction& i) {
    const u64 exec = w.exec();
    const u32* data = w.v + i.src[0].value;
    u32 out[lanes];
    for_each_lane(exec, [&](unsigned lane) {
        const unsigned from = swizzle_source(i.imm, lane);
        out[lane] = (exec >> from & 1) != 0 ? data[from] : 0;
    });
    u32* d = w.v + i.dst.value;
    for_each_lane(exec, [&](unsigned lane) { d[lane] = out[lane]; });
}

/// Appends or consumes: a counter in LDS at M0[15:0] + offset moves by the number of active lanes; every lane
/// gets its old value.
template <bool Append>
void count(Wave& w, const Instruction& i) {
    const u64 at = u64{w.m0() & 0xffff} + i.imm;
    std::byte* p = lds_pointer(w, i, at, 4, "atomic", 0);
    const u32 old = peek<u32>(p), amount = static_cast<u32>(std::popcount(w.exec()));
    poke(p, Append ? old + amount : old - amount);
    u32* d = w.v + i.dst.value;
    for_each_lane(w.exec(), [&](unsigned lane) { d[lane] = old; });
}

void nothing(Wave&, const Instruction&) {}

template <unsigned N, unsigned Unit>
constexpr MemoryOp read2_row(std::string_view name) {
    return {name, read2<N, Unit, false>, read2<N, Unit, true>, 2 * N, 0, 0, 8 * N, flag::load};
}
template <unsigned N, unsigned Unit>
constexpr MemoryOp write2_row(std::string_view name) {
    return {name, write2<N, Unit, false>, write2<N, Unit, true>, 0, N, N, 8 * N, flag::store};
}
template <unsigned N, unsigned Unit>
constexpr MemoryOp exchange2_row(std::string_view name) {
    return {name, exchange2<N, Unit, false>, exchange2<N, Unit, true>, 2 * N, N, N, 8 * N, flag::atomic};
}
template <unsigned Bits>
constexpr MemoryOp transposed_row(std::string_view name) {
    return {name, read_transposed<Bits, false>, read_transposed<Bits, true>, 2, 0, 0, 8, flag::load};
}

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u8 = std::uint8_t;
using i8 = std::int8_t;

/// Each atomic without and with a returned value.
#define ZYFA_PAIR(T, f, plain, returning)                                                                    \
    atomic_op<Lds, T, f>(plain, false), atomic_op<Lds, T, f>(returning, true)

const MemoryOp ops[] = {
    load_op<Lds, Extended<u8>>("ds_read_u8"),
    load_op<Lds, Extended<i8>>("ds_read_i8"),
    load_op<Lds, Extended<u16>>("ds_read_u16"),
    load_op<Lds, Extended<i16>>("ds_read_i16"),
    load_op<Lds, Half<u8, false>>("ds_read_u8_d16"),
    load_op<Lds, Half<u8, true>>("ds_read_u8_d16_hi"),
    load_op<Lds, Half<i8, false>>("ds_read_i8_d16"),
    load_op<Lds, Half<i8, true>>("ds_read_i8_d16_hi"),
    load_op<Lds, Half<u16, false>>("ds_read_u16_d16"),
    load_op<Lds, Half<u16, true>>("ds_read_u16_d16_hi"),
    load_op<Lds, Words<1>>("ds_read_b32"),
    load_op<Lds, Words<2>>("ds_read_b64"),
    load_op<Lds, Words<3>>("ds_read_b96"),
    load_op<Lds, Words<4>>("ds_read_b128"),
    read2_row<1, 4>("ds_read2_b32"),
    read2_row<1, 256>("ds_read2st64_b32"),
    read2_row<2, 8>("ds_read2_b64"),
    read2_row<2, 512>("ds_read2st64_b64"),
    transposed_row<16>("ds_read_b64_tr_b16"),
    transposed_row<8>("ds_read_b64_tr_b8"),
    transposed_row<4>("ds_read_b64_tr_b4"),
    {"ds_read_b96_tr_b6", read_transposed_6<false>, read_transposed_6<true>, 3, 0, 0, 12, flag::load},
    store_op<Lds, Extended<u8>>("ds_write_b8"),
    store_op<Lds, Half<u8, true>>("ds_write_b8_d16_hi"),
    store_op<Lds, Extended<u16>>("ds_write_b16"),
    store_op<Lds, Half<u16, true>>("ds_write_b16_d16_hi"),
    store_op<Lds, Words<1>>("ds_write_b32"),
    store_op<Lds, Words<2>>("ds_write_b64"),
    store_op<Lds, Words<3>>("ds_write_b96"),
    store_op<Lds, Words<4>>("ds_write_b128"),
    write2_row<1, 4>("ds_write2_b32"),
    write2_row<1, 256>("ds_write2st64_b32"),
    write2_row<2, 8>("ds_write2_b64"),
    write2_row<2, 512>("ds_write2st64_b64"),
    {"ds_bpermute_b32", bpermute, bpermute, 1, 1, 0, 0, flag::load},
    {"ds_permute_b32", permute, permute, 1, 1, 0, 0, flag::load},
    {"ds_swizzle_b32", swizzle, swizzle, 1, 0, 0, 0, flag::load},
    {"ds_append", count<true>, count<true>, 1, 0, 0, 4, flag::atomic},
    {"ds_consume", count<false>, count<false>, 1, 0, 0, 4, flag::atomic},
    {"ds_nop", nothing, nothing},
    ZYFA_PAIR(u32, add<u32>, "ds_add_u32", "ds_add_rtn_u32"),
    ZYFA_PAIR(u32, sub<u32>, "ds_sub_u32", "ds_sub_rtn_u32"),
    ZYFA_PAIR(u32, rsub<u32>, "ds_rsub_u32", "ds_rsub_rtn_u32"),
    ZYFA_PAIR(u32, increment<u32>, "ds_inc_u32", "ds_inc_rtn_u32"),
    ZYFA_PAIR(u32, decrement<u32>, "ds_dec_u32", "ds_dec_rtn_u32"),
    ZYFA_PAIR(u32, smin<u32>, "ds_min_i32", "ds_min_rtn_i32"),
    ZYFA_PAIR(u32, smax<u32>, "ds_max_i32", "ds_max_rtn_i32"),
    ZYFA_PAIR(u32, umin<u32>, "ds_min_u32", "ds_min_rtn_u32"),
    ZYFA_PAIR(u32, umax<u32>, "ds_max_u32", "ds_max_rtn_u32"),
    ZYFA_PAIR(u32, bit_and<u32>, "ds_and_b32", "ds_and_rtn_b32"),
    ZYFA_PAIR(u32, bit_or<u32>, "ds_or_b32", "ds_or_rtn_b32"),
    ZYFA_PAIR(u32, bit_xor<u32>, "ds_xor_b32", "ds_xor_rtn_b32"),
    ZYFA_PAIR(u32, add_f32, "ds_add_f32", "ds_add_rtn_f32"),
    ZYFA_PAIR(u32, min_f32, "ds_min_f32", "ds_min_rtn_f32"),
    ZYFA_PAIR(u32, max_f32, "ds_max_f32", "ds_max_rtn_f32"),
    ZYFA_PAIR(u32, pk_f16, "ds_pk_add_f16", "ds_pk_add_rtn_f16"),
    ZYFA_PAIR(u32, pk_bf16, "ds_pk_add_bf16", "ds_pk_add_rtn_bf16"),
    ZYFA_PAIR(u64, add<u64>, "ds_add_u64", "ds_add_rtn_u64"),
    ZYFA_PAIR(u64, sub<u64>, "ds_sub_u64", "ds_sub_rtn_u64"),
    ZYFA_PAIR(u64, rsub<u64>, "ds_rsub_u64", "ds_rsub_rtn_u64"),
    ZYFA_PAIR(u64, increment<u64>, "ds_inc_u64", "ds_inc_rtn_u64"),
    ZYFA_PAIR(u64, decrement<u64>, "ds_dec_u64", "ds_dec_rtn_u64"),
    ZYFA_PAIR(u64, smin<u64>, "ds_min_i64", "ds_min_rtn_i64"),
    ZYFA_PAIR(u64, smax<u64>, "ds_max_i64", "ds_max_rtn_i64"),
    ZYFA_PAIR(u64, umin<u64>, "ds_min_u64", "ds_min_rtn_u64"),
    ZYFA_PAIR(u64, umax<u64>, "ds_max_u64", "ds_max_rtn_u64"),
    ZYFA_PAIR(u64, bit_and<u64>, "ds_and_b64", "ds_and_rtn_b64"),
    ZYFA_PAIR(u64, bit_or<u64>, "ds_or_b64", "ds_or_rtn_b64"),
    ZYFA_PAIR(u64, bit_xor<u64>, "ds_xor_b64", "ds_xor_rtn_b64"),
    ZYFA_PAIR(u64, add_f64, "ds_add_f64", "ds_add_rtn_f64"),
    ZYFA_PAIR(u64, min_f64, "ds_min_f64", "ds_min_rtn_f64"),
    ZYFA_PAIR(u64, max_f64, "ds_max_f64", "ds_max_rtn_f64"),
    atomic_op<Lds, u32, swap<u32>>("ds_wrxchg_rtn_b32"),
    atomic_op<Lds, u64, swap<u64>>("ds_wrxchg_rtn_b64"),
    atomic_op<Lds, u32, compare_swap<u32>>("ds_cmpst_b32", false, 1, 1),
    atomic_op<Lds, u32, compare_swap<u32>>("ds_cmpst_rtn_b32", true, 1, 1),
    atomic_op<Lds, u64, compare_swap<u64>>("ds_cmpst_b64", false, 2, 2),
    atomic_op<Lds, u64, compare_swap<u64>>("ds_cmpst_rtn_b64", true, 2, 2),
    exchange2_row<1, 4>("ds_wrxchg2_rtn_b32"),
    exchange2_row<1, 256>("ds_wrxchg2st64_rtn_b32"),
    exchange2_row<2, 8>("ds_wrxchg2_rtn_b64"),
    exchange2_row<2, 512>("ds_wrxchg2st64_rtn_b64"),
    {"ds_mskor_b32", masked_or<false>, masked_or<true>, 0, 1, 1, 4, flag::atomic},
    {"ds_mskor_rtn_b32", masked_or<false>, masked_or<true>, 1, 1, 1, 4, flag::atomic},
};
#undef ZYFA_PAIR

} // namespace

std::span<const MemoryOp> lds_ops() {
    return ops;
}

} // namespace zyfa::sim
