// SPDX-License-Identifier: Apache-2.0
// What every per-instruction-set file starts from: bit casts, 64-lane constants, and short vectors in the
// compiler's portable vector form. Included only by files that are compiled once per instruction set
// (cmake/ZyfaHostIsa.cmake); everything lies in that set's own namespace, and no inline function of the
// standard library is called, so that the linker can never pick a copy that the host cannot run.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef ZYFA_SIM_ISA
#error "compiled through zyfa_host_isa_objects only"
#endif

#define ZYFA_SIM_INLINE inline __attribute__((always_inline))

namespace zyfa::sim::ZYFA_SIM_ISA {

inline constexpr unsigned lanes = 64;

template <class To, class From>
ZYFA_SIM_INLINE constexpr To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, from);
}
ZYFA_SIM_INLINE constexpr float float_of(std::uint32_t bits) {
    return bits_as<float>(bits);
}
ZYFA_SIM_INLINE constexpr std::uint32_t bits_of(float value) {
    return bits_as<std::uint32_t>(value);
}
ZYFA_SIM_INLINE constexpr double double_of(std::uint64_t bits) {
    return bits_as<double>(bits);
}
ZYFA_SIM_INLINE constexpr std::uint64_t bits_of(double value) {
    return bits_as<std::uint64_t>(value);
}

/// condition ? a : b without a branch: a loop over lanes that chooses this way vectorises.
ZYFA_SIM_INLINE constexpr std::uint32_t pick(bool condition, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t mask = -static_cast<std::uint32_t>(condition);
    return (a & mask) | (b & ~mask);
}
ZYFA_SIM_INLINE constexpr std::uint64_t pick(bool condition, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t mask = -static_cast<std::uint64_t>(condition);
    return (a & mask) | (b & ~mask);
}
ZYFA_SIM_INLINE constexpr std::int32_t pick(bool condition, std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(
        pick(condition, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
}
ZYFA_SIM_INLINE constexpr float pick(bool condition, float a, float b) {
    return float_of(pick(condition, bits_of(a), bits_of(b)));
}
ZYFA_SIM_INLINE constexpr double pick(bool condition, double a, double b) {
    return double_of(pick(condition, bits_of(a), bits_of(b)));
}

/// The NaN that an invalid operation gives.
inline constexpr std::uint32_t canonical_nan = 0x7FC00000u;

} // namespace zyfa::sim::ZYFA_SIM_ISA
