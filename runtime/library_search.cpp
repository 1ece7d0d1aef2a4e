// SPDX-License-Identifier: Apache-2.0
// Search order. For a GPU: what the process has loaded already (the caller's pointers belong to it),
// /opt/rocm, the dynamic linker's own search, the ROCm folder of the build. For the simulator: what is loaded
// already, next to the executable and to this library, the installed folder, the build tree.
#include "runtime/library_search.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;

struct Candidate {
    std::string name;
    bool loaded_only = false; ///< only if it is in the process already
};

std::string path_of(void* handle, const std::string& otherwise) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) {
        std::error_code error;
        const fs::path real = fs::canonical(map->l_name, error);
        return error ? map->l_name : real.string();
    }
    return otherwise;
}

/// Folder of the executable or shared library that holds this code, and of the executable. The latter is the
/// dynamic linker where a program was started through it, hence both.
std::vector<fs::path> own_folders() {
    std::vector<fs::path> folders;
    const auto add = [&](const fs::path& file) {
        std::error_code error;
        const fs::path real = fs::canonical(file, error);
        if (!error && std::find(folders.begin(), folders.end(), real.parent_path()) == folders.end())
            folders.push_back(real.parent_path());
    };
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&path_of), &info) && info.dli_fname)
        add(info.dli_fname);
    add("/proc/self/exe");
    return folders;
}

/// ROCm 7, ROCm 6, and what builds of PyTorch call it.
constexpr const char* sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};

bool is_loaded(const char* soname) {
    void* handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != nullptr;
}

std::vector<Candidate> gpu_candidates() {
    std::vector<Candidate> candidates;
    for (const char* name : sonames)
        candidates.push_back({name, true});
    for (const std::string folder : {"/opt/rocm/lib/", ""})
        for (const char* name : sonames)
            candidates.push_back({folder + name});
#ifdef ZYFA_ROCM_LIBRARY_DIR
    candidates.push_back({ZYFA_ROCM_LIBRARY_DIR "/libamdhip64.so.7"});
#endif
    return candidates;
}

std::vector<Candidate> simulator_candidates() {
    std::vector<Candidate> candidates{{"libamdhip64.so.7", true}};
    const auto add = [&](const fs::path& folder) {
        const std::string name = (folder / "libamdhip64.so.7").lexically_normal().string();
        if (std::none_of(candidates.begin(), candidates.end(),
                         [&](const Candidate& c) { return c.name == name; }))
            candidates.push_back({name});
    };
    for (const fs::path& folder : own_folders()) {
        add(folder / "zyfa-sim");                // beside libzyfa.so in a libdir
        add(folder / ".." / "lib" / "zyfa-sim"); // beside bin/
#ifdef ZYFA_INSTALL_LIBDIR
        add(folder / ".." / ZYFA_INSTALL_LIBDIR / "zyfa-sim");
#endif
    }
#ifdef ZYFA_SIM_LIBRARY_DIRS
    for (const char* folder : {ZYFA_SIM_LIBRARY_DIRS})
        add(folder);
#endif
    return candidates;
}

const char* const not_loaded = "not loaded in this process";

/// Tries one; says why not.
std::string try_library(const Candidate& candidate, Wanted wanted, bool named, LoadedLibrary& result) {
    void* handle =
        dlopen(candidate.name.c_str(), RTLD_NOW | RTLD_LOCAL | (candidate.loaded_only ? RTLD_NOLOAD : 0));
    if (!handle) {
        const char* why = dlerror();
        return candidate.loaded_only ? not_loaded : why ? why : "cannot be loaded";
    }
    LoadedLibrary found;
    found.handle = handle;
    found.path = path_of(handle, candidate.name);
    const bool simulator = dlsym(handle, "zyfaSimVersion") != nullptr;
    if (wanted == Wanted::simulator && !simulator)
        return "is not zyfa's simulator";
    if (wanted == Wanted::gpu && simulator && !named)
        return "is zyfa's simulator, which is used only when asked for (ZYFA_DEVICE=sim)";
    if (const std::string missing = found.api.load(handle); !missing.empty())
        return "lacks " + missing;
    result = found;
    return {};
}

} // namespace

LoadedLibrary load_hip_library(Wanted wanted, const std::string& path, std::vector<std::string>& notes) {
    LoadedLibrary result;
    if (path.empty() && std::none_of(std::begin(sonames), std::end(sonames), is_loaded))
        notes.push_back("this process: has no libamdhip64 loaded");
    const std::vector<Candidate> candidates = !path.empty()           ? std::vector<Candidate>{{path}}
                                              : wanted == Wanted::gpu ? gpu_candidates()
                                                                      : simulator_candidates();
    for (const Candidate& candidate : candidates) {
        const std::string why_not = try_library(candidate, wanted, !path.empty(), result);
        if (why_not == not_loaded)
            continue; // said once, above
        if (why_not.empty()) {
            notes.push_back(candidate.name + ": taken" +
                            (result.path != candidate.name ? " (" + result.path + ")" : ""));
            break;
        }
        // dlopen's message names the file already.
        notes.push_back(why_not.starts_with(candidate.name) ? why_not : candidate.name + ": " + why_not);
    }
    return result;
}

} // namespace zyfa::runtime
