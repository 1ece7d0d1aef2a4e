// SPDX-License-Identifier: Apache-2.0
#include "templates/asm/instruction.hpp"

#include <algorithm>

namespace zyfa::templates::isa {

Instruction make_waitcnt(int vm, int lgkm) {
    Instruction instruction;
    instruction.kind = Kind::wait;
    instruction.text = "s_waitcnt";
    if (vm >= 0)
        instruction.text += " vmcnt(" + std::to_string(vm) + ")";
    if (lgkm >= 0)
        instruction.text += " lgkmcnt(" + std::to_string(lgkm) + ")";
    instruction.wait_vm = static_cast<std::int8_t>(vm);
    instruction.wait_lgkm = static_cast<std::int8_t>(lgkm);
    return instruction;
}

Instruction make_nop(unsigned wait_states) {
    if (wait_states < 1 || wait_states > 16)
        defect("s_nop supplies 1 to 16 wait states");
    Instruction instruction;
    instruction.kind = Kind::nop;
    instruction.text = "s_nop " + std::to_string(wait_states - 1);
    instruction.wait_states = static_cast<std::uint8_t>(wait_states);
    return instruction;
}

std::size_t Stream::instruction_count() const {
    return static_cast<std::size_t>(std::count_if(
        items.begin(), items.end(), [](const Item& item) { return item.type == Item::Type::instruction; }));
}

std::string to_text(const Stream& stream) {
    constexpr std::size_t comment_column = 84;
    std::string out;
    out.reserve(stream.items.size() * 96);
    for (const Item& item : stream.items) {
        switch (item.type) {
        case Item::Type::label:
            out += item.text + ":\n";
            break;
        case Item::Type::remark:
            out += "  // " + item.text + "\n";
            break;
        case Item::Type::directive:
            out += "  " + item.text + "\n";
            break;
        case Item::Type::instruction: {
            const std::size_t start = out.size();
            out += "  " + item.instruction.text;
            if (!item.instruction.comment.empty()) {
                const std::size_t width = out.size() - start;
                out.append(width < comment_column ? comment_column - width : 1, ' ');
                out += "// " + item.instruction.comment;
            }
            out += '\n';
        }
        }
    }
    return out;
}

} // namespace zyfa::templates::isa
