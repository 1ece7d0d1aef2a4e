// SPDX-License-Identifier: Apache-2.0
#include "templates/schedule/flow.hpp"

#include <map>
#include <string>

namespace zyfa::templates::schedule {

Flow make_flow(const isa::Stream& stream) {
    Flow flow;
    std::map<std::string, std::size_t> labels; // label -> next instruction
    for (std::size_t i = 0; i < stream.items.size(); ++i) {
        const isa::Item& item = stream.items[i];
        if (item.type == isa::Item::Type::label) {
            if (!labels.emplace(item.text, flow.code.size()).second)
                isa::defect("label defined twice: " + item.text);
        } else if (item.type == isa::Item::Type::instruction) {
            flow.code.push_back(&item.instruction);
            flow.item.push_back(i);
        }
    }
    flow.before.resize(flow.code.size());
    flow.after.resize(flow.code.size());
    auto connect = [&flow](std::size_t from, std::size_t to) {
        if (to >= flow.code.size())
            return; // a label at the end of the stream
        flow.after[from].push_back(to);
        flow.before[to].push_back(from);
    };
    for (std::size_t i = 0; i < flow.code.size(); ++i) {
        const isa::Instruction& instruction = *flow.code[i];
        if (instruction.kind == isa::Kind::branch) {
            const auto target = labels.find(instruction.target);
            if (target == labels.end())
                isa::defect("branch to an unknown label: " + instruction.text);
            connect(i, target->second);
            if (!instruction.conditional)
                continue;
        }
        if (instruction.kind != isa::Kind::end)
            connect(i, i + 1);
    }
    return flow;
}

} // namespace zyfa::templates::schedule
