// SPDX-License-Identifier: Apache-2.0
// The key of the in-process table: everything of a call that a resident kernel depends on. Pointers and
// scales are not in it; they are patched into the kernel arguments of each call.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "zyfa/attention.hpp"

namespace zyfa::call {

struct CallKey {
    struct Tensor {
        std::array<std::int64_t, 4> sizes, strides;
    };
    std::array<Tensor, 4> tensors; ///< q, k, v, o
    std::int64_t lse_batch_stride, lse_head_stride;
    std::array<std::int32_t, 4> devices;
    std::array<DType, 4> dtypes;
    Mask mask;
    Probability probability;
    Mode mode;
    std::uint8_t flags; ///< bit 0: LSE is written, bit 1: nan_exact
};
// Compared and hashed as bytes, so there must be no padding.
static_assert(std::has_unique_object_representations_v<CallKey> && sizeof(CallKey) % 8 == 0);

inline bool operator==(const CallKey& a, const CallKey& b) noexcept {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// As the caller wrote it. Equal work may have several keys (any stride over a size of 1, a scale left out);
/// they lead to the same resident kernel.
inline CallKey call_key(const AttentionArgs& args, Mode mode) noexcept {
    CallKey key;
    const std::array<const TensorView*, 4> views{&args.q, &args.k, &args.v, &args.o};
    for (std::size_t i = 0; i < 4; ++i) {
        key.tensors[i] = {views[i]->sizes, views[i]->strides};
        key.devices[i] = views[i]->device;
        key.dtypes[i] = views[i]->dtype;
    }
    key.lse_batch_stride = args.lse_batch_stride;
    key.lse_head_stride = args.lse_head_stride;
    key.mask = args.mask;
    key.probability = args.probability;
    key.mode = mode;
    key.flags = static_cast<std::uint8_t>((args.lse != nullptr ? 1 : 0) | (args.nan_exact ? 2 : 0));
    return key;
}

/// The canonical key of a validated problem.
CallKey call_key(const Problem& problem, int device, Mode mode) noexcept;

inline std::uint64_t hash(const CallKey& key) noexcept {
    // Four independent multiply-xor chains, so that the multiplier's latency does not add up over 37 words.
    constexpr std::size_t words = sizeof(CallKey) / 8;
    std::array<std::uint64_t, words> word;
    std::memcpy(word.data(), &key, sizeof key);
    constexpr std::uint64_t multiplier = 0x9fb21c651e98df25u;
    std::array<std::uint64_t, 4> lane{0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u,
                                      0x082efa98ec4e6c89u};
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t& h = lane[i % 4];
        h = (h ^ word[i]) * multiplier;
        h ^= h >> 29;
    }
    std::uint64_t h = lane[0] ^ (lane[1] << 1) ^ (lane[2] << 2) ^ (lane[3] << 3);
    h *= multiplier;
    return h ^ (h >> 32);
}

/// Arguments that ask for `problem`, with made-up pointers: for validating a problem by the rules of a call.
AttentionArgs arguments_of(const Problem& problem, int device);

} // namespace zyfa::call
