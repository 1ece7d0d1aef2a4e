// SPDX-License-Identifier: Apache-2.0
// Relocatable to code object (a shared ELF) with lld as a library. lld keeps one state per process
// (lld/Common/CommonLinkerContext.h): calls are serialised, and the state is destroyed after each.
#include "jit/llvm/steps.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>

#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

LLD_HAS_DRIVER(elf)

namespace zyfa::jit::llvm_backend {
namespace {

/// lld reads and writes files only.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::error_code error;
        std::string pattern = (std::filesystem::temp_directory_path(error) / "zyfa-link-XXXXXX").string();
        if (!error && ::mkdtemp(pattern.data()))
            path_ = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty())
            std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    bool valid() const { return !path_.empty(); }
    std::string file(const char* name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

} // namespace

Step link(const std::vector<char>& relocatable) {
    Step step;
    const TemporaryFolder folder;
    if (!folder.valid()) {
        step.log = "cannot make a temporary folder for the linker";
        return step;
    }
    const std::string input = folder.file("kernel.o"), output = folder.file("kernel.co");
    std::ofstream file(input, std::ios::binary);
    file.write(relocatable.data(), static_cast<std::streamsize>(relocatable.size()));
    file.close();
    if (!file) {
        step.log = "cannot write " + input;
        return step;
    }

    // What clang's AMDGPU tool chain passes (clang/lib/Driver/ToolChains/AMDGPU.cpp), without a thread pool.
    const char* const arguments[] = {"ld.lld", "--no-undefined", "-shared", "--threads=1", input.c_str(),
                                     "-o",     output.c_str()};
    llvm::raw_string_ostream log(step.log);
    {
        static std::mutex one_at_a_time;
        const std::lock_guard lock(one_at_a_time);
        step.ok = lld::elf::link(arguments, log, log, /*exitEarly=*/false, /*disableOutput=*/false);
        lld::CommonLinkerContext::destroy();
    }
    if (!step.ok)
        return step;
    std::ifstream linked(output, std::ios::binary);
    step.bytes.assign(std::istreambuf_iterator<char>(linked), {});
    step.ok = !step.bytes.empty();
    if (!step.ok)
        step.log += "the linker wrote nothing to " + output;
    return step;
}

} // namespace zyfa::jit::llvm_backend
