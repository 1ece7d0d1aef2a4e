// SPDX-License-Identifier: Apache-2.0
#include "cli/microbench_cases.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

namespace zyfa::cli::microbench {

namespace {

constexpr const char *fp8_32 = "v_mfma_f32_32x32x64_f8f6f4 {d}, {a}, {b}, 0",
                     *fp8_16 = "v_mfma_f32_16x16x128_f8f6f4 {D}, {a}, {b}, 0",
                     *fp4_16 = "v_mfma_f32_16x16x128_f8f6f4 {D}, {a}, {b}, 0 cbsz:4 blgp:4",
                     *bf16_32 = "v_mfma_f32_32x32x16_bf16 {d}, {a}, {b}, 0",
                     *bf16_16 = "v_mfma_f32_16x16x32_bf16 {D}, {a}, {b}, 0";

class Cases {
  public:
    void add(std::string group, std::string name, Measure measure, Role first, Role second,
             Operands operands = Operands::gaussian_e4m3, unsigned pitch = 4) {
        std::string symbol = "zyfa_" + group + "_" + name;
        std::replace_if(
            symbol.begin(), symbol.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
        all.push_back({std::move(group),
                       std::move(name),
                       measure,
                       {std::move(symbol), std::move(first), std::move(second)},
                       operands,
                       pitch});
    }
    std::vector<Case> all;
};

void vector_costs(Cases& cases) {
    const auto cost = [&](const char* name, const char* pattern, unsigned words = 1) {
        const Role role = independent(pattern, words, 256, 8);
        cases.add("vector pipe", name, Measure::cost, role, role);
    };
    cost("v_add_f32", "v_add_f32_e32 {d}, {a}, {b}");
    cost("v_mul_f32", "v_mul_f32_e32 {d}, {a}, {b}");
    cost("v_fma_f32", "v_fma_f32 {d}, {a}, {b}, {a}");
    cost("v_max_f32", "v_max_f32_e32 {d}, {a}, {b}");
    cost("v_max3_f32", "v_max3_f32 {d}, {a}, {b}, {a}");
    cost("v_cmp_lt_f32", "v_cmp_lt_f32_e32 vcc, {a}, {b}");
    cost("v_perm_b32", "v_perm_b32 {d}, {a}, {b}, {a}");
    cost("v_cvt_pk_u8_f32", "v_cvt_pk_u8_f32 {d}, {a}, 0, {b}");
    cost("v_pk_fma_f32", "v_pk_fma_f32 {d}, {a}, {b}, {a}", 2);
    cost("v_pk_mul_f16", "v_pk_mul_f16 {d}, {a}, {b}");
    cost("v_cvt_pk_bf16_f32", "v_cvt_pk_bf16_f32 {d}, {a}, {b}");
    cost("v_exp_f32", "v_exp_f32_e32 {d}, {a}");
    cost("v_exp_f16", "v_exp_f16_e32 {d}, {a}");
    cost("v_cvt_pk_fp8_f32", "v_cvt_pk_fp8_f32 {d}, {a}, {b}");
}

void matrix_costs(Cases& cases) {
    const auto cost = [&](const char* name, const char* pattern, unsigned words) {
        const Role role = independent(pattern, words, 64, 4);
        cases.add("matrix pipe", name, Measure::cost, role, role);
    };
    cost("fp8 32x32x64", fp8_32, 8);
    cost("fp8 16x16x128", fp8_16, 8);
    cost("fp4 16x16x128", fp4_16, 4);
    cost("bf16 32x32x16", bf16_32, 4);
    cost("bf16 16x16x32", bf16_16, 4);
}

/// The second role's time beside the first over its time alone. The first lasts longer, but for packed FP32,
/// which waits until it has ended: there the first lasts three times as long as the second alone.
void beside(Cases& cases) {
    const auto slow = [&](const char* name, const Role& other, const Role& measured) {
        cases.add("two waves", name, Measure::slowdown, other, measured);
    };
    const Role exp = independent("v_exp_f32_e32 {d}, {a}", 1, 256, 8),
               cvt = independent("v_cvt_pk_fp8_f32 {d}, {a}, {b}", 1, 256, 8);
    slow("v_exp_f32 beside fp8 32x32", independent(fp8_32, 8, 64, 8), exp);
    slow("v_cvt_pk_fp8_f32 beside fp8 32x32", independent(fp8_32, 8, 64, 8), cvt);
    slow("v_exp_f32 beside bf16 32x32", independent(bf16_32, 4, 64, 16), exp);
    slow("v_exp_f32 beside bf16 16x16", independent(bf16_16, 4, 64, 40), exp);
    slow("v_pk_fma_f32 beside fp8 32x32", independent(fp8_32, 8, 64, 6),
         independent("v_pk_fma_f32 {d}, {a}, {b}, {a}", 2, 256, 8));
    slow("v_pk_mul_f16 beside fp8 32x32", independent(fp8_32, 8, 64, 8),
         independent("v_pk_mul_f16 {d}, {a}, {b}", 1, 256, 8));
    slow("fp8 32x32 beside v_exp_f32", independent("v_exp_f32_e32 {d}, {a}", 1, 256, 16),
         independent(fp8_32, 8, 64, 4));
    slow("bf16 32x32 beside v_exp_f32", independent("v_exp_f32_e32 {d}, {a}", 1, 256, 8),
         independent(bf16_32, 4, 64, 4));
}

void latencies(Cases& cases) {
    const auto chain = [&](const char* name, const char* block) {
        cases.add("latency", name, Measure::cycles, independent(block, 1, 128, 4), {});
    };
    chain("v_add_f32, dependent", "v_add_f32_e32 v10, v10, v64");
    chain("s_add_u32, dependent", "s_add_u32 s40, s40, s41");
    chain("ds_read_b32 and its address",
          "ds_read_b32 v10, v8\n  s_waitcnt lgkmcnt(0)\n  v_and_b32_e32 v8, 0, v10");
    chain("ds_write_b32 to lgkmcnt(0)", "ds_write_b32 v8, v64\n  s_waitcnt lgkmcnt(0)");
    chain("s_load_dword, cached", "s_load_dword s40, s[20:21], 0x0\n  s_waitcnt lgkmcnt(0)");
    chain("global_load_dword, in L2",
          "global_load_dword v10, v8, s[20:21]\n  s_waitcnt vmcnt(0)\n  v_and_b32_e32 v8, 0, v10");
    const Role barrier = independent("s_barrier", 1, 16, 32);
    cases.add("latency", "s_barrier of eight waves", Measure::cycles, barrier, barrier);
}

void lds(Cases& cases) {
    const auto port = [&](const std::string& name, const std::string& pattern, unsigned words,
                          unsigned pitch) {
        cases.add("LDS port", fmt::format("{}, lanes {} bytes apart", name, pitch), Measure::port,
                  independent(pattern, words, 64, 4), {}, Operands::gaussian_e4m3, pitch);
    };
    port("ds_read_b32", "ds_read_b32 {d}, v8", 1, 4);
    port("ds_read_b64", "ds_read_b64 {d}, v8", 2, 8);
    port("ds_read_b64", "ds_read_b64 {d}, v8", 2, 256);
    port("ds_read_b96", "ds_read_b96 v[10:12], v8", 1, 16);
    port("ds_read_b128", "ds_read_b128 {d}, v8", 4, 16);
    port("ds_read_b128", "ds_read_b128 {d}, v8", 4, 128);
    port("ds_read_b128", "ds_read_b128 {d}, v8", 4, 144);
    port("ds_write_b32", "ds_write_b32 v8, v64", 1, 4);
    port("ds_write_b64", "ds_write_b64 v8, v[64:65]", 1, 8);
    port("ds_write_b128", "ds_write_b128 v8, v[64:67]", 1, 16);
}

/// The synthetic loop of Table V: per 128-key block and wave 16 MFMAs, 16 reads of K and 32 of V from LDS,
/// the vector instructions of lean P, one barrier per phase; the two waves of a SIMD in turns. (Loads into
/// LDS are left out: they use neither pipe nor port here.)
void attention_loop(Cases& cases) {
    std::string products, softmax;
    for (unsigned n = 0; n < 16; ++n) {
        products += "  ds_read_b128 v[10:13], v8\n  ds_read_b64_tr_b8 v[14:15], v8\n"
                    "  ds_read_b64_tr_b8 v[16:17], v8\n";
        products += fmt::format("  v_mfma_f32_32x32x64_f8f6f4 v[{}:{}], v[{}:{}], v[{}:{}], 0\n",
                                128 + 16 * (n % 8), 143 + 16 * (n % 8), 64 + 16 * (n % 4), 71 + 16 * (n % 4),
                                72 + 16 * (n % 4), 79 + 16 * (n % 4));
    }
    for (unsigned n = 0; n < 64; ++n)
        softmax += fmt::format("  v_fma_f32 v{}, v{}, v64, v65\n  v_cvt_pk_u8_f32 v{}, v{}, {}, v{}\n",
                               20 + n % 8, 64 + n, 30 + n / 4 % 16, 20 + n % 8, n % 4, 30 + n / 4 % 16);
    const std::string barrier = "  s_barrier\n";
    const Role first{products + barrier + softmax + barrier, 2, 24},
        second{softmax + barrier + products + barrier, 2, 24};
    cases.add("attention loop", "cycles per phase", Measure::cycles, first, second);
    cases.add("attention loop", "clock", Measure::clock, first, second);
}

void clocks(Cases& cases) {
    // About 100,000 cycles each, so that the idle start of a workgroup counts for little (1 to 2%).
    const auto loop = [&](const char* name, const char* pattern, unsigned words, std::uint32_t repeats,
                          Operands operands, bool fixed = false) {
        const Role role = independent(pattern, words, 64, repeats, fixed);
        cases.add("clock", name, Measure::clock, role, role, operands, 16);
    };
    loop("BF16 MFMA 32x32", bf16_32, 4, 24, Operands::gaussian_bf16);
    loop("BF16 MFMA 16x16", bf16_16, 4, 48, Operands::gaussian_bf16);
    loop("FP8 MFMA 32x32", fp8_32, 8, 12, Operands::gaussian_e4m3);
    loop("FP8 MFMA 16x16", fp8_16, 8, 24, Operands::gaussian_e4m3);
    loop("FP4 MFMA 16x16", fp4_16, 4, 48, Operands::random_bits);
    loop("FP8 MFMA 32x32, constant operands", fp8_32, 8, 12, Operands::gaussian_e4m3, true);
    loop("FP8 MFMA 32x32, random bits", fp8_32, 8, 12, Operands::random_bits);
    loop("VALU only", "v_exp_f32_e32 {d}, {a}", 1, 96, Operands::gaussian_e4m3);
    loop("LDS reads only", "ds_read_b128 {d}, v8", 4, 48, Operands::gaussian_e4m3);
}

} // namespace

std::vector<Case> all_cases() {
    Cases cases;
    vector_costs(cases);
    matrix_costs(cases);
    beside(cases);
    latencies(cases);
    lds(cases);
    clocks(cases);
    attention_loop(cases);
    return std::move(cases.all);
}

} // namespace zyfa::cli::microbench
