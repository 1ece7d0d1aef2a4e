// SPDX-License-Identifier: Apache-2.0
// From assembly text to a linked code object: comgr where a comgr that knows the target can be loaded, LLVM's
// MC and lld libraries otherwise.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace zyfa::jit {

/// A linked gfx950 ELF and where it came from.
struct CodeObject {
    std::vector<std::byte> elf;
    std::string toolchain; ///< provenance: "comgr 3.0 (libamd_comgr.so.3.0.0)" or "LLVM 22.1.8"
    double assemble_ms = 0, link_ms = 0;
};

class Assembler {
  public:
    virtual ~Assembler() = default;
    virtual std::string toolchain() const = 0;
    /// Throws Error{assemble_failed} whose message shows each diagnostic with the line of assembly it is
    /// about.
    virtual CodeObject assemble(const std::string& assembly, const std::string& target,
                                const std::string& name_for_messages) = 0;
};

/// What was looked for and found; for `zyfa doctor`.
struct ToolchainReport {
    std::string chosen; ///< toolchain(), or empty
    std::vector<std::string>
        notes; ///< one line each: path tried, version, whether it lists gfx950, why not taken
};

/// comgr from `library` (path; empty: search; "none": not at all), else LLVM where built in. Null if neither;
/// the report says why. Throws Error{invalid_argument} where a library is named that cannot serve.
std::unique_ptr<Assembler> make_assembler(const std::string& library, ToolchainReport* report = nullptr);
std::unique_ptr<Assembler> make_comgr_assembler(const std::string& library,
                                                ToolchainReport* report = nullptr);
std::unique_ptr<Assembler> make_llvm_assembler(ToolchainReport* report = nullptr); ///< null if not built in

} // namespace zyfa::jit
