// SPDX-License-Identifier: Apache-2.0
// The library's symbol table against the list of AMD's, and functions found by name.
#include "tests/sim/hip/client_functions.hpp"
#include "tests/sim/hip/fixture.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "sim/hip/zyfa_sim.h"

namespace {

std::map<std::string, std::string> listed() {
    std::ifstream file(ZYFA_EXPORTS_FILE);
    std::map<std::string, std::string> result;
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#')
            result[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
    return result;
}

/// Defined global functions of a shared library, by its dynamic symbol table; false: a stub (weak).
std::map<std::string, bool> functions_of(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    REQUIRE_GT(bytes.size(), sizeof(Elf64_Ehdr));
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto section = [&](unsigned i) {
        Elf64_Shdr result;
        std::memcpy(&result, bytes.data() + header.e_shoff + i * sizeof result, sizeof result);
        return result;
    };
    std::map<std::string, bool> names;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr table = section(i);
        if (table.sh_type != SHT_DYNSYM)
            continue;
        const Elf64_Shdr strings = section(table.sh_link);
        for (std::uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, bytes.data() + table.sh_offset + at, sizeof symbol);
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS)
                names[bytes.data() + strings.sh_offset + symbol.st_name] =
                    ELF64_ST_BIND(symbol.st_info) != STB_WEAK;
        }
    }
    return names;
}

} // namespace

TEST_CASE("the library exports AMD's functions in AMD's version nodes, and nothing else but zyfaSim") {
    const auto expected = listed();
    CHECK_EQ(expected.size(), 525);
    std::set<std::string> nodes;
    for (const auto& [name, node] : expected)
        nodes.insert(node);
    CHECK_EQ(nodes.size(), 17);

    void* handle = dlopen(ZYFA_SIM_HIP_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(handle != nullptr);
    for (const auto& [name, node] : expected)
        CHECK_MESSAGE(dlvsym(handle, name.c_str(), node.c_str()) != nullptr, name << '@' << node);
    for (const auto& [name, served] : functions_of(ZYFA_SIM_HIP_LIBRARY))
        CHECK_MESSAGE((expected.contains(name) || name.starts_with("zyfaSim")), name);
    for (const char* name :
         {"zyfaSimVersion", "zyfaSimSetDeviceCount", "zyfaSimSetDevice", "zyfaSimDeviceText",
          "zyfaSimLastFault", "zyfaSimClearFault", "zyfaSimStopKernels", "zyfaSimClockUnderLoad",
          "zyfaSimLastLaunch", "zyfaSimReadTelemetry", "zyfaSimLastTiming", "zyfaSimLastTrace",
          "zyfaSimLastGrid", "zyfaSimSanitizerReport", "zyfaSimSanitizerErrors", "zyfaSimSanitizerClear"})
        CHECK_MESSAGE(dlsym(handle, name) != nullptr, name);
    dlclose(handle);
}

TEST_CASE("which functions are served, and that all that clients call are") {
    const std::map<std::string, bool> functions = functions_of(ZYFA_SIM_HIP_LIBRARY);
    unsigned served = 0;
    for (const auto& [name, node] : listed())
        served += functions.at(name);
    MESSAGE(served << " of 525 functions are served");
    CHECK_GE(served, 422);
    CHECK_EQ(std::size(zyfa::sim::hip::test::client_functions), 120);
    for (const std::string name : zyfa::sim::hip::test::client_functions)
        CHECK_MESSAGE(functions.at(name), name);
}

TEST_CASE("a function that is not there yet says so by its code, and prints its name") {
    for (const char* const name : {"hipBindTexture", "hipTexRefSetFlags", "hipGraphicsGLRegisterImage"}) {
        const auto function = reinterpret_cast<hipError_t (*)()>(dlsym(RTLD_DEFAULT, name));
        REQUIRE_MESSAGE((function != nullptr), name);
        CHECK_MESSAGE((function() == hipErrorNotSupported), name); // reads no argument
    }
}

TEST_CASE("hipGetProcAddress answers what the caller's headers would have linked") {
    void* pointer = nullptr;
    hipDriverProcAddressQueryResult status{};
    HIP_CHECK(hipGetProcAddress("hipMalloc", &pointer, HIP_VERSION, 0, &status));
    CHECK_EQ(status, HIP_GET_PROC_ADDRESS_SUCCESS);
    CHECK_EQ(pointer, dlsym(RTLD_DEFAULT, "hipMalloc"));

    HIP_CHECK(hipGetProcAddress("hipGetDeviceProperties", &pointer, 600, 0, &status));
    CHECK_EQ(pointer, dlsym(RTLD_DEFAULT, "hipGetDevicePropertiesR0600"));
    HIP_CHECK(hipGetProcAddress("hipGetDeviceProperties", &pointer, 500, 0, &status));
    CHECK_EQ(pointer, dlvsym(RTLD_DEFAULT, "hipGetDeviceProperties", "hip_4.2"));

    HIP_CHECK(
        hipGetProcAddress("hipMemcpyAsync", &pointer, HIP_VERSION, hipEnablePerThreadDefaultStream, &status));
    CHECK_EQ(pointer, dlsym(RTLD_DEFAULT, "hipMemcpyAsync_spt"));

    HIP_EXPECT(hipGetProcAddress("hipDrvLaunchKernelEx", &pointer, 600, 0, &status), hipErrorInvalidValue);
    CHECK_EQ(status, HIP_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    HIP_EXPECT(hipGetProcAddress("hipNoSuchFunction", &pointer, HIP_VERSION, 0, &status),
               hipErrorInvalidValue);
    CHECK_EQ(status, HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_CASE("errors have AMD's names and texts, and the last one stays until it is read") {
    CHECK_EQ(std::string(hipGetErrorName(hipErrorIllegalAddress)), "hipErrorIllegalAddress");
    CHECK_EQ(std::string(hipGetErrorString(hipErrorNoBinaryForGpu)),
             "no kernel image is available for execution on the device");
    CHECK_EQ(std::string(hipGetErrorName(static_cast<hipError_t>(99999))), "hipErrorUnknown");

    CHECK_EQ(hipSetDevice(99), hipErrorInvalidDevice);
    int device = 0;
    HIP_CHECK(hipGetDevice(&device)); // a success does not clear it
    CHECK_EQ(hipPeekAtLastError(), hipErrorInvalidDevice);
    CHECK_EQ(hipGetLastError(), hipErrorInvalidDevice);
    CHECK_EQ(hipGetLastError(), hipSuccess);
}

TEST_CASE("half conversions round to nearest even") {
    const auto to_half = reinterpret_cast<unsigned short (*)(float)>(dlsym(RTLD_DEFAULT, "__gnu_f2h_ieee"));
    const auto to_float = reinterpret_cast<float (*)(unsigned short)>(dlsym(RTLD_DEFAULT, "__gnu_h2f_ieee"));
    REQUIRE(static_cast<bool>(to_half));
    REQUIRE(static_cast<bool>(to_float));
    for (unsigned code = 0; code < 0x10000; ++code) // every half goes to float and back
        if ((code & 0x7c00) != 0x7c00 || (code & 0x3ff) == 0)
            CHECK_EQ(to_half(to_float(static_cast<unsigned short>(code))), code);
    CHECK_EQ(to_half(1.0f + 0x1p-11f), 0x3c00);            // tie, down to even
    CHECK_EQ(to_half(1.0f + 0x1p-10f + 0x1p-11f), 0x3c02); // tie, up to even
    CHECK_EQ(to_half(65520.0f), 0x7c00);                   // rounds past the largest half
    CHECK_EQ(to_half(0x1p-25f), 0);                        // tie with half of the least subnormal
    CHECK_EQ(to_half(0x1.8p-25f), 1);
}
