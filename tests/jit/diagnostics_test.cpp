// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "jit/diagnostics.hpp"
#include "jit/target_name.hpp"

using namespace zyfa::jit;

TEST_CASE("diagnostics are read from the logs of clang, llvm-mc and lld") {
    const auto found = parse_diagnostics("amd_comgr_do_action:\n"
                                         "\t ActionKind: AMD_COMGR_ACTION_ASSEMBLE_SOURCE_TO_RELOCATABLE\n"
                                         "comgr-1a/input/k:1.s:12:5: error: invalid operand: v3\n"
                                         "  s_mov_b32 s8, v3\n"
                                         "    ^\n"
                                         "k.s:7:1: warning: careful\n"
                                         "ld.lld: error: undefined symbol: nowhere\n"
                                         ">>> referenced by k.o:(.text+0x8)\n");
    REQUIRE(found.size() == 3);
    CHECK(found[0].line == 12);
    CHECK(found[0].column == 5);
    CHECK(found[0].severity == "error");
    CHECK(found[0].message == "invalid operand: v3");
    CHECK(found[1].line == 7);
    CHECK(found[1].severity == "warning");
    CHECK(found[2].line == 0);
    CHECK(found[2].message == "undefined symbol: nowhere");
}

TEST_CASE("the caret stands under the column, tabs included") {
    const std::string text =
        annotate("one\n\ttwo three ; why\n", {{2, 6, "error", "bad"}, {9, 1, "error", "after the end"}});
    CHECK(text == "line 2: error: bad\n  | \ttwo three ; why\n  | \t    ^\nline 9: error: after the end\n");
}

TEST_CASE("a log without diagnostics is shown as it is") {
    CHECK(failure_message("k", "LLVM 22", "s_endpgm\n", "out of memory").find("out of memory") !=
          std::string::npos);
    CHECK(failure_message("k", "LLVM 22", "s_endpgm\n", "").find("(empty)") != std::string::npos);
}

TEST_CASE("target names") {
    CHECK(processor("gfx950") == "gfx950");
    CHECK(processor("gfx950:sramecc+:xnack-") == "gfx950");
    CHECK(llvm_features("gfx950") == "");
    CHECK(llvm_features("gfx950:sramecc+:xnack-") == "+sramecc,-xnack");
}
