// SPDX-License-Identifier: Apache-2.0
#include "bench/mutants/mutation.hpp"

#include <array>
#include <cctype>
#include <sstream>

namespace zyfa::mutants {

namespace {

/// The instruction of a line without comments and surrounding blanks.
std::string instruction_of(std::string line) {
    for (const char* const comment : {"//", ";", "/*"})
        if (const std::size_t at = line.find(comment); at != std::string::npos)
            line.resize(at);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos)
        return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

struct Counter {
    const char* name;
    unsigned limit;
};
constexpr std::array counters{Counter{"vmcnt", 63}, Counter{"lgkmcnt", 15}, Counter{"expcnt", 7}};

void wait_mutations(std::vector<Mutation>& out, Mutation mutation) {
    mutation.kind = Mutation::Kind::wait;
    mutation.removed = true;
    out.push_back(mutation);
    mutation.removed = false;
    for (const Counter& counter : counters) {
        const std::size_t at = mutation.original.find(std::string(counter.name) + "(");
        if (at == std::string::npos)
            continue;
        const std::size_t open = mutation.original.find('(', at), close = mutation.original.find(')', at);
        const auto count =
            static_cast<unsigned>(std::stoul(mutation.original.substr(open + 1, close - open - 1)));
        if (count >= counter.limit)
            continue;
        mutation.replacement = mutation.original.substr(0, open + 1) + std::to_string(count + 1) +
                               mutation.original.substr(close);
        out.push_back(mutation);
    }
}

std::string with_line(const std::string& assembly, std::size_t wanted, const std::string& replacement) {
    std::size_t begin = 0;
    for (std::size_t line = 0; line < wanted; ++line)
        begin = assembly.find('\n', begin) + 1;
    const std::size_t end = assembly.find('\n', begin);
    return assembly.substr(0, begin) + "\t" + replacement +
           (end == std::string::npos ? std::string() : assembly.substr(end));
}

} // namespace

std::vector<Mutation> mutations_of(const std::string& assembly) {
    std::vector<Mutation> all;
    std::istringstream lines(assembly);
    std::string function, label, text;
    std::array<std::string, 2> before, of_nop; ///< the last two instructions; those before the last s_nop
    std::size_t awaiting = 0;                  ///< mutations of that s_nop
    for (std::size_t line = 0; std::getline(lines, text); ++line) {
        const std::string instruction = instruction_of(text);
        if (instruction.size() > 1 && instruction.back() == ':') {
            label = instruction.substr(0, instruction.size() - 1);
            if (label[0] != '.')
                function = label;
        }
        if (!instruction.empty()) {
            bool without_rule =
                of_nop[0].starts_with("v_pk_") ||
                (instruction.starts_with("v_writelane") &&
                 (of_nop[0].starts_with("v_writelane") || of_nop[1].starts_with("v_writelane")));
            for (const char* const kind : {"global_load", "flat_load", "s_load", "scratch_load"})
                without_rule |= instruction.starts_with(kind) && of_nop[0].starts_with(kind);
            for (std::size_t n = all.size() - awaiting; n < all.size(); ++n)
                all[n].without_rule = without_rule;
            awaiting = 0;
        }
        const std::array<std::string, 2> behind = before;
        if (!instruction.empty())
            before = {instruction, behind[0]};
        Mutation mutation{
            .line = line, .function = function, .label = label, .original = instruction, .replacement = {}};
        if (instruction.starts_with("s_waitcnt ")) {
            wait_mutations(all, mutation);
        } else if (instruction.starts_with("s_nop ")) {
            mutation.kind = Mutation::Kind::nop;
            mutation.removed = true;
            all.push_back(mutation);
            const unsigned long count = std::stoul(instruction.substr(6), nullptr, 0);
            mutation.removed = false;
            mutation.replacement = "s_nop " + std::to_string(count - 1);
            if (count > 0)
                all.push_back(mutation);
            awaiting = count > 0 ? 2 : 1;
            of_nop = behind;
        } else if (instruction == "s_barrier") {
            mutation.kind = Mutation::Kind::barrier;
            mutation.removed = true;
            all.push_back(mutation);
        }
    }
    return all;
}

std::string apply(const std::string& assembly, const Mutation& mutation) {
    return with_line(assembly, mutation.line, mutation.replacement);
}

std::string probe(const std::string& assembly, const Mutation& mutation) {
    return with_line(assembly, mutation.line, ".long 0xbfff0000"); // no SOPP opcode
}

} // namespace zyfa::mutants
