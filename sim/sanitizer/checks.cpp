// SPDX-License-Identifier: Apache-2.0
// What is looked at before an instruction executes: its registers.
#include "sim/sanitizer/sanitizer.hpp"

#include "sim/operations.hpp"

#include <algorithm>
#include <string_view>

namespace zyfa::sim::sanitizer {

namespace {

/// "v[4:7]", "s2", "vcc": the registers of a use.
std::string name_of(const Use& use) {
    if (use.first == sgpr_unit + scalar_code::vcc && use.count == 2)
        return "vcc";
    if (use.first == sgpr_unit + scalar_code::exec && use.count == 2)
        return "exec";
    const std::string first = name_of_unit(use.first);
    if (use.count <= 1)
        return first;
    const std::string number = first.substr(1);
    return first[0] + ("[" + number + ":" + std::to_string(std::stoul(number) + use.count - 1) + "]");
}

} // namespace

void Sanitizer::check_pending(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const PendingOperations& pending = shadow.pending;
    const auto check = [&](const Use& use, bool write) {
        const unsigned end = unsigned{use.first} + use.count;
        for (unsigned unit = use.first; unit < end; ++unit) {
            if (!pending.open(unit))
                continue;
            const Operation* const operation = pending.writer_of(unit);
            // Loads of one kind return in order: a second one may have the same destination.
            if (write && (operation->counter == Counter::vm || operation->counter == Counter::lds) &&
                operation->counter == t.counter)
                continue;
            report(Severity::error,
                   write ? "destination of an outstanding load overwritten" : "result used before its wait",
                   wave, -1, site(t), site(*operation->traits), [&](Finding& f) {
                       f.detail = name_of_unit(unit) + " of " + name_of(use) +
                                  (write ? " is written" : " is read") + " while " +
                                  operation->traits->instruction->mnemonic + " may still write it";
                       // The wait must cover every load that the use overlaps, to the youngest of them.
                       const Operation* last = operation;
                       for (unsigned other = unit + 1; other < end; ++other)
                           if (const Operation* const o =
                                   pending.open(other) ? pending.writer_of(other) : nullptr;
                               o != nullptr && o->counter == last->counter && o->serial > last->serial)
                               last = o;
                       f.fix = pending.fix(*last);
                   });
            break;
        }
    };
    for (const Use& use : t.read())
        check(use, false);
    for (const Use& use : t.written())
        check(use, true);
}

void Sanitizer::check_wait_states(Wave& wave, WaveShadow& shadow, const Traits& t) {
    shadow.window.step(t, [&](const WaitWindow::Violation& v) {
        const unsigned passed = std::max(v.found, v.elapsed);
        if (passed >= v.required.documented) { // the matrix pipe's own stalls have taken that long
            session_.covered_by_stalls.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        const Severity severity = passed < v.required.tolerated ? Severity::error : Severity::note;
        report(severity, v.rule->name, wave, -1, site(t), site(*v.producer), [&](Finding& f) {
            f.detail = std::to_string(v.required.documented) + " wait states needed, " +
                       std::to_string(v.found) + " found";
            if (v.elapsed > v.found)
                f.detail += " (" + std::to_string(v.elapsed) + " with the stalls of the matrix pipe)";
            if (severity == Severity::note)
                f.detail += "; shipped kernels keep " +
                            (v.required.tolerated == 0 ? std::string("none")
                                                       : "only " + std::to_string(v.required.tolerated));
            f.detail += std::string(" [") + v.rule->source + "]";
            f.fix = "s_nop " + std::to_string(v.required.documented - passed - 1) + " before it";
        });
    });
}

void Sanitizer::check_validity(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const Validity& validity = shadow.validity;
    const std::uint64_t exec = wave.exec();
    for (const Use& use : t.read()) {
        const char* rule = nullptr;
        int lane = -1;
        std::uint64_t needed = 0;
        switch (use.role) {
        case Role::address:
            rule = "uninitialised register in an address";
            needed = exec;
            break;
        case Role::descriptor:
            rule = "uninitialised register in an address";
            needed = t.is(trait::vmem) && exec == 0 ? 0 : 1;
            break;
        case Role::lane_select:
            rule = "uninitialised register as lane select";
            needed = 1;
            break;
        case Role::matrix_a:
        case Role::matrix_c:
            rule = "uninitialised register in a matrix instruction";
            needed = ~0ull; // matrix instructions ignore EXEC (CDNA4 ISA)
            break;
        case Role::condition:
            if (validity.decides(wave, use))
                continue;
            rule = "branch depends on an uninitialised register";
            needed = 1;
            break;
        default:
            continue;
        }
        const std::uint64_t missing = needed & ~validity.lanes_of(use);
        if (missing == 0)
            continue;
        if (use.vector())
            lane = std::countr_zero(missing);
        report(Severity::error, rule, wave, lane, site(t), no_site, [&](Finding& f) {
            f.detail = name_of(use);
            if (use.vector() && missing != needed)
                f.detail += ", in " + std::to_string(std::popcount(missing)) + " of " +
                            std::to_string(std::popcount(needed)) + " lanes,";
            f.detail += holds_unwritten(shadow);
        });
    }
    if (t.is(trait::store) && t.is(trait::memory)) {
        const Use mask{sgpr_unit + scalar_code::exec, 2, Role::mask};
        if (!validity.whole(mask))
            report(Severity::error, "store under an uninitialised EXEC", wave, -1, site(t), no_site,
                   [&](Finding& f) { f.detail = "exec" + holds_unwritten(shadow); });
    }
    if (t.instruction->kind == InstructionClass::branch && t.instruction->target == no_target)
        for (const Use& use : t.read()) // s_setpc, s_swappc
            if (!use.vector() && use.first != scc_unit && use.role == Role::operand && !validity.whole(use))
                report(Severity::error, "branch depends on an uninitialised register", wave, -1, site(t),
                       no_site, [&](Finding& f) { f.detail = name_of(use) + holds_unwritten(shadow); });
}

std::string Sanitizer::holds_unwritten(const WaveShadow& shadow) const {
    std::string text = " holds bits that were never written";
    if (shadow.unwritten_load != no_site) {
        const CodeObjectImpl& code = *session_.dispatch.code;
        const Instruction& load = code.instructions()[shadow.unwritten_load];
        text += "; the wave loaded such bits last at " + code.location(load) + ": " + code.disassemble(load);
    }
    return text;
}

/// LDS instructions that move data between lanes: what they deliver is initialised where its source is.
void Sanitizer::permute(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const Instruction& i = *t.instruction;
    if (i.dst.kind != OperandKind::vgpr)
        return;
    Validity& validity = shadow.validity;
    const std::uint64_t exec = wave.exec();
    const std::string_view name = i.mnemonic;
    if (name == "ds_append" || name == "ds_consume") {
        validity.vector(i.dst.index).assign(exec, ~0ull);
        return;
    }
    const bool swizzles = name == "ds_swizzle_b32", pushes = name == "ds_permute_b32";
    const LaneBytes data = validity.vector(i.src[swizzles ? 0 : 1].index);
    const std::uint32_t* const address = wave.v + i.src[0].value;
    LaneBytes out{{~0ull, ~0ull, ~0ull, ~0ull}}; // lanes that get nothing get 0
    for (unsigned lane = 0; lane < lanes; ++lane) {
        if ((exec >> lane & 1) == 0)
            continue;
        const unsigned named = swizzles ? swizzle_source(i.imm, lane) : (address[lane] + i.imm) / 4 % lanes;
        const unsigned from = pushes ? lane : named, to = pushes ? named : lane;
        for (unsigned n = 0; n < 4; ++n) {
            const bool valid = (exec >> from & 1) == 0 || (data.byte[n] >> from & 1) != 0;
            out.byte[n] = valid ? out.byte[n] | 1ull << to : out.byte[n] & ~(1ull << to);
        }
    }
    for (unsigned n = 0; n < 4; ++n) {
        std::uint64_t& d = validity.vector(i.dst.index).byte[n];
        d = (d & ~exec) | (out.byte[n] & exec);
    }
}

} // namespace zyfa::sim::sanitizer
