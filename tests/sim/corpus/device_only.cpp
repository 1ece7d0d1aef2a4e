// SPDX-License-Identifier: Apache-2.0
// Instructions that no host has, through clang's builtins: a wave reads 4 words a lane and writes 4.
// What is right is written in compiled_device_only_test.cpp.
#define KERNEL extern "C" __attribute__((amdgpu_kernel, visibility("protected")))
#define LDS __attribute__((address_space(3)))
#define VECTOR(type, name, n) typedef type name __attribute__((ext_vector_type(n)))

typedef unsigned u32;
VECTOR(u32, u32x2, 2);
VECTOR(u32, u32x4, 4);
VECTOR(int, i32x2, 2);
VECTOR(short, s16x2, 2);
VECTOR(short, s16x4, 4);
VECTOR(float, f32x2, 2);
VECTOR(_Float16, f16x2, 2);
VECTOR(__bf16, b16x2, 2);

__attribute__((loader_uninitialized)) LDS u32x4 tile[128];

namespace {
u32 lane() {
    return __builtin_amdgcn_workitem_id_x();
}
void settle() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
} // namespace

/// Words 0 and 1 through LDS, transposed as halves, and words 2 and 3 as bytes.
KERNEL void transposed(const u32x4* in, u32x4* out) {
    auto* const half = (LDS u32x2*)tile;
    auto* const byte = half + 64;
    const u32x4 own = in[lane()];
    half[lane()] = own.xy;
    byte[lane()] = own.zw;
    settle();
    const s16x4 a = __builtin_amdgcn_ds_read_tr16_b64_v4i16((LDS s16x4*)(half + lane()));
    const i32x2 b = __builtin_amdgcn_ds_read_tr8_b64_v2i32((LDS i32x2*)(byte + lane()));
    const u32x2 a_words = __builtin_bit_cast(u32x2, a), b_words = __builtin_bit_cast(u32x2, b);
    out[lane()] = u32x4{a_words.x, a_words.y, b_words.x, b_words.y};
}

/// A buffer of 600 bytes over the input, by a descriptor: beyond it zeros are read, and nothing is written.
KERNEL void bounded(u32x4* in, u32x4* out) {
    __amdgpu_buffer_rsrc_t source = __builtin_amdgcn_make_buffer_rsrc(in, 0, 600, 0x20000);
    __amdgpu_buffer_rsrc_t target = __builtin_amdgcn_make_buffer_rsrc(out, 0, 900, 0x20000);
    const u32x4 value = __builtin_amdgcn_raw_buffer_load_b128(source, static_cast<int>(lane() * 16), 0, 0);
    const u32 single = __builtin_amdgcn_raw_buffer_load_b32(source, static_cast<int>(lane() * 16), 8, 0);
    __builtin_amdgcn_raw_buffer_store_b128(u32x4{value.x, value.y, single, value.w}, target,
                                           static_cast<int>(lane() * 16), 0, 0);
}

/// From global memory to LDS without a register, by buffer and by address.
KERNEL void direct(u32x4* in, u32x4* out) {
    __amdgpu_buffer_rsrc_t source = __builtin_amdgcn_make_buffer_rsrc(in, 0, 1024, 0x20000);
    __builtin_amdgcn_raw_ptr_buffer_load_lds(source, tile, 16, static_cast<int>(lane() * 16), 0, 0, 0);
    __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void*)(in + (lane() ^ 1)), tile + 64,
                                     16, 0, 0);
    settle();
    const u32x4 a = tile[lane()], b = tile[64 + lane()];
    out[lane()] = u32x4{a.x, a.y, b.z, b.w};
}

KERNEL void swapped(const u32x4* in, u32x4* out) {
    const u32x4 own = in[lane()];
    const auto a = __builtin_amdgcn_permlane32_swap(own.x, own.y, false, false);
    const auto b = __builtin_amdgcn_permlane16_swap(own.z, own.w, false, false);
    out[lane()] = u32x4{a[0], a[1], b[0], b[1]};
}

/// DPP: the lane to the left within 16, a reversal of 16, the first of a quad; and a byte of another word
/// (SDWA).
KERNEL void moved(const u32x4* in, u32x4* out) {
    const u32x4 own = in[lane()];
    const int x = static_cast<int>(own.x);
    const u32 left = static_cast<u32>(__builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, true));
    const u32 mirror = static_cast<u32>(__builtin_amdgcn_mov_dpp(x, 0x140, 0xf, 0xf, true));
    const u32 quad = static_cast<u32>(__builtin_amdgcn_mov_dpp(x, 0x00, 0xf, 0xf, true));
    out[lane()] = u32x4{left, mirror, quad, (own.y >> 8 & 0xff) + (own.z >> 16)};
}

/// FP8 and back, and dot products of bytes and halves.
KERNEL void narrow(const u32x4* in, u32x4* out) {
    const u32x4 own = in[lane()];
    const float a = static_cast<float>(static_cast<int>(own.x % 17) - 8), b = static_cast<float>(own.y % 15);
    const int code = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false);
    const f32x2 back = __builtin_amdgcn_cvt_pk_f32_fp8(code, false);
    const int dot = __builtin_amdgcn_sdot4(static_cast<int>(own.x), static_cast<int>(own.y),
                                           static_cast<int>(own.z), false);
    out[lane()] = u32x4{static_cast<u32>(code), __builtin_bit_cast(u32, back.x + back.y),
                        static_cast<u32>(dot), __builtin_amdgcn_perm(own.x, own.y, 0x07020500)};
}

/// Every lane adds to the same words.
KERNEL void sums(const u32x4* in, u32x4* out) {
    auto* const target = (__attribute__((address_space(1))) u32*)out;
    static_cast<void>(in);
    __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) f16x2*)target, f16x2{1, 2});
    __builtin_amdgcn_global_atomic_fadd_v2bf16((__attribute__((address_space(1))) s16x2*)(target + 1),
                                               s16x2{0x3f80, 0x4000});
    __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float*)(target + 2), 0.5f);
    __atomic_fetch_max(target + 3, lane() * 3, __ATOMIC_RELAXED);
}
