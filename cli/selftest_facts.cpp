// SPDX-License-Identifier: Apache-2.0
// The facts. Sources: the CDNA4 ISA manual (operations, lane layouts, buffer and LDS addressing), the paper
// (arXiv 2611.07496) for v_cvt_pk_u8_f32, HipKittens and AITER for transposed reads and LDS-DMA.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "cli/selftest.hpp"
#include "core/reference.hpp"

namespace zyfa::cli::selftest {

namespace {

using Word = std::uint32_t;

constexpr Word bits(float value) {
    return std::bit_cast<Word>(value);
}
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr Word nan_bits = 0x7fc00000;

/// Small whole numbers, so that every sum of products is exact, in an order without a period.
float small(unsigned seed) {
    return static_cast<float>((seed * 2654435761u >> 16) % 7) - 3;
}

/// A table of cases, one a lane, over and over.
template <std::size_t n>
void cases(Fact& fact, const std::array<std::pair<std::vector<Word>, std::vector<Word>>, n>& table) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const auto& [input, expected] = table[lane % n];
        std::copy(input.begin(), input.end(), fact.input[lane].begin());
        std::copy(expected.begin(), expected.end(), fact.expected[lane].begin());
        fact.checked = static_cast<unsigned>(expected.size());
    }
}

/// Which k a 32x32 product's element `e` of a lane is. FP8 in the f8f6f4 forms lies in chunks of 16.
unsigned k_of(unsigned lane, unsigned e, unsigned per_lane, bool fp8) {
    return fp8 ? e / 16 * 32 + lane / 32 * 16 + e % 16 : lane / 32 * per_lane + e;
}

/// 32x32 products: lane l holds row (column) l % 32 of A (B), from word 0 (`words_each`) on; D's word r is
/// row 8 (r / 4) + 4 (l / 32) + r % 4, column l % 32. `scale`: of the row (column) lane % 32 and of k from 32
/// (lane / 32) on.
void product(Fact& fact, unsigned per_lane, bool fp8,
             const std::function<float(unsigned lane, bool b)>& scale) {
    const unsigned words_each = fp8 ? per_lane / 4 : per_lane / 2, k_total = 2 * per_lane;
    std::vector<double> a(32 * k_total), b(32 * k_total);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned e = 0; e < per_lane; ++e) {
            for (const bool second : {false, true}) {
                const float value = small((lane * per_lane + e) * 2 + (second ? 1 : 0));
                const unsigned word = (second ? words_each : 0) + (fp8 ? e / 4 : e / 2);
                const Word code = fp8 ? float_to_e4m3(value) : float_to_bf16(value);
                fact.input[lane][word] |= code << (fp8 ? 8 * (e % 4) : 16 * (e % 2));
                const unsigned k = k_of(lane, e, per_lane, fp8), row = lane % 32;
                (second ? b : a)[row * k_total + k] = value * scale(k / 32 * 32 + row, second);
            }
        }
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned r = 0; r < 16; ++r) {
            const unsigned row = 8 * (r / 4) + 4 * (lane / 32) + r % 4;
            double sum = 0;
            for (unsigned k = 0; k < k_total; ++k) {
                sum += a[row * k_total + k] * b[lane % 32 * k_total + k];
            }
            fact.expected[lane][r] = bits(static_cast<float>(sum));
        }
    }
}

void number_words(Fact& fact) {
    for (unsigned i = 0; i < lanes * words; ++i) {
        fact.input[i / words][i % words] = 0x01000000 + i;
    }
}

Word numbered(unsigned i) {
    return 0x01000000 + i;
}

Fact cvt_bf16() {
    Fact fact{.name = "cvt-bf16",
              .what = "v_cvt_pk_bf16_f32 rounds to nearest even and quiets NaN",
              .mnemonics = {"v_cvt_pk_bf16_f32"},
              .body = "v_cvt_pk_bf16_f32 v8, v32, v33"};
    const Word one = bits(1.0f), high = 0x3f800000;
    cases<6>(fact, {{{{0x3f808000, one}, {high | 0x3f80}},
                     {{0x3f808001, one}, {high | 0x3f81}},
                     {{0x3f818000, one}, {high | 0x3f82}},
                     {{0x7f7fffff, one}, {high | 0x7f80}},
                     {{0x7f800001, one}, {high | 0x7fc0}},
                     {{0xbfc0ffff, one}, {high | 0xbfc1}}}});
    return fact;
}

Fact cvt_fp8() {
    Fact fact{
        .name = "cvt-fp8",
        .what = "v_cvt_pk_fp8_f32 gives OCP E4M3: nearest even, NaN beyond 464; op_sel writes the high half",
        .mnemonics = {"v_cvt_pk_fp8_f32"},
        .body = "v_cvt_pk_fp8_f32 v8, v32, v33\nv_mov_b32 v9, 0x11223344\n"
                "v_cvt_pk_fp8_f32 v9, v32, v33 op_sel:[0,0,1]"};
    const auto row = [](float value, Word code) {
        return std::pair<std::vector<Word>, std::vector<Word>>{
            {bits(value), bits(2.0f)}, {0x4000 | code, (0x4000 | code) << 16 | 0x3344}};
    };
    cases<12>(fact, {{row(1, 0x38), row(1.0625f, 0x38), row(1.1875f, 0x3a), row(-1, 0xb8), row(18, 0x59),
                      row(448, 0x7e), row(464, 0x7e), row(480, 0x7f), row(0x1p-9f, 0x01), row(0x1p-10f, 0x00),
                      row(1.5f * 0x1p-10f, 0x01), row(-0x1p-11f, 0x80)}});
    return fact;
}

Fact cvt_from_fp8() {
    Fact fact{.name = "cvt-from-fp8",
              .what = "v_cvt_pk_f32_fp8 reads OCP E4M3",
              .mnemonics = {"v_cvt_pk_f32_fp8", "v_cvt_f32_fp8"},
              .body = "v_cvt_pk_f32_fp8 v[8:9], v32",
              .checked = 2};
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word first = 2 * lane, second = (128 + 2 * lane + 1) % 256;
        const Word codes[2] = {first == 0x7f ? 0 : first, second == 0xff ? 0 : second}; // NaN aside
        fact.input[lane][0] = codes[0] | codes[1] << 8;
        for (unsigned i = 0; i < 2; ++i) {
            fact.expected[lane][i] = bits(e4m3_to_float(static_cast<std::uint8_t>(codes[i])));
        }
    }
    return fact;
}

Fact cvt_u8() {
    Fact fact{.name = "cvt-u8",
              .what = "v_cvt_pk_u8_f32 rounds to nearest even, saturates and replaces one byte",
              .mnemonics = {"v_cvt_pk_u8_f32"},
              .body = "v_cvt_pk_u8_f32 v8, v32, v33, v34"};
    const auto row = [](float value, Word byte, Word code) {
        const Word old = 0xaabbccdd;
        return std::pair<std::vector<Word>, std::vector<Word>>{
            {bits(value), byte, old}, {(old & ~(0xffu << (8 * byte))) | code << (8 * byte)}};
    };
    cases<10>(fact, {{row(-3, 0, 0), row(0.5f, 1, 0), row(1.5f, 2, 2), row(2.5f, 3, 2), row(126.5f, 0, 126),
                      row(127.5f, 1, 128), row(254.5f, 2, 254), row(255.5f, 3, 255), row(inf, 0, 255),
                      row(7, 2, 7)}});
    return fact;
}

Fact max_nan() {
    Fact fact{.name = "max-nan",
              .what = "v_max_f32 and v_max3_f32 pass over NaN with IEEE mode off",
              .mnemonics = {"v_max_f32", "v_max3_f32"},
              .body = "v_max3_f32 v8, v32, v33, v34\nv_max_f32 v9, v32, v33"};
    const Word one = bits(1), two = bits(2), low = bits(-5);
    cases<3>(fact, {{{{nan_bits, one, two}, {two, one}},
                     {{one, nan_bits, low}, {one, one}},
                     {{low, two, nan_bits}, {two, two}}}});
    return fact;
}

Fact maximum3_f16() {
    Fact fact{.name = "maximum3-f16",
              .what = "v_pk_maximum3_f16 passes NaN on, in each half",
              .mnemonics = {"v_pk_maximum3_f16", "v_pk_minimum3_f16"},
              .body = "v_pk_maximum3_f16 v8, v32, v33, v34"};
    cases<2>(fact, {{{{0x3c007e00, 0x40003c00, 0xc0003c00}, {0x40007e00}},
                     {{0xbc00bc00, 0x7e00c000, 0x3c00c400}, {0x7e00bc00}}}});
    return fact;
}

Fact exp_flush() {
    Fact fact{.name = "exp-flush",
              .what = "v_exp_f32 gives 0 where the result is below 2^-126, and of minus infinity",
              .mnemonics = {"v_exp_f32"},
              .body = "v_exp_f32 v8, v32\nv_exp_f32 v9, v33"};
    cases<4>(fact, {{{{bits(-126.5f), bits(0)}, {0, bits(1)}},
                     {{bits(-127), bits(-150)}, {0, 0}},
                     {{bits(-inf), bits(-inf)}, {0, 0}},
                     {{bits(inf), bits(-1000)}, {bits(inf), 0}}}});
    return fact;
}

Fact mfma_bf16() {
    Fact fact{.name = "mfma-bf16",
              .what = "v_mfma_f32_32x32x16_bf16: places of A, B and D, exact small sums",
              .mnemonics = {"v_mfma_f32_32x32x16_bf16"},
              .body = "v_mfma_f32_32x32x16_bf16 v[8:23], v[32:35], v[36:39], 0"};
    product(fact, 8, false, [](unsigned, bool) { return 1.0f; });
    return fact;
}

Fact mfma_fp8() {
    Fact fact{.name = "mfma-fp8",
              .what = "v_mfma_f32_32x32x64_f8f6f4 on E4M3: places of A, B and D, exact small sums",
              .mnemonics = {"v_mfma_f32_32x32x64_f8f6f4"},
              .body = "v_mfma_f32_32x32x64_f8f6f4 v[8:23], v[32:39], v[40:47], 0"};
    product(fact, 32, true, [](unsigned, bool) { return 1.0f; });
    return fact;
}

Fact mfma_scale() {
    Fact fact{
        .name = "mfma-scale",
        .what =
            "v_mfma_scale_f32_32x32x64_f8f6f4 takes the E8M0 scale of a row's k block g from lane row + 32 g",
        .mnemonics = {"v_mfma_scale_f32_32x32x64_f8f6f4"},
        .body = "v_and_b32 v48, 3, v0\nv_add_u32 v48, 0x7f007e, v48\nv_lshrrev_b32 v49, 4, v0\n"
                "v_add_u32 v49, 0x7f007d, v49\ns_nop 4\n"
                "v_mfma_scale_f32_32x32x64_f8f6f4 v[8:23], v[32:39], v[40:47], 0, v48, v49 "
                "op_sel_hi:[0,0,0]"};
    product(fact, 32, true, [](unsigned lane, bool b) {
        const int exponent = b ? static_cast<int>(lane / 16) - 2 : static_cast<int>(lane % 4) - 1;
        return std::ldexp(1.0f, exponent);
    });
    return fact;
}

/// Lane n writes its 8 bytes at 8 n and reads back from there, transposed within 16 lanes.
const char* const write_lds =
    "v_lshlrev_b32 v2, 3, v0\nds_write_b64 v2, v[32:33]\ns_waitcnt lgkmcnt(0)\ns_barrier\n";

Fact transpose_b16() {
    Fact fact{
        .name = "lds-transpose-b16",
        .what = "ds_read_b64_tr_b16: half i of lane l in a row of 16 lanes is half l % 4 of lane 4 i + l / 4",
        .mnemonics = {"ds_read_b64_tr_b16"},
        .body = write_lds + std::string("ds_read_b64_tr_b16 v[8:9], v2"),
        .lds_bytes = 512,
        .checked = 2};
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            fact.input[lane][i / 2] |= (lane * 4 + i) << (16 * (i % 2));
            const unsigned from = (lane / 16 * 16 + 4 * i + lane % 16 / 4) * 4 + lane % 4;
            fact.expected[lane][i / 2] |= from << (16 * (i % 2));
        }
    }
    return fact;
}

Fact transpose_b8() {
    Fact fact{
        .name = "lds-transpose-b8",
        .what = "ds_read_b64_tr_b8: byte i of lane l in a row of 16 lanes is byte l % 8 of lane 2 i + l / 8",
        .mnemonics = {"ds_read_b64_tr_b8"},
        .body = write_lds + std::string("ds_read_b64_tr_b8 v[8:9], v2"),
        .lds_bytes = 512,
        .checked = 2};
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned i = 0; i < 8; ++i) {
            const auto byte = [](unsigned at) { return (at ^ at >> 8) % 256; }; // tells lanes 32 apart too
            fact.input[lane][i / 4] |= byte(lane * 8 + i) << (8 * (i % 4));
            const unsigned from = (lane / 16 * 16 + 2 * i + lane % 16 / 8) * 8 + lane % 8;
            fact.expected[lane][i / 4] |= byte(from) << (8 * (i % 4));
        }
    }
    return fact;
}

/// A raw buffer descriptor of `size` bytes over the input in s[8:11].
std::string descriptor(unsigned size) {
    return "s_mov_b64 s[8:9], s[4:5]\ns_movk_i32 s10, " + std::to_string(size) +
           "\ns_mov_b32 s11, 0x20000\nv_lshlrev_b32 v2, 4, v0\n";
}

Fact lds_dma() {
    Fact fact{.name = "lds-dma",
              .what = "buffer_load_dwordx4 ... lds writes at M0 + the instruction's offset + 16 lane",
              .mnemonics = {"buffer_load_dwordx4", "global_load_lds_dwordx4"},
              .body = descriptor(4096) +
                      "s_mov_b32 m0, 0x1000\ns_nop 0\n"
                      "buffer_load_dwordx4 v2, s[8:11], 0 offen offset:64 lds\n"
                      "v_add_u32 v3, 0x1040, v2\ns_waitcnt vmcnt(0)\nds_read_b128 v[8:11], v3",
              .lds_bytes = 8192,
              .checked = 4};
    number_words(fact);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            fact.expected[lane][i] = numbered(16 + 4 * lane + i);
        }
    }
    return fact;
}

Fact buffer_bounds() {
    Fact fact{.name = "buffer-bounds",
              .what = "a raw buffer is bounded dword by dword, soffset included; what lies beyond reads as 0",
              .mnemonics = {"buffer_load_dwordx4", "buffer_load_dword", "buffer_store_dwordx4",
                            "buffer_store_dword"},
              .body = descriptor(100) +
                      "s_mov_b32 s12, 8\nbuffer_load_dwordx4 v[8:11], v2, s[8:11], 0 offen\n"
                      "buffer_load_dwordx4 v[12:15], v2, s[8:11], s12 offen",
              .checked = 8};
    number_words(fact);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            fact.expected[lane][i] = 4 * lane + i < 25 ? numbered(4 * lane + i) : 0;
            fact.expected[lane][4 + i] = 4 * lane + i + 2 < 25 ? numbered(4 * lane + i + 2) : 0;
        }
    }
    return fact;
}

Fact permlane32_swap() {
    Fact fact{.name = "permlane32-swap",
              .what = "v_permlane32_swap_b32 exchanges the upper half of the first register and the lower of "
                      "the second",
              .mnemonics = {"v_permlane32_swap_b32"},
              .body = "v_mov_b32 v8, v32\nv_mov_b32 v9, v33\ns_nop 4\nv_permlane32_swap_b32 v8, v9\ns_nop 4",
              .checked = 2};
    number_words(fact);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const unsigned other = lane % 32;
        fact.expected[lane][0] = lane < 32 ? numbered(lane * words) : numbered(other * words + 1);
        fact.expected[lane][1] = lane < 32 ? numbered((lane + 32) * words) : numbered(lane * words + 1);
    }
    return fact;
}

Fact lds_size() {
    Fact fact{.name = "lds-160k",
              .what = "a workgroup has 160 KiB of LDS",
              .mnemonics = {"ds_read_b32", "ds_read_b128", "ds_read_b64_tr_b16", "ds_read_b64_tr_b8"},
              .body = "v_lshlrev_b32 v2, 2, v0\nv_add_u32 v2, 0x27f00, v2\nds_write_b32 v2, v32\n"
                      "s_waitcnt lgkmcnt(0)\nds_read_b32 v8, v2",
              .lds_bytes = 163840,
              .checked = 1};
    number_words(fact);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        fact.expected[lane][0] = fact.input[lane][0];
    }
    return fact;
}

} // namespace

const std::vector<Fact>& all_facts() {
    static const std::vector<Fact> facts{cvt_bf16(), cvt_fp8(),       cvt_from_fp8(),    cvt_u8(),
                                         max_nan(),  maximum3_f16(),  exp_flush(),       mfma_bf16(),
                                         mfma_fp8(), mfma_scale(),    transpose_b16(),   transpose_b8(),
                                         lds_dma(),  buffer_bounds(), permlane32_swap(), lds_size()};
    return facts;
}

} // namespace zyfa::cli::selftest
