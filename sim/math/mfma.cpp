// SPDX-License-Identifier: Apache-2.0
// Finds a matrix operation in the table of the instruction set in use.
#include "sim/math/mfma.hpp"

#include <unordered_map>

#include "sim/math/kernels/kernels.hpp"

namespace zyfa::sim {
namespace {

using Table = std::unordered_map<std::string_view, const MfmaOp*>;

Table make_table(std::initializer_list<Span<MfmaOp>> families) {
    Table table;
    for (const Span<MfmaOp>& family : families)
        for (const MfmaOp& op : family)
            table.emplace(op.mnemonic, &op);
    return table;
}

const Table& table_of(HostIsa isa) {
    static const Table scalar = make_table({baseline::mfma_float_ops(), baseline::mfma_f32_ops(),
                                            baseline::mfma_i8_ops(), baseline::smfmac_ops()});
#if ZYFA_SIM_X86
    static const Table with_avx2 =
        make_table({avx2::mfma_float_ops(), avx2::mfma_f32_ops(), avx2::mfma_i8_ops(), avx2::smfmac_ops()});
    static const Table with_avx512 = make_table(
        {avx512::mfma_float_ops(), avx512::mfma_f32_ops(), avx512::mfma_i8_ops(), avx512::smfmac_ops()});
    if (isa == HostIsa::avx512)
        return with_avx512;
    if (isa == HostIsa::avx2)
        return with_avx2;
#endif
    static_cast<void>(isa);
    return scalar;
}

} // namespace

const MfmaOp* find_mfma_op(std::string_view mnemonic) {
    const Table& table = table_of(host_isa());
    const auto at = table.find(mnemonic);
    return at == table.end() ? nullptr : at->second;
}

unsigned mfma_passes(const MfmaOp& op, unsigned cbsz, unsigned blgp) {
    return op.f8f6f4 && cbsz >= 2 && blgp >= 2 ? op.passes / 2u : op.passes;
}

unsigned mfma_operand_registers(const MfmaOp& op, unsigned format) {
    if (op.f8f6f4)
        return format < 2 ? 8 : format < 4 ? 6 : 4;
    return op.b_registers;
}

} // namespace zyfa::sim
