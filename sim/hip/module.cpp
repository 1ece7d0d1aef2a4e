// SPDX-License-Identifier: Apache-2.0
// Modules and libraries: loading code objects, finding their kernels and variables.
#include "sim/hip/module.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "sim/hip/bundle.hpp"
#include "sim/hip/graph.hpp"
#include "sim/hip/pointers.hpp"

namespace zyfa::sim::hip {
namespace {

/// EF_AMDGPU_MACH of gfx950 and of the generic target that runs on it (LLVM: AMDGPUUsage, "ELF Header").
bool runs_here(std::span<const std::byte> elf) {
    Elf64_Ehdr header;
    if (elf.size() < sizeof header)
        return false;
    std::memcpy(&header, elf.data(), sizeof header);
    constexpr unsigned em_amdgpu = 224, gfx950 = 0x4f, gfx9_4_generic = 0x5f;
    const unsigned mach = header.e_flags & 0xff;
    return header.e_machine == em_amdgpu && (mach == gfx950 || mach == gfx9_4_generic);
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
std::uint64_t fnv1a(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::byte byte : bytes)
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    return hash;
}

std::shared_ptr<Module> load(const std::byte* image, std::size_t bytes, int device) {
    const FoundImage found = find_code_object(image, bytes);
    require(runs_here(found.elf), hipErrorNoBinaryForGpu, "the code object is not for gfx950");
    auto module = std::make_shared<Module>();
    module->device = device;
    module->code_digest = fnv1a(found.elf);
    try {
        module->code = CodeObject::load(Process::get().memory, found.elf, device);
    } catch (const std::runtime_error& error) {
        fail(hipErrorInvalidImage, error.what());
    }
    return module;
}

std::shared_ptr<Module> resolve_module(const void* handle) {
    require(handle != nullptr, hipErrorInvalidHandle, "null module");
    auto module = Process::get().modules.find(handle);
    require(module != nullptr, hipErrorInvalidHandle, "no such module");
    return module;
}

} // namespace

std::shared_ptr<Function> Module::function(const std::string& name) {
    std::lock_guard lock(mutex);
    auto& entry = functions[name];
    if (!entry) {
        const Kernel* kernel = code->kernel(name);
        if (!kernel) {
            functions.erase(name);
            fail(hipErrorNotFound, "the module has no kernel '" + name + "'");
        }
        entry = std::make_shared<Function>();
        entry->code = code;
        entry->kernel = kernel;
        entry->device = device;
        entry->module = this;
        entry->code_digest = code_digest;
        Process::get().functions.insert(entry);
    }
    return entry;
}

std::shared_ptr<Module> load_module(const void* image, int device) {
    return load(static_cast<const std::byte*>(image), std::numeric_limits<std::size_t>::max(), device);
}

std::shared_ptr<Module> load_module_file(const char* path, int device) {
    require(path != nullptr, hipErrorInvalidValue, "null path");
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    require(file.good(), hipErrorFileNotFound, path);
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    require(file.good(), hipErrorFileNotFound, path);
    return load(bytes.data(), bytes.size(), device);
}

void unload(Module& module) {
    try {
        synchronize(Process::get().device(module.device));
    } catch (const Failure&) { // a faulted device runs nothing any more
    }
    std::lock_guard lock(module.mutex);
    for (auto& [name, function] : module.functions)
        Process::get().functions.remove(function.get());
}

std::shared_ptr<Function> resolve_function(hipFunction_t handle) {
    require(handle != nullptr, hipErrorInvalidHandle, "null function");
    auto function = Process::get().functions.find(handle);
    require(function != nullptr, hipErrorInvalidHandle, "no such function; was its module unloaded?");
    return function;
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;
using zyfa::sim::Kernel;
using zyfa::sim::Variable;

namespace {

template <class Handle, class Loader>
hipError_t load_api(const char* function, Handle* handle, Loader&& loader) {
    return api(function, [&] {
        require(handle != nullptr, hipErrorInvalidValue, "null result pointer");
        const int device = Process::get().current_device().ordinal;
        forbid_in_capture();
        *handle = static_cast<Handle>(Process::get().modules.insert(loader(device)));
    });
}

hipError_t unload_api(const char* function, const void* handle) {
    return api(function, [&] {
        const auto module = resolve_module(handle);
        forbid_in_capture();
        unload(*module);
        Process::get().modules.remove(handle);
    });
}

template <class Handle>
hipError_t function_api(const char* function, Handle* result, const void* module, const char* name) {
    return api(function, [&] {
        require(result && name && *name, hipErrorInvalidValue, "null pointer or no name");
        *result = reinterpret_cast<Handle>(resolve_module(module)->function(name).get());
    });
}

hipError_t count_api(const char* function, unsigned* count, const void* module) {
    return api(function, [&] {
        require(count != nullptr, hipErrorInvalidValue, "null result pointer");
        *count = static_cast<unsigned>(resolve_module(module)->code->kernels().size());
    });
}

std::shared_ptr<Function> resolve_kernel(hipKernel_t kernel) {
    return resolve_function(reinterpret_cast<hipFunction_t>(kernel));
}

} // namespace

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
    return load_api("hipModuleLoad", module, [&](int device) { return load_module_file(path, device); });
}
hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
    return load_api("hipModuleLoadData", module, [&](int device) { return load_module(image, device); });
}
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int, hipJitOption*, void**) {
    return load_api("hipModuleLoadDataEx", module, [&](int device) { return load_module(image, device); });
}
hipError_t hipModuleLoadFatBinary(hipModule_t* module, const void* image) {
    return load_api("hipModuleLoadFatBinary", module, [&](int device) { return load_module(image, device); });
}
hipError_t hipModuleUnload(hipModule_t module) {
    return unload_api("hipModuleUnload", module);
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
    return function_api("hipModuleGetFunction", function, module, name);
}
hipError_t hipModuleGetFunctionCount(unsigned int* count, hipModule_t module) {
    return count_api("hipModuleGetFunctionCount", count, module);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* pointer, size_t* bytes, hipModule_t module, const char* name) {
    return api("hipModuleGetGlobal", [&] {
        require(name && *name && (pointer || bytes), hipErrorInvalidValue, "null pointer or no name");
        const Variable* variable = resolve_module(module)->code->variable(name);
        require(variable != nullptr, hipErrorNotFound, "the module has no such variable");
        if (pointer)
            *pointer = reinterpret_cast<void*>(variable->address);
        if (bytes)
            *bytes = variable->size;
    });
}

hipError_t hipLibraryLoadData(hipLibrary_t* library, const void* image, hipJitOption*, void**, unsigned int,
                              hipLibraryOption*, void**, unsigned int) {
    return load_api("hipLibraryLoadData", library, [&](int device) { return load_module(image, device); });
}
hipError_t hipLibraryLoadFromFile(hipLibrary_t* library, const char* path, hipJitOption*, void**,
                                  unsigned int, hipLibraryOption*, void**, unsigned int) {
    return load_api("hipLibraryLoadFromFile", library,
                    [&](int device) { return load_module_file(path, device); });
}
hipError_t hipLibraryUnload(hipLibrary_t library) {
    return unload_api("hipLibraryUnload", library);
}

hipError_t hipLibraryGetKernel(hipKernel_t* kernel, hipLibrary_t library, const char* name) {
    return function_api("hipLibraryGetKernel", kernel, library, name);
}
hipError_t hipLibraryGetKernelCount(unsigned int* count, hipLibrary_t library) {
    return count_api("hipLibraryGetKernelCount", count, library);
}
hipError_t hipLibraryEnumerateKernels(hipKernel_t* kernels, unsigned int count, hipLibrary_t library) {
    return api("hipLibraryEnumerateKernels", [&] {
        require(kernels != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto module = resolve_module(library);
        unsigned i = 0;
        for (const Kernel* kernel : module->code->kernels())
            if (i < count)
                kernels[i++] = reinterpret_cast<hipKernel_t>(module->function(kernel->name).get());
    });
}
hipError_t hipKernelGetLibrary(hipLibrary_t* library, hipKernel_t kernel) {
    return api("hipKernelGetLibrary", [&] {
        require(library != nullptr, hipErrorInvalidValue, "null result pointer");
        *library = reinterpret_cast<hipLibrary_t>(resolve_kernel(kernel)->module);
    });
}
hipError_t hipKernelGetName(const char** name, hipKernel_t kernel) {
    return api("hipKernelGetName", [&] {
        require(name != nullptr, hipErrorInvalidValue, "null result pointer");
        *name = resolve_kernel(kernel)->kernel->name.c_str();
    });
}
const char* hipKernelNameRef(const hipFunction_t function) {
    const auto found = function ? Process::get().functions.find(function) : nullptr;
    return found ? found->kernel->name.c_str() : nullptr;
}
