// SPDX-License-Identifier: Apache-2.0
#include "templates/asm/allocator.hpp"

#include <algorithm>

namespace zyfa::templates::isa {

namespace {
constexpr char letter(Bank bank) {
    return bank == Bank::vgpr ? 'v' : bank == Bank::agpr ? 'a' : 's';
}
} // namespace

template <Bank B>
Registers<B> Allocator<B>::allocate(const std::string& name, unsigned count, unsigned alignment,
                                    std::string note) {
    for (const Entry& entry : entries_)
        if (entry.name == name)
            defect("register name " + name + " is taken");
    for (unsigned first = 0; first + count <= used_.size(); first += alignment) {
        const auto begin = used_.begin() + first, end = begin + count;
        if (std::find(begin, end, true) != end)
            continue;
        std::fill(begin, end, true);
        peak_ = std::max(peak_, first + count);
        entries_.push_back({name, std::move(note), first, count, false});
        return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count),
                static_cast<std::uint16_t>(first), entries_.back().name.c_str()};
    }
    defect("out of " + std::string(1, letter(B)) + " registers for " + name);
}

template <Bank B>
Registers<B> Allocator<B>::alias(const std::string& name, Registers<B> part, std::string note) {
    entries_.push_back({name, std::move(note), part.first, part.count, true});
    return {part.first, part.count, part.first, entries_.back().name.c_str()};
}

template <Bank B>
void Allocator<B>::release(Registers<B> range) {
    for (unsigned i = 0; i < range.count; ++i) {
        if (!used_[range.first + i])
            defect("register released twice: " + range.text());
        used_[range.first + i] = false;
    }
}

template <Bank B>
std::string register_map(const Allocator<B>& allocator) {
    std::string out;
    for (const auto& entry : allocator.entries()) {
        std::string line = ".set " + entry.name + ", " + std::to_string(entry.first);
        line.resize(std::max<std::size_t>(line.size() + 1, 28), ' ');
        line += "// " + std::string(1, letter(B)) + std::to_string(entry.first);
        if (entry.count > 1)
            line += ".." + std::to_string(entry.first + entry.count - 1);
        line.resize(std::max<std::size_t>(line.size() + 1, 42), ' ');
        out += line + (entry.alias ? "(within another) " : "") + entry.note + "\n";
    }
    return out;
}

template class Allocator<Bank::vgpr>;
template class Allocator<Bank::agpr>;
template class Allocator<Bank::sgpr>;
template std::string register_map(const Allocator<Bank::vgpr>&);
template std::string register_map(const Allocator<Bank::agpr>&);
template std::string register_map(const Allocator<Bank::sgpr>&);

} // namespace zyfa::templates::isa
