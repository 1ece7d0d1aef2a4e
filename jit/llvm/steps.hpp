// SPDX-License-Identifier: Apache-2.0
// The two steps behind plugin.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zyfa::jit::llvm_backend {

struct Step {
    bool ok = false;
    std::vector<char> bytes; ///< relocatable or linked ELF
    std::string log;         ///< diagnostics
};

Step assemble(std::string_view text, const char* file_name, const char* cpu, const char* features);
Step link(const std::vector<char>& relocatable);

} // namespace zyfa::jit::llvm_backend
