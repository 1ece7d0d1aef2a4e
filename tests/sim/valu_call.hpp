// SPDX-License-Identifier: Apache-2.0
// Runs one vector operation on registers held in arrays.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/valu/valu.hpp"
#include "tests/sim/without.hpp"

namespace zyfa::sim::test {

/// `registers` times 64 words, lane 0 first.
struct Register {
    std::vector<std::uint32_t> words;
    explicit Register(unsigned registers = 1, std::uint32_t fill = 0) : words(64 * registers, fill) {}
    std::uint32_t& operator()(unsigned lane, unsigned reg = 0) { return words[reg * 64 + lane]; }
    std::uint32_t operator()(unsigned lane, unsigned reg = 0) const { return words[reg * 64 + lane]; }
    bool operator==(const Register&) const = default;
};

inline std::uint32_t bits(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
inline float value(std::uint32_t x) {
    return std::bit_cast<float>(x);
}

inline Register broadcast(std::uint32_t x) {
    return Register(1, x);
}
inline Register broadcast(float x) {
    return Register(1, bits(x));
}

/// A call with its operands; sources are copied, d is read and written in place.
struct Call {
    FloatMode mode{};
    ValuCall call{};
    std::array<Register, 3> source{Register(4), Register(4), Register(4)};
    Register d{4};

    explicit Call(FloatMode m = {}) : mode(m) {}
    Call& operand(unsigned n, const Register& r) {
        source[n].words.assign(256, 0);
        std::copy(r.words.begin(), r.words.end(), source[n].words.begin());
        return *this;
    }
    Call(const Call&) = default;
    /// Null if the mnemonic is unknown; the caller checks.
    const ValuOp* run(std::string_view mnemonic) {
        const ValuOp* op = find_valu_op(mnemonic);
        if (!op)
            return nullptr;
        call.d = d.words.data();
        for (unsigned n = 0; n < 3; ++n)
            call.s[n] = source[n].words.data();
        call.mode = &mode;
        if (!without(mnemonic))
            op->function(call);
        return op;
    }
};

/// Lane 0 of one register of the result for scalar operands, given as bits.
inline std::uint32_t run1(std::string_view mnemonic, std::initializer_list<std::uint32_t> operands,
                          FloatMode mode = {}, std::uint32_t d = 0, std::uint8_t op_sel = 0) {
    Call c(mode);
    unsigned n = 0;
    for (std::uint32_t x : operands)
        c.operand(n++, broadcast(x));
    c.d = Register(4, d);
    c.call.op_sel = op_sel;
    if (!c.run(mnemonic))
        throw std::runtime_error("no operation " + std::string(mnemonic));
    for (unsigned lane = 1; lane < 64; ++lane)
        if (c.d(lane) != c.d(0))
            throw std::runtime_error("lanes differ");
    return c.d(0);
}

} // namespace zyfa::sim::test
