// SPDX-License-Identifier: Apache-2.0
// Finds a vector operation in the table of the instruction set in use.
#include "sim/valu/valu.hpp"

#include <unordered_map>

#include "sim/math/mfma.hpp"
#include "sim/valu/kernels/kernels.hpp"

namespace zyfa::sim {
namespace {

using Table = std::unordered_map<std::string_view, const ValuOp*>;

Table make_table(std::initializer_list<Span<ValuOp>> families) {
    Table table;
    for (const Span<ValuOp>& family : families)
        for (const ValuOp& op : family)
            table.emplace(op.mnemonic, &op);
    return table;
}

const Table& table_of(HostIsa isa) {
    static const Table scalar =
        make_table({baseline::float32_ops(), baseline::integer_ops(), baseline::bit_ops(),
                    baseline::compare_ops(), baseline::convert_ops(), baseline::packed32_ops()});
#if ZYFA_SIM_X86
    static const Table with_avx2 =
        make_table({avx2::float32_ops(), avx2::integer_ops(), avx2::bit_ops(), avx2::compare_ops(),
                    avx2::convert_ops(), avx2::packed32_ops()});
    static const Table with_avx512 =
        make_table({avx512::float32_ops(), avx512::integer_ops(), avx512::bit_ops(), avx512::compare_ops(),
                    avx512::convert_ops(), avx512::packed32_ops()});
    if (isa == HostIsa::avx512)
        return with_avx512;
    if (isa == HostIsa::avx2)
        return with_avx2;
#endif
    static_cast<void>(isa);
    return scalar;
}

} // namespace

const ValuOp* find_valu_op(std::string_view mnemonic) {
    const Table& table = table_of(host_isa());
    const auto at = table.find(mnemonic);
    return at == table.end() ? nullptr : at->second;
}

} // namespace zyfa::sim
