// SPDX-License-Identifier: Apache-2.0
#include "templates/schedule/interleave.hpp"

#include <string>

namespace zyfa::templates::schedule {

namespace {

/// Scalar state (SGPRs, VCC, M0, SCC) may not pass between streams: their relative order is not theirs to
/// know. Vector registers may (an operand fragment is reloaded behind the instruction that used it).
void check_independent(const isa::Stream& a, const isa::Stream& b) {
    auto scalar = [](isa::Units u) { return u.first >= isa::sgpr_unit && u.first < isa::token_unit; };
    for (const isa::Item& x : a.items)
        for (isa::Units written : x.instruction.writes)
            if (scalar(written))
                for (const isa::Item& y : b.items)
                    if (y.instruction.reads.overlaps(written) || y.instruction.writes.overlaps(written))
                        isa::defect("interleave: \"" + x.instruction.text + "\" and \"" + y.instruction.text +
                                    "\" share scalar state");
}

} // namespace

isa::Stream interleave(const isa::Stream& leading, const std::vector<Companion>& companions) {
    auto has_slot = [](const Companion& c, const isa::Instruction& i) {
        return !c.behind || i.kind == *c.behind;
    };
    for (const Companion& c : companions) {
        std::size_t slots = 0;
        for (const isa::Item& item : leading.items)
            slots += item.type == isa::Item::Type::instruction && has_slot(c, item.instruction);
        if (c.first > c.last || c.last >= slots)
            isa::defect("interleave: slots " + std::to_string(c.first) + ".." + std::to_string(c.last) +
                        " of a stream with " + std::to_string(slots));
    }
    for (std::size_t i = 0; i < companions.size(); ++i) {
        check_independent(leading, companions[i].stream);
        for (std::size_t j = 0; j < companions.size(); ++j) {
            const Companion &a = companions[i], &b = companions[j];
            const bool apart = a.behind == b.behind && (a.last < b.first || b.last < a.first);
            if (i != j && !apart)
                check_independent(a.stream, b.stream);
        }
    }
    isa::Stream out;
    std::vector<std::size_t> issued(companions.size(), 0), slot(companions.size(), 0);
    for (const isa::Item& item : leading.items) {
        out.items.push_back(item);
        if (item.type != isa::Item::Type::instruction)
            continue;
        for (std::size_t i = 0; i < companions.size(); ++i) {
            const Companion& c = companions[i];
            if (!has_slot(c, item.instruction))
                continue;
            const std::size_t here = slot[i]++;
            if (here < c.first)
                continue;
            const std::size_t total = c.stream.items.size(), span = c.last - c.first + 1;
            const std::size_t due = here >= c.last ? total : (here - c.first + 1) * total / span;
            for (; issued[i] < due; ++issued[i])
                out.items.push_back(c.stream.items[issued[i]]);
        }
    }
    return out;
}

} // namespace zyfa::templates::schedule
