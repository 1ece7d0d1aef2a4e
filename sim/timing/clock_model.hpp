// SPDX-License-Identifier: Apache-2.0
// Which shader clock an MI355X settles at under a sustained load.
//
// The clock of the MI355X is held down by a fast limit on current, not by board power (paper arXiv
// 2611.07496, Sections III-C and VI-A). Current grows with what switches per cycle, so the model charges
// every busy cycle of a pipe a share of the limit, the matrix pipe's by format and by how many bits of its
// products change from one instruction to the next, and the clock is the maximum divided by the sum of the
// shares, at most the maximum.
#pragma once

#include <array>
#include <cstdint>

namespace zyfa::sim::timing {

/// Kinds of matrix work with a clock of their own (paper Table V).
enum class MatrixKind : std::uint8_t { bf16_32x32, bf16_16x16, fp8_32x32, fp8_16x16, fp4_16x16, other };
inline constexpr unsigned matrix_kinds = 6;
const char* to_string(MatrixKind kind) noexcept;

/// What one SIMD of the average busy compute unit does, as shares of elapsed cycles.
struct Activity {
    std::array<double, matrix_kinds> matrix{};  ///< matrix pipe busy, by kind
    std::array<double, matrix_kinds> toggles{}; ///< bits per product that change between MFMAs, by kind
    double vector = 0;                          ///< vector pipe busy
    double lds = 0;                             ///< LDS port of the SIMD pair busy
    double matrix_total() const noexcept;
};

/// Shares of the current limit at the maximum clock. Fitted on Table V and the operand experiment of Section
/// III-C; docs/timing.md derives each and gives the errors.
struct ClockParameters {
    double maximum_ghz = 2.4; ///< paper Table I
    double base = 0.526;      ///< clock tree, leakage, everything that a busy chip draws besides
    double vector = 0.478;    ///< of a vector pipe that is always busy
    double lds = 0.474;       ///< of LDS ports that are always busy
    /// Of a matrix pipe that is always busy, operands changing as in Table V's loops; other: as FP8 32x32.
    std::array<double, matrix_kinds> matrix{0.8775, 0.724, 0.6334, 0.5649, 0.7305, 0.6334};
    double constant_operands = 0.789; ///< factor for operands that never change
    /// Bits that change per product (toggles.hpp) between Gaussian operands of the format (FP4: random bits),
    /// where the factor is 1.
    std::array<double, matrix_kinds> changing_toggles{10.05, 10.05, 6.50, 6.50, 3.58, 6.50};
    /// Largest relative error of the clocks that these were fitted on, and of AITER's and our FP8 kernel's at
    /// the paper's pipe shares, which were held out (docs/timing.md).
    static constexpr double fit_error = 0.005, held_out_error = 0.022;
};

/// Sum of the shares; above 1 the clock gives way.
double current_load(const Activity& activity, const ClockParameters& parameters = {});
double sustained_ghz(const Activity& activity, const ClockParameters& parameters = {});

} // namespace zyfa::sim::timing
