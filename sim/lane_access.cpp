// SPDX-License-Identifier: Apache-2.0
#include "sim/lane_access.hpp"

#include <unordered_map>

namespace zyfa::sim {

namespace access {

float as_float(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}
std::uint32_t as_bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}
double as_double(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
}
std::uint64_t as_bits(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

namespace {

float half_to_float(std::uint32_t h) {
    const std::uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31)
        return as_float(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0)
        return as_float(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return (sign != 0) ? -magnitude : magnitude;
}

/// Round to nearest even.
std::uint32_t float_to_half(float value) {
    const std::uint32_t bits = as_bits(value), sign = bits >> 16 & 0x8000;
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7e00;
    if (magnitude >= 0x477ff000) // 65520 and above
        return sign | 0x7c00;
    if (magnitude < 0x38800000) { // subnormal in FP16: an exact multiple of 2^-24 after rounding
        const float scaled = as_float(magnitude) * 0x1p24f;
        const float rounded = scaled + 0x1p23f - 0x1p23f; // RNE to an integer
        return sign | static_cast<std::uint32_t>(rounded);
    }
    const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | ((rounded - 0x38000000) >> 13);
}

std::uint32_t float_to_bf16(float value) {
    const std::uint32_t bits = as_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

} // namespace

// A sum of two FP16 or BF16 numbers in FP32, rounded again, is the sum rounded once: FP32 has more than twice
// their precision plus two.
std::uint32_t add_pk_f16(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t low = float_to_half(half_to_float(a & 0xffff) + half_to_float(b & 0xffff));
    const std::uint32_t high = float_to_half(half_to_float(a >> 16) + half_to_float(b >> 16));
    return low | high << 16;
}
std::uint32_t add_pk_bf16(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t low = float_to_bf16(as_float(a << 16) + as_float(b << 16));
    const std::uint32_t high = float_to_bf16(as_float(a & 0xffff0000u) + as_float(b & 0xffff0000u));
    return low | high << 16;
}

std::byte* beyond(Wave& wave, const Instruction& i, const OutOfBounds& access) {
    ThreadContext& t = *wave.thread;
    if (t.observer == nullptr || !t.observer->out_of_bounds(wave, i, access))
        fault(access.kind(), access.describe(t.view.memory()), access.lane);
    static_assert(sizeof t.bounce >= 64, "the widest scalar load");
    std::byte* const zeros = t.bounce[std::max(access.lane, 0)];
    std::memset(zeros, 0, access.lane < 0 ? 64 : sizeof t.bounce[0]);
    return zeros;
}

} // namespace access

void copy_to_lds(Wave& w, const Instruction& i, std::uint64_t active, unsigned bytes, std::uint32_t offset) {
    // CDNA4 ISA, "Memory Buffer Load to LDS": LDS_BASE + M0[17:0] + inst_offset + lane * 4 (dword and
    // narrower) or * 16; inst_offset moves the LDS address as well as the memory address (AITER's
    // kernels count on it).
    const unsigned stride = bytes <= 4 ? 4 : 16;
    const std::uint64_t base = std::uint64_t{w.m0() & 0x3ffff} + offset;
    std::byte* const lds = w.group->lds.data();
    const std::uint64_t limit = w.group->lds_bytes;
    access::for_each_lane(active, [&](unsigned lane) {
        const std::uint64_t at = base + lane * stride;
        const unsigned size = std::max(bytes, 4u);
        if (at + size > limit) {
            access::beyond(w, i,
                           {OutOfBounds::Space::lds, "load to LDS", at, size, static_cast<int>(lane), limit});
            return;
        }
        if (bytes >= 4) {
            std::memcpy(lds + at, w.thread->pointers[lane], bytes);
        } else {
            std::uint32_t word = 0;
            std::memcpy(&word, w.thread->pointers[lane], bytes);
            if (i.mnemonic != nullptr && std::string_view(i.mnemonic).find("_s") != std::string_view::npos)
                word = bytes == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(word))
                                  : static_cast<std::uint32_t>(static_cast<std::int16_t>(word));
            std::memcpy(lds + at, &word, sizeof word);
        }
    });
}

const MemoryOp* find_memory_op(std::string_view mnemonic) {
    static const auto table = [] {
        std::unordered_map<std::string_view, const MemoryOp*> map;
        for (const auto ops : {flat_ops(), buffer_ops(), lds_ops(), scalar_memory_ops()})
            for (const MemoryOp& op : ops)
                map.emplace(op.mnemonic, &op);
        return map;
    }();
    const auto found = table.find(mnemonic);
    return found == table.end() ? nullptr : found->second;
}

} // namespace zyfa::sim
