// SPDX-License-Identifier: Apache-2.0
// What zyfa's kernels take for granted about a gfx950 device, each as a small kernel with known results: the
// first thing to run on new silicon, driver or simulator.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"

namespace zyfa::cli::selftest {

inline constexpr unsigned lanes = 64, words = 16;
/// [lane][word]
using Lanes = std::array<std::array<std::uint32_t, words>, lanes>;

struct Fact {
    std::string name;                   ///< "cvt-fp8"
    std::string what;                   ///< the rule, for people
    std::vector<std::string> mnemonics; ///< kernels that use one of these rely on the fact
    /// One wave: v0 holds the lane, v[32:47] its input; its output is v[8:23]. s[4:5] is the input's address.
    std::string body;
    std::uint32_t lds_bytes = 0;
    Lanes input{}, expected{};
    unsigned checked = words; ///< words of the output that mean something, from the first on
};

const std::vector<Fact>& all_facts();

struct Outcome {
    const Fact* fact = nullptr;
    bool held = false;
    std::string message; ///< the first lane and word at fault, or the device's error
};

/// Assembles the facts into one code object and runs each on the device. Throws Error{assemble_failed} or
/// Error{device_error} where nothing could be run at all.
std::vector<Outcome> run(const std::shared_ptr<runtime::Runtime>& runtime, int device,
                         jit::Assembler& assembler, const std::vector<Fact>& facts);

/// Names of the facts that a kernel relies on, by the instructions in its assembly.
std::vector<std::string> relies_on(std::string_view assembly, const std::vector<Fact>& facts);

} // namespace zyfa::cli::selftest
