// SPDX-License-Identifier: Apache-2.0
// Buffer bounds, loads to LDS, LDS, transposed reads, atomics, scratch and flat addresses.
#include "tests/sim/engine_lanes.hpp"

#include <numeric>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

KernelShape with_lds(unsigned bytes) {
    KernelShape shape;
    shape.lds = bytes;
    return shape;
}

/// Loads dwordx4 of a 100-byte raw buffer of words 1, 2, 3, ... with the given offsets; lane 0's words.
std::array<std::uint32_t, 4> load_bounded(std::uint32_t vaddr, unsigned offset, unsigned soffset) {
    Machine machine;
    machine.load(R"(
        s_load_dwordx4 s[8:11], s[0:1], 0x0
        s_load_dwordx2 s[12:13], s[0:1], 0x10
        v_lshlrev_b32 v9, 4, v0
        s_waitcnt lgkmcnt(0)
        s_mov_b32 s4, s8
        s_mov_b32 s5, s9
        s_mov_b32 s6, 100
        s_mov_b32 s7, 0x20000
        v_mov_b32 v1, s12
        v_mov_b32 v2, -1
        v_mov_b32 v3, -1
        v_mov_b32 v4, -1
        v_mov_b32 v5, -1
        buffer_load_dwordx4 v[2:5], v1, s[4:7], s13 offen offset:)" +
                 std::to_string(offset) + R"(
        s_waitcnt vmcnt(0)
        global_store_dwordx4 v9, v[2:5], s[10:11]
    )");
    auto* in = machine.buffer<std::uint32_t>(25);
    auto* out = machine.buffer<std::uint32_t>(256);
    std::iota(in, in + 25, 1);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out, vaddr, soffset);
    REQUIRE_MESSAGE(!result.fault, text(result));
    return {out[0], out[1], out[2], out[3]};
}

} // namespace

TEST_CASE("engine: raw buffers are bounded dword by dword, soffset included, wrap-around allowed") {
    using Words = std::array<std::uint32_t, 4>;
    CHECK(load_bounded(88, 0, 0) == Words{23, 24, 25, 0});
    CHECK(load_bounded(88, 0, 8) == Words{25, 0, 0, 0});
    CHECK(load_bounded(0xfffffff8u, 16, 0) == Words{3, 4, 5, 6});
    CHECK(load_bounded(84, 0, 0) == Words{22, 23, 24, 25});
    CHECK(load_bounded(100, 0, 0) == Words{0, 0, 0, 0});
    CHECK(load_bounded(0, 4, 0x80000000u) == Words{0, 0, 0, 0});
}

TEST_CASE("engine: stores beyond a buffer are dropped, its last dwords are written") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v1, 4, v0
        v_mov_b32 v2, 5
        v_mov_b32 v3, 6
        v_mov_b32 v4, 7
        v_mov_b32 v5, 8
        s_mov_b32 s6, 56
        s_mov_b32 s7, 0x20000
        s_waitcnt lgkmcnt(0)
        buffer_store_dwordx4 v[2:5], v1, s[4:7], 0 offen
    )");
    auto* out = machine.buffer<std::uint32_t>(64, 1);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (unsigned n = 0; n < 64; ++n)
        CHECK(out[n] == (n < 14 ? 5 + n % 4 : 1));
}

TEST_CASE("engine: an indexed buffer is bounded by its records") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx4 s[8:11], s[0:1], 0x0
        v_lshlrev_b32 v9, 2, v0
        s_waitcnt lgkmcnt(0)
        s_mov_b32 s4, s8
        s_or_b32 s5, s9, 0x80000
        s_mov_b32 s6, 3
        s_mov_b32 s7, 0x20000
        v_mov_b32 v2, -1
        buffer_load_dword v2, v0, s[4:7], 0 idxen offset:4
        s_waitcnt vmcnt(0)
        global_store_dword v9, v2, s[10:11]
    )");
    auto* in = machine.buffer<std::uint32_t>(64);
    auto* out = machine.buffer<std::uint32_t>(64);
    std::iota(in, in + 64, 100);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (unsigned n = 0; n < 64; ++n)
        CHECK(out[n] == (n < 3 ? 100 + 2 * n + 1 : 0));
}

TEST_CASE("engine: loads to LDS take M0, the instruction offset and the lane") {
    // M0 = 0x1000, offset 64: lane n fills LDS bytes 0x1040 + 16 n from global bytes 64 + 16 n; lanes without
    // EXEC leave theirs; a lane out of range writes zeros.
    Machine machine;
    machine.load(R"(
        s_load_dwordx4 s[8:11], s[0:1], 0x0
        v_lshlrev_b32 v1, 4, v0
        v_mov_b32 v2, -1
        v_mov_b32 v3, -1
        v_mov_b32 v4, -1
        v_mov_b32 v5, -1
        v_add_u32 v6, 0x1040, v1
        ds_write_b128 v6, v[2:5]
        s_waitcnt lgkmcnt(0)
        s_mov_b32 s4, s8
        s_mov_b32 s5, s9
        s_mov_b32 s6, 1024
        s_mov_b32 s7, 0x20000
        s_mov_b32 m0, 0x1000
        s_mov_b32 exec_lo, 0xfffffffd
        buffer_load_dwordx4 v1, s[4:7], 0 offen offset:64 lds
        s_mov_b32 exec_lo, -1
        s_waitcnt vmcnt(0)
        ds_read_b128 v[2:5], v6
        s_waitcnt lgkmcnt(0)
        global_store_dwordx4 v1, v[2:5], s[10:11]
    )",
                 with_lds(0x2000));
    auto* in = machine.buffer<std::uint32_t>(512);
    auto* out = machine.buffer<std::uint32_t>(256);
    std::iota(in, in + 512, 0);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (unsigned n = 0; n < 256; ++n)
        CHECK(out[n] == (n / 4 == 1 ? ~0u : n + 16 < 256 ? n + 16 : 0));
}

TEST_CASE("engine: dwords to LDS, by buffer and by global address") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx4 s[8:11], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        s_mov_b32 s4, s8
        s_mov_b32 s5, s9
        s_mov_b32 s6, 0x400
        s_mov_b32 s7, 0x20000
        s_mov_b32 m0, 0x100
        buffer_load_dword v1, s[4:7], 0 offen lds
        s_mov_b32 m0, 0x200
        global_load_lds_dword v1, s[8:9] offset:256
        s_waitcnt vmcnt(0)
        ds_read_b32 v2, v1 offset:0x100
        ds_read_b32 v3, v1 offset:0x300
        s_waitcnt lgkmcnt(0)
        v_add_u32 v2, v2, v3
        global_store_dword v1, v2, s[10:11]
    )",
                 with_lds(0x1000));
    auto* in = machine.buffer<std::uint32_t>(256);
    auto* out = machine.buffer<std::uint32_t>(64);
    std::iota(in, in + 256, 0);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (unsigned n = 0; n < 64; ++n)
        CHECK(out[n] == 2 * n + 64);
}

TEST_CASE("engine: transposed LDS reads") {
    // Bytes x, then halfwords x, then nibbles, as the fact sheet's vectors 10 and 11.
    const std::string fill = R"(
        v_lshlrev_b32 v20, 3, v0
        ds_write_b64 v20, v[2:3]
        s_waitcnt lgkmcnt(0)
    )";
    const auto words = [](auto value, unsigned width) {
        std::vector<Register> r(3); // v1 unused: pairs begin at an even register
        for (unsigned lane = 0; lane < 64; ++lane) {
            std::uint64_t packed = 0;
            for (unsigned e = 0; e < 64 / width; ++e)
                packed |= (static_cast<std::uint64_t>(value(lane * (64 / width) + e)) & ((1ull << width) - 1))
                          << (width * e);
            r[1][lane] = static_cast<std::uint32_t>(packed);
            r[2][lane] = static_cast<std::uint32_t>(packed >> 32);
        }
        return r;
    };
    const auto identity = [](unsigned x) { return x; };
    const auto b8 = run_lanes(fill + "ds_read_b64_tr_b8 v[32:33], v20\ns_waitcnt lgkmcnt(0)",
                              words(identity, 8), 2, with_lds(512));
    const auto byte = [&](unsigned lane, unsigned i) { return b8[i / 4][lane] >> (8 * (i % 4)) & 0xff; };
    for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned i = 0; i < 8; ++i)
            CHECK(byte(lane, i) == ((lane / 16 * 16 + 2 * i + lane % 16 / 8) * 8 + lane % 8) % 256);
    for (unsigned i = 0; i < 8; ++i) {
        CHECK(byte(0, i) == 16 * i);
        CHECK(byte(9, i) == 9 + 16 * i);
        CHECK(byte(16, i) == 128 + 16 * i);
    }
    const auto b16 = run_lanes(fill + "ds_read_b64_tr_b16 v[32:33], v20\ns_waitcnt lgkmcnt(0)",
                               words(identity, 16), 2, with_lds(512));
    const auto half = [&](unsigned lane, unsigned i) { return b16[i / 2][lane] >> (16 * (i % 2)) & 0xffff; };
    for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned i = 0; i < 4; ++i)
            CHECK(half(lane, i) == (lane / 16 * 16 + 4 * i + lane % 16 / 4) * 4 + lane % 4);
    for (unsigned i = 0; i < 4; ++i) {
        CHECK(half(0, i) == 16 * i);
        CHECK(half(5, i) == 5 + 16 * i);
        CHECK(half(15, i) == 15 + 16 * i);
    }
    // Nibble i of lane j is nibble j of lane i: fill with the lane's number.
    const auto b4 = run_lanes(fill + "ds_read_b64_tr_b4 v[32:33], v20\ns_waitcnt lgkmcnt(0)",
                              words([](unsigned x) { return x / 16; }, 4), 2, with_lds(512));
    for (unsigned lane = 0; lane < 16; ++lane) {
        CHECK(b4[0][lane] == 0x76543210u);
        CHECK(b4[1][lane] == 0xfedcba98u);
    }
}

TEST_CASE("engine: LDS widths, pairs and sub-dwords") {
    const auto r =
        run_lanes(R"(
        v_lshlrev_b32 v20, 4, v0
        ds_write_b128 v20, v[2:5]
        ds_read_b128 v[32:35], v20
        ds_read2_b32 v[36:37], v20 offset0:3 offset1:1
        ds_read_b96 v[38:40], v20
        ds_read_u8 v41, v20 offset:2
        ds_read_i8 v42, v20 offset:3
        ds_read_u16 v43, v20 offset:6
        v_mov_b32 v44, v1
        ds_read_u16_d16_hi v44, v20
        s_waitcnt lgkmcnt(0)
        ds_write2_b32 v20, v1, v3 offset0:0 offset1:2
        ds_write_b8 v20, v1 offset:7
        ds_read_b64 v[46:47], v20
        ds_read2st64_b32 v[30:31], v63 offset0:0 offset1:1
        s_waitcnt lgkmcnt(0)
        v_add_u32 v45, v30, v31
    )",
                  {all(0xc0ffee), all(0x89abcdef), all(0x11111111), all(0x22222222), all(0x33333333)}, 16,
                  with_lds(2048));
    const unsigned lane = 21;
    CHECK(r[0][lane] == 0x89abcdefu);
    CHECK(r[3][lane] == 0x33333333u);
    CHECK(r[4][lane] == 0x33333333u);
    CHECK(r[5][lane] == 0x11111111u);
    CHECK(r[8][lane] == 0x22222222u);
    CHECK(r[9][lane] == 0xabu);
    CHECK(r[10][lane] == 0xffffff89u);
    CHECK(r[11][lane] == 0x1111u);
    CHECK(r[12][lane] == 0xcdefffeeu);
    CHECK(r[14][lane] == 0xc0ffeeu);
    CHECK(r[15][lane] == 0xee111111u);
    CHECK(r[13][0] == 2 * 0xc0ffeeu);
}

TEST_CASE("engine: LDS permutations") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, -1
        v_sub_u32 v20, 63, v0
        v_lshlrev_b32 v20, 2, v20
        ds_bpermute_b32 v32, v20, v1
        ds_permute_b32 v33, v20, v1
        ds_swizzle_b32 v34, v1 offset:swizzle(SWAP,16)
        ds_swizzle_b32 v35, v1 offset:swizzle(QUAD_PERM,1,0,3,2)
        ds_swizzle_b32 v36, v1 offset:swizzle(BROADCAST,8,3)
        s_waitcnt lgkmcnt(0)
    )",
                             {by_lane([](unsigned lane) { return lane * 10; })}, 5);
    for (unsigned lane = 0; lane < 64; ++lane) {
        CHECK(r[0][lane] == (63 - lane) * 10);
        CHECK(r[1][lane] == (63 - lane) * 10);
        CHECK(r[2][lane] == (lane ^ 16) * 10);
        CHECK(r[3][lane] == (lane ^ 1) * 10);
        CHECK(r[4][lane] == (lane / 8 * 8 + 3) * 10);
    }
}

TEST_CASE("engine: atomics over global memory and LDS, with and without a result") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_mov_b32 v1, 0
        v_mov_b32 v2, 1
        v_mov_b32 v10, 1.0
        v_mov_b32 v20, 0
        v_lshlrev_b32 v9, 2, v0
        s_waitcnt lgkmcnt(0)
        global_atomic_add v1, v2, s[4:5]
        global_atomic_add_f32 v1, v10, s[4:5] offset:4
        global_atomic_umax v1, v0, s[4:5] offset:8
        v_mov_b32 v11, 0x3c003c00
        global_atomic_pk_add_f16 v1, v11, s[4:5] offset:12
        v_mov_b32 v12, 100
        v_mov_b32 v13, 64
        s_waitcnt vmcnt(0)
        v_mov_b32 v5, 0
        ds_write_b32 v20, v5
        s_waitcnt lgkmcnt(0)
        ds_add_rtn_u32 v3, v20, v2
        s_waitcnt lgkmcnt(0)
        global_atomic_cmpswap v1, v[12:13], s[4:5] offset:16
        global_store_dword v9, v3, s[6:7]
        ds_add_u32 v20, v0
        ds_read_b32 v4, v20
        s_waitcnt lgkmcnt(0)
        global_store_dword v9, v4, s[6:7] offset:256
    )",
                 with_lds(16));
    auto* cells = machine.buffer<std::uint32_t>(8);
    auto* out = machine.buffer<std::uint32_t>(128);
    cells[4] = 64;
    const LaunchResult result = machine.run({4, 1, 1}, {64, 1, 1}, cells, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    CHECK(cells[0] == 256);
    CHECK(cells[1] == bits(256));
    CHECK(cells[2] == 63);
    CHECK(cells[3] == 0x5c005c00u); // 256 in FP16, twice
    CHECK(cells[4] == 100);
    for (unsigned n = 0; n < 64; ++n) {
        CHECK(out[n] == n);
        CHECK(out[64 + n] == 64 + 63 * 32);
    }
}

TEST_CASE("engine: scratch, and flat addresses of scratch and LDS") {
    KernelShape shape = with_lds(1024);
    shape.scratch = 64;
    const auto r = run_lanes(
        R"(
        v_mov_b32 v10, 8
        scratch_store_dword off, v1, off offset:4
        s_mov_b32 s8, 12
        scratch_store_dword v10, v2, s8 offset:4
        s_waitcnt vmcnt(0)
        scratch_load_dword v32, off, off offset:4
        scratch_load_dword v33, v10, off offset:16
        s_mov_b64 s[10:11], src_private_base
        v_mov_b32 v12, 4
        v_mov_b32 v13, s11
        flat_load_dword v34, v[12:13]
        s_mov_b64 s[10:11], src_shared_base
        v_lshlrev_b32 v14, 2, v0
        v_mov_b32 v15, s11
        flat_store_dword v[14:15], v2 offset:256
        s_waitcnt vmcnt(0) lgkmcnt(0)
        ds_read_b32 v35, v14 offset:256
        s_waitcnt lgkmcnt(0)
    )",
        {by_lane([](unsigned lane) { return lane + 7; }), by_lane([](unsigned lane) { return lane * 3; })}, 4,
        shape);
    for (unsigned lane = 0; lane < 64; ++lane) {
        CHECK(r[0][lane] == lane + 7);
        CHECK(r[1][lane] == lane * 3);
        CHECK(r[2][lane] == lane + 7);
        CHECK(r[3][lane] == lane * 3);
    }
}

TEST_CASE("engine: scalar loads, stores and atomics") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_mov_b32 s20, 8
        s_waitcnt lgkmcnt(0)
        s_load_dwordx8 s[8:15], s[4:5], 0x0
        s_load_dword s16, s[4:5], s20
        s_load_dword s17, s[4:5], s20 offset:0x4
        s_waitcnt lgkmcnt(0)
        s_add_u32 s18, s8, s15
        s_store_dword s18, s[4:5], 0x40
        s_store_dword s16, s[4:5], 0x44
        s_store_dword s17, s[4:5], 0x48
        s_mov_b32 s21, 10
        s_atomic_dec s21, s[4:5], 0x4c glc
        s_waitcnt lgkmcnt(0)
        s_store_dword s21, s[4:5], 0x50
        s_mov_b32 s6, 12
        s_mov_b32 s7, 0
        s_buffer_load_dwordx4 s[24:27], s[4:7], 0x4
        s_waitcnt lgkmcnt(0)
        s_store_dwordx4 s[24:27], s[4:5], 0x60
    )");
    auto* cells = machine.buffer<std::uint32_t>(32);
    std::iota(cells, cells + 32, 1);
    cells[19] = 4;
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, cells);
    REQUIRE_MESSAGE(!result.fault, text(result));
    CHECK(cells[16] == 9);
    CHECK(cells[17] == 3);
    CHECK(cells[18] == 4);
    CHECK(cells[19] == 3);
    CHECK(cells[20] == 4);
    CHECK(cells[24] == 2);
    CHECK(cells[25] == 3);
    CHECK(cells[26] == 0);
    CHECK(cells[27] == 0);
}
