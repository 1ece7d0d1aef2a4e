// SPDX-License-Identifier: Apache-2.0
// The LLVM backend: libzyfa-llvm.so (jit/llvm), found beside this library or executable and loaded at first
// need.
#include "jit/assembler.hpp"
#include "jit/diagnostics.hpp"
#include "jit/llvm/plugin.h"
#include "jit/target_name.hpp"
#include "zyfa/error.hpp"

#include <array>
#include <filesystem>
#include <utility>

#include <dlfcn.h>

namespace zyfa::jit {
namespace {

constexpr const char* plugin_name = "libzyfa-llvm.so";

/// The file that holds this code: libzyfa.so, or the executable where it is linked in.
std::filesystem::path own_file() {
    std::error_code error;
    static const char anchor = 0;
    Dl_info info{};
    if (::dladdr(&anchor, &info) != 0 && info.dli_fname) {
        const auto path = std::filesystem::canonical(info.dli_fname, error);
        if (!error &&
            path.extension() != "") // a shared library: an executable's name may be argv[0], and relative
            return path;
    }
    return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::vector<std::filesystem::path> plugin_candidates() {
    const std::filesystem::path folder = own_file().parent_path();
    std::vector<std::filesystem::path> candidates;
    for (const char* relative : {"zyfa", "../lib/zyfa", "../" ZYFA_INSTALL_LIBDIR "/zyfa"})
        candidates.push_back(folder / relative / plugin_name);
    return candidates;
}

class LlvmAssembler final : public Assembler {
  public:
    LlvmAssembler(zyfa_llvm_assemble_function function, const char* version)
        : assemble_(function), toolchain_(std::string("LLVM ") + version) {}

    std::string toolchain() const override { return toolchain_; }

    CodeObject assemble(const std::string& assembly, const std::string& target,
                        const std::string& name_for_messages) override {
        struct Sink {
            CodeObject object;
            std::string log;
        } sink;
        zyfa_llvm_output output{};
        output.context = &sink;
        output.code_object = [](void* context, const void* bytes, std::size_t size) {
            const auto* begin = static_cast<const std::byte*>(bytes);
            static_cast<Sink*>(context)->object.elf.assign(begin, begin + size);
        };
        output.log = [](void* context, const char* text, std::size_t size) {
            static_cast<Sink*>(context)->log.append(text, size);
        };
        const int failed = assemble_(assembly.data(), assembly.size(), (name_for_messages + ".s").c_str(),
                                     processor(target).c_str(), llvm_features(target).c_str(), &output);
        if (failed)
            throw Error(ErrorCode::assemble_failed, "assembly",
                        failure_message(name_for_messages, toolchain_, assembly, sink.log));
        sink.object.toolchain = toolchain_;
        sink.object.assemble_ms = output.assemble_ms;
        sink.object.link_ms = output.link_ms;
        return std::move(sink.object);
    }

  private:
    zyfa_llvm_assemble_function assemble_;
    std::string toolchain_;
};

} // namespace

std::unique_ptr<Assembler> make_llvm_assembler(ToolchainReport* report) {
    ToolchainReport ignored;
    ToolchainReport& notes = report ? *report : ignored;
    for (const auto& candidate : plugin_candidates()) {
        std::error_code error;
        if (!std::filesystem::exists(candidate, error))
            continue;
        void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL); // stays loaded, as comgr does
        if (!library) {
            notes.notes.push_back("LLVM: " + std::string(::dlerror()));
            continue;
        }
        const auto version =
            reinterpret_cast<zyfa_llvm_version_function>(::dlsym(library, "zyfa_llvm_version"));
        const auto assemble =
            reinterpret_cast<zyfa_llvm_assemble_function>(::dlsym(library, "zyfa_llvm_assemble"));
        if (!version || !assemble) {
            notes.notes.push_back("LLVM: " + candidate.string() + " is not zyfa's");
            continue;
        }
        auto assembler = std::make_unique<LlvmAssembler>(assemble, version());
        notes.notes.push_back(assembler->toolchain() + ": " + candidate.lexically_normal().string());
        notes.chosen = assembler->toolchain();
        return assembler;
    }
    notes.notes.push_back(std::string("LLVM: no ") + plugin_name + " beside " + own_file().string() +
                          " (ZYFA_BUILD_LLVM_ASSEMBLER builds it)");
    return nullptr;
}

} // namespace zyfa::jit
