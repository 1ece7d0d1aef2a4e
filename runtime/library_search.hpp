// SPDX-License-Identifier: Apache-2.0
// Finding a HIP library to load.
#pragma once

#include <string>
#include <vector>

#include "runtime/hip_api.hpp"

namespace zyfa::runtime {

enum class Wanted { gpu, simulator };

struct LoadedLibrary {
    void* handle = nullptr; ///< null: none found
    std::string path;       ///< as the dynamic linker knows it
    HipApi api;
};

/// Loads the first library that has the functions zyfa needs. `path` given: that one only; it may be either
/// kind for Wanted::gpu (it was asked for by name), and must be the simulator for Wanted::simulator.
/// Otherwise a real library for Wanted::gpu, never the simulator, and zyfa's own for Wanted::simulator.
/// `notes` gets one line for each that was tried. A library is never unloaded: HIP does not support that.
LoadedLibrary load_hip_library(Wanted wanted, const std::string& path, std::vector<std::string>& notes);

} // namespace zyfa::runtime
