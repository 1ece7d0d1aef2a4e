// SPDX-License-Identifier: Apache-2.0
// Which backend assembles.
#include "jit/assembler.hpp"

namespace zyfa::jit {

std::unique_ptr<Assembler> make_assembler(const std::string& library, ToolchainReport* report) {
    if (auto comgr = make_comgr_assembler(library, report))
        return comgr;
    return make_llvm_assembler(report);
}

} // namespace zyfa::jit
