// SPDX-License-Identifier: Apache-2.0
// Templates fp8_fwd_d128 and fp8_fwd_d192: the paper's FP8 kernels (Sections IV-A to IV-C).
#include "templates/fp8_fwd.hpp"

#include <array>
#include <cmath>

#include "templates/attention/fp8_kernel.hpp"
#include "templates/forward_template.hpp"

namespace zyfa::templates {

namespace {

/// The paper's threshold comes first (Section IV-A).
constexpr std::array<double, 6> tau_grid{0.125, 0.0, 0.5, 1.0, 2.0, 2.75};

constexpr double default_sigma = 6, default_beta = 0.35;

/// Beyond it a probability's code would be NaN. On the fast path a code is off by up to fast_error / 8 of a
/// binade (FP32's rounding of the bias).
double largest_tau(bool lean, double sigma, double beta) {
    constexpr double fast_error = 1.0 / 128;
    return (lean
                // code 8 (tau + sigma + 7) - beta rounds to 126 at most; 127 is NaN
                ? (126.5 + beta) / 8 - 7 - sigma
                // 2^(tau + sigma) rounds to 448 up to 464; beyond it is NaN
                : std::log2(464.0) - sigma) -
           fast_error;
}

constexpr std::array<std::pair<const char*, attention::MatrixWork>, 3> matrix_works{
    {{"none", attention::MatrixWork::none},
     {"maximum", attention::MatrixWork::maximum},
     {"fold", attention::MatrixWork::fold}}};

using attention::Epilogue;
using attention::IssueOrder;
constexpr std::array<std::pair<const char*, Epilogue>, 2> epilogues{
    {{"idle_matrix", Epilogue::idle_matrix}, {"next_softmax", Epilogue::next_softmax}}};
constexpr std::array<std::pair<const char*, IssueOrder>, 2> issue_orders{
    {{"matrix_first", IssueOrder::matrix_first}, {"vector_first", IssueOrder::vector_first}}};

constexpr std::array<const char*, 2> rescale_works{"matrix", "softmax"};

attention::Fp8Probability probability_of(const Schedule& schedule) {
    attention::Fp8Probability p{schedule.text("probability") == "lean",
                                static_cast<float>(schedule.number("sigma")),
                                static_cast<float>(schedule.number("beta"))};
    for (const auto& [text, value] : matrix_works)
        if (schedule.text("matrix_work") == text)
            p.matrix_work = value;
    p.rescale_in_softmax = schedule.text("rescale_work") == rescale_works[1];
    return p;
}

class Fp8Forward final : public ForwardTemplate {
  public:
    Fp8Forward(const attention::Fp8Geometry& geometry, std::string name, const std::string& dimensions,
               bool lean)
        : ForwardTemplate({DType::e4m3, geometry.dim_qk, geometry.dim_v, 1, "FP8, " + dimensions, "fp8", 7},
                          std::move(name),
                          "FP8 (e4m3) forward, " + dimensions +
                              ": 8-wave ping-pong, 128-key blocks of K and V through LDS",
                          tau_grid),
          geometry_(geometry), lean_(lean) {}

    std::optional<std::string> reject(const Problem& p, const Schedule& schedule) const override {
        if (std::optional<std::string> why = ForwardTemplate::reject(p, schedule))
            return why;
        // The other place is the same one then: waves are idle at a tile's begin, or the part is stored.
        // And a rescale's place has nothing to do with a tile's end: one of the two leaves its default.
        if (has_idle_waves(p) && schedule.text("epilogue") == "next_softmax" &&
            (schedule.text("key_order") == "from_diagonal" || schedule.number("key_parts") > 1 ||
             schedule.text("rescale_work") == rescale_works[1]))
            return "epilogue is next_softmax; accepted with keys from the diagonal or split, or rescale_work "
                   "softmax: idle_matrix";
        return std::nullopt;
    }

  protected:
    std::vector<ParameterSpec> own_space(const Problem& p) const override {
        ParameterSpec form{
            "probability", "P by one multiply-add, or by the exponential (paper Section IV-B)", {}, true};
        const bool lean =
            p.probability == Probability::automatic ? lean_ : p.probability == Probability::lean;
        form.grid.emplace_back(std::string(lean ? "lean" : "exact"));
        ParameterSpec sigma{"sigma",
                            "P is multiplied by 2^sigma, away from e4m3's subnormal numbers",
                            {default_sigma},
                            true,
                            ParameterSpec::Range{0, 8}};
        ParameterSpec beta{"beta",
                           "lean P: centres the error of the line between powers of two, in codes",
                           {default_beta},
                           true,
                           ParameterSpec::Range{0, 1}};
        ParameterSpec work{
            "matrix_work",
            "what of the softmax the matrix phase takes over: nothing, the maximum of the first "
            "96 keys, or (fold, exact P) the scale's power of two and minus the maximum in use",
            {},
            !lean};
        // Registers for fold are left at head dimension 128 only, where it is the best on the timing model.
        const bool folds = !lean && geometry_.dim_qk == 128;
        for (const auto& [text, value] : matrix_works)
            if (folds || value != attention::MatrixWork::fold)
                work.grid.emplace_back(std::string(text));
        if (folds)
            std::swap(work.grid.front(), work.grid.back());
        ParameterSpec epilogue{
            "epilogue",
            "where a tile's end overlaps the next tile's start: in the first softmax phase "
            "of the next tile, or, for waves that the tile's last block does not concern, "
            "in their matrix phase before",
            {},
            false};
        for (const auto& [text, value] : epilogues)
            if (has_idle_waves(p) || value != Epilogue::idle_matrix)
                epilogue.grid.emplace_back(std::string(text));
        ParameterSpec issue{"issue_order",
                            "which wave of a SIMD issues first where both could, that with matrix or that "
                            "with vector instructions",
                            {},
                            false};
        for (const auto& [text, value] : issue_orders)
            issue.grid.emplace_back(std::string(text));
        if (!lean && !folds) // short of the vector pipe
            std::swap(issue.grid.front(), issue.grid.back());
        ParameterSpec rescale{
            "rescale_work",
            "which phase of a wave multiplies the accumulator where a maximum moves: matrix, "
            "between MFMAs, but for the first 32 columns, or softmax, at once",
            {},
            false};
        for (const char* text : rescale_works)
            rescale.grid.emplace_back(std::string(text));
        return {form, sigma, beta, work, rescale, epilogue, issue};
    }
    ParameterSpec::Range tau_range(const Problem& p) const override {
        const bool lean =
            p.probability == Probability::automatic ? lean_ : p.probability == Probability::lean;
        return {0, largest_tau(lean, default_sigma, default_beta)};
    }
    /// The stale maximum is at most tau below a row's maximum, and a half's exponent o is not negative, so
    /// that x + o <= tau.
    std::optional<std::string> reject_values(const Schedule& schedule) const override {
        const attention::Fp8Probability p = probability_of(schedule);
        const double tau = schedule.number("tau"), sigma = schedule.number("sigma"),
                     beta = schedule.number("beta");
        if (!(sigma >= 0 && sigma <= 8))
            return "sigma is " + to_string(schedule.parameters.at("sigma")) + "; accepted: 0 to 8";
        if (p.matrix_work == attention::MatrixWork::fold && sigma != std::floor(sigma))
            return "sigma is " + to_string(schedule.parameters.at("sigma")) +
                   "; accepted with matrix_work fold: an integer from 0 to 8";
        if (schedule.text("issue_order") == "vector_first" && p.matrix_work != attention::MatrixWork::none)
            return "issue_order is vector_first; accepted with matrix_work " + schedule.text("matrix_work") +
                   ": matrix_first";
        if (p.rescale_in_softmax && (schedule.text("issue_order") == "vector_first" ||
                                     p.matrix_work == attention::MatrixWork::maximum))
            return "rescale_work is softmax; accepted with issue_order vector_first or matrix_work maximum: "
                   "matrix";
        if (!(beta >= 0 && beta <= 1))
            return "beta is " + to_string(schedule.parameters.at("beta")) + "; accepted: 0 to 1";
        const double largest = largest_tau(p.lean, sigma, beta);
        if (!(tau >= 0 && tau <= largest))
            return "tau is " + to_string(schedule.parameters.at("tau")) + "; accepted: 0 to " +
                   std::to_string(largest) + " with sigma " + to_string(schedule.parameters.at("sigma"));
        return std::nullopt;
    }
    isa::KernelFile make_file(const std::string& symbol, const attention::ForwardOptions& options,
                              const Schedule& schedule, std::vector<std::string> heading) const override {
        attention::ForwardOptions own = options;
        for (const auto& [text, value] : epilogues)
            if (schedule.text("epilogue") == text && options.split_bits == 0)
                own.epilogue = value;
        for (const auto& [text, value] : issue_orders)
            if (schedule.text("issue_order") == text)
                own.issue_order = value;
        return attention::make_fp8_kernel(symbol, geometry_, own, probability_of(schedule),
                                          std::move(heading));
    }

  private:
    /// Whether a tile's last block concerns no row of some waves: where the mask cuts tiles of 256 rows.
    static bool has_idle_waves(const Problem& p) { return p.mask == Mask::causal && !classify(p).even_group; }

    attention::Fp8Geometry geometry_;
    bool lean_; ///< where the call leaves it to us
};

} // namespace

const Template& fp8_fwd_d128() {
    static const Fp8Forward instance(attention::fp8_d128, "fp8_fwd_d128", "head dimension 128", true);
    return instance;
}

const Template& fp8_fwd_d192() {
    static const Fp8Forward instance(attention::fp8_d192, "fp8_fwd_d192",
                                     "query-key dimension 192, value dimension 128", false);
    return instance;
}

} // namespace zyfa::templates
