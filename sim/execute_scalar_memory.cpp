// SPDX-License-Identifier: Apache-2.0
// Scalar memory instructions (CDNA4 ISA, scalar memory operations).
#include "sim/lane_access.hpp"

namespace zyfa::sim {

namespace {

using namespace access;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Byte offset beyond the base: immediate and SGPR.
u64 offset_of(const Wave& w, const Instruction& i) {
    const auto immediate = static_cast<std::int64_t>(static_cast<std::int32_t>(i.imm));
    const u32 scalar = i.src[3].kind == OperandKind::none ? 0 : read32(w, i.src[3]);
    return static_cast<u64>(immediate) + scalar;
}

bool is_buffer(const Instruction& i) {
    return i.src[0].words == 4;
}

/// Null: out of a buffer's range.
std::byte* resolve(Wave& w, const Instruction& i, unsigned bytes, const char* what) {
    u64 base = w.s64(i.src[0].index);
    if (is_buffer(i)) {
        const u32* v = w.s + i.src[0].index;
        const u64 stride = v[1] >> 16 & 0x3fff, size = stride == 0 ? v[2] : stride * v[2];
        base &= 0xffffffffffffull;
        if (offset_of(w, i) + bytes > size)
            return nullptr;
    }
    const u64 address = (base + offset_of(w, i)) & ~3ull;
    w.thread->addresses[0] = address;
    if (!w.thread->view.contains(address, bytes, memory_use(i)))
        return beyond(w, i, {OutOfBounds::Space::global, what, address, bytes});
    return reinterpret_cast<std::byte*>(address);
}

template <unsigned N, bool Observed>
void scalar_load(Wave& w, const Instruction& i) {
    const std::byte* p = resolve(w, i, 4 * N, "scalar load");
    observe<Observed>(w, i, 1, 4 * N);
    std::memcpy(w.s + i.dst.index, p, 4 * N);
}

template <unsigned N, bool Observed>
void scalar_store(Wave& w, const Instruction& i) {
    std::byte* p = resolve(w, i, 4 * N, "scalar store");
    if (p == nullptr)
        return;
    observe<Observed>(w, i, 1, 4 * N);
    std::memcpy(p, w.s + i.src[1].index, 4 * N);
}

/// Buffer form: the descriptor's size bounds each dword.
template <unsigned N, bool Observed>
void scalar_buffer_load(Wave& w, const Instruction& i) {
    const u32* v = w.s + i.src[0].index;
    const u64 base = u64{v[0]} | u64{v[1] & 0xffff} << 32;
    const u64 stride = v[1] >> 16 & 0x3fff;
    const u64 size = stride == 0 ? v[2] : stride * v[2];
    const u64 offset = offset_of(w, i) & ~3ull;
    w.thread->addresses[0] = base + offset;
    observe<Observed>(w, i, 1, 4 * N);
    for (unsigned n = 0; n < N; ++n) {
        u32 value = 0;
        if (offset + 4 * (n + 1) <= size) {
            const u64 address = base + offset + 4 * n;
            const std::byte* const p =
                w.thread->view.contains(address, 4, MemoryView::reads)
                    ? reinterpret_cast<const std::byte*>(address)
                    : beyond(w, i, {OutOfBounds::Space::global, "scalar load", address, 4});
            value = peek<u32>(p);
        }
        w.s[i.dst.index + n] = value;
    }
}

template <class T, auto F, bool Observed>
void scalar_atomic(Wave& w, const Instruction& i) {
    std::byte* p = resolve(w, i, sizeof(T), "scalar atomic");
    if (p == nullptr)
        return;
    observe<Observed>(w, i, 1, sizeof(T));
    T data, compare{};
    std::memcpy(&data, w.s + i.src[1].index, sizeof data);
    if (i.src[1].words == 2 * sizeof(T) / 4)
        std::memcpy(&compare, w.s + i.src[1].index + sizeof(T) / 4, sizeof compare);
    if (reinterpret_cast<std::uintptr_t>(p) % sizeof(T) != 0)
        fault("misaligned atomic", "address " + hexadecimal(reinterpret_cast<std::uintptr_t>(p)));
    const T old = exchange<T, F>(p, data, compare);
    if (i.dst.kind == OperandKind::sgpr)
        std::memcpy(w.s + i.dst.index, &old, sizeof old);
}

/// Shader clock: a wave issues one instruction per 4 cycles (paper Section III-A); functional runs know no
/// better time.
void memtime(Wave& w, const Instruction& i) {
    w.set_s64(i.dst.index, (w.instructions + w.idle) * 4);
}
/// 100 MHz reference clock, from the same count at 2.4 GHz.
void memrealtime(Wave& w, const Instruction& i) {
    w.set_s64(i.dst.index, (w.instructions + w.idle) * 4 / 24);
}
void nothing(Wave&, const Instruction&) {}

template <unsigned N>
constexpr MemoryOp load_row(std::string_view name) {
    return {name, scalar_load<N, false>, scalar_load<N, true>, N, 0, 0, 4 * N, flag::load};
}
template <unsigned N>
constexpr MemoryOp buffer_row(std::string_view name) {
    return {name, scalar_buffer_load<N, false>, scalar_buffer_load<N, true>, N, 0, 0, 4 * N, flag::load};
}
template <unsigned N>
constexpr MemoryOp store_row(std::string_view name) {
    return {name, scalar_store<N, false>, scalar_store<N, true>, 0, N, 0, 4 * N, flag::store};
}
template <class T, auto F>
constexpr MemoryOp atomic_row(std::string_view name, unsigned data = sizeof(T) / 4) {
    return {name,
            scalar_atomic<T, F, false>,
            scalar_atomic<T, F, true>,
            sizeof(T) / 4,
            static_cast<std::uint8_t>(data),
            0,
            sizeof(T),
            flag::atomic};
}

const MemoryOp ops[] = {
    load_row<1>("s_load_dword"),
    load_row<2>("s_load_dwordx2"),
    load_row<4>("s_load_dwordx4"),
    load_row<8>("s_load_dwordx8"),
    load_row<16>("s_load_dwordx16"),
    buffer_row<1>("s_buffer_load_dword"),
    buffer_row<2>("s_buffer_load_dwordx2"),
    buffer_row<4>("s_buffer_load_dwordx4"),
    buffer_row<8>("s_buffer_load_dwordx8"),
    buffer_row<16>("s_buffer_load_dwordx16"),
    store_row<1>("s_store_dword"),
    store_row<2>("s_store_dwordx2"),
    store_row<4>("s_store_dwordx4"),
    atomic_row<u32, swap<u32>>("s_atomic_swap"),
    atomic_row<u64, swap<u64>>("s_atomic_swap_x2"),
    atomic_row<u32, add<u32>>("s_atomic_add"),
    atomic_row<u64, add<u64>>("s_atomic_add_x2"),
    atomic_row<u32, sub<u32>>("s_atomic_sub"),
    atomic_row<u64, sub<u64>>("s_atomic_sub_x2"),
    atomic_row<u32, smin<u32>>("s_atomic_smin"),
    atomic_row<u64, smin<u64>>("s_atomic_smin_x2"),
    atomic_row<u32, umin<u32>>("s_atomic_umin"),
    atomic_row<u64, umin<u64>>("s_atomic_umin_x2"),
    atomic_row<u32, smax<u32>>("s_atomic_smax"),
    atomic_row<u64, smax<u64>>("s_atomic_smax_x2"),
    atomic_row<u32, umax<u32>>("s_atomic_umax"),
    atomic_row<u64, umax<u64>>("s_atomic_umax_x2"),
    atomic_row<u32, bit_and<u32>>("s_atomic_and"),
    atomic_row<u64, bit_and<u64>>("s_atomic_and_x2"),
    atomic_row<u32, bit_or<u32>>("s_atomic_or"),
    atomic_row<u64, bit_or<u64>>("s_atomic_or_x2"),
    atomic_row<u32, bit_xor<u32>>("s_atomic_xor"),
    atomic_row<u64, bit_xor<u64>>("s_atomic_xor_x2"),
    atomic_row<u32, increment<u32>>("s_atomic_inc"),
    atomic_row<u64, increment<u64>>("s_atomic_inc_x2"),
    atomic_row<u32, decrement<u32>>("s_atomic_dec"),
    atomic_row<u64, decrement<u64>>("s_atomic_dec_x2"),
    atomic_row<u32, compare_swap<u32>>("s_atomic_cmpswap", 2),
    atomic_row<u64, compare_swap<u64>>("s_atomic_cmpswap_x2", 4),
    atomic_row<u32, swap<u32>>("s_buffer_atomic_swap"),
    atomic_row<u64, swap<u64>>("s_buffer_atomic_swap_x2"),
    atomic_row<u32, add<u32>>("s_buffer_atomic_add"),
    atomic_row<u64, add<u64>>("s_buffer_atomic_add_x2"),
    atomic_row<u32, sub<u32>>("s_buffer_atomic_sub"),
    atomic_row<u64, sub<u64>>("s_buffer_atomic_sub_x2"),
    atomic_row<u32, smin<u32>>("s_buffer_atomic_smin"),
    atomic_row<u64, smin<u64>>("s_buffer_atomic_smin_x2"),
    atomic_row<u32, umin<u32>>("s_buffer_atomic_umin"),
    atomic_row<u64, umin<u64>>("s_buffer_atomic_umin_x2"),
    atomic_row<u32, smax<u32>>("s_buffer_atomic_smax"),
    atomic_row<u64, smax<u64>>("s_buffer_atomic_smax_x2"),
    atomic_row<u32, umax<u32>>("s_buffer_atomic_umax"),
    atomic_row<u64, umax<u64>>("s_buffer_atomic_umax_x2"),
    atomic_row<u32, bit_and<u32>>("s_buffer_atomic_and"),
    atomic_row<u64, bit_and<u64>>("s_buffer_atomic_and_x2"),
    atomic_row<u32, bit_or<u32>>("s_buffer_atomic_or"),
    atomic_row<u64, bit_or<u64>>("s_buffer_atomic_or_x2"),
    atomic_row<u32, bit_xor<u32>>("s_buffer_atomic_xor"),
    atomic_row<u64, bit_xor<u64>>("s_buffer_atomic_xor_x2"),
    atomic_row<u32, increment<u32>>("s_buffer_atomic_inc"),
    atomic_row<u64, increment<u64>>("s_buffer_atomic_inc_x2"),
    atomic_row<u32, decrement<u32>>("s_buffer_atomic_dec"),
    atomic_row<u64, decrement<u64>>("s_buffer_atomic_dec_x2"),
    atomic_row<u32, compare_swap<u32>>("s_buffer_atomic_cmpswap", 2),
    atomic_row<u64, compare_swap<u64>>("s_buffer_atomic_cmpswap_x2", 4),
    store_row<1>("s_buffer_store_dword"),
    store_row<2>("s_buffer_store_dwordx2"),
    store_row<4>("s_buffer_store_dwordx4"),
    {"s_memtime", memtime, memtime, 2, 0, 0, 0, 0},
    {"s_memrealtime", memrealtime, memrealtime, 2, 0, 0, 0, 0},
    {"s_atc_probe", nothing, nothing},
    {"s_atc_probe_buffer", nothing, nothing},
    {"s_dcache_inv", nothing, nothing},
    {"s_dcache_wb", nothing, nothing},
    {"s_dcache_inv_vol", nothing, nothing},
    {"s_dcache_wb_vol", nothing, nothing},
};

} // namespace

std::span<const MemoryOp> scalar_memory_ops() {
    return ops;
}

} // namespace zyfa::sim
