// SPDX-License-Identifier: Apache-2.0
// One test bed per layer of the inputs. What is timed of a candidate is a pass over them all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuner/test_bed.hpp"

namespace zyfa::tuner {

/// A candidate's launches on all layers, in the proportion of their weights. With one layer: one launch.
/// Where there are copies of the tensors, each layer's launches take them in turn.
class PassLaunch {
  public:
    struct Layer {
        std::vector<BoundLaunch> copies; ///< the first on the test bed's own tensors
        std::size_t turn = 0;
    };
    PassLaunch(std::vector<Layer> layers, const std::vector<std::uint32_t>& counts)
        : layers_(std::move(layers)), counts_(&counts) {}
    void operator()(void* stream) {
        for (std::size_t i = 0; i < layers_.size(); ++i)
            for (std::uint32_t n = 0; n < (*counts_)[i]; ++n) {
                Layer& layer = layers_[i];
                layer.copies[layer.turn](stream);
                layer.turn = (layer.turn + 1) % layer.copies.size();
            }
    }
    BoundLaunch& layer(std::size_t i) { return layers_[i].copies.front(); }

  private:
    std::vector<Layer> layers_;
    const std::vector<std::uint32_t>* counts_; ///< of the beds, which outlive it
};

class LayerBeds {
  public:
    LayerBeds(const std::shared_ptr<runtime::Runtime>& runtime, int device, const templates::Template& form,
              const Problem& problem, const TuningInputs& inputs, std::uint32_t gate_rows);

    /// From now on launches go through so many copies of every layer's tensors (0: as many as fill the
    /// Infinity Cache twice), the test bed's own among them. `inputs` are those of the constructor.
    void rotate(const TuningInputs& inputs, std::uint32_t copies);
    PassLaunch bind(const Binary& binary, const Schedule& schedule);
    /// On every layer, until one fails; its name is then in the message. The accuracy recorded is that of the
    /// layer where the error is largest beside the emulation's. Returns the device time of a pass in ms.
    /// `limit_s`: seconds for all layers, as for TestBed::gate.
    double gate(const Schedule& schedule, PassLaunch& pass, Measurement& measurement, double limit_s = 0);
    /// TestBed::remember; with several layers there is no one output, and nothing is remembered.
    void remember(const Schedule& schedule, const std::string& output_bits);
    bool still_right(const Schedule& schedule, Measurement& measurement);

    const runtime::Stream& stream() const noexcept { return beds_.front()->stream(); }
    bool device_alive();
    std::uint32_t launches() const; ///< in a pass
    /// "a pass of 3 x captured:a, 1 x captured:b"; empty with one layer.
    const std::string& note() const noexcept { return note_; }

  private:
    std::vector<std::unique_ptr<TestBed>> beds_;
    std::vector<std::string> names_;
    std::vector<std::uint32_t> counts_;
    std::string note_;
    std::uint32_t copies_ = 1;
};

/// What LayerBeds::rotate makes of `asked` for tensors of so many bytes: at least 1, at most 64 by itself.
std::uint32_t rotating_copies(std::uint32_t asked, std::uint64_t bytes);

/// The name of a set of layers: "captured:a*3+captured:b*1".
std::string profile_name(const TuningInputs& inputs);

} // namespace zyfa::tuner
