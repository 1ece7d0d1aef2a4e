// SPDX-License-Identifier: Apache-2.0
// The corpus for gfx950: one kernel per body, and kernels whose work-items act together.
// clang++ -x c++ --target=amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -ffreestanding -ffp-contract=off
// -std=c++20
#include "kernels.hpp"

#define KERNEL extern "C" __attribute__((amdgpu_kernel, visibility("protected")))
#define LDS __attribute__((address_space(3)))

namespace {
u32 item() {
    return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}
void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
} // namespace

#define DEFINE(name)                                                                                         \
    KERNEL void name(const u32* in, u32* out) {                                                              \
        const u32 i = item();                                                                                \
        corpus::name(i, in + i * 8, out + i * 8);                                                            \
    }
CORPUS(DEFINE)

__attribute__((loader_uninitialized)) LDS u32 tile[256];
__attribute__((loader_uninitialized)) LDS float tile_f[256];

/// out[i] = sum of in[0 .. i] within the workgroup; out[2048 + workgroup]: total, by atomics.
KERNEL void scan(const u32* in, u32* out) {
    const u32 t = __builtin_amdgcn_workitem_id_x();
    tile[t] = in[item()];
    barrier();
    for (u32 step = 1; step < 256; step *= 2) {
        const u32 value = t >= step ? tile[t - step] : 0;
        barrier();
        tile[t] += value;
        barrier();
    }
    out[item()] = tile[t];
    __atomic_fetch_add(out + 2048 + __builtin_amdgcn_workgroup_id_x(), in[item()], __ATOMIC_RELAXED);
}

/// Each wave of 64: ballot, shuffles, DPP sum, first lane.
KERNEL void wave(const u32* in, u32* out) {
    const u32 i = item(), lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    const u32 value = in[i];
    u32* to = out + i * 8;
    const u64 votes = __builtin_amdgcn_ballot_w64((value & 1) != 0);
    corpus::store(votes, to);
    to[2] = static_cast<u32>(
        __builtin_amdgcn_ds_bpermute(static_cast<int>((lane ^ 5) * 4), static_cast<int>(value)));
    to[3] = static_cast<u32>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
    to[4] = static_cast<u32>(__builtin_amdgcn_readlane(static_cast<int>(value), 17));
    u32 sum = value;
    sum += static_cast<u32>(__builtin_amdgcn_update_dpp(0, static_cast<int>(sum), 0x111, 0xf, 0xf, true));
    sum += static_cast<u32>(__builtin_amdgcn_update_dpp(0, static_cast<int>(sum), 0x112, 0xf, 0xf, true));
    to[5] = sum;
    to[6] = lane;
    to[7] = static_cast<u32>(__builtin_amdgcn_ds_swizzle(static_cast<int>(value), 0x041f));
}

/// Histogram of the low 6 bits: LDS atomics, then global ones; floating minimum, maximum and sum.
KERNEL void atomics(const u32* in, u32* out) {
    const u32 t = __builtin_amdgcn_workitem_id_x();
    tile[t] = 0;
    tile_f[t] = 0;
    barrier();
    const u32 value = in[item()];
    __atomic_fetch_add(&tile[value & 63], 1u, __ATOMIC_RELAXED);
    __atomic_fetch_max(&tile[64 + (value >> 6 & 3)], value, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&tile[70], value, __ATOMIC_RELAXED);
    barrier();
    if (t < 128)
        __atomic_fetch_add(out + t, tile[t], __ATOMIC_RELAXED);
    u64* const wide_out = reinterpret_cast<u64*>(out + 256);
    __atomic_fetch_add(wide_out, u64{value} << 16, __ATOMIC_RELAXED);
    __atomic_fetch_min(reinterpret_cast<i32*>(out + 260), static_cast<i32>(value), __ATOMIC_RELAXED);
    __atomic_fetch_or(out + 261, value & 0x11111111u, __ATOMIC_RELAXED);
    u32 expected = __atomic_load_n(out + 262, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(out + 262, &expected, expected * 5 + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        ;
}
