// SPDX-License-Identifier: Apache-2.0
// Every schedule of every template, for every class of problem: comgr and LLVM make the same machine code of
// it, and the code object is what the template declares.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/digest.hpp"
#include "jit/assembler.hpp"
#include "jit/metadata.hpp"
#include "templates/template.hpp"
#include "tests/jit/backends.hpp"

using namespace zyfa;
using namespace zyfa::jit;

namespace {

/// One problem of every class with that mask, with or without log-sum-exp.
std::vector<Problem> problem_classes(Mask mask, bool lse) {
    std::vector<Problem> problems;
    for (const std::int64_t heads_kv : {2, 8}) // an even group, and none
        for (const bool nan_exact : {true, false}) {
            Problem problem = Problem::contiguous(DType::bf16, 1, 8, heads_kv, 512, 512, 128, 128, mask,
                                                  Problem::Layout::bhsd, lse);
            problem.nan_exact = nan_exact;
            problems.push_back(problem);
        }
    return problems;
}

/// Each distinct kernel once: schedules that differ only in the launch share one.
std::vector<templates::Kernel> all_kernels(Mask mask, bool lse) {
    std::vector<templates::Kernel> kernels;
    std::set<std::string> seen;
    for (const Problem& problem : problem_classes(mask, lse))
        for (const templates::Template* t : templates::all_templates())
            if (t->serves(problem))
                for (const Schedule& schedule : templates::enumerate(*t, problem)) {
                    templates::Kernel kernel = t->instantiate(classify(problem), schedule);
                    if (seen.insert(kernel.assembly).second)
                        kernels.push_back(std::move(kernel));
                }
    return kernels;
}

DeclaredKernel declaration(const templates::Kernel& kernel) {
    return {.name = kernel.name,
            .kernarg_bytes = kernel.kernarg_bytes,
            .lds_bytes = kernel.lds_bytes,
            .vgprs = kernel.vgprs,
            .agprs = kernel.agprs,
            .sgprs = kernel.sgprs,
            .workgroup_size = kernel.workgroup_size};
}

void check_every_schedule(Mask mask, bool lse) {
    const auto all = testing::backends();
    if (all.empty())
        return; // neither is in this build
    const auto kernels = all_kernels(mask, lse);
    REQUIRE(!kernels.empty());
    for (const templates::Kernel& kernel : kernels) {
        CAPTURE(kernel.name);
        const auto first = all[0].assembler->assemble(kernel.assembly, kernel.target, kernel.name).elf;
        std::string differing;
        for (const std::string& sentence : disagreements(read_metadata(first), declaration(kernel)))
            differing += sentence + "; ";
        CHECK(differing == "");
        if (all.size() < 2)
            continue;
        const auto second = all[1].assembler->assemble(kernel.assembly, kernel.target, kernel.name).elf;
        for (const char* name : {".text", ".rodata"}) {
            CAPTURE(name);
            CHECK(!section(first, name).empty());
            CHECK(std::ranges::equal(section(first, name), section(second, name)));
        }
    }
    MESSAGE(kernels.size() << " distinct kernels");
}

} // namespace

// Four cases, for ctest to run side by side.
TEST_CASE("comgr and LLVM make the same code of every schedule: causal, with LSE") {
    check_every_schedule(Mask::causal, true);
}
TEST_CASE("comgr and LLVM make the same code of every schedule: causal, without LSE") {
    check_every_schedule(Mask::causal, false);
}
TEST_CASE("comgr and LLVM make the same code of every schedule: full, with LSE") {
    check_every_schedule(Mask::none, true);
}
TEST_CASE("comgr and LLVM make the same code of every schedule: full, without LSE") {
    check_every_schedule(Mask::none, false);
}
