// SPDX-License-Identifier: Apache-2.0
// Code objects: descriptor fields, metadata, variables, and files that are cut, bent or for something else.
#include "tests/sim/engine_fixture.hpp"

#include <doctest/doctest.h>
#include <random>
#include <stdexcept>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

std::string message_of(Memory& memory, std::span<const std::byte> elf) {
    try {
        CodeObject::load(memory, elf, 0);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("engine: a descriptor reads as the assembler wrote it") {
    KernelShape shape;
    shape.vgprs = 256;
    shape.lds = 163840;
    shape.kernarg = 128;
    Memory memory;
    const auto code = CodeObject::load(memory, assemble(kernel_source("", shape)), 0);
    const Kernel* k = code->kernel("k");
    REQUIRE(k != nullptr);
    CHECK(k->rsrc1 == 0x000c031f);
    CHECK(k->rsrc2 == 0x384);
    CHECK(k->rsrc3 == 0x3f);
    CHECK(k->properties == 8);
    CHECK(k->static_lds == 163840);
    CHECK(k->kernarg_size == 128);
    CHECK(k->vgprs == 256);
    CHECK(k->agprs == 0);
    CHECK(k->entry % 256 == 0);
    REQUIRE(k->arguments.size() == 1);
    CHECK(k->arguments[0].value_kind == "global_buffer");
    CHECK(code->kernel("other") == nullptr);
    CHECK(code->kernels().size() == 1);
}

TEST_CASE("engine: accumulation registers split the file") {
    KernelShape shape;
    shape.vgprs = 30;
    shape.agprs = 64;
    Memory memory;
    const Kernel* k = CodeObject::load(memory, assemble(kernel_source("", shape)), 0)->kernel("k");
    CHECK(k->vgprs == 32);
    CHECK(k->agprs == 64);
}

TEST_CASE("engine: variables are found and relocated") {
    Machine machine;
    machine.use(machine.load_source(kernel_source(R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_getpc_b64 s[8:9]
        s_add_u32 s8, s8, table@rel32@lo+4
        s_addc_u32 s9, s9, table@rel32@hi+12
        s_load_dwordx2 s[10:11], s[8:9], 0x8
        s_waitcnt lgkmcnt(0)
        s_load_dword s12, s[10:11], 0x0
        v_mov_b32 v1, 0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, s12
        global_store_dword v1, v2, s[4:5]
    )") + "\n.data\n.protected table\n.globl table\n.p2align 3\n.type table,@object\ntable:\n.long 41\n.long "
          "0\n.quad "
          "table\n.size table, 16\n"));
    const Variable* table = machine.code().variable("table");
    REQUIRE(table != nullptr);
    CHECK(table->size == 16);
    auto* out = machine.buffer<std::uint32_t>(1);
    *reinterpret_cast<std::uint32_t*>(table->address) = 43; // the host writes device variables in place
    const LaunchResult result = machine.run({1, 1, 1}, {1, 1, 1}, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    CHECK(*out == 43);
}

TEST_CASE("engine: files for something else are refused by name") {
    Memory memory;
    std::vector<std::byte> elf = assemble(kernel_source(""));
    CHECK(message_of(memory, elf).empty());
    auto other = elf;
    other[48] = std::byte{0x4c}; // EF_AMDGPU_MACH gfx942
    CHECK(message_of(memory, other).find("not gfx950") != std::string::npos);
    other = elf;
    other[18] = std::byte{62};
    CHECK(message_of(memory, other).find("not for AMDGPU") != std::string::npos);
    other = elf;
    other[0] = std::byte{0};
    CHECK(message_of(memory, other).find("not an ELF") != std::string::npos);
    CHECK(!message_of(memory, std::span(elf).first(40)).empty());
    CHECK(!message_of(memory, {}).empty());
}

TEST_CASE("engine: cut and bent files never do worse than an error") {
    Memory memory;
    const std::vector<std::byte> elf = assemble(kernel_source("v_mov_b32 v1, 0\ns_branch .Lend"));
    for (std::size_t size = 0; size < elf.size(); size += 37)
        message_of(memory, std::span(elf).first(size));
    std::mt19937 random(7);
    unsigned refused = 0;
    for (int round = 0; round < 400; ++round) {
        auto bent = elf;
        const std::size_t reach = round % 2 == 0 ? 1024 : elf.size(); // headers and dynamic section first
        for (int n = 0; n < 3; ++n)
            bent[random() % std::min(reach, bent.size())] = static_cast<std::byte>(random());
        refused += !message_of(memory, bent).empty();
    }
    CHECK(refused > 20);
    CHECK(memory.used(0) == 0);
}

TEST_CASE("engine: memory keeps books") {
    Memory memory;
    const std::uint64_t a = memory.allocate(1000, AllocationKind::device, 0);
    const std::uint64_t b = memory.allocate(5000, AllocationKind::device, 1);
    REQUIRE(a != 0);
    REQUIRE(b != 0);
    CHECK(a % 256 == 0);
    CHECK((b > a ? b - a - 1000 : a - b - 5000) >= 4096); // red zone
    CHECK(memory.used(0) == 1000);
    CHECK(memory.used(1) == 5000);
    CHECK(memory.find(a + 999)->address == a);
    CHECK_FALSE(memory.find(a + 1000));
    CHECK(memory.nearest(a + 1100)->address == a);
    CHECK(memory.allocate(400ull << 30, AllocationKind::device, 0) == 0); // more than the device has
    std::vector<char> host(64);
    const auto h = reinterpret_cast<std::uint64_t>(host.data());
    memory.adopt(h, host.size(), AllocationKind::host_pinned, 0);
    CHECK(memory.find(h + 63)->kind == AllocationKind::host_pinned);
    CHECK(memory.release(h));
    CHECK(memory.release(a));
    CHECK(!memory.release(a));
    CHECK_FALSE(memory.find(a));
    CHECK(memory.nearest(a + 5)->freed);
    CHECK(memory.used(0) == 0);
}
