// SPDX-License-Identifier: Apache-2.0
// The rules, from LLVM 22's GCNHazardRecognizer for gfx950 and the CDNA3 and CDNA4 ISA manuals' tables of
// manually inserted wait states. What shipped code does was counted in AITER's 196 gfx950 attention and GEMM
// kernels: a rule that these break counts as a note up to the distance they keep.
#include "sim/sanitizer/wait_states.hpp"

#include "sim/wave.hpp"

#include <algorithm>

namespace zyfa::sim::sanitizer {

namespace {

constexpr const char* llvm = "LLVM 22 GCNHazardRecognizer, gfx950";

bool overlap(std::span<const Use> a, std::span<const Use> b) {
    for (const Use& x : a)
        for (const Use& y : b)
            if (x.overlaps(y))
                return true;
    return false;
}

Requirement strictly(unsigned states) {
    return {states, states};
}

// --- Matrix instructions

/// Of the FP64 forms (LLVM 22 GCNHazardRecognizer, gfx950's DMFMA constants): 16x16x4 takes 16 passes, 4x4x4
/// 4.
unsigned double_result(const Traits& p, unsigned of_large, unsigned of_small) {
    return p.passes >= 16 ? of_large : of_small;
}

/// Until all of D can be read: 5, 8, 12, 20 for 2, 4, 8, 16 passes (XDL; LLVM, gfx950), passes + 2 for the
/// FP32 forms.
unsigned whole_result(const Traits& p) {
    if (p.is(trait::double_matrix))
        return double_result(p, 19, 6);
    if (!p.is(trait::xdl))
        return p.passes + 2u;
    return p.passes == 2 ? 5 : p.passes + 4u;
}

/// Registers of D become valid one after another: no shipped kernel reads D[2n] sooner than passes + 1 + n
/// (AITER; the paper's Section III-A has the last of 16 at 20).
Requirement result_of(const Traits& p, std::span<const Use> uses) {
    const Use& d = p.writes[0];
    unsigned last = 0;
    bool any = false;
    for (const Use& u : uses)
        if (u.overlaps(d)) {
            any = true;
            last = std::max(last, std::min(u.first + u.count, d.first + d.count) - 1u - d.first);
        }
    if (!any)
        return {};
    const unsigned whole = whole_result(p);
    if (!p.is(trait::xdl) || p.is(trait::sparse))
        return strictly(whole);
    return {whole, std::min(whole, p.passes + 1u + last / 2)};
}

Requirement matrix_result_read(const Traits& p, const Traits& c) {
    if (!p.is(trait::matrix) || !c.is(trait::valu | trait::memory))
        return {};
    if (p.is(trait::double_matrix) && c.is(trait::memory))
        return overlap(c.read(), {p.writes, 1}) ? strictly(double_result(p, 18, 9)) : Requirement{};
    return result_of(p, c.read());
}

Requirement matrix_result_overwritten(const Traits& p, const Traits& c) {
    if (!p.is(trait::matrix) || !c.is(trait::valu | trait::memory))
        return {};
    Requirement r = result_of(p, c.written());
    if (p.is(trait::double_matrix) && r.documented != 0)
        r = strictly(double_result(p, 11, 6));
    if (c.is(trait::memory)) // a load: its own latency is longer
        r.tolerated = 0;
    return r;
}

Requirement matrix_result_to_operand(const Traits& p, const Traits& c) {
    if (!p.is(trait::matrix) || !c.is(trait::matrix))
        return {};
    Requirement most;
    for (const Use& u : c.read())
        if (u.role == Role::matrix_a) {
            const Requirement r = result_of(p, {&u, 1});
            most = {std::max(most.documented, r.documented), std::max(most.tolerated, r.tolerated)};
        }
    return most;
}

Requirement matrix_result_to_accumulator(const Traits& p, const Traits& c) {
    if (!p.is(trait::matrix) || !c.is(trait::matrix))
        return {};
    const Use& d = p.writes[0];
    for (const Use& u : c.read()) {
        if (u.role != Role::matrix_c || !u.overlaps(d))
            continue;
        if (u.first == d.first && u.count == d.count) { // forwarded, or in the order of the pipe
            const bool small_doubles =
                p.is(trait::double_matrix) && p.passes < 16 && c.is(trait::double_matrix) && c.passes < 16;
            return small_doubles ? strictly(4) : p.passes == 2 ? strictly(2) : Requirement{};
        }
        if (!p.is(trait::xdl) && c.is(trait::xdl))
            return {};
        if (p.is(trait::double_matrix))
            return strictly(double_result(p, 17, 4));
        if (!p.is(trait::xdl))
            return strictly(p.passes);
        return strictly(p.passes == 2 && !c.is(trait::xdl) ? 3u : p.passes + 2u);
    }
    return {};
}

Requirement matrix_accumulator_overwritten(const Traits& p, const Traits& c) {
    if (!p.is(trait::matrix) || !p.is(trait::xdl) || p.is(trait::sparse) ||
        !c.is(trait::valu | trait::memory))
        return {};
    for (const Use& u : p.read())
        if (u.role == Role::matrix_c && overlap({&u, 1}, c.written())) {
            const unsigned states = p.passes - 1u;
            return {states, c.is(trait::valu) ? states : 0};
        }
    return {};
}

Requirement double_matrix_to_fma(const Traits& p, const Traits& c) {
    // Whatever their registers (DMFMAToFMA64WaitStates); in no public ISA manual.
    if (!p.is(trait::double_matrix) || !c.is(trait::valu))
        return {};
    const std::string_view name = c.instruction->mnemonic;
    return name == "v_fma_f64" || name == "v_fmac_f64" ? Requirement{2, 0} : Requirement{};
}

// --- Vector results

Requirement vector_to_matrix(const Traits& p, const Traits& c) {
    // Shipped code has 0 for A and B (36 places) and 1 for C (60 places).
    if (!p.is(trait::valu) || p.is(trait::dot) || !c.is(trait::matrix) || !overlap(p.written(), c.read()))
        return {};
    return {2, 0};
}

Requirement transcendental_result(const Traits& p, const Traits& c) {
    if (!p.is(trait::trans) || !c.is(trait::valu) || c.is(trait::trans) || !overlap(p.written(), c.read()))
        return {};
    return strictly(1);
}

Requirement partial_result(const Traits& p, const Traits& c) {
    if (!p.is(trait::partial_write) || !c.is(trait::valu))
        return {};
    const std::span<const Use> d{p.writes, 1};
    if (!overlap(d, c.read()) && !overlap(d, c.written()))
        return {};
    // The upper half of a packed conversion to FP8: the manual asks for it, LLVM 22 keeps none.
    return p.is(trait::packed_fp8) ? Requirement{1, 0} : strictly(1);
}

Requirement vector_to_permlane(const Traits& p, const Traits& c) {
    // Shipped code has 1 in 36 places.
    if (!p.is(trait::valu) || !c.is(trait::permlane_swap) || !overlap(p.written(), c.read()))
        return {};
    return {2, 1};
}

Requirement vector_to_lane_read(const Traits& p, const Traits& c) {
    if (!p.is(trait::valu) || !c.is(trait::lane_read))
        return {};
    for (const Use& u : c.read())
        if (u.vector() && overlap({&u, 1}, p.written()))
            return strictly(1);
    return {};
}

Requirement vector_to_dpp(const Traits& p, const Traits& c) {
    if (!c.is(trait::dpp))
        return {};
    if (p.is(trait::valu_exec))
        return strictly(5);
    if (!p.is(trait::valu))
        return {};
    // Source 0 comes from other lanes; the old destination is read where lanes are masked.
    for (const Use& u : c.read())
        if (u.vector() && (u.first == c.reads[0].first || u.role == Role::old) &&
            overlap({&u, 1}, p.written()))
            return strictly(2);
    return {};
}

Requirement dot_result(const Traits& p, const Traits& c) {
    if (!p.is(trait::dot) || !c.is(trait::valu | trait::memory))
        return {};
    if (p.instruction->valu != c.instruction->valu)
        return overlap(p.written(), c.read()) || overlap(p.written(), c.written()) ? strictly(3)
                                                                                   : Requirement{};
    // The same operation forwards to its accumulator, not to what it multiplies.
    for (unsigned n = 0; n < 2; ++n) {
        const Operand& o = c.instruction->src[n];
        const Use use{o.index, o.words};
        if (o.kind == OperandKind::vgpr && overlap(p.written(), {&use, 1}))
            return strictly(3);
    }
    return {};
}

Requirement exec_by_compare(const Traits& p, const Traits& c) {
    return p.is(trait::valu_exec) &&
                   c.is(trait::matrix | trait::permlane_swap | trait::lane_read | trait::lane_write)
               ? strictly(4)
               : Requirement{};
}

// --- Scalar registers written by vector instructions

bool scalar_overlap(const Traits& p, const Use& u) {
    if (u.vector() || u.first == scc_unit)
        return false;
    for (const Use& w : p.written())
        if (!w.vector() && w.overlaps(u))
            return true;
    return false;
}

Requirement scalar_to_vector(const Traits& p, const Traits& c) {
    if (!p.is(trait::writes_sgpr_valu) || !c.is(trait::valu))
        return {};
    Requirement most;
    for (const Use& u : c.read()) {
        if (!scalar_overlap(p, u))
            continue;
        // As mask or carry: evidently interlocked, 15346 places of shipped code have none. As a constant:
        // never fewer.
        const Requirement r = u.role == Role::mask ? Requirement{2, 0} : strictly(2);
        most = {std::max(most.documented, r.documented), std::max(most.tolerated, r.tolerated)};
    }
    return most;
}

Requirement scalar_to_memory(const Traits& p, const Traits& c) {
    if (!p.is(trait::writes_sgpr_valu) || !c.is(trait::vmem))
        return {};
    for (const Use& u : c.read())
        if (scalar_overlap(p, u))
            return strictly(5);
    return {};
}

Requirement scalar_to_lane_select(const Traits& p, const Traits& c) {
    if (!p.is(trait::writes_sgpr_valu))
        return {};
    for (const Use& u : c.read())
        if (u.role == Role::lane_select && scalar_overlap(p, u))
            return strictly(4);
    return {};
}

Requirement vcc_to_div_fmas(const Traits& p, const Traits& c) {
    if (!p.is(trait::writes_sgpr_valu) || !c.is(trait::div_fmas))
        return {};
    const Use vcc{sgpr_unit + scalar_code::vcc, 2, Role::mask};
    return scalar_overlap(p, vcc) ? strictly(4) : Requirement{};
}

// --- Scalar instructions

Requirement m0_written(const Traits& p, const Traits& c) {
    if (!p.is(trait::salu))
        return {};
    const Use m0{sgpr_unit + scalar_code::m0, 1, Role::operand};
    if (!overlap(p.written(), {&m0, 1}))
        return {};
    if (c.is(trait::movrel))
        return strictly(1);
    // LDS-DMA and s_sendmsg: shipped code has 0 in 6904 places.
    return c.is(trait::lds_dma | trait::sendmsg) ? Requirement{1, 0} : Requirement{};
}

Requirement hardware_register_written(const Traits& p, const Traits& c) {
    return p.is(trait::setreg) && c.is(trait::setreg | trait::getreg) &&
                   p.hardware_register == c.hardware_register
               ? strictly(2)
               : Requirement{};
}

Requirement store_data_overwritten(const Traits& p, const Traits& c) {
    if (!p.is(trait::wide_store) || !c.is(trait::valu))
        return {};
    for (const Use& u : p.read())
        if (u.role == Role::data && overlap({&u, 1}, c.written()))
            return strictly(2);
    return {};
}

constexpr std::size_t matrix_rule_count = 6;
constexpr std::array rules{
    WaitRule{"matrix result read too early", "LLVM 22 GCNHazardRecognizer; no interlock: paper Section III-A",
             matrix_result_read},
    WaitRule{"matrix result overwritten too early", llvm, matrix_result_overwritten},
    WaitRule{"matrix result too early in another matrix instruction's A or B", llvm,
             matrix_result_to_operand},
    WaitRule{"matrix result too early in an overlapping accumulator", llvm, matrix_result_to_accumulator},
    WaitRule{"matrix accumulator overwritten before it is read", llvm, matrix_accumulator_overwritten},
    WaitRule{"FP64 multiply-add too early after a FP64 matrix instruction", llvm, double_matrix_to_fma},
    WaitRule{"vector result too early in a matrix instruction", llvm, vector_to_matrix},
    WaitRule{"transcendental result read too early", llvm, transcendental_result},
    WaitRule{"partly written register used too early", llvm, partial_result},
    WaitRule{"vector result too early in v_permlane*_swap", llvm, vector_to_permlane},
    WaitRule{"vector result too early in v_readlane or v_readfirstlane", llvm, vector_to_lane_read},
    WaitRule{"vector result or EXEC too early in DPP", llvm, vector_to_dpp},
    WaitRule{"dot product result used too early", llvm, dot_result},
    WaitRule{"EXEC written by v_cmpx used too early", llvm, exec_by_compare},
    WaitRule{"scalar result of a vector instruction too early in a vector instruction", llvm,
             scalar_to_vector},
    WaitRule{"scalar result of a vector instruction too early in a memory instruction", llvm,
             scalar_to_memory},
    WaitRule{"scalar result of a vector instruction too early as lane select", llvm, scalar_to_lane_select},
    WaitRule{"VCC too early in v_div_fmas", llvm, vcc_to_div_fmas},
    WaitRule{"M0 used too early", llvm, m0_written},
    WaitRule{"hardware register used too early after s_setreg", llvm, hardware_register_written},
    WaitRule{"store data overwritten too early", llvm, store_data_overwritten},
};

} // namespace

std::span<const WaitRule> wait_rules() {
    return rules;
}
std::span<const WaitRule> matrix_rules() {
    return std::span(rules).first(matrix_rule_count);
}
std::span<const WaitRule> other_rules() {
    return std::span(rules).subspan(matrix_rule_count);
}

bool touches(const Traits& matrix, const Traits& other) noexcept {
    const auto meets = [&](const Use& u) {
        return overlap({&u, 1}, other.read()) || overlap({&u, 1}, other.written());
    };
    if (meets(matrix.writes[0]) || (matrix.is(trait::double_matrix) && other.is(trait::valu)))
        return true;
    for (const Use& u : matrix.read())
        if (u.role == Role::matrix_c && meets(u))
            return true;
    return false;
}

void WaitWindow::settle(const Traits& next) noexcept {
    issue_ = free_;
    const InstructionClass kind = next.instruction->kind;
    if (kind == InstructionClass::matrix || kind == InstructionClass::packed_fp32)
        issue_ = std::max(issue_, matrix_free_);
    if (next.is(trait::valu))
        issue_ = std::max(issue_, vector_free_);
}

void WaitWindow::push(const Traits& next) noexcept {
    Ring* ring = nullptr;
    if (next.is(trait::matrix)) {
        ring = &matrix_;
        matrix_free_ = issue_ + next.passes;
    } else if (next.is(trait::valu | trait::wide_store | trait::setreg) ||
               (next.is(trait::salu) && next.write_count != 0)) {
        ring = &recent_;
    }
    if (next.is(trait::valu))
        vector_free_ = issue_ + std::max(1, next.instruction->cycles / 4);
    if (ring != nullptr)
        ring->entries[ring->next++ % ring->entries.size()] = {&next, counted_, issue_};
    counted_ += next.wait_states;
    free_ = issue_ + next.wait_states;
}

} // namespace zyfa::sim::sanitizer
