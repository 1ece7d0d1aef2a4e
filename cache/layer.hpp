// SPDX-License-Identifier: Apache-2.0
// A place the cache looks: a SQLite store or a pack.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.hpp"

namespace zyfa::cache {

/// What a layer tells its owner. Called with the layer's lock held: neither may call back into the layer.
struct LayerEvents {
    std::function<void(const std::string& line)> log = [](const std::string&) {};
    std::function<void()> damaged = [] {}; ///< once per row found damaged
    std::function<void(std::uint64_t entries)> pruned = [](std::uint64_t) {};
};

/// Receives intact records; an empty function skips the kind.
struct RecordVisitor {
    std::function<void(const WinnerRecord&)> winner;
    std::function<void(const BinaryRecord&)> binary;
    std::function<void(const MeasurementRecord&)> measurement;
};

/// Look-ups answer nullopt for what is absent, damaged, or cannot be read just now; they do not throw.
class Layer {
  public:
    virtual ~Layer() = default;
    virtual const std::string& name() const = 0;
    virtual std::optional<WinnerRecord> winner(const Digest& key) = 0;
    virtual std::optional<BinaryRecord> binary(const Digest& key) = 0;
    virtual std::vector<MeasurementRecord> measurements(const Digest& winner_key) = 0;
    virtual void visit(const RecordVisitor& visitor) = 0;
    virtual Statistics statistics() = 0;
    virtual VerifyReport verify() = 0;
};

} // namespace zyfa::cache
