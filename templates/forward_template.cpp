// SPDX-License-Identifier: Apache-2.0
#include "templates/forward_template.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numbers>

#include "templates/attention/kernarg.hpp"
#include "templates/attention/part_counts.hpp"
#include "templates/attention/split.hpp"

namespace zyfa::templates {

using attention::ChipletMap;
using attention::ForwardOptions;
using attention::Kernarg;

namespace {

constexpr std::array<std::pair<const char*, ChipletMap>, 3> maps{
    {{"runs", ChipletMap::runs}, {"none", ChipletMap::none}, {"head_first", ChipletMap::head_first}}};
constexpr std::array<const char*, 2> key_orders{"from_first", "from_diagonal"};

/// log2 of a schedule's parts.
unsigned split_bits(const Schedule& schedule) {
    if (!schedule.parameters.contains("key_parts"))
        return 0;
    return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(schedule.number("key_parts")))) -
           1;
}

attention::TileShape shape_of(const ProblemClass& c, unsigned parts = 1) {
    return {c.even_group ? 128u : 256u, c.even_group ? 2u : 1u, c.mask == Mask::causal, parts};
}

} // namespace

ForwardOptions ForwardTemplate::options_of(const ProblemClass& c, const Schedule& schedule) const {
    ForwardOptions o;
    o.causal = c.mask == Mask::causal;
    o.two_heads = c.even_group;
    o.lse = c.lse;
    o.nan_exact = schedule.flag("nan_exact");
    o.from_diagonal = schedule.text("key_order") == key_orders[1];
    o.tau = static_cast<float>(schedule.number("tau"));
    o.block_bits = shape_.block_bits;
    o.split_bits = split_bits(schedule);
    for (const auto& [name, map] : maps)
        if (schedule.text("chiplet_map") == name)
            o.map = map;
    return o;
}

std::string ForwardTemplate::kernel_name(const ProblemClass& c) const {
    return "zyfa_fwd_" + std::string(shape_.symbol) + "_d" + std::to_string(shape_.dim_qk) +
           (shape_.dim_v == shape_.dim_qk ? "" : "_" + std::to_string(shape_.dim_v)) + "_" +
           (c.mask == Mask::causal ? "causal" : "full") + (c.even_group ? "_two_heads" : "") +
           (c.lse ? "_lse" : "");
}

bool ForwardTemplate::serves(const Problem& p, std::string* why) const {
    auto refuse = [why](std::string text) {
        if (why)
            *why = std::move(text);
        return false;
    };
    if (p.dtype != shape_.dtype)
        return refuse("dtype is " + std::string(to_string(p.dtype)) + "; accepted is " +
                      std::string(to_string(shape_.dtype)));
    if (p.dim_qk != shape_.dim_qk)
        return refuse("dim_qk is " + std::to_string(p.dim_qk) + "; accepted is " +
                      std::to_string(shape_.dim_qk));
    if (p.dim_v != shape_.dim_v)
        return refuse("dim_v is " + std::to_string(p.dim_v) + "; accepted is " +
                      std::to_string(shape_.dim_v));
    constexpr std::int64_t longest = std::int64_t{1} << 29; // positions and their sums stay in 32 bits
    if (p.seq_q > longest || p.seq_kv > longest)
        return refuse("seq is " + std::to_string(std::max(p.seq_q, p.seq_kv)) + "; accepted is up to " +
                      std::to_string(longest));
    return true;
}

std::vector<ParameterSpec> ForwardTemplate::space(const Problem& p) const {
    ParameterSpec tau{"tau",
                      "rescale where a row's maximum grew by more than this, base-2 units (paper "
                      "Section IV-A, lazy rescaling)",
                      {},
                      true,
                      tau_range(p)};
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
    ParameterSpec nan{"nan_exact",
                      "Inf and NaN in V reach no row that does not see their key, not even in a block "
                      "that the mask cuts",
                      {true},
                      false};
    if (!p.nan_exact)
        nan.grid.emplace_back(false);
    std::vector<ParameterSpec> specs = own_space(p);
    specs.insert(specs.end(), {tau,
                               map,
                               {"persistent",
                                "one workgroup per compute unit loops over the pairs, or one per pair",
                                {true, false},
                                false},
                               order});
    ParameterSpec parts{
        "key_parts",
        "equal parts into which the keys of a pair of tiles are split, each an item of its own; the "
        "workgroup that comes last merges them; for problems with too few tiles to fill the chip",
        {},
        true};
    for (const std::uint32_t n : attention::part_counts(p, shape_of(classify(p)), shape_.block_bits))
        parts.grid.emplace_back(static_cast<std::int64_t>(n));
    specs.push_back(parts);
    specs.push_back(nan);
    return specs;
}

Schedule ForwardTemplate::default_schedule(const Problem& p) const {
    Schedule schedule{std::string(name()), {}};
    for (const ParameterSpec& spec : space(p))
        schedule.parameters[spec.name] = spec.grid.front();
    return schedule;
}

std::optional<std::string> ForwardTemplate::reject(const Problem& p, const Schedule& schedule) const {
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
        if (spec.name == "key_parts")
            continue;     // any value of its range, below
        if (spec.range) { // any value of its range
            if (!std::holds_alternative<double>(found->second) &&
                !std::holds_alternative<std::int64_t>(found->second))
                return spec.name + " is " + to_string(found->second) + "; accepted: a number";
            continue;
        }
        if (std::find(spec.grid.begin(), spec.grid.end(), found->second) == spec.grid.end()) {
            std::string accepted;
            for (const ParameterValue& value : spec.grid)
                accepted += (accepted.empty() ? "" : ", ") + to_string(value);
            return spec.name + " is " + to_string(found->second) + "; accepted: " + accepted;
        }
    }
    const auto& parts = schedule.parameters.at("key_parts");
    const auto* count = std::get_if<std::int64_t>(&parts);
    if (!count || *count < 1 || *count > 1 << attention::max_split_bits ||
        !std::has_single_bit(static_cast<std::uint64_t>(*count)))
        return "key_parts is " + to_string(parts) + "; accepted: 1, 2, 4, 8, 16";
    return reject_values(schedule);
}

Kernel ForwardTemplate::instantiate(const ProblemClass& c, const Schedule& schedule) const {
    const std::string symbol = kernel_name(c);
    const isa::KernelFile file =
        make_file(symbol, options_of(c, schedule), schedule,
                  {symbol + ": O = softmax(scale Q K^T) V, " + shape_.dimensions, schedule.canonical()});
    Kernel kernel;
    kernel.name = symbol;
    kernel.assembly = isa::to_text(file);
    kernel.workgroup_size = file.workgroup_size;
    kernel.lds_bytes = file.lds_bytes;
    kernel.vgprs = file.vgprs;
    kernel.agprs = file.agprs;
    kernel.sgprs = file.sgprs;
    kernel.kernarg_bytes = file.kernarg_bytes;
    return kernel;
}

LaunchPlan ForwardTemplate::plan(const Problem& p, const Schedule& schedule,
                                 const DeviceShape& device) const {
    const ProblemClass c = classify(p);
    const std::uint32_t parts = 1u << split_bits(schedule);
    Kernarg k = attention::make_kernarg(p, shape_of(c, parts), shape_.element_bytes);
    LaunchPlan plan;
    plan.kernel = kernel_name(c);
    plan.block = {512, 1, 1};
    plan.grid = {k.items, 1, 1};
    if (schedule.flag("persistent"))
        plan.grid[0] = std::min(k.items, device.compute_units);
    k.step = plan.grid[0];
    double scores = p.softmax_scale;
    if (p.dtype == DType::e4m3) {
        scores *= double{p.q_descale} * p.k_descale;
        k.output_scale = p.v_descale;
    }
    k.score_scale = static_cast<float>(scores * std::numbers::log2e);
    plan.kernarg.resize(sizeof k);
    std::memcpy(plan.kernarg.data(), &k, sizeof k);
    plan.patches = {{KernargField::q, offsetof(Kernarg, q)},
                    {KernargField::k, offsetof(Kernarg, k)},
                    {KernargField::v, offsetof(Kernarg, v)},
                    {KernargField::o, offsetof(Kernarg, o)},
                    {KernargField::lse, offsetof(Kernarg, lse)},
                    {KernargField::score_scale, offsetof(Kernarg, score_scale)}};
    if (p.dtype == DType::e4m3)
        plan.patches.push_back({KernargField::output_scale, offsetof(Kernarg, output_scale)});
    if (parts > 1) {
        const auto heads = static_cast<std::uint32_t>(p.heads_q), batch = static_cast<std::uint32_t>(p.batch);
        plan.workspace_bytes = std::uint64_t{attention::part_bytes} *
                               attention::part_slots(options_of(c, schedule)) * k.tile_waves * k.pairs *
                               heads * batch;
        plan.counter_bytes = std::uint64_t{attention::part_counter_bytes} * k.wave_tiles * heads * batch;
        plan.patches.push_back({KernargField::workspace, offsetof(Kernarg, workspace)});
        plan.patches.push_back({KernargField::counters, offsetof(Kernarg, counters)});
    }
    return plan;
}

} // namespace zyfa::templates
