// SPDX-License-Identifier: Apache-2.0
// The assemblers that this build can be expected to have.
#pragma once

#include "jit/assembler.hpp"

#include <memory>
#include <vector>

namespace zyfa::jit::testing {

struct Backend {
    const char* name;
    std::unique_ptr<Assembler> assembler;
};

/// Null where the backend is missing; comgr may be on a machine that has none, LLVM where it is not built.
inline std::vector<Backend> backends() {
    std::vector<Backend> found;
    if (auto comgr = make_comgr_assembler(""))
        found.push_back({"comgr", std::move(comgr)});
    if (auto llvm = make_llvm_assembler())
        found.push_back({"LLVM", std::move(llvm)});
    return found;
}

} // namespace zyfa::jit::testing
