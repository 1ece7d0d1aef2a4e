// SPDX-License-Identifier: Apache-2.0
// Templates bf16_fwd_d128 and bf16_fwd_d192: the paper's BF16 kernels (Sections IV-A, IV-D).
#include "templates/bf16_fwd.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "templates/attention/bf16_kernel.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/attention/part_counts.hpp"
#include "templates/attention/split.hpp"
#include "zyfa/error.hpp"

namespace zyfa::templates {

namespace {

using attention::ChipletMap;
using attention::ForwardOptions;
using attention::Kernarg;

/// The paper's thresholds come first (Section IV-A): 0.5 at dimension 128, 8 at 192.
constexpr std::array<double, 6> tau_grid_d128{0.5, 0.0, 1.0, 2.0, 4.0, 8.0},
    tau_grid_d192{8.0, 0.0, 0.5, 1.0, 2.0, 4.0};
constexpr std::array<std::pair<const char*, ChipletMap>, 3> maps{
    {{"runs", ChipletMap::runs}, {"none", ChipletMap::none}, {"head_first", ChipletMap::head_first}}};
/// log2 of a schedule's parts.
unsigned split_bits(const Schedule& schedule) {
    return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(schedule.number("key_parts")))) -
           1;
}

constexpr std::array<const char*, 2> key_orders{"from_first", "from_diagonal"};

ForwardOptions options_of(const ProblemClass& c, const Schedule& schedule) {
    ForwardOptions o;
    o.causal = c.mask == Mask::causal;
    o.two_heads = c.even_group;
    o.lse = c.lse;
    o.nan_exact = schedule.flag("nan_exact");
    o.from_diagonal = schedule.text("key_order") == key_orders[1];
    o.tau = static_cast<float>(schedule.number("tau"));
    o.split_bits = split_bits(schedule);
    for (const auto& [name, map] : maps)
        if (schedule.text("chiplet_map") == name)
            o.map = map;
    return o;
}

attention::TileShape shape_of(const ProblemClass& c, unsigned parts = 1) {
    return {c.even_group ? 128u : 256u, c.even_group ? 2u : 1u, c.mask == Mask::causal, parts};
}

std::string kernel_name(const attention::Bf16Geometry& g, const ProblemClass& c) {
    return "zyfa_fwd_bf16_d" + std::to_string(g.dim_qk) +
           (g.dim_v == g.dim_qk ? "" : "_" + std::to_string(g.dim_v)) + "_" +
           (c.mask == Mask::causal ? "causal" : "full") + (c.even_group ? "_two_heads" : "") +
           (c.lse ? "_lse" : "");
}

std::string merge_name(const std::string& kernel) {
    return kernel + "_merge";
}

class Bf16Forward final : public Template {
  public:
    Bf16Forward(const attention::Bf16Geometry& geometry, std::string name, std::string dimensions,
                std::span<const double> taus)
        : geometry_(geometry), name_(std::move(name)), dimensions_(std::move(dimensions)),
          description_("BF16 forward, " + dimensions_ +
                       ": 8-wave ping-pong, 64-key blocks of K and V through LDS"),
          taus_(taus) {}

    std::string_view name() const override { return name_; }
    std::string_view description() const override { return description_; }

    bool serves(const Problem& p, std::string* why) const override {
        auto refuse = [why](std::string text) {
            if (why)
                *why = std::move(text);
            return false;
        };
        if (p.dtype != DType::bf16)
            return refuse("dtype is " + std::string(to_string(p.dtype)) + "; accepted is bf16");
        if (p.dim_qk != geometry_.dim_qk)
            return refuse("dim_qk is " + std::to_string(p.dim_qk) + "; accepted is " +
                          std::to_string(geometry_.dim_qk));
        if (p.dim_v != geometry_.dim_v)
            return refuse("dim_v is " + std::to_string(p.dim_v) + "; accepted is " +
                          std::to_string(geometry_.dim_v));
        constexpr std::int64_t longest = std::int64_t{1} << 29; // positions and their sums stay in 32 bits
        if (p.seq_q > longest || p.seq_kv > longest)
            return refuse("seq is " + std::to_string(std::max(p.seq_q, p.seq_kv)) + "; accepted is up to " +
                          std::to_string(longest));
        return true;
    }

    std::vector<ParameterSpec> space(const Problem& p) const override {
        ParameterSpec tau{"tau",
                          "rescale where a row's maximum grew by more than this, base-2 units (paper "
                          "Section IV-A, lazy rescaling)",
                          {},
                          true};
        for (double value : taus_)
            tau.grid.emplace_back(value);
        ParameterSpec map{"chiplet_map",
                          "which tile pairs the workgroups of a chiplet get: contiguous runs of one head "
                          "(paper Section IV-A), none (grid order), head_first",
                          {},
                          false};
        for (const auto& [text, value] : maps)
            map.grid.emplace_back(std::string(text));
        ParameterSpec order{
            "key_order", "first key block of a tile: key 0, or the one on the diagonal", {}, true};
        for (const char* text : key_orders)
            order.grid.emplace_back(std::string(text));
        ParameterSpec parts{"key_parts",
                            "parts into which the keys of a tile are split, each an item of its own, merged "
                            "by a second kernel; for problems with too few tiles to fill the chip",
                            {},
                            true};
        for (const std::uint32_t n : attention::part_counts(p, shape_of(classify(p))))
            parts.grid.emplace_back(static_cast<std::int64_t>(n));
        ParameterSpec nan{"nan_exact",
                          "Inf and NaN in V reach no row that does not see their key, not even in a block "
                          "that the mask cuts",
                          {true},
                          false};
        if (!p.nan_exact)
            nan.grid.emplace_back(false);
        return {tau,
                map,
                {"persistent",
                 "one workgroup per compute unit loops over the pairs, or one per pair",
                 {true, false},
                 false},
                order,
                parts,
                nan};
    }

    Schedule default_schedule(const Problem& p) const override {
        Schedule schedule{std::string(name()), {}};
        for (const ParameterSpec& spec : space(p))
            schedule.parameters[spec.name] = spec.grid.front();
        return schedule;
    }

    std::optional<std::string> reject(const Problem& p, const Schedule& schedule) const override {
        if (schedule.template_name != name())
            return "template is " + schedule.template_name + "; this is " + std::string(name());
        const std::vector<ParameterSpec> specs = space(p);
        for (const auto& [key, value] : schedule.parameters)
            if (std::none_of(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == key; }))
                return "unknown parameter " + key;
        for (const ParameterSpec& spec : specs) {
            const auto found = schedule.parameters.find(spec.name);
            if (found == schedule.parameters.end())
                return "parameter " + spec.name + " is missing";
            if (spec.name == "tau" || spec.name == "key_parts")
                continue; // any value of its range, below
            if (std::find(spec.grid.begin(), spec.grid.end(), found->second) == spec.grid.end()) {
                std::string accepted;
                for (const ParameterValue& value : spec.grid)
                    accepted += (accepted.empty() ? "" : ", ") + to_string(value);
                return spec.name + " is " + to_string(found->second) + "; accepted: " + accepted;
            }
        }
        const auto& tau = schedule.parameters.at("tau");
        if (!std::holds_alternative<double>(tau) && !std::holds_alternative<std::int64_t>(tau))
            return "tau is " + to_string(tau) + "; accepted: a number from 0 to 64";
        // Probabilities exceed 1 by up to 2^tau. BF16 and FP32 share their exponent range; 2^64 leaves 2^63
        // for the sum over keys.
        const double value = schedule.number("tau");
        if (!(value >= 0 && value <= 64))
            return "tau is " + to_string(tau) + "; accepted: 0 to 64";
        const auto& parts = schedule.parameters.at("key_parts");
        const auto* count = std::get_if<std::int64_t>(&parts);
        if (!count || *count < 1 || *count > 1 << attention::max_split_bits ||
            !std::has_single_bit(static_cast<std::uint64_t>(*count)))
            return "key_parts is " + to_string(parts) + "; accepted: 1, 2, 4, 8, 16";
        if (*count > 1 && (p.heads_q > 65535 || p.batch > 65535))
            return "key_parts is " + to_string(parts) + " with " + std::to_string(p.heads_q) + " heads and " +
                   std::to_string(p.batch) + " batch entries; accepted: 1 beyond 65535 of either";
        return std::nullopt;
    }

    Kernel instantiate(const ProblemClass& c, const Schedule& schedule) const override {
        const std::string symbol = kernel_name(geometry_, c);
        const isa::KernelFile file = attention::make_bf16_kernel(
            symbol, geometry_, options_of(c, schedule),
            {symbol + ": O = softmax(scale Q K^T) V, BF16, " + dimensions_, schedule.canonical()});
        Kernel kernel;
        kernel.name = symbol;
        if (const ForwardOptions options = options_of(c, schedule); options.split_bits > 0) {
            const std::array files{file, attention::make_merge_kernel(merge_name(symbol), options)};
            kernel.assembly = isa::to_text(files);
        } else {
            kernel.assembly = isa::to_text(file);
        }
        kernel.workgroup_size = file.workgroup_size;
        kernel.lds_bytes = file.lds_bytes;
        kernel.vgprs = file.vgprs;
        kernel.agprs = file.agprs;
        kernel.sgprs = file.sgprs;
        kernel.kernarg_bytes = file.kernarg_bytes;
        return kernel;
    }

    LaunchPlan plan(const Problem& p, const Schedule& schedule, const DeviceShape& device) const override {
        const ProblemClass c = classify(p);
        const std::uint32_t parts = 1u << split_bits(schedule);
        Kernarg k = attention::make_kernarg(p, shape_of(c, parts), 2);
        LaunchPlan plan;
        plan.kernel = kernel_name(geometry_, c);
        plan.block = {512, 1, 1};
        plan.grid = {k.items, 1, 1};
        if (schedule.flag("persistent"))
            plan.grid[0] = std::min(k.items, device.compute_units);
        k.step = plan.grid[0];
        k.score_scale = static_cast<float>(double{p.softmax_scale} * std::numbers::log2e);
        plan.kernarg.resize(sizeof k);
        std::memcpy(plan.kernarg.data(), &k, sizeof k);
        plan.patches = {{KernargField::q, offsetof(Kernarg, q)},
                        {KernargField::k, offsetof(Kernarg, k)},
                        {KernargField::v, offsetof(Kernarg, v)},
                        {KernargField::o, offsetof(Kernarg, o)},
                        {KernargField::lse, offsetof(Kernarg, lse)},
                        {KernargField::score_scale, offsetof(Kernarg, score_scale)}};
        if (parts > 1) {
            const auto heads = static_cast<std::uint32_t>(p.heads_q),
                       batch = static_cast<std::uint32_t>(p.batch);
            plan.merge = {merge_name(plan.kernel), {k.wave_tiles, heads, batch}, plan.block};
            plan.workspace_bytes =
                std::uint64_t{attention::part_bytes} * parts * k.wave_tiles * heads * batch;
            plan.patches.push_back({KernargField::workspace, offsetof(Kernarg, workspace)});
        }
        return plan;
    }

  private:
    attention::Bf16Geometry geometry_;
    std::string name_, dimensions_, description_;
    std::span<const double> taus_; ///< the default first
};

} // namespace

const Template& bf16_fwd_d128() {
    static const Bf16Forward instance(attention::bf16_d128, "bf16_fwd_d128", "head dimension 128",
                                      tau_grid_d128);
    return instance;
}

const Template& bf16_fwd_d192() {
    static const Bf16Forward instance(attention::bf16_d192, "bf16_fwd_d192",
                                      "query-key dimension 192, value dimension 128", tau_grid_d192);
    return instance;
}

} // namespace zyfa::templates
