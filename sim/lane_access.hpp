// SPDX-License-Identifier: Apache-2.0
// How the 64 lanes of a memory instruction touch memory: what is moved (an access), once a space has resolved
// where to. Shared by the FLAT, buffer and LDS instructions.
#pragma once

#include "sim/fault.hpp"
#include "sim/operations.hpp"
#include "sim/wave.hpp"

#include <algorithm>
#include <atomic>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace zyfa::sim::access {

using Pointers = std::byte* const*;

template <class T>
T peek(const std::byte* p) noexcept {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}
template <class T>
void poke(std::byte* p, T value) noexcept {
    std::memcpy(p, &value, sizeof value);
}

template <class F>
void for_each_lane(std::uint64_t active, F&& f) {
    if (active == ~0ull) {
        for (unsigned lane = 0; lane < lanes; ++lane)
            f(lane);
        return;
    }
    for (; active != 0; active &= active - 1)
        f(static_cast<unsigned>(std::countr_zero(active)));
}

/// 1 to 4 whole registers per lane.
template <unsigned N>
struct Words {
    static constexpr unsigned registers = N, bytes = 4 * N;
    static void load(std::uint32_t* d, Pointers p, std::uint64_t active) {
#if defined(__SSE2__)
        if constexpr (N == 4)
            if (active == ~0ull) {
                for (unsigned lane = 0; lane < lanes; lane += 4)
                    transpose_in(d + lane, p + lane);
                return;
            }
#endif
        for_each_lane(active, [&](unsigned lane) {
            std::uint32_t words[N];
            std::memcpy(words, p[lane], sizeof words);
            for (unsigned n = 0; n < N; ++n)
                d[n * lanes + lane] = words[n];
        });
    }
    static void store(const std::uint32_t* s, Pointers p, std::uint64_t active) {
        for_each_lane(active, [&](unsigned lane) {
            std::uint32_t words[N];
            for (unsigned n = 0; n < N; ++n)
                words[n] = s[n * lanes + lane];
            std::memcpy(p[lane], words, sizeof words);
        });
    }

  private:
#if defined(__SSE2__)
    /// Four lanes of four words: rows become columns.
    static void transpose_in(std::uint32_t* d, Pointers p) {
        const auto row = [&](unsigned n) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[n])); };
        const __m128i a = row(0), b = row(1), c = row(2), e = row(3);
        const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
        const __m128i ce_low = _mm_unpacklo_epi32(c, e), ce_high = _mm_unpackhi_epi32(c, e);
        const auto put = [&](unsigned n, __m128i value) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(d + n * lanes), value);
        };
        put(0, _mm_unpacklo_epi64(ab_low, ce_low));
        put(1, _mm_unpackhi_epi64(ab_low, ce_low));
        put(2, _mm_unpacklo_epi64(ab_high, ce_high));
        put(3, _mm_unpackhi_epi64(ab_high, ce_high));
    }
#endif
};

/// One byte or short, extended to a register.
template <class T>
struct Extended {
    static constexpr unsigned registers = 1, bytes = sizeof(T);
    static void load(std::uint32_t* d, Pointers p, std::uint64_t active) {
        for_each_lane(active, [&](unsigned lane) {
            d[lane] = static_cast<std::uint32_t>(static_cast<std::int32_t>(peek<T>(p[lane])));
        });
    }
    static void store(const std::uint32_t* s, Pointers p, std::uint64_t active) {
        for_each_lane(active, [&](unsigned lane) { poke(p[lane], static_cast<T>(s[lane])); });
    }
};

/// One byte or short in one half of a register; the other half of a load's destination stays.
template <class T, bool High>
struct Half {
    static constexpr unsigned registers = 1, bytes = sizeof(T);
    static void load(std::uint32_t* d, Pointers p, std::uint64_t active) {
        for_each_lane(active, [&](unsigned lane) {
            const std::uint32_t value =
                static_cast<std::uint16_t>(static_cast<std::int16_t>(peek<T>(p[lane])));
            d[lane] = High ? (d[lane] & 0xffff) | value << 16 : (d[lane] & 0xffff0000u) | value;
        });
    }
    static void store(const std::uint32_t* s, Pointers p, std::uint64_t active) {
        for_each_lane(active,
                      [&](unsigned lane) { poke(p[lane], static_cast<T>(High ? s[lane] >> 16 : s[lane])); });
    }
};

// --- Atomics

template <class T, auto F>
T exchange(std::byte* p, T data, T compare) {
    std::atomic_ref<T> cell(*reinterpret_cast<T*>(p));
    T old = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(old, F(old, data, compare), std::memory_order_acq_rel))
        ;
    return old;
}

float as_float(std::uint32_t bits);
std::uint32_t as_bits(float value);
double as_double(std::uint64_t bits);
std::uint64_t as_bits(double value);
std::uint32_t add_pk_f16(std::uint32_t a, std::uint32_t b);
std::uint32_t add_pk_bf16(std::uint32_t a, std::uint32_t b);

// (old value, data, compare value) -> new value; CDNA4 ISA, atomic operations.
template <class T>
T add(T old, T data, T) {
    return static_cast<T>(old + data);
}
template <class T>
T sub(T old, T data, T) {
    return static_cast<T>(old - data);
}
template <class T>
T rsub(T old, T data, T) {
    return static_cast<T>(data - old);
}
template <class T>
T swap(T, T data, T) {
    return data;
}
template <class T>
T compare_swap(T old, T data, T compare) {
    return old == compare ? data : old;
}
template <class T>
T umin(T old, T data, T) {
    return std::min(old, data);
}
template <class T>
T umax(T old, T data, T) {
    return std::max(old, data);
}
template <class T>
T smin(T old, T data, T) {
    using S = std::make_signed_t<T>;
    return static_cast<T>(std::min(static_cast<S>(old), static_cast<S>(data)));
}
template <class T>
T smax(T old, T data, T) {
    using S = std::make_signed_t<T>;
    return static_cast<T>(std::max(static_cast<S>(old), static_cast<S>(data)));
}
template <class T>
T bit_and(T old, T data, T) {
    return old & data;
}
template <class T>
T bit_or(T old, T data, T) {
    return old | data;
}
template <class T>
T bit_xor(T old, T data, T) {
    return old ^ data;
}
template <class T>
T increment(T old, T data, T) {
    return old >= data ? T{0} : static_cast<T>(old + 1);
}
template <class T>
T decrement(T old, T data, T) {
    return old == 0 || old > data ? data : static_cast<T>(old - 1);
}
inline std::uint32_t add_f32(std::uint32_t old, std::uint32_t data, std::uint32_t) {
    return as_bits(as_float(old) + as_float(data));
}
inline std::uint64_t add_f64(std::uint64_t old, std::uint64_t data, std::uint64_t) {
    return as_bits(as_double(old) + as_double(data));
}
// minNum and maxNum: a NaN operand loses.
inline std::uint32_t min_f32(std::uint32_t old, std::uint32_t data, std::uint32_t) {
    const float a = as_float(old), b = as_float(data);
    return b < a || a != a ? data : old;
}
inline std::uint32_t max_f32(std::uint32_t old, std::uint32_t data, std::uint32_t) {
    const float a = as_float(old), b = as_float(data);
    return b > a || a != a ? data : old;
}
inline std::uint64_t min_f64(std::uint64_t old, std::uint64_t data, std::uint64_t) {
    const double a = as_double(old), b = as_double(data);
    return b < a || a != a ? data : old;
}
inline std::uint64_t max_f64(std::uint64_t old, std::uint64_t data, std::uint64_t) {
    const double a = as_double(old), b = as_double(data);
    return b > a || a != a ? data : old;
}
inline std::uint32_t pk_f16(std::uint32_t old, std::uint32_t data, std::uint32_t) {
    return add_pk_f16(old, data);
}
inline std::uint32_t pk_bf16(std::uint32_t old, std::uint32_t data, std::uint32_t) {
    return add_pk_bf16(old, data);
}

/// One atomic per active lane, in lane order. `d` null: no result wanted.
template <class T, auto F>
void atomic_lanes(std::uint32_t* d, const std::uint32_t* data, const std::uint32_t* compare, Pointers p,
                  std::uint64_t active) {
    const auto value = [](const std::uint32_t* s, unsigned lane) {
        if constexpr (sizeof(T) == 8)
            return std::uint64_t{s[lane]} | std::uint64_t{s[lanes + lane]} << 32;
        else
            return s[lane];
    };
    for_each_lane(active, [&](unsigned lane) {
        if (reinterpret_cast<std::uintptr_t>(p[lane]) % sizeof(T) != 0)
            fault("misaligned atomic", "address " + hexadecimal(reinterpret_cast<std::uintptr_t>(p[lane])),
                  static_cast<int>(lane));
        const T old =
            exchange<T, F>(p[lane], value(data, lane), compare != nullptr ? value(compare, lane) : T{});
        if (d != nullptr) {
            d[lane] = static_cast<std::uint32_t>(old);
            if constexpr (sizeof(T) == 8)
                d[lanes + lane] = static_cast<std::uint32_t>(old >> 32);
        }
    });
}

/// What stands for memory that is not there while a watcher lets the launch go on: zeros for this access. Of
/// a whole wave's access 64 bytes. A fault without such a watcher.
std::byte* beyond(Wave& wave, const Instruction& i, const OutOfBounds& access);

// --- Instruction handlers over a space
// Space::resolve(wave, instruction, bytes, what) fills thread->pointers (and thread->addresses) of the lanes
// it returns, or faults; Space::finish_store completes lanes that were only partly in range.

template <bool Observed>
void observe(Wave& w, const Instruction& i, std::uint64_t active, unsigned bytes) {
    if constexpr (Observed)
        w.thread->observer->access(w, i, w.thread->addresses, active, bytes);
}

template <class Space, class Access, bool Observed>
void load(Wave& w, const Instruction& i) {
    const std::uint64_t active = Space::resolve(w, i, Access::bytes, "load");
    observe<Observed>(w, i, active, Access::bytes);
    Access::load(w.v + i.dst.value, w.thread->pointers, active);
}

/// Tells the observer where a load would have gone.
template <class Space, class Access>
void ask(Wave& w, const Instruction& i) {
    observe<true>(w, i, Space::resolve(w, i, Access::bytes, "load"), Access::bytes);
}

template <class Space, class Access, bool Observed>
void store(Wave& w, const Instruction& i) {
    const std::uint64_t active = Space::resolve(w, i, Access::bytes, "store");
    observe<Observed>(w, i, active, Access::bytes);
    Access::store(w.v + i.src[1].value, w.thread->pointers, active);
    Space::finish_store(w);
}

template <class Space, class T, auto F, bool Observed>
void atomic(Wave& w, const Instruction& i) {
    const std::uint64_t active = Space::resolve(w, i, sizeof(T), "atomic");
    observe<Observed>(w, i, active, sizeof(T));
    std::uint32_t* d = i.dst.kind == OperandKind::vgpr ? w.v + i.dst.value : nullptr;
    const std::uint32_t* data = w.v + i.src[1].value;
    const std::uint32_t* compare = nullptr;
    if (Space::pairs_data && i.src[1].words == 2 * sizeof(T) / 4)
        compare = data + sizeof(T) / 4 * lanes; // compare-and-swap: data, then what to compare with
    else if (!Space::pairs_data && i.src[2].kind == OperandKind::vgpr) {
        compare = data; // LDS: the other way round
        data = w.v + i.src[2].value;
    }
    atomic_lanes<T, F>(d, data, compare, w.thread->pointers, active);
}

template <class Space, class Access>
constexpr MemoryOp load_op(std::string_view name) {
    return {name,
            load<Space, Access, false>,
            load<Space, Access, true>,
            Access::registers,
            0,
            0,
            Access::bytes,
            flag::load,
            ask<Space, Access>};
}
template <class Space, class Access>
constexpr MemoryOp store_op(std::string_view name) {
    return {name,
            store<Space, Access, false>,
            store<Space, Access, true>,
            0,
            Access::registers,
            0,
            Access::bytes,
            flag::store};
}
/// `returns`: registers of the result (of an encoding whose glc bit asks for it: always sizeof(T) / 4).
template <class Space, class T, auto F>
constexpr MemoryOp atomic_op(std::string_view name, bool returns = true, unsigned data = sizeof(T) / 4,
                             unsigned data2 = 0) {
    return {name,
            atomic<Space, T, F, false>,
            atomic<Space, T, F, true>,
            static_cast<std::uint8_t>(returns ? sizeof(T) / 4 : 0),
            static_cast<std::uint8_t>(data),
            static_cast<std::uint8_t>(data2),
            sizeof(T),
            flag::atomic};
}

} // namespace zyfa::sim::access

namespace zyfa::sim {
// The tables of each family, joined by find_memory_op.
std::span<const MemoryOp> flat_ops();
std::span<const MemoryOp> buffer_ops();
std::span<const MemoryOp> lds_ops();
std::span<const MemoryOp> scalar_memory_ops();

/// LDS-DMA: `bytes` per lane from thread->pointers to LDS at M0 + offset + lane * stride.
void copy_to_lds(Wave& wave, const Instruction& i, std::uint64_t active, unsigned bytes,
                 std::uint32_t offset);
} // namespace zyfa::sim
