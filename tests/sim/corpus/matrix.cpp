// SPDX-License-Identifier: Apache-2.0
// The matrix instructions of gfx950 through clang's builtins, one kernel each: a wave loads its fragments of
// A, B and C, multiplies, and stores D. Which element lies where is the test's affair
// (compiled_matrix_test.cpp).
#define KERNEL extern "C" __attribute__((amdgpu_kernel, visibility("protected")))
#define VECTOR(type, name, n) typedef type name __attribute__((ext_vector_type(n)))

typedef int i32;
typedef long i64;
VECTOR(int, i32x2, 2);
VECTOR(int, i32x4, 4);
VECTOR(int, i32x8, 8);
VECTOR(int, i32x16, 16);
VECTOR(int, i32x32, 32);
VECTOR(float, f32x4, 4);
VECTOR(float, f32x16, 16);
VECTOR(float, f32x32, 32);
VECTOR(double, f64x4, 4);
VECTOR(_Float16, f16x4, 4);
VECTOR(_Float16, f16x8, 8);
VECTOR(_Float16, f16x16, 16);
VECTOR(short, s16x4, 4);
VECTOR(short, s16x8, 8);
VECTOR(__bf16, b16x8, 8);
VECTOR(__bf16, b16x16, 16);

#define LANE __builtin_amdgcn_workitem_id_x()
#define DENSE(name, A, B, D)                                                                                 \
    KERNEL void name(const A* a, const B* b, const D* c, D* d) {                                             \
        d[LANE] = __builtin_amdgcn_##name(a[LANE], b[LANE], c[LANE], 0, 0, 0);                               \
    }
/// `index`: which two of every four are there (SMFMAC).
#define SPARSE(name, A, B, D)                                                                                \
    KERNEL void name(const A* a, const B* b, const D* c, D* d, const i32* index) {                           \
        d[LANE] = __builtin_amdgcn_##name(a[LANE], b[LANE], c[LANE], index[LANE], 0, 0);                     \
    }
/// Formats: 0 E4M3, 1 E5M2, 2 E2M3, 3 E3M2, 4 E2M1. FP6 fragments lie in 24 bytes, FP4 in 16, of 32.
#define SCALED(shape, D, fa, fb)                                                                             \
    KERNEL void scaled_##shape##_##fa##_##fb(const i32x8* a, const i32x8* b, const D* c, D* d,               \
                                             const i32* scale_a, const i32* scale_b) {                       \
        d[LANE] = __builtin_amdgcn_mfma_scale_f32_##shape##_f8f6f4(a[LANE], b[LANE], c[LANE], fa, fb, 0,     \
                                                                   scale_a[LANE], 0, scale_b[LANE]);         \
    }
#define SCALED_ROW(shape, D, fa)                                                                             \
    SCALED(shape, D, fa, 0)                                                                                  \
    SCALED(shape, D, fa, 1)                                                                                  \
    SCALED(shape, D, fa, 2) SCALED(shape, D, fa, 3) SCALED(shape, D, fa, 4)

DENSE(mfma_f32_32x32x1f32, float, float, f32x32)
DENSE(mfma_f32_16x16x1f32, float, float, f32x16)
DENSE(mfma_f32_4x4x1f32, float, float, f32x4)
DENSE(mfma_f32_32x32x2f32, float, float, f32x16)
DENSE(mfma_f32_16x16x4f32, float, float, f32x4)
DENSE(mfma_f64_16x16x4f64, double, double, f64x4)
DENSE(mfma_f64_4x4x4f64, double, double, double)
DENSE(mfma_f32_32x32x4f16, f16x4, f16x4, f32x32)
DENSE(mfma_f32_16x16x4f16, f16x4, f16x4, f32x16)
DENSE(mfma_f32_4x4x4f16, f16x4, f16x4, f32x4)
DENSE(mfma_f32_32x32x8f16, f16x4, f16x4, f32x16)
DENSE(mfma_f32_16x16x16f16, f16x4, f16x4, f32x4)
DENSE(mfma_f32_32x32x16_f16, f16x8, f16x8, f32x16)
DENSE(mfma_f32_16x16x32_f16, f16x8, f16x8, f32x4)
DENSE(mfma_f32_32x32x4bf16_1k, s16x4, s16x4, f32x32)
DENSE(mfma_f32_16x16x4bf16_1k, s16x4, s16x4, f32x16)
DENSE(mfma_f32_4x4x4bf16_1k, s16x4, s16x4, f32x4)
DENSE(mfma_f32_32x32x8bf16_1k, s16x4, s16x4, f32x16)
DENSE(mfma_f32_16x16x16bf16_1k, s16x4, s16x4, f32x4)
DENSE(mfma_f32_32x32x16_bf16, b16x8, b16x8, f32x16)
DENSE(mfma_f32_16x16x32_bf16, b16x8, b16x8, f32x4)
DENSE(mfma_i32_32x32x4i8, i32, i32, i32x32)
DENSE(mfma_i32_16x16x4i8, i32, i32, i32x16)
DENSE(mfma_i32_4x4x4i8, i32, i32, i32x4)
DENSE(mfma_i32_32x32x16_i8, i64, i64, i32x16)
DENSE(mfma_i32_16x16x32_i8, i64, i64, i32x4)
DENSE(mfma_i32_32x32x32_i8, i32x4, i32x4, i32x16)
DENSE(mfma_i32_16x16x64_i8, i32x4, i32x4, i32x4)
DENSE(mfma_f32_32x32x16_fp8_fp8, i64, i64, f32x16)
DENSE(mfma_f32_32x32x16_fp8_bf8, i64, i64, f32x16)
DENSE(mfma_f32_32x32x16_bf8_fp8, i64, i64, f32x16)
DENSE(mfma_f32_32x32x16_bf8_bf8, i64, i64, f32x16)
DENSE(mfma_f32_16x16x32_fp8_fp8, i64, i64, f32x4)
DENSE(mfma_f32_16x16x32_fp8_bf8, i64, i64, f32x4)
DENSE(mfma_f32_16x16x32_bf8_fp8, i64, i64, f32x4)
DENSE(mfma_f32_16x16x32_bf8_bf8, i64, i64, f32x4)

SCALED_ROW(32x32x64, f32x16, 0)
SCALED_ROW(32x32x64, f32x16, 1)
SCALED_ROW(32x32x64, f32x16, 2)
SCALED_ROW(32x32x64, f32x16, 3)
SCALED_ROW(32x32x64, f32x16, 4)
SCALED_ROW(16x16x128, f32x4, 0)
SCALED_ROW(16x16x128, f32x4, 1)
SCALED_ROW(16x16x128, f32x4, 2)
SCALED_ROW(16x16x128, f32x4, 3)
SCALED_ROW(16x16x128, f32x4, 4)

SPARSE(smfmac_f32_32x32x16_f16, f16x4, f16x8, f32x16)
SPARSE(smfmac_f32_16x16x32_f16, f16x4, f16x8, f32x4)
SPARSE(smfmac_f32_32x32x16_bf16, s16x4, s16x8, f32x16)
SPARSE(smfmac_f32_16x16x32_bf16, s16x4, s16x8, f32x4)
SPARSE(smfmac_i32_32x32x32_i8, i32x2, i32x4, i32x16)
SPARSE(smfmac_i32_16x16x64_i8, i32x2, i32x4, i32x4)
SPARSE(smfmac_f32_32x32x32_fp8_fp8, i32x2, i32x4, f32x16)
SPARSE(smfmac_f32_32x32x32_fp8_bf8, i32x2, i32x4, f32x16)
SPARSE(smfmac_f32_32x32x32_bf8_fp8, i32x2, i32x4, f32x16)
SPARSE(smfmac_f32_32x32x32_bf8_bf8, i32x2, i32x4, f32x16)
SPARSE(smfmac_f32_16x16x64_fp8_fp8, i32x2, i32x4, f32x4)
SPARSE(smfmac_f32_16x16x64_fp8_bf8, i32x2, i32x4, f32x4)
SPARSE(smfmac_f32_16x16x64_bf8_fp8, i32x2, i32x4, f32x4)
SPARSE(smfmac_f32_16x16x64_bf8_bf8, i32x2, i32x4, f32x4)
SPARSE(smfmac_f32_32x32x32_f16, f16x8, f16x16, f32x16)
SPARSE(smfmac_f32_16x16x64_f16, f16x8, f16x16, f32x4)
SPARSE(smfmac_f32_32x32x32_bf16, b16x8, b16x16, f32x16)
SPARSE(smfmac_f32_16x16x64_bf16, b16x8, b16x16, f32x4)
SPARSE(smfmac_i32_32x32x64_i8, i32x4, i32x8, i32x16)
SPARSE(smfmac_i32_16x16x128_i8, i32x4, i32x8, i32x4)
SPARSE(smfmac_f32_32x32x64_fp8_fp8, i32x4, i32x8, f32x16)
SPARSE(smfmac_f32_32x32x64_fp8_bf8, i32x4, i32x8, f32x16)
SPARSE(smfmac_f32_32x32x64_bf8_fp8, i32x4, i32x8, f32x16)
SPARSE(smfmac_f32_32x32x64_bf8_bf8, i32x4, i32x8, f32x16)
SPARSE(smfmac_f32_16x16x128_fp8_fp8, i32x4, i32x8, f32x4)
SPARSE(smfmac_f32_16x16x128_fp8_bf8, i32x4, i32x8, f32x4)
SPARSE(smfmac_f32_16x16x128_bf8_fp8, i32x4, i32x8, f32x4)
SPARSE(smfmac_f32_16x16x128_bf8_bf8, i32x4, i32x8, f32x4)
