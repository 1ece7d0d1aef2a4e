// SPDX-License-Identifier: Apache-2.0
// Small kernels that are compiled twice: for gfx950, and for the host, which says what is right. Each
// work-item reads 8 words and writes 8 words. Included by device.cpp and by engine_compiled_test.cpp.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using f16 = _Float16;

#define NOINLINE __attribute__((noinline))

namespace corpus {

template <class To, class From>
inline To bits(From from) {
    return __builtin_bit_cast(To, from);
}
/// Bits of a float or double, every NaN alike: payloads are the processor's own.
inline u32 store(float f) {
    return f != f ? 0x7fc00000u : bits<u32>(f);
}
inline u32 store(f16 f) {
    return f != f ? 0x7e00u : bits<u16>(f);
}
inline void store(double d, u32* out) {
    const u64 value = d != d ? 0x7ff8000000000000ull : bits<u64>(d);
    out[0] = static_cast<u32>(value);
    out[1] = static_cast<u32>(value >> 32);
}
inline void store(u64 value, u32* out) {
    out[0] = static_cast<u32>(value);
    out[1] = static_cast<u32>(value >> 32);
}
inline u64 wide(const u32* in) {
    return u64{in[0]} | u64{in[1]} << 32;
}
inline double real(const u32* in) {
    return bits<double>(wide(in));
}
inline float single(u32 in) {
    return bits<float>(in);
}
inline f16 half(u32 in) {
    return bits<f16>(static_cast<u16>(in));
}

// --- Integers

inline void int_arithmetic(u32, const u32* in, u32* out) {
    out[0] = in[0] + in[1];
    out[1] = in[0] - in[1];
    out[2] = in[0] * in[1];
    out[3] = static_cast<u32>(u64{in[0]} * in[1] >> 32);
    out[4] = static_cast<u32>(i64{static_cast<i32>(in[0])} * static_cast<i32>(in[1]) >> 32);
    out[5] = in[0] * 5 + in[1];
    out[6] = (in[0] << 3) + in[1];
    out[7] = in[0] * in[1] + in[2];
}
inline void int_division(u32, const u32* in, u32* out) {
    const u32 d = in[1] | 1;
    const i32 s = static_cast<i32>(in[0] >> 1) - 0x20000000, sd = static_cast<i32>(in[1] | 3);
    out[0] = in[0] / d;
    out[1] = in[0] % d;
    out[2] = static_cast<u32>(s / sd);
    out[3] = static_cast<u32>(s % sd);
    out[4] = in[0] / 10;
    out[5] = in[0] % 1000003;
    out[6] = static_cast<u32>(s / 7);
    out[7] = in[0] / (d & 0xff);
}
inline void long_arithmetic(u32, const u32* in, u32* out) {
    const u64 a = wide(in), b = wide(in + 2);
    store(a + b, out);
    store(a * b, out + 2);
    store(a - b, out + 4);
    store((a ^ b) + (a & ~b), out + 6);
}
inline void long_division(u32, const u32* in, u32* out) {
    const u64 a = wide(in), b = (wide(in + 2) >> (in[4] & 63)) | 1;
    store(a / b, out);
    store(a % b, out + 2);
    const i64 s = static_cast<i64>(a) / 2, t = static_cast<i64>(b >> 1) | 1;
    store(static_cast<u64>(s / t), out + 4);
    store(static_cast<u64>(s % t), out + 6);
}
inline void shifts(u32, const u32* in, u32* out) {
    const u32 n = in[1] & 31, m = in[2] & 63;
    out[0] = in[0] << n;
    out[1] = in[0] >> n;
    out[2] = static_cast<u32>(static_cast<i32>(in[0]) >> n);
    out[3] = in[0] << n | in[0] >> ((32 - n) & 31);
    store(wide(in) << m, out + 4);
    store(static_cast<u64>(static_cast<i64>(wide(in)) >> m), out + 6);
}
inline void bit_counts(u32, const u32* in, u32* out) {
    out[0] = static_cast<u32>(__builtin_popcount(in[0]));
    out[1] = static_cast<u32>(__builtin_clz(in[0] | 1));
    out[2] = static_cast<u32>(__builtin_ctz(in[0] | 0x80000000u));
    out[3] = static_cast<u32>(__builtin_popcountll(wide(in)));
    out[4] = static_cast<u32>(__builtin_clzll(wide(in) | 1));
    out[5] = static_cast<u32>(__builtin_ctzll(wide(in) | 1ull << 63));
    out[6] = __builtin_bswap32(in[0]);
    out[7] = static_cast<u32>(__builtin_bswap64(wide(in)) >> 16);
}
inline void bit_fields(u32, const u32* in, u32* out) {
    struct Fields {
        u32 a : 5, b : 11, c : 16;
        i32 d : 7, e : 13, f : 12;
    };
    Fields fields = bits<Fields>(wide(in));
    fields.a += 3;
    fields.d -= 1;
    fields.e *= 3;
    store(bits<u64>(fields), out);
    out[2] = in[0] >> 7 & 0x3ff;
    out[3] = static_cast<u32>(static_cast<i32>(in[0] << 9) >> 20);
    out[4] = (in[0] & 0xff00ff00u) | (in[1] & 0x00ff00ffu);
    out[5] = (in[0] & in[1]) | (~in[0] & in[2]);
    out[6] = in[0] ^ in[1] ^ in[2];
    out[7] = (in[0] | in[1]) & ~in[2];
}
inline void minmax(u32, const u32* in, u32* out) {
    const i32 a = static_cast<i32>(in[0]), b = static_cast<i32>(in[1]), c = static_cast<i32>(in[2]);
    const auto lo = [](auto x, auto y) { return x < y ? x : y; };
    const auto hi = [](auto x, auto y) { return x > y ? x : y; };
    out[0] = static_cast<u32>(lo(a, b));
    out[1] = static_cast<u32>(hi(hi(a, b), c));
    out[2] = lo(in[0], in[1]);
    out[3] = hi(lo(in[0], in[1]), in[2]);
    out[4] = static_cast<u32>(lo(hi(a, -100), 100));
    out[5] = a < 0 ? 0u - in[0] : in[0];
    out[6] = static_cast<u32>(hi(lo(a, b), lo(hi(a, b), c)));
    out[7] = in[0] > in[1] ? in[0] - in[1] : in[1] - in[0];
}
inline void narrow(u32, const u32* in, u32* out) {
    const u8 b = static_cast<u8>(in[0]), b2 = static_cast<u8>(in[0] >> 8);
    const i8 s = static_cast<i8>(in[0] >> 16);
    const u16 h = static_cast<u16>(in[1]), h2 = static_cast<u16>(in[1] >> 16);
    const i16 t = static_cast<i16>(in[2]);
    out[0] = static_cast<u8>(b + b2);
    out[1] = static_cast<u32>(i32{s});
    out[2] = static_cast<u16>(h * h2);
    out[3] = static_cast<u32>(static_cast<i16>(t >> 3));
    out[4] = static_cast<u16>(h - h2);
    out[5] = static_cast<u32>(i32{static_cast<i16>(t * static_cast<i16>(h))});
    out[6] = static_cast<u16>(h << (b & 15));
    out[7] = h < h2 ? h : h2;
}
inline void compares(u32, const u32* in, u32* out) {
    const i32 a = static_cast<i32>(in[0]), b = static_cast<i32>(in[1]);
    const i64 w = static_cast<i64>(wide(in)), v = static_cast<i64>(wide(in + 2));
    out[0] = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5;
    out[1] = (in[0] < in[1]) | (in[0] <= in[1]) << 1 | (in[0] > in[1]) << 2;
    out[2] = (w < v) | (w <= v) << 1 | (w == v) << 2 | (w != v) << 3;
    out[3] = (wide(in) < wide(in + 2)) | (wide(in) >= wide(in + 2)) << 1;
    out[4] = (a < b && w > v) ? in[3] : in[4];
    out[5] = (a < b || in[0] > in[2]) ? 17 : in[4];
    out[6] = static_cast<u16>(in[0]) < static_cast<u16>(in[1]) ? 1 : 2;
    out[7] = static_cast<i16>(in[0]) > static_cast<i16>(in[1]) ? in[5] : 3;
}
inline void wide_products(u32, const u32* in, u32* out) {
    const unsigned __int128 product = static_cast<unsigned __int128>(wide(in)) * wide(in + 2);
    store(static_cast<u64>(product), out);
    store(static_cast<u64>(product >> 64), out + 2);
    out[4] = (in[0] & 0xffffff) * (in[1] & 0xffffff) + in[2];
    out[5] = static_cast<u32>((static_cast<i32>(in[0] << 8) >> 8) *
                              static_cast<i64>(static_cast<i32>(in[1] << 8) >> 8));
    store(u64{in[0]} * in[1] + wide(in + 2), out + 6);
}

// --- Floating point

inline void float_arithmetic(u32, const u32* in, u32* out) {
    const float a = single(in[0]), b = single(in[1]), c = single(in[2]);
    out[0] = store(a + b);
    out[1] = store(a - b);
    out[2] = store(a * b);
    out[3] = store(__builtin_fmaf(a, b, c));
    out[4] = store(-a * 0.5f);
    out[5] = store(__builtin_fabsf(a) + 4.0f);
    out[6] = store(a * a - b);
    out[7] = store(__builtin_copysignf(a, b));
}
inline void float_division(u32, const u32* in, u32* out) {
    const float a = single(in[0]), b = single(in[1]);
    out[0] = store(a / b);
    out[1] = store(1.0f / b);
    out[2] = store(__builtin_sqrtf(__builtin_fabsf(a)));
    out[3] = store(a / 3.0f);
    out[4] = store(b / a);
}
inline void float_rounding(u32, const u32* in, u32* out) {
    const float a = single((in[0] & 0x807fffffu) | (0x78u + in[1] % 32) << 23);
    out[0] = store(__builtin_floorf(a));
    out[1] = store(__builtin_ceilf(a));
    out[2] = store(__builtin_truncf(a));
    out[3] = store(__builtin_rintf(a));
    out[4] = store(__builtin_roundf(a));
    out[5] = store(a - __builtin_floorf(a));
}
inline void float_minmax(u32, const u32* in, u32* out) {
    // Of zeros and NaN, what the host does is its own affair.
    const float a = single(in[0] & 0xbfffffffu) + 1.5f, b = single(in[1] & 0xbfffffffu) - 2.5f;
    out[0] = store(__builtin_fminf(a, b));
    out[1] = store(__builtin_fmaxf(a, b));
    out[2] = store(a < b ? a : b);
    out[3] = store(__builtin_fminf(__builtin_fmaxf(a, -1.0f), 1.0f));
    out[4] = store(__builtin_fmaxf(__builtin_fmaxf(a, b), 0.25f));
}
inline void float_compares(u32, const u32* in, u32* out) {
    const float a = single(in[0]), b = single(in[1]), n = single(in[2] | 0x7f800000u);
    const double c = real(in + 3), d = real(in + 5);
    out[0] = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5;
    out[1] = (a < n) | (n <= b) << 1 | (a != n) << 2 | (n == n) << 3 | !(a < n) << 4 | !(n >= b) << 5;
    out[2] = (c < d) | (c >= d) << 1 | (c == d) << 2 | !(c > d) << 3;
    out[3] = __builtin_isnan(n) ? 1 : 2;
    out[4] = __builtin_isinf(n) ? 1 : 2;
    out[5] = __builtin_isunordered(a, n) ? 5 : 6;
}
inline void float_conversions(u32, const u32* in, u32* out) {
    const float a = single((in[0] & 0x807fffffu) | (0x70u + in[1] % 40) << 23);
    const float small = single((in[0] & 0x807fffffu) | (0x7cu + in[1] % 32) << 23) * 0.5f;
    out[0] = static_cast<u32>(static_cast<i32>(small * 0.25f));
    out[1] = static_cast<u32>(__builtin_fabsf(small));
    out[2] = store(static_cast<float>(in[0]));
    out[3] = store(static_cast<float>(static_cast<i32>(in[0])));
    store(static_cast<double>(a), out + 4);
    out[6] = store(static_cast<float>(static_cast<u8>(in[0] >> 8)));
    out[7] = static_cast<u32>(static_cast<i64>(a * 1024.0f) >> 3);
}
inline void long_conversions(u32, const u32* in, u32* out) {
    out[0] = store(static_cast<float>(wide(in)));
    out[1] = store(static_cast<float>(static_cast<i64>(wide(in))));
    store(static_cast<double>(wide(in)), out + 2);
    store(static_cast<u64>(static_cast<double>(wide(in) >> 3) * 1.5), out + 4);
    store(static_cast<u64>(static_cast<i64>(static_cast<double>(static_cast<i64>(wide(in))) * 0.25)),
          out + 6);
}
inline void double_arithmetic(u32, const u32* in, u32* out) {
    const double a = real(in), b = real(in + 2);
    store(a + b, out);
    store(a * b, out + 2);
    store(__builtin_fma(a, b, 1.0), out + 4);
    store(a - 0.5, out + 6);
}
inline void double_division(u32, const u32* in, u32* out) {
    const double a = real(in), b = real(in + 2);
    store(a / b, out);
    store(__builtin_sqrt(__builtin_fabs(a)), out + 2);
    out[4] = store(static_cast<float>(a));
    out[5] = static_cast<u32>(
        static_cast<i32>(bits<double>((bits<u64>(a) & 0x800fffffffffffffull) | 0x41a0000000000000ull)));
    store(static_cast<double>(static_cast<i32>(in[0])), out + 6);
}
inline void double_rounding(u32, const u32* in, u32* out) {
    const double a = bits<double>((wide(in) & 0x800fffffffffffffull) | u64{0x3f8u + in[2] % 64} << 52);
    store(__builtin_floor(a), out);
    store(__builtin_ceil(a), out + 2);
    store(__builtin_rint(a), out + 4);
    store(__builtin_fmin(__builtin_fmax(a, -3.0), 1000.0), out + 6);
}
inline void half_arithmetic(u32, const u32* in, u32* out) {
    const f16 a = half(in[0]), b = half(in[1]), c = half(in[2]);
    out[0] = store(static_cast<f16>(a + b));
    out[1] = store(static_cast<f16>(a * b));
    out[2] = store(static_cast<float>(a));
    out[3] = store(static_cast<f16>(single(in[3])));
    out[4] = a < b ? 1 : 2;
    out[5] = store(static_cast<f16>(-a - c));
    out[6] = store(static_cast<f16>(static_cast<i16>(in[4])));
    out[7] = store(static_cast<float>(a) * static_cast<float>(b) + single(in[3]));
}
inline void vectors(u32, const u32* in, u32* out) {
    typedef float f32x4 __attribute__((ext_vector_type(4)));
    typedef i16 i16x2 __attribute__((ext_vector_type(2)));
    const f32x4 a{single(in[0]), single(in[1]), single(in[2]), single(in[3])};
    const f32x4 b = a * 2.0f + a.wzyx;
    for (int n = 0; n < 4; ++n)
        out[n] = store(b[n]);
    const i16x2 p = bits<i16x2>(in[4]), q = bits<i16x2>(in[5]);
    out[4] = bits<u32>(static_cast<i16x2>(p + q));
    out[5] = bits<u32>(static_cast<i16x2>(p * q));
    out[6] = bits<u32>(static_cast<i16x2>(p - q.yx));
    out[7] = bits<u32>(static_cast<i16x2>(p << 3));
}

// --- Control flow

inline void collatz(u32, const u32* in, u32* out) {
    u32 n = in[0] & 0xfff, steps = 0;
    while (n > 1 && steps < 400) {
        n = (n & 1) != 0 ? 3 * n + 1 : n / 2;
        ++steps;
    }
    out[0] = steps;
    out[1] = n;
}
inline void branches(u32 i, const u32* in, u32* out) {
    u32 sum = 0;
    for (u32 k = 0; k < in[0] % 17; ++k) {
        if ((in[1] >> k & 1) != 0) {
            if (k % 3 == 0)
                continue;
            sum += k * i;
        } else if (k > 11) {
            break;
        } else {
            sum ^= in[k & 7];
        }
    }
    out[0] = sum;
    switch (in[2] % 9) {
    case 0:
        out[1] = 5;
        break;
    case 1:
        out[1] = in[3] * 3;
        break;
    case 2:
        out[1] = in[3] ^ 0x55;
        [[fallthrough]];
    case 3:
        out[2] = 9;
        break;
    case 4:
        out[3] = in[4];
        break;
    case 5:
        out[1] = 1;
        out[4] = 3;
        break;
    case 6:
        out[5] = in[1];
        break;
    case 7:
        out[6] = ~in[0];
        break;
    default:
        out[7] = 77;
        break;
    }
}
NOINLINE inline u32 fibonacci(u32 n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
inline void recursion(u32, const u32* in, u32* out) {
    out[0] = fibonacci(in[0] % 8);
}
NOINLINE inline u32 call_a(u32 x) {
    return x * 3 + 1;
}
NOINLINE inline u32 call_b(u32 x) {
    return x ^ 0xa5a5a5a5u;
}
NOINLINE inline u32 call_c(u32 x, const u32* p) {
    return x + p[0] - p[3];
}
inline void calls(u32, const u32* in, u32* out) {
    u32 (*const table[2])(u32) = {call_a, call_b};
    out[0] = call_a(in[0]) + call_b(in[1]);
    out[1] = table[in[2] & 1](in[3]);
    out[2] = call_c(in[4], in);
}

// --- Private memory

inline void private_array(u32, const u32* in, u32* out) {
    u32 table[32];
    for (u32 k = 0; k < 32; ++k)
        table[k] = in[k & 7] + k;
    for (u32 k = 0; k < 64; ++k) {
        const u32 from = in[k & 7] >> (k & 15) & 31, to = in[(k + 3) & 7] >> (k & 15) & 31;
        const u32 kept = table[from];
        table[from] = table[to] + k;
        table[to] = kept;
    }
    u32 hash = 0;
    for (const u32 value : table)
        hash = hash * 31 + value;
    out[0] = hash;
    out[1] = table[in[1] & 31];
}
inline void bytes(u32, const u32* in, u32* out) {
    u8 text[33];
    for (u32 k = 0; k < 32; ++k)
        text[k] = static_cast<u8>(in[k / 4] >> (8 * (k % 4)));
    text[32] = 0;
    for (u32 k = 0; k < 16; ++k) { // reverse
        const u8 kept = text[k];
        text[k] = text[31 - k];
        text[31 - k] = kept;
    }
    u32 length = 0;
    while (text[length] != 0)
        ++length;
    out[0] = length;
    u16 crc = 0xffff;
    for (u32 k = 0; k < 32; ++k) {
        crc ^= static_cast<u16>(text[k] << 8);
        for (int bit = 0; bit < 8; ++bit)
            crc = static_cast<u16>((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    out[1] = crc;
    __builtin_memcpy(out + 2, text + 5, 24);
}
struct Record {
    double weight;
    u16 key;
    i8 tag[5];
    u32 values[3];
};
NOINLINE inline Record combine(Record a, const Record& b) {
    a.weight += b.weight;
    a.key = static_cast<u16>(a.key * b.key);
    for (int n = 0; n < 5; ++n)
        a.tag[n] = static_cast<i8>(a.tag[n] - b.tag[4 - n]);
    for (int n = 0; n < 3; ++n)
        a.values[n] += b.values[2 - n];
    return a;
}
inline void structures(u32 i, const u32* in, u32* out) {
    Record a{static_cast<double>(in[0]), static_cast<u16>(in[1]), {1, 2, 3, 4, 5}, {in[2], in[3], in[4]}};
    Record b{static_cast<double>(i), static_cast<u16>(in[5]), {9, 8, 7, 6, 5}, {in[6], in[7], i}};
    const Record c = combine(combine(a, b), a);
    store(c.weight, out);
    out[2] = c.key;
    out[3] = static_cast<u32>(c.tag[0] + c.tag[1] * 3 + c.tag[4] * 7);
    out[4] = c.values[0];
    out[5] = c.values[1];
    out[6] = c.values[2];
}
inline void sort(u32, const u32* in, u32* out) {
    u32 values[8];
    __builtin_memcpy(values, in, sizeof values);
    for (int a = 1; a < 8; ++a)
        for (int b = a; b > 0 && values[b - 1] > values[b]; --b) {
            const u32 kept = values[b];
            values[b] = values[b - 1];
            values[b - 1] = kept;
        }
    __builtin_memcpy(out, values, sizeof values);
}

// --- Narrow memory accesses

inline void unaligned(u32, const u32* in, u32* out) {
    const u8* bytes = reinterpret_cast<const u8*>(in);
    u8* to = reinterpret_cast<u8*>(out);
    u16 h;
    u32 w;
    u64 d;
    __builtin_memcpy(&h, bytes + 1, 2);
    __builtin_memcpy(&w, bytes + 5, 4);
    __builtin_memcpy(&d, bytes + 11, 8);
    __builtin_memcpy(to + 3, &w, 4);
    __builtin_memcpy(to + 9, &d, 8);
    __builtin_memcpy(to + 21, &h, 2);
    to[0] = bytes[30];
    to[31] = static_cast<u8>(static_cast<i8>(bytes[31]) >> 1);
}
inline void halves(u32, const u32* in, u32* out) {
    const u16* h = reinterpret_cast<const u16*>(in);
    const i8* b = reinterpret_cast<const i8*>(in);
    u16* to = reinterpret_cast<u16*>(out);
    for (int n = 0; n < 8; ++n)
        to[n] = static_cast<u16>(h[15 - n] + b[n]);
    for (int n = 8; n < 16; n += 2) {
        to[n] = h[n + 1];
        to[n + 1] = h[n];
    }
}

} // namespace corpus

// clang-format off
#define CORPUS(X) \
    X(int_arithmetic) X(int_division) X(long_arithmetic) X(long_division) X(shifts) X(bit_counts) \
    X(bit_fields) X(minmax) X(narrow) X(compares) X(wide_products) X(float_arithmetic) \
    X(float_division) X(float_rounding) X(float_minmax) X(float_compares) X(float_conversions) \
    X(long_conversions) X(double_arithmetic) X(double_division) X(double_rounding) \
    X(half_arithmetic) X(vectors) X(collatz) X(branches) X(recursion) X(calls) X(private_array) \
    X(bytes) X(structures) X(sort) X(unaligned) X(halves)
// clang-format on
