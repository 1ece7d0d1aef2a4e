// SPDX-License-Identifier: Apache-2.0
// Passes over weighted layers.
#include "tuner/layer_beds.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "tuner/passes.hpp"
#include "tuner/stopwatch.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::uint64_t infinity_cache_bytes = std::uint64_t{256} << 20; ///< paper Table I

double beside_emulation(const Measurement& measurement) {
    return measurement.emulation_relative_rms > 0
               ? measurement.relative_rms / measurement.emulation_relative_rms
               : measurement.relative_rms;
}

} // namespace

LayerBeds::LayerBeds(const std::shared_ptr<runtime::Runtime>& runtime, int device,
                     const templates::Template& form, const Problem& problem, const TuningInputs& inputs,
                     std::uint32_t gate_rows) {
    std::vector<double> weights{inputs.weight};
    names_.push_back(inputs.profile);
    beds_.push_back(std::make_unique<TestBed>(runtime, device, form, problem, inputs, gate_rows));
    for (const TuningInputs::Layer& layer : inputs.layers) {
        Problem own = problem;
        own.q_descale = layer.q_descale;
        own.k_descale = layer.k_descale;
        own.v_descale = layer.v_descale;
        const TuningInputs alone{layer.q, layer.k, layer.v, layer.name, {}, 1};
        beds_.push_back(std::make_unique<TestBed>(runtime, device, form, own, alone, gate_rows));
        weights.push_back(layer.weight);
        names_.push_back(layer.name);
    }
    counts_ = launches_per_pass(weights);
    if (beds_.size() == 1)
        return;
    for (std::size_t i = 0; i < beds_.size(); ++i)
        note_ += (i ? ", " : "times are of a pass of ") + std::to_string(counts_[i]) + " x " + names_[i];
}

std::uint32_t rotating_copies(std::uint32_t asked, std::uint64_t bytes) {
    if (asked > 0)
        return asked;
    const std::uint64_t fill = (2 * infinity_cache_bytes + bytes - 1) / std::max<std::uint64_t>(bytes, 1);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fill, 2, 64));
}

void LayerBeds::rotate(const TuningInputs& inputs, std::uint32_t copies) {
    std::uint64_t bytes = 0;
    for (const auto& bed : beds_)
        bytes += bed->tensor_bytes();
    copies_ = rotating_copies(copies, bytes);
    if (copies_ == 1)
        return;
    for (std::size_t i = 0; i < beds_.size(); ++i) {
        if (i == 0) {
            beds_[i]->add_copies(inputs, copies_ - 1);
            continue;
        }
        const TuningInputs::Layer& layer = inputs.layers[i - 1];
        beds_[i]->add_copies({layer.q, layer.k, layer.v, layer.name, {}, 1}, copies_ - 1);
    }
    note_ += (note_.empty() ? "" : "; ") + ("launches take " + std::to_string(copies_)) +
             " copies of the tensors in turn";
}

PassLaunch LayerBeds::bind(const Binary& binary, const Schedule& schedule) {
    std::vector<PassLaunch::Layer> layers;
    for (const auto& bed : beds_) {
        std::vector<BoundLaunch>& own = layers.emplace_back().copies;
        own.push_back(bed->bind(binary, schedule));
        for (std::uint32_t copy = 1; copy < copies_; ++copy)
            own.push_back(bed->bind_copy(binary, schedule, copy - 1));
    }
    return {std::move(layers), counts_};
}

double LayerBeds::gate(const Schedule& schedule, PassLaunch& pass, Measurement& measurement, double limit_s) {
    const Measurement before = measurement;
    const Stopwatch watch;
    double ms = 0;
    for (std::size_t i = 0; i < beds_.size(); ++i) {
        Measurement own = before;
        const double left_s = limit_s > 0 ? std::max(0.001, limit_s - watch.seconds()) : 0;
        ms += counts_[i] * beds_[i]->gate(schedule, pass.layer(i), own, left_s);
        if (own.status != CandidateStatus::measured) {
            measurement = own;
            if (beds_.size() > 1)
                measurement.message = "on " + names_[i] + ": " + own.message;
            return 0;
        }
        if (i == 0 || beside_emulation(own) > beside_emulation(measurement))
            measurement = own;
    }
    if (beds_.size() > 1)
        measurement.output_bits.clear();
    return ms;
}

void LayerBeds::remember(const Schedule& schedule, const std::string& output_bits) {
    if (beds_.size() == 1)
        beds_.front()->remember(schedule, output_bits);
}

bool LayerBeds::still_right(const Schedule& schedule, Measurement& measurement) {
    for (const auto& bed : beds_)
        if (!bed->still_right(schedule, measurement))
            return false;
    return true;
}

bool LayerBeds::device_alive() {
    return beds_.front()->device_alive();
}

std::uint32_t LayerBeds::launches() const {
    return std::accumulate(counts_.begin(), counts_.end(), 0u);
}

std::string profile_name(const TuningInputs& inputs) {
    if (inputs.layers.empty())
        return inputs.profile;
    const auto part = [](const std::string& name, double weight) {
        char text[32];
        std::snprintf(text, sizeof text, "*%.6g", weight);
        return name + text;
    };
    std::string name = part(inputs.profile, inputs.weight);
    for (const TuningInputs::Layer& layer : inputs.layers)
        name += "+" + part(layer.name, layer.weight);
    return name;
}

} // namespace zyfa::tuner
