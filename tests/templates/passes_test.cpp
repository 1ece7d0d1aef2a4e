// SPDX-License-Identifier: Apache-2.0
// The scheduling passes on their own.
#include <doctest/doctest.h>

#include "templates/asm/allocator.hpp"
#include "templates/asm/emitter.hpp"
#include "templates/schedule/hazards.hpp"
#include "templates/schedule/interleave.hpp"
#include "templates/schedule/waits.hpp"

using namespace zyfa::templates;
using namespace zyfa::templates::isa;

namespace {

VReg v(unsigned first, unsigned count = 1) {
    return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count), 0, nullptr};
}
SReg s(unsigned first, unsigned count = 1) {
    return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count), 0, nullptr};
}

template <typename F>
Stream build(F&& f) {
    Stream out;
    Emitter e(out);
    f(e);
    return out;
}

/// Instruction texts, in order.
std::vector<std::string> texts(const Stream& stream) {
    std::vector<std::string> out;
    for (const Item& item : stream.items)
        if (item.type == Item::Type::instruction)
            out.push_back(item.instruction.text);
    return out;
}

/// Wait states that the pass puts between the two instructions that `f` emits.
template <typename F>
unsigned nops(F&& f) {
    Stream stream = build(f);
    return schedule::insert_hazard_nops(stream);
}

void mfma(Emitter& e, VReg d, VReg a, VReg b, Source c) {
    e.mfma(mfma_32x32x16_bf16, d, a, b, c);
}
void mfma16(Emitter& e, VReg d, VReg a, VReg b, Source c) {
    e.mfma(mfma_16x16x32_bf16, d, a, b, c);
}

} // namespace

TEST_CASE("matrix hazards ask for LLVM's wait states on gfx950") {
    const VReg d = v(0, 16), a = v(20, 4), b = v(24, 4), d4 = v(0, 4);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), e.v_add_f32(v(60), d[15], v(61)); }) == 12);
    CHECK(nops([&](Emitter& e) { mfma16(e, d4, a, b, 0), e.v_add_f32(v(60), d4[0], v(61)); }) == 8);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), e.v_mov_b32(d[3], 0); }) == 12);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), e.ds_read_b64(d.sub(2, 2), v(60), 0); }) == 12);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), e.ds_write_b64(v(60), d.sub(2, 2), 0); }) == 12);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), e.v_permlane32_swap_b32(d[0], v(60)); }) == 12);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), mfma(e, v(40, 16), d.sub(4, 4), b, 0); }) == 12);
    // accumulator: the same tuple and opcode is forwarded, an overlapping one or another opcode is not
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), mfma(e, d, a, b, d); }) == 0);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), mfma(e, v(2, 16), v(60, 4), b, v(2, 16)); }) == 10);
    CHECK(nops([&](Emitter& e) { mfma16(e, d4, a, b, 0), mfma(e, d, v(60, 4), b, d); }) == 6);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), mfma(e, d, a, b, 0); }) == 0);
    // operands of a running MFMA
    CHECK(nops([&](Emitter& e) { mfma(e, v(40, 16), a, b, d), e.v_mov_b32(d[0], 0); }) == 7);
    CHECK(nops([&](Emitter& e) { mfma(e, d, a, b, 0), e.v_mov_b32(a[0], 0); }) == 0);
    CHECK(nops([&](Emitter& e) { e.v_mov_b32(a[3], 0), mfma(e, d, a, b, 0); }) == 2);
    CHECK(nops([&](Emitter& e) { e.v_exp_f32(b[3], v(60)), mfma(e, d, a, b, 0); }) == 2);
    CHECK(nops([&](Emitter& e) { e.v_mov_b32(d[3], 0), mfma(e, d, a, b, d); }) == 2);
}

TEST_CASE("a vector result waits for two wait states before lanes exchange it") {
    CHECK(nops([](Emitter& e) {
              e.v_mov_b32(v(1), 0);
              e.v_add_f32_dpp(v(0), v(1), v(2), Dpp::xor_1);
          }) == 2);
    CHECK(nops([](Emitter& e) {
              e.v_mov_b32(v(1), 0);
              e.v_add_f32(v(0), v(1), v(2));
          }) == 0);
}

TEST_CASE("vector and scalar hazards ask for LLVM's wait states on gfx950") {
    CHECK(nops([](Emitter& e) { e.v_exp_f32(v(0), v(1)), e.v_add_f32(v(2), v(0), v(3)); }) == 1);
    CHECK(nops([](Emitter& e) { e.v_exp_f32(v(0), v(1)), e.v_exp_f32(v(2), v(0)); }) == 0);
    CHECK(nops([](Emitter& e) { e.v_exp_f32(v(0), v(1)), e.v_mov_b32(v(0), 0); }) == 0);
    CHECK(nops([](Emitter& e) { e.v_mov_b32(v(0), 0), e.v_permlane32_swap_b32(v(0), v(1)); }) == 2);
    CHECK(nops([](Emitter& e) { e.v_permlane32_swap_b32(v(0), v(1)), e.v_mov_b32(v(2), v(0)); }) == 0);
    CHECK(nops([](Emitter& e) { e.v_mov_b32(v(0), 0), e.v_readfirstlane_b32(s(0), v(0)); }) == 1);
    CHECK(nops([](Emitter& e) { e.v_readfirstlane_b32(s(0), v(0)), e.v_add_f32(v(2), s(0), v(3)); }) == 2);
    CHECK(nops([](Emitter& e) { e.v_readfirstlane_b32(s(0), v(0)), e.s_mov_b32(s(1), s(0)); }) == 0);
    CHECK(nops([](Emitter& e) {
              e.v_readfirstlane_b32(s(4), v(0)), e.buffer_load_dwordx4(v(4, 4), v(1), s(4, 4), 0, 0);
          }) == 5);
    CHECK(nops([](Emitter& e) {
              e.s_mov_b32(s(4), 0), e.buffer_load_dwordx4(v(4, 4), v(1), s(4, 4), 0, 0);
          }) == 0);
    CHECK(nops([](Emitter& e) { e.v_cmp("lt_f32", vcc, 0, v(1)), e.v_cndmask_b32(v(2), v(3), v(4), vcc); }) ==
          2);
    CHECK(nops([](Emitter& e) { e.s_mov_b32(m0, 0), e.buffer_load_dwordx4_lds(v(1), s(4, 4), 0, 0, {}); }) ==
          1);
    CHECK(nops([](Emitter& e) {
              e.buffer_store_dwordx4(v(4, 4), v(1), s(4, 4), 0, 0), e.v_mov_b32(v(5), 0);
          }) == 2);
    CHECK(nops([](Emitter& e) {
              e.buffer_store_dwordx4(v(4, 4), v(1), s(4, 4), s(9), 0), e.v_mov_b32(v(5), 0);
          }) == 0);
}

TEST_CASE("hazard waits count instructions in between and look along branches") {
    // three of the two needed wait states are there
    CHECK(nops([](Emitter& e) {
              e.v_mov_b32(v(0), 0), e.s_mov_b32(s(0), 0), e.s_mov_b32(s(1), 0), e.s_mov_b32(s(2), 0);
              e.v_permlane32_swap_b32(v(0), v(1));
          }) == 0);
    // the producer is at the end of a loop, the consumer at its head
    Stream loop = build([](Emitter& e) {
        e.label("head");
        e.v_add_f32(v(2), v(0), v(3));
        e.v_exp_f32(v(0), v(1));
        e.s_cbranch_scc1("head");
        e.s_endpgm();
    });
    CHECK(schedule::insert_hazard_nops(loop) == 0); // the branch is one wait state
    Stream permute = build([](Emitter& e) {
        e.label("head");
        e.v_permlane32_swap_b32(v(0), v(1));
        e.v_mov_b32(v(0), 0);
        e.s_cbranch_scc1("head");
        e.s_endpgm();
    });
    REQUIRE(schedule::hazard_violations(permute).size() == 1);
    CHECK(schedule::insert_hazard_nops(permute) == 1);
    CHECK(schedule::hazard_violations(permute).empty());
    CHECK(texts(permute).front() == "s_nop 0");
    // code behind an unconditional branch does not follow it
    CHECK(nops([](Emitter& e) {
              e.v_mov_b32(v(0), 0), e.s_branch("end");
              e.label("other"), e.v_permlane32_swap_b32(v(0), v(1));
              e.label("end"), e.s_endpgm();
          }) == 0);
    // more than one s_nop's worth
    CHECK(texts(build([](Emitter& e) { e.s_endpgm(); })) == std::vector<std::string>{"s_endpgm"});
    for (const schedule::HazardRule& rule : schedule::hazard_rules())
        CHECK(std::string(rule.source).size() > 10);
}

TEST_CASE("memory waits count the operations behind the one waited for") {
    Stream stream = build([](Emitter& e) {
        e.ds_read_b128(v(0, 4), v(20), 0);
        e.ds_read_b128(v(4, 4), v(20), 64);
        e.ds_read_b128(v(8, 4), v(20), 128);
        e.v_add_f32(v(30), v(0), v(31)); // first read
        e.v_add_f32(v(30), v(9), v(31)); // last read
        e.v_add_f32(v(30), v(5), v(31)); // done by then
    });
    CHECK(schedule::insert_memory_waits(stream) == 2);
    const auto t = texts(stream);
    CHECK(t[3] == "s_waitcnt lgkmcnt(2)");
    CHECK(t[5] == "s_waitcnt lgkmcnt(0)");
}

TEST_CASE("memory waits: stores and LDS-DMA count in vmcnt, tokens stand for LDS") {
    Stream stream = build([](Emitter& e) {
        e.buffer_load_dwordx4(v(0, 4), v(20), s(4, 4), 0, 0);
        e.buffer_store_dword(v(9), v(20), s(4, 4), 0, 0);
        e.buffer_load_dwordx4_lds(v(20), s(4, 4), 0, 0, token(0));
        e.v_mov_b32(v(2), 0); // overwrites a register that is being loaded
    });
    schedule::insert_memory_waits(stream);
    CHECK(texts(stream)[3] == "s_waitcnt vmcnt(2)");
}

TEST_CASE("memory waits: a scalar load in flight makes every LDS wait a full one") {
    Stream stream = build([](Emitter& e) {
        e.ds_read_b128(v(0, 4), v(20), 0);
        e.ds_read_b128(v(4, 4), v(20), 64);
        e.s_load(s(8, 2), s(0, 2), 0);
        e.v_add_f32(v(30), v(0), v(31));
        e.s_mov_b32(s(1), s(8)); // arrived with it
    });
    CHECK(schedule::insert_memory_waits(stream) == 1);
    CHECK(texts(stream)[3] == "s_waitcnt lgkmcnt(0)");
}

TEST_CASE("memory waits join paths and respect explicit waits") {
    Stream stream = build([](Emitter& e) {
        e.s_cbranch_scc1("skip");
        e.ds_read_b128(v(0, 4), v(20), 0);
        e.label("skip");
        e.v_add_f32(v(30), v(0), v(31)); // pending on one path
    });
    CHECK(schedule::insert_memory_waits(stream) == 1);
    Stream loop = build([](Emitter& e) {
        e.label("head");
        e.v_add_f32(v(30), v(0), v(31));
        e.buffer_load_dwordx4(v(0, 4), v(20), s(4, 4), 0, 0);
        e.buffer_load_dwordx4(v(4, 4), v(20), s(4, 4), 0, 0);
        e.s_branch("head");
    });
    CHECK(schedule::insert_memory_waits(loop) == 1);
    CHECK(texts(loop)[0] == "s_waitcnt vmcnt(1)");
    Stream done = build([](Emitter& e) {
        e.ds_read_b128(v(0, 4), v(20), 0);
        e.s_waitcnt(-1, 0);
        e.v_add_f32(v(30), v(0), v(31));
    });
    CHECK(schedule::insert_memory_waits(done) == 0);
}

TEST_CASE("interleaving keeps every stream's order and spreads the companions") {
    const Stream leading = build([](Emitter& e) {
        for (unsigned i = 0; i < 4; ++i)
            e.v_mov_b32(v(i), 0);
    });
    const Stream companion = build([](Emitter& e) {
        for (unsigned i = 0; i < 4; ++i)
            e.s_mov_b32(s(i), 0);
    });
    CHECK(texts(schedule::interleave(leading, {{companion, 1, 2}})) ==
          std::vector<std::string>{"v_mov_b32 v0, 0", "v_mov_b32 v1, 0", "s_mov_b32 s0, 0", "s_mov_b32 s1, 0",
                                   "v_mov_b32 v2, 0", "s_mov_b32 s2, 0", "s_mov_b32 s3, 0",
                                   "v_mov_b32 v3, 0"});
    CHECK_THROWS(schedule::interleave(leading, {{companion, 1, 4}}));
}

TEST_CASE("builders refuse what the encodings do not have") {
    Stream stream;
    Emitter e(stream);
    CHECK_THROWS(e.ds_read_b128(v(1, 4), v(20), 0));                      // odd tuple
    CHECK_THROWS(e.ds_read_b128(v(0, 2), v(20), 0));                      // width
    CHECK_THROWS(e.v_fma_f32(v(0), v(1), Literal{0x12345678}, v(2)));     // VOP3 literal
    CHECK_THROWS(e.v_fma_f32(v(0), s(1), s(2), v(2)));                    // constant bus
    CHECK_THROWS(e.buffer_load_dwordx4(v(0, 4), v(8), s(4, 4), 0, 4096)); // offset
    CHECK_THROWS(e.s_load(s(2, 4), s(0, 2), 0));                          // alignment
    CHECK_THROWS(v(0, 4).sub(2, 3));
    VAllocator allocator(8);
    const VReg a = allocator.allocate("a", 3, 1, "");
    const VReg b = allocator.allocate("b", 4, 2, "");
    CHECK(b.first == 4);
    CHECK_THROWS(allocator.allocate("c", 2, 1, ""));
    allocator.release(a);
    CHECK(allocator.allocate("c", 2, 2, "").first == 0);
    CHECK(allocator.peak() == 8);
    CHECK_THROWS(allocator.allocate("c", 1, 1, ""));
}
