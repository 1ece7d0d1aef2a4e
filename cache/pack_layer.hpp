// SPDX-License-Identifier: Apache-2.0
// A pack as a read-only layer: mounted, not imported.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "cache/files.hpp"
#include "cache/layer.hpp"
#include "cache/pack.hpp"

namespace zyfa::cache {

/// Gives `visitor` the records of `content`.
void deliver(const Content& content, const RecordVisitor& visitor);

class PackLayer final : public Layer {
  public:
    /// `signers_file` is read with the pack, so that a revocation counts for whoever opens it next.
    PackLayer(std::string name, std::string path, std::string signers_file, LayerEvents events);

    const std::string& name() const override { return name_; }
    std::optional<WinnerRecord> winner(const Digest& key) override;
    std::optional<BinaryRecord> binary(const Digest& key) override;
    std::vector<MeasurementRecord> measurements(const Digest& winner_key) override;
    void visit(const RecordVisitor& visitor) override;
    Statistics statistics() override;
    VerifyReport verify() override;

  private:
    const Pack* pack();
    void report(const std::string& damage);

    const std::string name_, path_, signers_file_;
    const LayerEvents events_;
    std::mutex mutex_;
    std::optional<Pack> pack_;
    std::optional<FileIdentity> identity_; ///< of the file that was opened, or refused
    std::set<std::string> known_damage_;
    std::string note_;
    std::uint64_t hits_ = 0;
};

} // namespace zyfa::cache
