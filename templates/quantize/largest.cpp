// SPDX-License-Identifier: Apache-2.0
// The largest finite magnitude of all rows after the transform: the reduction before a scale per call. A
// maximum does not depend on the order in which it is taken, so it is the same in every launch.
#include <cstddef>

#include "templates/quantize/kernarg.hpp"
#include "templates/quantize/passes.hpp"
#include "templates/quantize/transform.hpp"

namespace zyfa::templates::quantize {

using namespace isa;

namespace {

constexpr std::uint32_t largest_float = 0x7f7fffff;

/// total = largest of the wave's 64 lanes, which are not negative. Clobbers `lanes`.
void emit_wave_maximum(Emitter& e, SReg total, VReg lanes, SReg scratch) {
    for (const Dpp other : {Dpp::xor_1, Dpp::xor_2, Dpp::xor_7, Dpp::xor_15})
        e.v_max_f32_dpp(lanes, lanes, lanes, other);
    e.v_readlane_b32(total, lanes, 0);
    for (const unsigned lane : {16u, 32u, 48u}) {
        e.v_readlane_b32(scratch, lanes, lane);
        e.s_max_u32(total, total, scratch, lane == 16 ? "bits of magnitudes order as they do" : "");
    }
}

} // namespace

void emit_largest(Pass& pass, const Kind& kind) {
    const RowShape shape(kind.dim);
    const RowRegisters r = allocate_rows(pass.scalars, pass.vectors, shape);
    const TransformRegisters t = allocate_transform(pass.scalars, pass.vectors, shape, kind);
    const VReg total = pass.vectors.allocate("vTotal", 1, 1, "largest finite magnitude so far");
    const VReg largest = pass.vectors.allocate("vLargest", 1, 1, "largest magnitude of a row's values");
    const VReg candidate = pass.vectors.allocate("vCandidate", 1, 1, "scratch");
    const VReg limit = pass.vectors.allocate("vLimit", 1, 1, "largest finite number");
    Emitter e(pass.file.code);
    Stream careful_code;
    Emitter careful(careful_code);

    emit_start(e, r, shape, kind.rotate ? LanePlaces::butterfly : LanePlaces::in_order);
    emit_transform_start(e, r, shape, kind, t);
    e.v_mov_b32(total, 0);
    e.v_mov_b32(limit, Literal{largest_float});
    emit_tiles(
        e, r, shape, "largest", [](Emitter&) {},
        [&](Emitter& at, unsigned group) {
            const std::vector<VReg> values = emit_transform(at, r, shape, kind, t, group);
            emit_largest_magnitude(at, largest, values);
            const std::string there = ".Llargest_careful" + std::to_string(group),
                              back = ".Llargest_go_on" + std::to_string(group);
            at.v_cmp("nge_f32", vcc, Literal{largest_float}, largest, "a value that is not finite?");
            at.s_cbranch_vccnz(there);
            at.v_max_f32(total, total, largest);
            at.label(back);

            careful.label(there);
            for (VReg value : values) {
                careful.v_cmp("le_f32", r.mask, Source(value).magnitude(), limit, "finite");
                careful.v_cndmask_b32(candidate, 0, value, r.mask);
                careful.v_max3_f32(total, total, Source(candidate).magnitude(), total);
            }
            careful.s_branch(back);
        });
    e.v_mul_f32(total, r.norm, total, "norm of the rotation");
    emit_wave_maximum(e, r.t[0], total, r.t[1]);
    emit_descriptor(e, r.buffer, r.report, sizeof(Report));
    e.s_mov_b64(exec, 1);
    e.v_mov_b32(r.vt[0], r.t[0]);
    e.v_mov_b32(r.vt[1], 0);
    e.buffer_atomic_umax(r.vt[0], r.vt[1], r.buffer, 0, offsetof(Report, largest_bits));
    e.s_endpgm();
    pass.file.code.append(careful_code);
    pass.file.workgroup_yz = true;
}

} // namespace zyfa::templates::quantize
