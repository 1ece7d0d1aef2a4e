// SPDX-License-Identifier: Apache-2.0
#include "templates/schedule/interleave.hpp"

namespace zyfa::templates::schedule {

isa::Stream interleave(const isa::Stream& leading, const std::vector<Companion>& companions) {
    isa::Stream out;
    const std::size_t slots = leading.instruction_count();
    for (const Companion& c : companions)
        if (c.first > c.last || c.last >= slots)
            isa::defect("interleave: slots " + std::to_string(c.first) + ".." + std::to_string(c.last) +
                        " of a stream of " + std::to_string(slots));
    std::vector<std::size_t> issued(companions.size(), 0);
    std::size_t slot = 0;
    for (const isa::Item& item : leading.items) {
        out.items.push_back(item);
        if (item.type != isa::Item::Type::instruction)
            continue;
        for (std::size_t i = 0; i < companions.size(); ++i) {
            const Companion& c = companions[i];
            if (slot < c.first)
                continue;
            const std::size_t total = c.stream.items.size(), span = c.last - c.first + 1;
            const std::size_t due = slot >= c.last ? total : (slot - c.first + 1) * total / span;
            for (; issued[i] < due; ++issued[i])
                out.items.push_back(c.stream.items[issued[i]]);
        }
        ++slot;
    }
    return out;
}

} // namespace zyfa::templates::schedule
