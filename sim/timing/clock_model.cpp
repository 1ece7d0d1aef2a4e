// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/clock_model.hpp"

#include <algorithm>
#include <numeric>

namespace zyfa::sim::timing {

const char* to_string(MatrixKind kind) noexcept {
    static constexpr const char* names[matrix_kinds] = {"bf16_32x32", "bf16_16x16", "fp8_32x32",
                                                        "fp8_16x16",  "fp4_16x16",  "other"};
    return names[static_cast<unsigned>(kind)];
}

double Activity::matrix_total() const noexcept {
    return std::accumulate(matrix.begin(), matrix.end(), 0.0);
}

double current_load(const Activity& activity, const ClockParameters& p) {
    double load = p.base + p.vector * activity.vector + p.lds * activity.lds;
    for (unsigned kind = 0; kind < matrix_kinds; ++kind) {
        const double switching = p.constant_operands + (1 - p.constant_operands) * activity.toggles[kind] /
                                                           p.changing_toggles[kind];
        load += p.matrix[kind] * switching * activity.matrix[kind];
    }
    return load;
}

double sustained_ghz(const Activity& activity, const ClockParameters& p) {
    return p.maximum_ghz / std::max(1.0, current_load(activity, p));
}

} // namespace zyfa::sim::timing
