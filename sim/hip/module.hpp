// SPDX-License-Identifier: Apache-2.0
// Loaded code objects, their functions, and what compiler-generated constructors registered.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {

struct Module;

/// What a hipFunction_t points to.
struct Function {
    std::shared_ptr<CodeObject> code;
    const Kernel* kernel = nullptr;
    int device = 0;
    Module* module = nullptr;      ///< handle of hipKernelGetLibrary
    std::uint64_t code_digest = 0; ///< of the code object's bytes
};

struct Module {
    std::shared_ptr<CodeObject> code;
    int device = 0;
    std::uint64_t code_digest = 0; ///< of the code object's bytes (FNV-1a)
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Function>> functions;

    /// Throws Failure{hipErrorNotFound}. The function lives as long as the module.
    std::shared_ptr<Function> function(const std::string& name);
};

/// From an ELF, a bundle or a compressed bundle of unknown length. Throws Failure.
std::shared_ptr<Module> load_module(const void* image, int device);
std::shared_ptr<Module> load_module_file(const char* path, int device);
void unload(Module& module);

/// Throws Failure{hipErrorInvalidHandle}.
std::shared_ptr<Function> resolve_function(hipFunction_t handle);

/// The function that a host stub stands for, on the current device; null if none is registered.
std::shared_ptr<Function> find_registered_function(const void* host_stub);

/// Address and size of a registered __device__ variable on the current device. Throws
/// Failure{hipErrorInvalidSymbol}.
Variable registered_variable(const void* host_variable);

} // namespace zyfa::sim::hip
