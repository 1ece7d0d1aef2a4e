// SPDX-License-Identifier: Apache-2.0
// Every vector and matrix mnemonic of gfx950 has semantics, and every instruction set of the host gives the
// same bits, on random and on special operands, in every MODE.
#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "sim/math/mfma.hpp"
#include "tests/sim/gfx950_mnemonics.hpp"
#include "tests/sim/valu_call.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// Executed by the engine: they need more of a wave than operands, or are spelled as another operation with a
/// literal.
const std::set<std::string_view> of_the_engine = {
    "v_readfirstlane_b32",   "v_readlane_b32", "v_writelane_b32", "v_swap_b32",  "v_permlane16_swap_b32",
    "v_permlane32_swap_b32", "v_fmaak_f32",    "v_fmamk_f32",     "v_madak_f16", "v_madmk_f16"};
/// Graphics only: a table of screen partitions that no public text holds.
const std::set<std::string_view> left_out = {"v_screen_partition_4se_b32"};

std::uint32_t special(std::mt19937& random) {
    static constexpr std::uint32_t values[] = {
        0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x7F7FFFFF,
        0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x3F800000, 0xBF800000, 0x3F7FFFFF,
        0x4B000000, 0xCF000000, 0x4F7FFFFF, 0xFFFFFFFF, 0x7C007C00, 0xFC007E01, 0x03FF0001, 0x7BFF3C00,
        0x7FFF8000, 0x43E80000, 0x437F8000, 0x3FF00000, 0x7FF00000, 0x7FF80000, 0xFFF00001, 0x00100000,
        0x000FFFFF, 0x7FEFFFFF, 0x0C0C0C0C, 0x807F7F80};
    return values[random() % std::size(values)];
}

void fill(Register& r, std::mt19937& random, int kind) {
    for (auto& w : r.words) {
        const std::uint32_t x = static_cast<std::uint32_t>(random());
        switch (kind) {
        case 0:
            w = x;
            break;
        case 1:
            w = special(random);
            break;
        default: // floats of moderate size, sometimes special
            w = random() % 8 == 0 ? special(random) : (x & 0x807FFFFF) | (110 + x / 7 % 34) << 23;
        }
    }
}

} // namespace

TEST_CASE("valu: every gfx950 mnemonic has semantics") {
    for (const char* name : gfx950_vector_mnemonics) {
        CAPTURE(name);
        const ValuOp* op = find_valu_op(name);
        if (of_the_engine.contains(name) || left_out.contains(name))
            continue;
        REQUIRE(op);
        CHECK((op->function != nullptr));
        const bool compare = op->writes_mask && op->d == OperandType::none;
        CHECK(compare == std::string_view(name).starts_with("v_cmp"));
    }
    for (const char* name : gfx950_matrix_mnemonics) {
        CAPTURE(name);
        const MfmaOp* op = find_mfma_op(name);
        REQUIRE(op);
        CHECK(op->a_registers > 0);
        CHECK(op->d_registers > 0);
        CHECK(op->sparse == std::string_view(name).starts_with("v_smfmac"));
    }
    CHECK(find_valu_op("v_no_such_operation") == nullptr);
}

TEST_CASE("valu: all instruction sets give the same bits") {
    const HostIsa best = host_isa();
    std::mt19937 random(12345);
    for (const char* name : gfx950_vector_mnemonics) {
        if (!find_valu_op(name))
            continue;
        CAPTURE(name);
        for (int round = 0; round < 24; ++round) {
            FloatMode mode;
            if (round > 3) {
                mode.round32 = random() % 4;
                mode.round64 = random() % 4;
                mode.denorm32 = random() % 4;
                mode.denorm64 = random() % 4;
                mode.dx10_clamp = random() % 2;
                mode.ieee = random() % 2;
                mode.fp16_ovfl = random() % 2;
            }
            Call reference(mode);
            for (auto& s : reference.source) {
                s = Register(32);
                fill(s, random, round % 3);
            }
            reference.d = Register(32);
            fill(reference.d, random, 0);
            reference.call.exec = round % 2 ? ~0ull : (static_cast<std::uint64_t>(random()) << 32 | random());
            reference.call.mask_in = static_cast<std::uint64_t>(random()) << 32 | random();
            reference.call.control = random() & 255;
            if (round > 3) {
                reference.call.op_sel = random() % 16;
                reference.call.op_sel_hi = random() % 8;
                reference.call.neg = random() % 8;
                reference.call.neg_hi = random() % 8;
                reference.call.omod = random() % 4;
                reference.call.clamp = random() % 2;
            }
            Call same = reference;
            const Register before = reference.d;
            set_host_isa(HostIsa::scalar);
            reference.run(name);
            for (const HostIsa isa : {HostIsa::avx2, HostIsa::avx512}) {
                if (isa > best)
                    continue;
                set_host_isa(isa);
                Call other = same;
                other.run(name);
                std::size_t wrong = 0;
                for (std::size_t w = 0; w < other.d.words.size(); ++w)
                    wrong += other.d.words[w] != reference.d.words[w];
                CHECK(wrong == 0);
                CHECK(other.call.mask_out == reference.call.mask_out);
            }
            // Lanes without EXEC keep d and give no mask bit.
            const std::uint64_t off = ~reference.call.exec;
            CHECK((reference.call.mask_out & off) == 0);
            std::size_t touched = 0;
            for (std::size_t w = 0; w < before.words.size(); ++w)
                touched += (off >> (w % 64) & 1) != 0 && before.words[w] != reference.d.words[w];
            CHECK(touched == 0);
        }
    }
    set_host_isa(best);
}
