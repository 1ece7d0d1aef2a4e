// SPDX-License-Identifier: Apache-2.0
#include "tuner/find_worker.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

namespace zyfa::tuner {

std::vector<std::string> find_worker() {
    namespace fs = std::filesystem;
    Dl_info here{};
    if (dladdr(reinterpret_cast<const void*>(&find_worker), &here) == 0 || here.dli_fname == nullptr)
        return {};
    std::error_code none;
    fs::path self = here.dli_fname; // of a program: as it was called
    if (const fs::path program = fs::read_symlink("/proc/self/exe", none); !self.has_parent_path())
        self = program;
    const fs::path folder = fs::weakly_canonical(self, none).parent_path();
    for (const fs::path& place : {folder / "zyfa", folder.parent_path() / "lib" / "zyfa"}) {
        const fs::path program = place / "zyfa-tuning-worker";
        if (fs::is_regular_file(program, none) && access(program.c_str(), X_OK) == 0)
            return {program.string()};
    }
    return {};
}

} // namespace zyfa::tuner
