// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <span>

#include <fmt/core.h>

#include "zyfa/error.hpp"

namespace zyfa::cli::selftest {

namespace {

constexpr std::uint32_t kernarg_bytes = 16;

/// Loads the wave's input, runs the body and stores its output: 16 words a lane. The idle states at the end
/// cover the slowest matrix instruction (LLVM, GCNHazardRecognizer: 18 for 16 passes).
std::string kernel_text(const Fact& fact, const std::string& symbol) {
    std::string text = fmt::format(R"(
.text
.globl {0}
.p2align 8
.type {0},@function
{0}:
  s_load_dwordx4 s[4:7], s[0:1], 0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 6, v0
  s_waitcnt lgkmcnt(0)
)",
                                   symbol);
    for (unsigned i = 0; i < words; i += 4) {
        text += fmt::format("  global_load_dwordx4 v[{}:{}], v1, s[4:5] offset:{}\n", 32 + i, 35 + i, 4 * i);
    }
    for (unsigned i = 0; i < words; ++i) {
        text += fmt::format("  v_mov_b32 v{}, 0\n", 8 + i);
    }
    text +=
        "  s_waitcnt vmcnt(0)\n" + fact.body + "\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_nop 15\n  s_nop 15\n";
    for (unsigned i = 0; i < words; i += 4) {
        text += fmt::format("  global_store_dwordx4 v1, v[{}:{}], s[6:7] offset:{}\n", 8 + i, 11 + i, 4 * i);
    }
    text += fmt::format(R"(  s_endpgm
.L{0}_end:
.size {0}, .L{0}_end-{0}
.rodata
.p2align 6
.amdhsa_kernel {0}
  .amdhsa_group_segment_fixed_size {1}
  .amdhsa_kernarg_size {2}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 96
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 96
  .amdhsa_float_denorm_mode_32 0
  .amdhsa_float_denorm_mode_16_64 3
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 0
.end_amdhsa_kernel
)",
                        symbol, fact.lds_bytes, kernarg_bytes);
    return text;
}

std::string metadata_text(const std::vector<Fact>& facts, const std::vector<std::string>& symbols) {
    std::string text =
        ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx950\n"
        "amdhsa.kernels:\n";
    for (std::size_t i = 0; i < facts.size(); ++i) {
        text += fmt::format(
            "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: {1}\n"
            "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: {2}\n"
            "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 32\n"
            "    .vgpr_count: 96\n    .agpr_count: 0\n    .max_flat_workgroup_size: 64\n    .args:\n"
            "      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}\n"
            "      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}\n",
            symbols[i], kernarg_bytes, facts[i].lds_bytes);
    }
    return text + "...\n.end_amdgpu_metadata\n";
}

void compare(const Fact& fact, const Lanes& found, Outcome& outcome) {
    unsigned wrong = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        for (unsigned word = 0; word < fact.checked; ++word) {
            if (found[lane][word] != fact.expected[lane][word] && wrong++ == 0) {
                outcome.message = fmt::format("lane {}, word {}: {:#010x}, not {:#010x}", lane, word,
                                              found[lane][word], fact.expected[lane][word]);
            }
        }
    }
    outcome.held = wrong == 0;
    if (wrong > 1) {
        outcome.message += fmt::format("; {} words differ", wrong);
    }
}

} // namespace

std::vector<Outcome> run(const std::shared_ptr<runtime::Runtime>& runtime, int device,
                         jit::Assembler& assembler, const std::vector<Fact>& facts) {
    std::string text = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n";
    std::vector<std::string> symbols;
    for (const Fact& fact : facts) {
        std::string symbol = "zyfa_fact_" + fact.name;
        std::replace(symbol.begin(), symbol.end(), '-', '_');
        symbols.push_back(symbol);
        text += kernel_text(fact, symbol);
    }
    text += metadata_text(facts, symbols);
    const runtime::Module module(runtime, device, assembler.assemble(text, "gfx950", "self-test").elf);

    const runtime::DeviceGuard guard(*runtime, device);
    const runtime::Stream stream(runtime, device);
    runtime::DeviceBuffer in(runtime, device, sizeof(Lanes)), out(runtime, device, sizeof(Lanes));
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        Outcome outcome{.fact = &facts[i], .held = false, .message = {}};
        try {
            in.upload(std::as_bytes(std::span(facts[i].input)));
            out.fill(0xff);
            const std::uint64_t arguments[2] = {reinterpret_cast<std::uint64_t>(in.data()),
                                                reinterpret_cast<std::uint64_t>(out.data())};
            std::array<std::byte, kernarg_bytes> kernarg;
            std::memcpy(kernarg.data(), arguments, sizeof arguments);
            runtime::launch(*runtime, module.function(symbols[i]), {1, 1, 1}, {lanes, 1, 1}, 0,
                            stream.handle(), kernarg);
            stream.synchronize();
            Lanes found;
            out.download(std::as_writable_bytes(std::span(found)));
            compare(facts[i], found, outcome);
        } catch (const Error& error) {
            outcome.message = error.what();
            if (!runtime::clear_fault(*runtime, device)) { // a GPU stays lost: the rest cannot be asked
                outcomes.push_back(std::move(outcome));
                for (std::size_t rest = i + 1; rest < facts.size(); ++rest) {
                    outcomes.push_back({&facts[rest], false, "not run: the device was lost before"});
                }
                return outcomes;
            }
        }
        outcomes.push_back(std::move(outcome));
    }
    return outcomes;
}

std::vector<std::string> relies_on(std::string_view assembly, const std::vector<Fact>& facts) {
    const auto names = [&](std::string_view mnemonic) {
        const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
        for (std::size_t at = assembly.find(mnemonic); at != std::string_view::npos;
             at = assembly.find(mnemonic, at + 1)) {
            const std::size_t end = at + mnemonic.size();
            // Encoding suffixes (_e32, _e64, _dpp, _sdwa) are the same instruction.
            const std::string_view rest = assembly.substr(end, 3);
            const bool ends = end == assembly.size() || !word(assembly[end]) || rest == "_e3" ||
                              rest == "_e6" || rest == "_dp" || rest == "_sd";
            if (ends && (at == 0 || !word(assembly[at - 1]))) {
                return true;
            }
        }
        return false;
    };
    std::vector<std::string> result;
    for (const Fact& fact : facts) {
        if (std::any_of(fact.mnemonics.begin(), fact.mnemonics.end(), names)) {
            result.push_back(fact.name);
        }
    }
    return result;
}

} // namespace zyfa::cli::selftest
