// SPDX-License-Identifier: Apache-2.0
// What the constructors of a compiled HIP program register: fat binaries, host stubs, device variables. Code
// objects are loaded per device at first use.
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "sim/hip/graph.hpp"
#include "sim/hip/module.hpp"
#include "sim/hip/pointers.hpp"

namespace zyfa::sim::hip {
namespace {

/// Layout of the .hipFatBinSegment entry (LLVM: clang/lib/CodeGen/CGCUDANV.cpp).
struct FatBinaryWrapper {
    std::uint32_t magic, version;
    const void* binary;
    void* unused;
};
constexpr std::uint32_t wrapper_magic = 0x48495046; // "HIPF"

struct RegisteredManaged {
    void** pointer = nullptr;
    std::string name;
    void* memory = nullptr;
};

struct FatBinary {
    const void* image = nullptr;
    std::map<int, std::shared_ptr<Module>> modules; ///< by device
    std::vector<RegisteredManaged> managed;
};

struct RegisteredSymbol {
    FatBinary* binary = nullptr;
    std::string name;
};

struct Registry {
    std::recursive_mutex mutex;
    std::set<FatBinary*> binaries;
    std::map<const void*, RegisteredSymbol> functions, variables;
};
Registry& registry() {
    static auto* instance = new Registry;
    return *instance;
}

Module& module_on(FatBinary& binary, int device) {
    auto& module = binary.modules[device];
    if (!module) {
        require(binary.image != nullptr, hipErrorNoBinaryForGpu, "the fat binary's header is not HIP's");
        module = load_module(binary.image, device);
        // A managed variable is a pointer in the code object, to memory that host and device share.
        for (const auto& managed : binary.managed)
            if (const Variable* variable = module->code->variable(managed.name))
                std::memcpy(reinterpret_cast<void*>(variable->address), &managed.memory,
                            sizeof managed.memory);
    }
    return *module;
}

} // namespace

std::shared_ptr<Function> find_registered_function(const void* host_stub) {
    std::lock_guard lock(registry().mutex);
    const auto found = registry().functions.find(host_stub);
    if (found == registry().functions.end())
        return nullptr;
    try {
        return module_on(*found->second.binary, Process::get().current_device().ordinal)
            .function(found->second.name);
    } catch (const Failure& failure) {
        if (failure.code == hipErrorNotFound)
            fail(hipErrorInvalidDeviceFunction, failure.why);
        throw;
    }
}

Variable registered_variable(const void* host_variable) {
    std::lock_guard lock(registry().mutex);
    const auto found = registry().variables.find(host_variable);
    require(found != registry().variables.end(), hipErrorInvalidSymbol, "no such device variable");
    FatBinary& binary = *found->second.binary;
    for (const auto& managed : binary.managed)
        if (managed.name == found->second.name)
            if (const auto allocation = Process::get().memory.find(address_of(managed.memory)))
                return {managed.name, allocation->address, allocation->size};
    const Variable* variable =
        module_on(binary, Process::get().current_device().ordinal).code->variable(found->second.name);
    require(variable != nullptr, hipErrorInvalidSymbol, "the code object lacks the variable");
    return *variable;
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;
using zyfa::sim::AllocationKind;
using zyfa::sim::Variable;

ZYFA_HIP_API void** __hipRegisterFatBinary(const void* data) {
    const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
    auto* binary = new FatBinary;
    if (wrapper && wrapper->magic == wrapper_magic && wrapper->version == 1)
        binary->image = wrapper->binary;
    std::lock_guard lock(registry().mutex);
    registry().binaries.insert(binary);
    return reinterpret_cast<void**>(binary);
}

ZYFA_HIP_API void __hipRegisterFunction(void** handle, const void* host_stub, char*, const char* name,
                                        unsigned int, void*, void*, void*, void*, int*) {
    std::lock_guard lock(registry().mutex);
    registry().functions[host_stub] = {reinterpret_cast<FatBinary*>(handle), name};
}

ZYFA_HIP_API void __hipRegisterVar(void** handle, void* variable, char*, char* name, int, size_t, int, int) {
    std::lock_guard lock(registry().mutex);
    registry().variables[variable] = {reinterpret_cast<FatBinary*>(handle), name};
}

ZYFA_HIP_API void __hipRegisterManagedVar(void** handle, void** pointer, void* initial, const char* name,
                                          size_t size, unsigned) {
    (void)api("__hipRegisterManagedVar", [&] {
        std::lock_guard lock(registry().mutex);
        auto* binary = reinterpret_cast<FatBinary*>(handle);
        void* memory = allocate(size, AllocationKind::managed, 0, {.variable = true});
        if (initial)
            std::memcpy(memory, initial, size);
        *pointer = memory;
        binary->managed.push_back({pointer, name, memory});
        registry().variables[pointer] = {binary, name};
        return hipSuccess;
    });
}

// Textures and surfaces are not supported; a program that only declares them still runs.
ZYFA_HIP_API void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
ZYFA_HIP_API void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}

ZYFA_HIP_API void __hipUnregisterFatBinary(void** handle) {
    (void)api("__hipUnregisterFatBinary", [&] {
        std::lock_guard lock(registry().mutex);
        auto* binary = reinterpret_cast<FatBinary*>(handle);
        if (registry().binaries.erase(binary) == 0)
            return hipSuccess;
        auto belongs = [&](const auto& entry) { return entry.second.binary == binary; };
        std::erase_if(registry().functions, belongs);
        std::erase_if(registry().variables, belongs);
        for (auto& [device, module] : binary->modules)
            unload(*module);
        delete binary;
        return hipSuccess;
    });
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_lds, hipStream_t stream) {
    return api("__hipPushCallConfiguration",
               [&] { thread_state().call_configurations.push_back({grid, block, dynamic_lds, stream}); });
}

hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_lds, hipStream_t* stream) {
    return api("__hipPopCallConfiguration", [&] {
        auto& stack = thread_state().call_configurations;
        require(!stack.empty(), hipErrorMissingConfiguration, "no call configuration was pushed");
        *grid = stack.back().grid;
        *block = stack.back().block;
        *dynamic_lds = stack.back().dynamic_lds;
        *stream = stack.back().stream;
        stack.pop_back();
    });
}

hipError_t hipGetSymbolAddress(void** pointer, const void* symbol) {
    return api("hipGetSymbolAddress", [&] {
        require(pointer != nullptr, hipErrorInvalidValue, "null result pointer");
        *pointer = reinterpret_cast<void*>(registered_variable(symbol).address);
    });
}

hipError_t hipGetSymbolSize(size_t* size, const void* symbol) {
    return api("hipGetSymbolSize", [&] {
        require(size != nullptr, hipErrorInvalidValue, "null result pointer");
        *size = registered_variable(symbol).size;
    });
}

hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol) {
    return api("hipGetFuncBySymbol", [&] {
        require(function && symbol, hipErrorInvalidValue, "null pointer");
        const auto found = find_registered_function(symbol);
        require(found != nullptr, hipErrorInvalidDeviceFunction,
                "no kernel is registered for that host function");
        *function = reinterpret_cast<hipFunction_t>(found.get());
    });
}

const char* hipKernelNameRefByPtr(const void* host_function, hipStream_t) {
    const char* name = nullptr;
    (void)api("hipKernelNameRefByPtr", [&] {
        if (const auto function = host_function ? find_registered_function(host_function) : nullptr)
            name = function->kernel->name.c_str();
        return hipSuccess;
    });
    return name;
}
