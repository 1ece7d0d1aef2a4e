// SPDX-License-Identifier: Apache-2.0
// zyfa_mutants: how many of a kernel's mutants the sanitizer finds (docs/sanitizer.md).
//   zyfa_mutants KERNEL.s LAUNCH.json...       of `zyfa asm --output KERNEL.s --launch LAUNCH.json`; further
//                                              launches of the kernel reach other paths (paths.py)
//   zyfa_mutants --corpus DEVICE.s             every kernel of a compiled corpus (tests/sim/corpus)
//   --items N                                  of the corpus: one workgroup of so many; else two of 256
//   --every N, --from N                        each N-th mutant only
//   --sample N, --seed N                       N mutants, drawn without replacement
//   --at-least PERCENT                         exit code 1 below that recall, or where none breaks a rule
// Prints one line per mutant that was executed and not found, then a table, then where those stand that no
// launch executes. A mutant is run by every launch that executes its place. It counts as
//   found       an error, or a fault
//   note        only a note: the rule is LLVM's, shipped kernels break it
//   missed      no report, though the results differ under late landing or one of three seeds, or a compiler
//               had put an s_nop there and its removal is not reported
//   no effect   no report, and the results are right although everything lands as late as it may; or an s_nop
//               of LLVM's for which there is no rule here (mutation.hpp), or whose wait states the matrix
//               pipe's own stalls take
//   not run     the place is not executed
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>

#include <fmt/core.h>

#include "bench/mutants/mutation.hpp"
#include "bench/mutants/trial.hpp"
#include "cli/launch_file.hpp"
#include "jit/assembler.hpp"

namespace {

using namespace zyfa;
using namespace zyfa::mutants;

struct Flags {
    std::string assembly;
    std::vector<std::string> launches;
    bool corpus = false;
    std::uint32_t items = 0;
    std::size_t every = 1, from = 0, sample = 0;
    std::uint64_t seed = 1;
    double at_least = 0;
};

enum class Verdict { found, note, missed, no_effect, not_run };
constexpr const char* verdict_names[] = {"found", "note", "missed", "no effect", "not run"};

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

Subject subject_of(const std::string& path) {
    const cli::LaunchFile launch =
        cli::parse_launch(read_text(path), std::filesystem::path(path).parent_path().string());
    Subject subject;
    subject.kernel = launch.kernel;
    subject.grid = launch.grid;
    subject.block = launch.block;
    subject.dynamic_lds = launch.dynamic_lds;
    subject.kernarg.resize(launch.kernarg_bytes);
    const std::map<std::string, cli::Content> contents = cli::initial_contents(launch);
    std::map<std::string, std::size_t> index;
    for (const auto& [name, spec] : launch.buffers) {
        index.emplace(name, subject.buffers.size());
        subject.buffers.push_back(contents.at(name).bytes);
    }
    for (const cli::KernargSpec& argument : launch.kernargs) {
        std::vector<std::byte> value = argument.value;
        if (!argument.buffer.empty())
            subject.pointers.push_back({argument.offset, index.at(argument.buffer), argument.buffer_offset});
        else if (!argument.descale_of.empty())
            cli::store(cli::ElementType::f32, contents.at(argument.descale_of).descale, value);
        std::copy(value.begin(), value.end(), subject.kernarg.begin() + argument.offset);
    }
    return subject;
}

/// Kernels of the corpus take an input and an output of 8 words per work-item.
Subject corpus_subject(const std::string& kernel, std::uint32_t only_group) {
    constexpr std::uint32_t items = 512, words = 8;
    std::mt19937 random(5);
    std::vector<std::uint32_t> in(items * words + 1024);
    for (std::uint32_t& word : in) {
        word = static_cast<std::uint32_t>(random());
        if (random() % 4 == 0)
            word = (word & 0x83ffffffu) + 0x3c000000u;
    }
    Subject subject;
    subject.kernel = kernel;
    subject.grid = {only_group != 0 ? 1 : items / 256, 1, 1};
    subject.block = {only_group != 0 ? only_group : 256, 1, 1};
    subject.kernarg.resize(16);
    subject.pointers = {{.offset = 0, .buffer = 0}, {.offset = 8, .buffer = 1}};
    subject.buffers.resize(2, std::vector<std::byte>(in.size() * 4));
    std::memcpy(subject.buffers[0].data(), in.data(), in.size() * 4);
    return subject;
}

class Judge {
  public:
    Judge(std::string assembly, std::vector<Subject> subjects)
        : assembly_(std::move(assembly)), subjects_(std::move(subjects)),
          assembler_(jit::make_llvm_assembler()) {
        if (!assembler_)
            throw std::runtime_error("LLVM's assembler was not built");
        const std::vector<std::byte> elf = assemble(assembly_);
        for (const Subject& subject : subjects_) {
            const Outcome good = bench_.run(elf, subject, false, 0);
            Outcome watched = bench_.run(elf, subject, true, 0);
            if (good.fault || !watched.errors.empty() || watched.buffers != good.buffers)
                throw std::runtime_error(subject.kernel + " is not clean before any mutation" +
                                         (watched.errors.empty() ? "" : ": " + watched.errors.front()));
            reference_.push_back(std::move(watched));
        }
    }

    const std::string& assembly() const { return assembly_; }

    Verdict judge(const Mutation& mutation, std::string& why) {
        const std::vector<std::size_t> executing = subjects_executing(mutation);
        if (executing.empty())
            return Verdict::not_run;
        const std::vector<std::byte> elf = assemble(apply(assembly_, mutation));
        bool note = false, differs = false, covered = mutation.without_rule;
        for (const std::size_t n : executing) {
            for (std::uint64_t seed = 0; seed < 4; ++seed) {
                const Outcome outcome = bench_.run(elf, subjects_[n], true, seed, limit(n));
                if (!outcome.errors.empty()) {
                    why = outcome.errors.front();
                    return Verdict::found;
                }
                if (!outcome.notes.empty()) {
                    why = outcome.notes.front();
                    note = true;
                }
                differs |= outcome.buffers != reference_[n].buffers;
                covered |= outcome.covered_by_stalls > reference_[n].covered_by_stalls;
                if (mutation.kind == Mutation::Kind::nop)
                    break; // order and landing do not matter to these
            }
        }
        if (note) {
            why += differs ? "; the results differ" : "";
            return Verdict::note;
        }
        why = differs ? "the results differ"
              : mutation.kind == Mutation::Kind::nop && covered && !mutation.without_rule
                  ? "a stall covers it"
                  : "";
        return differs || (mutation.kind == Mutation::Kind::nop && !covered) ? Verdict::missed
                                                                             : Verdict::no_effect;
    }

  private:
    std::vector<std::byte> assemble(const std::string& text) {
        return assembler_->assemble(text, "gfx950", "mutant").elf;
    }
    /// A kernel's own lines are run by that kernel, other functions by all.
    bool concerns(const Mutation& mutation, const Subject& subject) const {
        return mutation.function == subject.kernel ||
               std::none_of(subjects_.begin(), subjects_.end(),
                            [&](const Subject& s) { return s.kernel == mutation.function; });
    }
    std::uint64_t limit(std::size_t n) const { return 20 * reference_[n].instructions + 100000; }
    std::vector<std::size_t> subjects_executing(const Mutation& mutation) {
        const std::vector<std::byte> elf = assemble(probe(assembly_, mutation));
        std::vector<std::size_t> executing;
        for (std::size_t n = 0; n < subjects_.size(); ++n)
            if (concerns(mutation, subjects_[n]) && bench_.run(elf, subjects_[n], false, 0, limit(n)).fault)
                executing.push_back(n);
        return executing;
    }

    const std::string assembly_;
    const std::vector<Subject> subjects_;
    std::unique_ptr<jit::Assembler> assembler_;
    std::vector<Outcome> reference_;
    Bench bench_;
};

std::vector<Mutation> chosen_of(const std::vector<Mutation>& all, const Flags& flags) {
    std::vector<Mutation> chosen;
    for (std::size_t n = flags.from; n < all.size(); n += flags.every)
        chosen.push_back(all[n]);
    if (flags.sample == 0)
        return chosen;
    std::vector<Mutation> drawn; // in the order of the text
    std::sample(chosen.begin(), chosen.end(), std::back_inserter(drawn), flags.sample,
                std::mt19937_64(flags.seed));
    return drawn;
}

int run(const Flags& flags) {
    const std::string assembly = read_text(flags.assembly);
    std::vector<Subject> subjects;
    if (flags.corpus) {
        std::istringstream lines(assembly);
        for (std::string line; std::getline(lines, line);)
            if (const std::size_t at = line.find(".amdhsa_kernel "); at != std::string::npos)
                subjects.push_back(corpus_subject(line.substr(at + 15), flags.items));
    } else {
        for (const std::string& launch : flags.launches)
            subjects.push_back(subject_of(launch));
    }
    Judge judge(assembly, std::move(subjects));
    const std::vector<Mutation> all = mutations_of(assembly), chosen = chosen_of(all, flags);
    fmt::print("{} mutants, {} of them judged\n", all.size(), chosen.size());
    std::map<std::string, std::array<std::size_t, 5>> table;
    std::map<std::string, std::size_t> rules, not_run;
    std::array<std::size_t, 5> sum{};
    for (const Mutation& m : chosen) {
        std::string why;
        const Verdict verdict = judge.judge(m, why);
        const auto v = static_cast<std::size_t>(verdict);
        const char* const kinds[] = {"s_waitcnt", "s_nop", "s_barrier"};
        ++table[std::string(kinds[static_cast<int>(m.kind)]) + (m.removed ? " removed" : " weakened")][v];
        ++sum[v];
        if (verdict == Verdict::found)
            ++rules[why];
        if (verdict == Verdict::not_run)
            ++not_run[m.function == m.label ? m.function : m.function + " " + m.label];
        if (verdict != Verdict::found && verdict != Verdict::not_run)
            fmt::print("{}: {} line {}: {} -> {}{}{}\n", verdict_names[v], m.function, m.line + 1, m.original,
                       m.replacement.empty() ? "(removed)" : m.replacement, why.empty() ? "" : ": ", why);
    }
    fmt::print("\n| mutants | found | note | missed | no effect | not run |\n|---|---|---|---|---|---|\n");
    for (const auto& [name, counts] : table)
        fmt::print("| {} | {} | {} | {} | {} | {} |\n", name, counts[0], counts[1], counts[2], counts[3],
                   counts[4]);
    fmt::print("| all | {} | {} | {} | {} | {} |\n\n", sum[0], sum[1], sum[2], sum[3], sum[4]);
    for (const auto& [rule, count] : rules)
        fmt::print("found by {}: {}\n", rule, count);
    for (const auto& [place, count] : not_run)
        fmt::print("not run after {}: {}\n", place, count);
    const double recall = sum[0] + sum[2] == 0
                              ? 100
                              : 100.0 * static_cast<double>(sum[0]) / static_cast<double>(sum[0] + sum[2]);
    fmt::print("recall: {:.1f}% of {} mutants that break a rule\n", recall, sum[0] + sum[2]);
    const bool judged = sum[0] + sum[2] > 0; // a sample without such a mutant shows nothing
    return flags.at_least <= 0 || (judged && recall >= flags.at_least) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    Flags flags;
    std::vector<std::string> files;
    try {
        for (int n = 1; n < argc; ++n) {
            const std::string_view argument = argv[n];
            const auto number = [&] {
                if (n + 1 >= argc)
                    throw std::runtime_error(std::string(argument) + " takes a number");
                return std::stod(argv[++n]);
            };
            if (argument == "--corpus")
                flags.corpus = true;
            else if (argument == "--items")
                flags.items = static_cast<std::uint32_t>(number());
            else if (argument == "--every")
                flags.every = std::max<std::size_t>(1, static_cast<std::size_t>(number()));
            else if (argument == "--from")
                flags.from = static_cast<std::size_t>(number());
            else if (argument == "--sample")
                flags.sample = static_cast<std::size_t>(number());
            else if (argument == "--seed")
                flags.seed = static_cast<std::uint64_t>(number());
            else if (argument == "--at-least")
                flags.at_least = number();
            else
                files.emplace_back(argument);
        }
        if (flags.corpus ? files.size() != 1 : files.size() < 2)
            throw std::runtime_error("zyfa_mutants KERNEL.s LAUNCH.json... | --corpus DEVICE.s");
        flags.assembly = files[0];
        flags.launches.assign(files.begin() + 1, files.end());
        return run(flags);
    } catch (const std::exception& error) {
        std::cerr << "zyfa_mutants: " << error.what() << "\n";
        return 2;
    }
}
