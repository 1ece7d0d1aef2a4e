// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum and median with the NaN rules of the ISA (CDNA4 ISA, pseudo-code of V_MAX_F32, V_MED3_F32,
// V_MAXIMUM3_F32), for FP32 and FP64; FP16 goes through FP32, exactly.
#pragma once

#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Integer with the order of the floats, -0 below +0.
template <class T>
ZYFA_SIM_INLINE typename FloatBits<T>::Signed order(T x) {
    using I = typename FloatBits<T>::Signed;
    using B = FloatBits<T>;
    const I bits = bits_as<I>(x);
    return bits ^ ((bits >> (sizeof(T) * 8 - 1)) & static_cast<I>(B::magnitude));
}

// maxNum and minNum: a NaN operand is ignored; with IEEE a signaling one is returned, quieted.
template <class T>
ZYFA_SIM_INLINE T max_of(T a, T b, bool ieee) {
    const T r = pick(is_nan(a) | (!is_nan(b) & (order(b) > order(a))), b, a);
    return pick(ieee & is_signaling(a), quieted(a), pick(ieee & is_signaling(b), quieted(b), r));
}
template <class T>
ZYFA_SIM_INLINE T min_of(T a, T b, bool ieee) {
    const T r = pick(is_nan(a) | (!is_nan(b) & (order(b) < order(a))), b, a);
    return pick(ieee & is_signaling(a), quieted(a), pick(ieee & is_signaling(b), quieted(b), r));
}
// IEEE 754-2019 maximum and minimum: NaN wins.
template <class T>
ZYFA_SIM_INLINE T maximum_of(T a, T b) {
    return pick(is_nan(a), quieted(a), pick(is_nan(b), quieted(b), pick(order(a) > order(b), a, b)));
}
template <class T>
ZYFA_SIM_INLINE T minimum_of(T a, T b) {
    return pick(is_nan(a), quieted(a), pick(is_nan(b), quieted(b), pick(order(a) < order(b), a, b)));
}

template <class T>
inline constexpr auto max_num = [](T a, T b, bool ieee) { return max_of(a, b, ieee); };
template <class T>
inline constexpr auto min_num = [](T a, T b, bool ieee) { return min_of(a, b, ieee); };
template <class T>
inline constexpr auto max3_num = [](T a, T b, T c, bool ieee) { return max_of(max_of(a, b, ieee), c, ieee); };
template <class T>
inline constexpr auto min3_num = [](T a, T b, T c, bool ieee) { return min_of(min_of(a, b, ieee), c, ieee); };
/// Middle one of three; any NaN gives min3.
template <class T>
inline constexpr auto med3_num = [](T a, T b, T c, bool ieee) {
    const T lowest = min_of(min_of(a, b, ieee), c, ieee);
    const auto x = order(a), y = order(b), z = order(c);
    const T middle = pick((x >= y) == (x <= z), a, pick((y >= x) == (y <= z), b, c));
    return pick(is_nan(a) | is_nan(b) | is_nan(c), lowest, middle);
};
template <class T>
inline constexpr auto maximum3 = [](T a, T b, T c, bool) { return maximum_of(maximum_of(a, b), c); };
template <class T>
inline constexpr auto minimum3 = [](T a, T b, T c, bool) { return minimum_of(minimum_of(a, b), c); };

} // namespace zyfa::sim::ZYFA_SIM_ISA
