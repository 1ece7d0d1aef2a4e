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

#define ZYFA_SIM_FAMILIES(isa)                                                                               \
    make_table({isa::float32_ops(), isa::float16_ops(), isa::float64_ops(), isa::integer_ops(),              \
                isa::integer16_ops(), isa::bit_ops(), isa::compare_ops(), isa::convert_ops(),                \
                isa::convert_scaled_ops(), isa::packed32_ops(), isa::dot_ops()})

const Table& table_of(HostIsa isa) {
    static const Table scalar = ZYFA_SIM_FAMILIES(baseline);
#if ZYFA_SIM_X86
    static const Table with_avx2 = ZYFA_SIM_FAMILIES(avx2);
    if (isa >= HostIsa::avx2)
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
