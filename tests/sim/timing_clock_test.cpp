// SPDX-License-Identifier: Apache-2.0
// The clock model against the measurements that it was fitted on (paper arXiv 2611.07496, Table V and Section
// III-C).
#include <doctest/doctest.h>

#include "sim/timing/clock_model.hpp"

using namespace zyfa::sim::timing;

namespace {

Activity matrix_loop(MatrixKind kind, double toggles) {
    Activity activity;
    activity.matrix[static_cast<unsigned>(kind)] = 1;
    activity.toggles[static_cast<unsigned>(kind)] = toggles;
    return activity;
}

} // namespace

TEST_CASE("sustained clock: loops of one kind of work run at Table V's clocks") {
    const auto ghz = [](MatrixKind kind) {
        return sustained_ghz(
            matrix_loop(kind, ClockParameters{}.changing_toggles[static_cast<unsigned>(kind)]));
    };
    CHECK(ghz(MatrixKind::bf16_32x32) == doctest::Approx(1.71).epsilon(0.005));
    CHECK(ghz(MatrixKind::bf16_16x16) == doctest::Approx(1.92).epsilon(0.005));
    CHECK(ghz(MatrixKind::fp8_32x32) == doctest::Approx(2.07).epsilon(0.02));
    CHECK(ghz(MatrixKind::fp8_16x16) == doctest::Approx(2.20).epsilon(0.005));
    CHECK(ghz(MatrixKind::fp4_16x16) == doctest::Approx(1.91).epsilon(0.005));
    Activity vector, lds;
    vector.vector = 1;
    lds.lds = 1;
    CHECK(sustained_ghz(vector) == doctest::Approx(2.39).epsilon(0.005));
    CHECK(sustained_ghz(lds) == doctest::Approx(2.40).epsilon(0.005));
}

TEST_CASE("sustained clock: operands that change more run slower") {
    CHECK(sustained_ghz(matrix_loop(MatrixKind::fp8_32x32, 0)) == doctest::Approx(2.34).epsilon(0.005));
    const double random = sustained_ghz(matrix_loop(MatrixKind::fp8_32x32, 0.5)); // random bits: half change
    CHECK(random > 1.91 * 0.99);
    CHECK(random < 1.97 * 1.01);
}

TEST_CASE("sustained clock: an idle device runs at the maximum") {
    CHECK(sustained_ghz(Activity{}) == 2.4);
}
