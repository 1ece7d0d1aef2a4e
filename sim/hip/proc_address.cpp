// SPDX-License-Identifier: Apache-2.0
// Entry points by name, and the odd functions that answer something else than hipError_t.
#include <cstring>
#include <string>
#include <string_view>

#include "sim/hip/api.hpp"

// The real declarations have other types; only addresses are taken here, hence the symbols' own names by asm.
#define ZYFA_HIP_EXPORT_ENTRY(name, version) extern "C" void zyfa_address_of_##name(void) __asm__(#name);
#include "export_table.inc"
#undef ZYFA_HIP_EXPORT_ENTRY

namespace zyfa::sim::hip {
namespace {

struct Export {
    const char* name;
    int version; ///< of its node: major * 100 + minor * 10
    void (*address)();
};

#define ZYFA_HIP_EXPORT_ENTRY(name, version) {#name, version, &zyfa_address_of_##name},
const Export exports[] = {
#include "export_table.inc"
};
#undef ZYFA_HIP_EXPORT_ENTRY

const Export* find_export(std::string_view name) {
    for (const Export& entry : exports)
        if (name == entry.name)
            return &entry;
    return nullptr;
}

/// hipGetProcAddress takes versions as the caller's compile-time HIP_VERSION or as major * 100 + minor * 10.
int short_version(int version) {
    return version >= 10'000'000 ? version / 10'000'000 * 100 + version / 100'000 % 100 * 10 : version;
}

struct Found {
    const Export* entry = nullptr;
    bool too_new = false;
};

Found look_up(const std::string& symbol, int version, bool per_thread) {
    std::string name = symbol;
    // What the headers of the caller's version would have mapped the name to.
    if (version >= 600 && (name == "hipGetDeviceProperties" || name == "hipChooseDevice"))
        name += "R0600";
    const Export* entry = per_thread ? find_export(name + "_spt") : nullptr;
    if (!entry)
        entry = find_export(name);
    if (entry && entry->version > version)
        return {nullptr, true};
    return {entry, false};
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

hipError_t hipGetProcAddress(const char* symbol, void** pointer, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult* status) {
    return api("hipGetProcAddress", [&] {
        require(symbol && *symbol && pointer, hipErrorInvalidValue, "null pointer");
        require(flags <= hipEnablePerThreadDefaultStream, hipErrorInvalidValue, "flags");
        const Found found = look_up(symbol, short_version(version), flags == hipEnablePerThreadDefaultStream);
        *pointer = found.entry ? reinterpret_cast<void*>(found.entry->address) : nullptr;
        if (status)
            *status = found.entry     ? HIP_GET_PROC_ADDRESS_SUCCESS
                      : found.too_new ? HIP_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                      : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        require(found.entry != nullptr, hipErrorInvalidValue, symbol);
    });
}

namespace {
hipError_t entry_point(const char* function, const char* symbol, void** pointer, unsigned long long flags,
                       hipDriverEntryPointQueryResult* status, bool per_thread) {
    return api(function, [&] {
        require(symbol && *symbol && pointer, hipErrorInvalidValue, "null pointer");
        const bool own =
            flags == hipEnablePerThreadDefaultStream || (flags == hipEnableDefault && per_thread);
        const Found found = look_up(symbol, short_version(HIP_VERSION), own);
        *pointer = found.entry ? reinterpret_cast<void*>(found.entry->address) : nullptr;
        if (status)
            *status = found.entry ? hipDriverEntryPointSuccess : hipDriverEntryPointSymbolNotFound;
        require(found.entry || status, hipErrorInvalidValue, symbol);
    });
}
} // namespace

hipError_t hipGetDriverEntryPoint(const char* symbol, void** pointer, unsigned long long flags,
                                  hipDriverEntryPointQueryResult* status) {
    return entry_point("hipGetDriverEntryPoint", symbol, pointer, flags, status, false);
}
ZYFA_HIP_API hipError_t hipGetDriverEntryPoint_spt(const char* symbol, void** pointer,
                                                   unsigned long long flags,
                                                   hipDriverEntryPointQueryResult* status) {
    return entry_point("hipGetDriverEntryPoint_spt", symbol, pointer, flags, status, true);
}

ZYFA_HIP_API hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w,
                                                       hipChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

// Tracing hooks of AMD's profilers: there is nothing to trace, and no name to tell.
ZYFA_HIP_API const char* hipApiName(uint32_t) {
    return "unknown";
}
ZYFA_HIP_API const char* hipGetCmdName(unsigned) {
    return "unknown";
}
ZYFA_HIP_API void hipRegisterTracerCallback(const void*) {}
ZYFA_HIP_API void __hipGetPCH(const char** header, unsigned int* size) {
    *header = nullptr;
    *size = 0;
}
ZYFA_HIP_API const char* amd_dbgapi_get_build_name() {
    return "zyfa-sim";
}
ZYFA_HIP_API const char* amd_dbgapi_get_git_hash() {
    return "";
}
ZYFA_HIP_API size_t amd_dbgapi_get_build_id() {
    return 0;
}

// Half conversions that compilers of some ages call for _Float16 (AMD's library exports them, too).

ZYFA_HIP_API float __gnu_h2f_ieee(unsigned short half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
    std::uint32_t exponent = (half >> 10) & 0x1f, mantissa = half & 0x3ff, bits = 0;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | mantissa << 13;
    } else if (exponent == 0 && mantissa == 0) {
        bits = sign;
    } else {
        if (exponent == 0) { // subnormal: shift the leading one into place
            exponent = 1;
            while (!(mantissa & 0x400)) {
                mantissa <<= 1;
                --exponent;
            }
            mantissa &= 0x3ff;
        }
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    }
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

ZYFA_HIP_API unsigned short __gnu_f2h_ieee(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<unsigned short>(bits >> 16 & 0x8000);
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127 + 15;
    std::uint32_t mantissa = bits & 0x7fffff;
    if (exponent == 0xff - 127 + 15) // infinity, NaN (quiet)
        return static_cast<unsigned short>(sign | 0x7c00 | (mantissa ? 0x200 | mantissa >> 13 : 0));
    if (exponent >= 31)
        return static_cast<unsigned short>(sign | 0x7c00);
    if (exponent < -10)
        return sign;
    unsigned shift = 13;
    std::uint32_t result = 0;
    if (exponent <= 0) { // subnormal
        mantissa |= 0x800000;
        shift = static_cast<unsigned>(14 - exponent);
    } else {
        result = static_cast<std::uint32_t>(exponent) << 10;
    }
    result += mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    if (rest > half || (rest == half && (result & 1)))
        ++result; // a carry into the exponent is right
    return static_cast<unsigned short>(sign | result);
}
