// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/scalar_math.hpp"

namespace zyfa::templates::attention {

using namespace isa;

void add_product64(Emitter& e, SReg sum, SReg factor, SReg stride, SReg scratch, std::string_view note) {
    e.s_mul_i32(scratch[0], factor, stride[0], note);
    e.s_mul_hi_u32(scratch[1], factor, stride[0]);
    e.s_mul_i32(scratch[2], factor, stride[1]);
    e.s_add_u32(scratch[1], scratch[1], scratch[2]);
    e.s_add_u32(sum[0], sum[0], scratch[0]);
    e.s_addc_u32(sum[1], sum[1], scratch[1]);
}

void add_rows64(Emitter& e, SReg sum, SReg factor, SReg row_stride, SReg scratch, std::string_view note) {
    e.s_mul_i32(scratch[0], factor, row_stride, note);
    e.s_mul_hi_u32(scratch[1], factor, row_stride);
    e.s_add_u32(sum[0], sum[0], scratch[0]);
    e.s_addc_u32(sum[1], sum[1], scratch[1]);
}

void divide(Emitter& e, SReg quotient, SReg n, SReg divider, std::string_view note) {
    e.s_lshl_b32(quotient, n, 1, note);
    e.s_mul_hi_u32(quotient, quotient, divider[0]);
    e.s_lshr_b32(quotient, quotient, divider[1]);
}

void record_bytes(Emitter& e, SReg records, SReg rows, Source row_stride, unsigned row_bytes, SReg scratch) {
    e.s_sub_u32(scratch, rows, 1, "bytes of the rows that exist");
    e.s_mul_i32(scratch, scratch, row_stride);
    e.s_add_u32(scratch, scratch, row_bytes);
    e.s_cmp("gt_i32", rows, 0);
    e.s_cselect_b32(records, scratch, 0);
}

void lane_row_offset(Emitter& e, VReg address, VReg row, SReg stride, VReg byte, VReg scratch,
                     std::string_view note) {
    e.v_mul_hi_u32(scratch[0], row, stride, note);
    e.v_mul_lo_u32(address, row, stride);
    e.v_add_u32(address, address, byte);
    e.v_cmp("ne_u32", vcc, 0, scratch[0], "row * stride passes 32 bits?");
    e.v_mov_b32(scratch[1], Literal{0xfffff000}); // room for the immediate offsets that are added later
    e.v_cndmask_b32(address, address, scratch[1], vcc);
}

} // namespace zyfa::templates::attention
