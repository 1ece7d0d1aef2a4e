// SPDX-License-Identifier: Apache-2.0
// Metadata and descriptors of code objects, intact and damaged.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <span>

#include "jit/elf_image.hpp"
#include "jit/metadata.hpp"
#include "tests/jit/backends.hpp"
#include "tests/jit/sample_kernel.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::jit;

namespace {

std::vector<std::byte> sample_elf() {
    const auto assembler = make_assembler("");
    return assembler ? assembler->assemble(testing::sample_kernel(), "gfx950", "sample").elf
                     : std::vector<std::byte>{};
}

} // namespace

TEST_CASE("metadata and descriptor of a kernel") {
    const auto elf = sample_elf();
    if (elf.empty())
        return; // no toolchain in this build
    const auto metadata = read_metadata(elf);
    REQUIRE(metadata.kernels.size() == 1);
    const KernelMetadata& kernel = metadata.kernels[0];
    CHECK(kernel.name == "sample");
    CHECK(kernel.symbol == "sample.kd");
    CHECK(kernel.kernarg_bytes == 16);
    CHECK(kernel.lds_bytes == 4096);
    CHECK(kernel.vgprs == 32);
    CHECK(kernel.agprs == 16);
    CHECK(kernel.sgprs == 22);
    CHECK(kernel.wavefront_size == 64);
    CHECK(kernel.max_workgroup_size == 256);
    CHECK(kernel.descriptor.registers == 32);
    CHECK(kernel.descriptor.accum_offset == 16);
    CHECK(kernel.descriptor.user_sgprs == 2);
    CHECK(kernel.descriptor.kernarg_bytes == 16);
    CHECK(kernel.descriptor.entry_address % 256 == 0);
    CHECK(kernel.descriptor.entry_address == ElfImage(elf).symbol("sample"));
}

TEST_CASE("every kind of disagreement is named") {
    const auto elf = sample_elf();
    if (elf.empty())
        return;
    const auto metadata = read_metadata(elf);
    const auto with = [&](auto change) {
        DeclaredKernel declared = testing::sample_declaration();
        change(declared);
        return disagreements(metadata, declared);
    };
    CHECK(with([](DeclaredKernel&) {}).empty());
    CHECK(with([](DeclaredKernel& d) { d.name = "other"; }).size() == 1);
    CHECK(with([](DeclaredKernel& d) { d.kernarg_bytes = 24; }).size() == 2); // metadata and descriptor
    CHECK(with([](DeclaredKernel& d) { d.lds_bytes = 8192; }).size() == 2);
    CHECK(with([](DeclaredKernel& d) { d.workgroup_size = 512; }).size() == 1);
    CHECK(with([](DeclaredKernel& d) { d.sgprs = 102; }).size() == 1);
    CHECK(with([](DeclaredKernel& d) { d.vgprs = 17; }).size() == 1);
    CHECK(with([](DeclaredKernel& d) { d.agprs = 17; }).size() == 2); // metadata, and more than is allotted
    CHECK(with([](DeclaredKernel& d) { d.lds_bytes = 8192; })[0].find("lds_bytes is declared as 8192") == 0);
}

TEST_CASE("what is no code object is refused") {
    CHECK_THROWS_AS(read_metadata({}), Error);
    const std::vector<std::byte> zeros(4096);
    CHECK_THROWS_AS(read_metadata(zeros), Error);
    auto elf = sample_elf();
    if (elf.empty())
        return;
    elf[offsetof(Elf64_Ehdr, e_machine)] = std::byte{62}; // EM_X86_64
    CHECK_THROWS_AS(read_metadata(elf), Error);
}

TEST_CASE("damaged objects give an error or an answer, never a wild read") {
    const auto intact = sample_elf();
    if (intact.empty())
        return;
    for (std::size_t size = 0; size < intact.size(); size += 7) {
        const std::vector<std::byte> cut(intact.begin(), intact.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_THROWS_AS(read_metadata(cut), Error); // the section table is at the end
    }
    std::mt19937 random(7);
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        auto damaged = intact;
        for (int flips = 0; flips < 3; ++flips)
            damaged[random() % 1200] ^=
                std::byte(1u << (random() % 8)); // headers, notes, symbols, descriptor
        try {
            read_metadata(damaged);
        } catch (const Error& error) {
            CHECK(error.argument() == "elf");
            ++refused;
        }
    }
    CHECK(refused > 1000);
}

TEST_CASE("the header names the target where the metadata does not") {
    auto elf = sample_elf();
    if (elf.empty())
        return;
    const std::string named = read_metadata(elf).target;
    const std::string key = "amdhsa.target";
    const auto bytes = std::as_writable_bytes(std::span(elf));
    const auto found = std::search(bytes.begin(), bytes.end(), key.begin(), key.end(),
                                   [](std::byte a, char b) { return static_cast<char>(a) == b; });
    REQUIRE(found != bytes.end());
    *found = std::byte{'z'};
    CHECK(named.find("gfx950") != std::string::npos);
    CHECK(read_metadata(elf).target == "amdgcn-amd-amdhsa--gfx950");
}
