// SPDX-License-Identifier: Apache-2.0
// Both assemblers on a kernel written by hand: same machine code, useful diagnostics, provenance.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

#include <cstdlib>
#include <unistd.h>

#include "jit/assembler.hpp"
#include "jit/metadata.hpp"
#include "tests/jit/backends.hpp"
#include "tests/jit/sample_kernel.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::jit;
using zyfa::jit::testing::backends;
using zyfa::jit::testing::sample_kernel;

namespace {

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::ranges::equal(a, b);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("the backends that the build promises are there") {
    ToolchainReport report;
    const auto comgr = make_comgr_assembler("", &report);
    for (const auto& note : report.notes)
        MESSAGE(note);
    CHECK((comgr != nullptr || !ZYFA_COMGR_EXPECTED));
    CHECK((make_llvm_assembler() != nullptr) == bool(ZYFA_HAS_LLVM_ASSEMBLER));
    CHECK(!report.notes.empty());
}

TEST_CASE("an assembled kernel is a gfx950 code object that says what the source declares") {
    for (const auto& [name, assembler] : backends()) {
        CAPTURE(name);
        const CodeObject object = assembler->assemble(sample_kernel(), "gfx950", "sample");
        CHECK(object.toolchain == assembler->toolchain());
        CHECK(object.assemble_ms > 0);
        CHECK(object.link_ms > 0);
        const CodeObjectMetadata metadata = read_metadata(object.elf);
        CHECK(metadata.target == "amdgcn-amd-amdhsa--gfx950");
        CHECK(disagreements(metadata, testing::sample_declaration()) == std::vector<std::string>{});
    }
}

TEST_CASE("comgr and LLVM make the same machine code") {
    const auto all = backends();
    if (all.size() < 2)
        return; // one of them alone has nothing to be compared with
    const CodeObject a = all[0].assembler->assemble(sample_kernel(), "gfx950", "sample");
    const CodeObject b = all[1].assembler->assemble(sample_kernel(), "gfx950", "sample");
    CHECK(section(a.elf, ".text").size() >= 15 * 4);
    CHECK(section(a.elf, ".rodata").size() == 64);
    CHECK(same(section(a.elf, ".text"), section(b.elf, ".text")));
    CHECK(same(section(a.elf, ".rodata"), section(b.elf, ".rodata")));
    CHECK(a.toolchain != b.toolchain);
}

TEST_CASE("target features reach the toolchain") {
    const std::string text =
        replaced(replaced(sample_kernel(), "amdhsa--gfx950\"", "amdhsa--gfx950:sramecc+:xnack-\""),
                 "amdhsa.target: amdgcn-amd-amdhsa--gfx950",
                 "amdhsa.target: amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-");
    for (const auto& [name, assembler] : backends()) {
        CAPTURE(name);
        const CodeObject object = assembler->assemble(text, "gfx950:sramecc+:xnack-", "sample");
        CHECK(read_metadata(object.elf).target == "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-");
        CHECK_THROWS_AS(assembler->assemble(text, "gfx950", "sample"), Error); // text and target disagree
    }
}

TEST_CASE("a failed assembly shows every diagnostic with its line, comment and all") {
    std::string text =
        replaced(sample_kernel(), "v_lshlrev_b32_e32 v1, 4, v0               ; 16 bytes per lane",
                 "v_no_such_thing v1, v0                    ; a step of the softmax");
    text = replaced(text, "s_mov_b32 s8, 3", "s_mov_b32 s8, v3 ; rounds left");
    for (const auto& [name, assembler] : backends()) {
        CAPTURE(name);
        try {
            assembler->assemble(text, "gfx950", "sample");
            FAIL("assembled");
        } catch (const Error& error) {
            const std::string message = error.what();
            CAPTURE(message);
            CHECK(error.code() == ErrorCode::assemble_failed);
            CHECK(message.find("2 errors") != std::string::npos);
            CHECK(message.find(assembler->toolchain()) != std::string::npos);
            CHECK(message.find("of sample") != std::string::npos);
            CHECK(message.find("line 9: error: ") != std::string::npos);
            CHECK(message.find("v_no_such_thing v1, v0                    ; a step of the softmax") !=
                  std::string::npos);
            CHECK(message.find("line 12: error: ") != std::string::npos);
            CHECK(message.find("s_mov_b32 s8, v3 ; rounds left\n  |                 ^") != std::string::npos);
        }
        // and the next one is not disturbed
        CHECK(!assembler->assemble(sample_kernel(), "gfx950", "sample").elf.empty());
    }
}

TEST_CASE("a failed link says which symbol is missing") {
    const std::string text =
        replaced(sample_kernel(), "  s_mov_b32 s8, 3\n", "  s_mov_b32 s8, nowhere@rel32@lo\n");
    for (const auto& [name, assembler] : backends()) {
        CAPTURE(name);
        try {
            assembler->assemble(text, "gfx950", "sample");
            FAIL("linked");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::assemble_failed);
            CHECK(std::string(error.what()).find("undefined") != std::string::npos);
            CHECK(std::string(error.what()).find("nowhere") != std::string::npos);
        }
        CHECK(!assembler->assemble(sample_kernel(), "gfx950", "sample").elf.empty());
    }
}

TEST_CASE("an unknown target is refused") {
    for (const auto& [name, assembler] : backends()) {
        CAPTURE(name);
        CHECK_THROWS_AS(assembler->assemble(sample_kernel(), "gfx000", "sample"), Error);
    }
}

TEST_CASE("threads may assemble at once") {
    for (const auto& [name, assembler] : backends()) {
        CAPTURE(name);
        const auto expected = assembler->assemble(sample_kernel(), "gfx950", "sample").elf;
        std::array<std::vector<std::byte>, 4> made;
        std::vector<std::thread> threads;
        for (auto& elf : made)
            threads.emplace_back([&elf, &a = *assembler] {
                for (int i = 0; i < 4; ++i)
                    elf = a.assemble(sample_kernel(), "gfx950", "sample").elf;
            });
        for (auto& thread : threads)
            thread.join();
        for (const auto& elf : made)
            CHECK(same(section(elf, ".text"), section(expected, ".text")));
    }
}

TEST_CASE("which comgr is used follows the argument") {
    ToolchainReport report;
    CHECK(make_comgr_assembler("none", &report) == nullptr);
    CHECK(report.notes.size() == 1);
    CHECK(report.chosen.empty());

    const auto fallback = make_assembler("none", &report);
    CHECK((fallback != nullptr) == bool(ZYFA_HAS_LLVM_ASSEMBLER));
    if (fallback)
        CHECK(report.chosen == fallback->toolchain());

    for (const char* wrong : {"/no/such/libamd_comgr.so", "libdl.so.2"}) {
        CAPTURE(wrong);
        try {
            make_assembler(wrong);
            FAIL("accepted");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK(error.argument() == "comgr_library");
            CHECK(std::string(error.what()).find(wrong) != std::string::npos);
        }
    }
}

TEST_CASE("the linker leaves no file behind") {
    const auto assembler = make_llvm_assembler();
    if (!assembler)
        return;
    const auto folder =
        std::filesystem::temp_directory_path() / ("zyfa-jit-test-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const char* before = std::getenv("TMPDIR");
    const std::string saved = before ? before : "";
    ::setenv("TMPDIR", folder.c_str(), 1);
    assembler->assemble(sample_kernel(), "gfx950", "sample");
    CHECK_THROWS_AS(assembler->assemble("s_mov_b32 s0, nowhere@rel32@lo\n", "gfx950", "sample"), Error);
    before ? ::setenv("TMPDIR", saved.c_str(), 1) : ::unsetenv("TMPDIR");
    CHECK(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}
