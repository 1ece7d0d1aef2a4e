// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/sim_targets.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/decoder.hpp"
#include "sim/disassembler.hpp"
#include "sim/sanitizer/traits.hpp"
#include "tests/fuzz/require.hpp"

namespace zyfa::fuzz {

void read_as_instructions(std::span<const std::byte> bytes) {
    const std::vector<std::byte> code(
        bytes.begin(),
        bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(bytes.size(), 1024)));
    sim::Disassembler& disassembler = sim::Disassembler::instance();
    sim::ConstantPool pool;
    for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
        const auto left = std::span(code).subspan(at);
        const sim::Disassembled found = disassembler.decode(left, at);
        require(found.size >= 4 && found.size % 4 == 0);
        require(!disassembler.text(left, at).empty());
        sim::RawInstruction raw;
        raw.size = found.size;
        raw.mnemonic = found.mnemonic;
        raw.pc = static_cast<std::uint32_t>(at);
        std::memcpy(raw.word, left.data(), std::min({left.size(), std::size_t{raw.size}, sizeof raw.word}));
        std::int64_t target = -1;
        const sim::Instruction instruction = sim::decode_instruction(raw, pool, target);
        require(instruction.execute != nullptr && instruction.execute_observed != nullptr);
        require(instruction.v_end <= 256 && instruction.a_end <= 256);
        const sim::sanitizer::Traits traits = sim::sanitizer::traits_of(instruction);
        for (const auto uses : {traits.read(), traits.written()})
            for (const sim::sanitizer::Use& use : uses)
                require(use.first + use.count <= sim::sanitizer::units);
    }
}

} // namespace zyfa::fuzz
