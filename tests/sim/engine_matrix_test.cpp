// SPDX-License-Identifier: Apache-2.0
// Matrix instructions through decoder and engine: register files, constants, scale bytes, aliasing. Lane
// layouts and arithmetic themselves are tested with sim/math.
#include "tests/sim/engine_lanes.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// D of a 32x32 tile at (row, column) from 16 registers.
std::uint32_t d32(const std::vector<Register>& r, unsigned row, unsigned column) {
    const unsigned lane = column + 32 * (row / 4 % 2);
    return r[row / 8 * 4 + row % 4][lane];
}

KernelShape with_agprs(unsigned count) {
    KernelShape shape;
    shape.vgprs = 128;
    shape.agprs = count;
    return shape;
}

std::string repeat(const std::string& format, unsigned count, unsigned from) {
    std::string out;
    for (unsigned n = 0; n < count; ++n) {
        std::string line = format;
        for (std::size_t at; (at = line.find('#')) != std::string::npos;)
            line.replace(at, 1, std::to_string(from + n));
        out += line + "\n";
    }
    return out;
}

} // namespace

TEST_CASE("engine: BF16 product of rows and columns, accumulators in AGPRs, constant C") {
    // A[i][k] = i for every k, B[k][j] = 1: D[i][j] = 16 i + 1.
    const Register rows = by_lane([](unsigned lane) {
        const std::uint32_t h = bits(static_cast<float>(lane % 32)) >> 16;
        return h | h << 16;
    });
    const Register one = all(0x3f803f80);
    const auto r = run_lanes(
        "v_mfma_f32_32x32x16_bf16 a[0:15], v[2:5], v[6:9], 1.0\ns_nop 15\ns_nop 15\n" +
            [] {
                std::string moves;
                for (unsigned n = 0; n < 16; ++n)
                    moves +=
                        "v_accvgpr_read_b32 v" + std::to_string(32 + n) + ", a" + std::to_string(n) + "\n";
                return moves;
            }(),
        {all(0), rows, rows, rows, rows, one, one, one, one}, 16, with_agprs(32));
    for (unsigned row = 0; row < 32; ++row)
        for (unsigned column = 0; column < 32; ++column)
            CHECK(d32(r, row, column) == bits(16.f * row + 1));
}

TEST_CASE("engine: operands may lie in AGPRs, and D may cover A") {
    const auto r = run_lanes(
        repeat("v_accvgpr_write_b32 a#, v2", 4, 4) + R"(
        s_nop 1
        v_mfma_f32_16x16x32_bf16 v[32:35], a[4:7], v[4:7], 0
        s_nop 15
        v_mov_b32 v36, v4
        v_mov_b32 v37, v4
        v_mov_b32 v38, v4
        v_mov_b32 v39, v4
        s_nop 1
        v_mfma_f32_16x16x32_bf16 v[36:39], v[36:39], v[36:39], v[32:35]
        s_nop 15
    )",
        {all(0), all(0x40004000), all(0), all(0x40404040), all(0x40404040), all(0x40404040), all(0x40404040)},
        8, with_agprs(16));
    for (unsigned n = 0; n < 4; ++n) {
        CHECK(r[n][13] == bits(32 * 6.f)); // 0x4040 is 3.0; low and high half alike
        CHECK(r[4 + n][13] == bits(32 * 6.f + 32 * 9.f));
    }
}

TEST_CASE("engine: block scales and their byte selection") {
    // A = B = 1.0 in FP8; scale registers hold 0x7f7e7d80, bytes 0 to 3: times 2, 1/4, 1/2, 1.
    const Register one = all(0x38383838);
    const auto product = [&](const std::string& select, Register scale_a, Register scale_b) {
        return run_lanes(
            repeat("v_mov_b32 v#, v1", 16, 4) +
                "s_nop 1\nv_mfma_scale_f32_32x32x64_f8f6f4 v[32:47], v[4:11], v[12:19], 0, v2, v3 " + select +
                "\ns_nop 15\ns_nop 15",
            {one, scale_a, scale_b}, 16, with_agprs(0));
    };
    const Register scales = all(0x7f7e7d80), unit = all(0x7f7f7f7f);
    CHECK(product("op_sel:[0,0,0] op_sel_hi:[0,0,0]", scales, unit)[0][0] == bits(128));
    CHECK(product("op_sel:[1,0,0] op_sel_hi:[0,0,0]", scales, unit)[0][0] == bits(16));
    CHECK(product("op_sel:[0,0,0] op_sel_hi:[1,0,0]", scales, unit)[0][0] == bits(32));
    CHECK(product("op_sel:[1,0,0] op_sel_hi:[1,0,0]", scales, unit)[0][0] == bits(64));
    CHECK(product("op_sel:[0,1,0] op_sel_hi:[0,0,0]", unit, scales)[0][0] == bits(16));
    // Scale of B per half of k: 2 from lanes 0 to 31, 1/2 from lanes 32 to 63.
    const auto r = product("", unit, by_lane([](unsigned lane) { return lane < 32 ? 128u : 126u; }));
    CHECK(r[0][0] == bits(80));
    CHECK(r[15][63] == bits(80));
    const auto nan = product("", unit, by_lane([](unsigned lane) { return lane == 40 ? 255u : 127u; }));
    CHECK(d32(nan, 3, 7) == bits(64));
    CHECK((d32(nan, 3, 8) & 0x7fffffff) > 0x7f800000u);
}
