// SPDX-License-Identifier: Apache-2.0
#include "cache/transfer.hpp"

#include <map>
#include <set>

#include "cache/pack_layer.hpp"
#include "cache/records.hpp"
#include "cache/schema.hpp"
#include "cache/sqlite_layer.hpp"
#include "core/measurement.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

/// A pack that was opened once, for a transfer.
class OpenedPack final : public Layer {
  public:
    OpenedPack(std::string path, Pack pack) : path_(std::move(path)), pack_(std::move(pack)) {}
    const std::string& name() const override { return path_; }
    std::optional<WinnerRecord> winner(const Digest& key) override { return pack_.winner(key); }
    std::optional<BinaryRecord> binary(const Digest& key) override { return pack_.binary(key); }
    std::vector<MeasurementRecord> measurements(const Digest& key) override {
        return pack_.measurements(key);
    }
    /// An import takes all of a pack or nothing: the first damaged entry refuses it.
    void visit(const RecordVisitor& visitor) override {
        std::vector<std::string> damage;
        const Content content = pack_.content(damage);
        if (!damage.empty())
            throw Error(ErrorCode::invalid_argument, path_, "is refused: " + damage.front());
        deliver(content, visitor);
    }
    Statistics statistics() override {
        const Pack::Counts counts = pack_.counts();
        Statistics result;
        result.layer = result.path = path_;
        result.winners = counts.winners;
        result.binaries = counts.binaries;
        result.measurements = counts.measurements;
        result.bytes = pack_.size();
        return result;
    }
    VerifyReport verify() override {
        const Pack::Counts counts = pack_.counts();
        VerifyReport result;
        result.layer = result.path = path_;
        result.checked = counts.winners + counts.binaries + counts.measurements;
        static_cast<void>(pack_.content(result.findings));
        result.damaged = result.findings.size();
        return result;
    }

  private:
    std::string path_;
    Pack pack_;
};

/// A record as it is whatever way it came.
template <class Record>
Digest content_digest(Record record) {
    record.origin.clear();
    return digest_of(record);
}

template <class Record, class Describe>
std::uint64_t compare_sides(const std::map<Digest, Record>& left, const std::map<Digest, Record>& right,
                            Describe describe, std::vector<Difference>& differences) {
    std::uint64_t same = 0;
    for (const auto& [key, record] : left) {
        const auto other = right.find(key);
        if (other == right.end())
            differences.push_back({record.key_text, describe(record), ""});
        else if (content_digest(record) != content_digest(other->second))
            differences.push_back({record.key_text, describe(record), describe(other->second)});
        else
            ++same;
    }
    for (const auto& [key, record] : right)
        if (!left.contains(key))
            differences.push_back({record.key_text, "", describe(record)});
    return same;
}

} // namespace

std::unique_ptr<Layer> open_source(const std::string& path, const PackTrust& trust) {
    if (path.ends_with(pack_suffix))
        return std::make_unique<OpenedPack>(path, Pack::open(read_file(path, max_pack_bytes), trust));
    auto layer =
        std::make_unique<SqliteLayer>(SqliteLayer::Kind::read_only, path,
                                      is_folder(path) ? path + "/" + store_file_name : path, LayerEvents{});
    if (const std::string reason = layer->open(); !reason.empty())
        throw Error(ErrorCode::io_error, path, reason);
    return layer;
}

Content collect(Layer& source, const Selection& selection) {
    Content content;
    std::set<Digest> keys, binaries;
    source.visit({.winner =
                      [&](const WinnerRecord& winner) {
                          if (selection.select && !selection.select(winner))
                              return;
                          keys.insert(winner.key);
                          binaries.insert(winner.binary);
                          content.winners.push_back(winner);
                      },
                  .binary = {},
                  .measurement = {}});
    source.visit({.winner = {},
                  .binary =
                      [&](const BinaryRecord& binary) {
                          if (selection.unused_binaries || binaries.contains(binary.key))
                              content.binaries.push_back(binary);
                      },
                  .measurement =
                      [&](const MeasurementRecord& measurement) {
                          if (selection.measurements && keys.contains(measurement.key))
                              content.measurements.push_back(measurement);
                      }});
    return content;
}

Verdict compare(const WinnerRecord& present, const WinnerRecord& incoming) {
    if (policy_rank(present.policy) != policy_rank(incoming.policy))
        return {policy_rank(incoming.policy) > policy_rank(present.policy),
                "measured by policy " + incoming.policy + ", present: " + present.policy};
    if (present.unix_time != incoming.unix_time)
        return {incoming.unix_time > present.unix_time,
                incoming.unix_time > present.unix_time ? "it is newer" : "it is older"};
    return {content_digest(incoming) < content_digest(present), "equally old; the smaller digest stays"};
}

const char* to_string(Decision::Action action) noexcept {
    switch (action) {
    case Decision::Action::added:
        return "added";
    case Decision::Action::replaced:
        return "replaced";
    case Decision::Action::kept:
        return "kept";
    case Decision::Action::same:
        return "same";
    case Decision::Action::ignored:
        return "ignored";
    }
    return "unknown";
}

void TransferReport::note(Decision decision) {
    switch (decision.action) {
    case Decision::Action::added:
        ++added;
        break;
    case Decision::Action::replaced:
        ++replaced;
        break;
    case Decision::Action::kept:
        ++kept;
        break;
    case Decision::Action::same:
        ++same;
        break;
    case Decision::Action::ignored:
        ++ignored;
        break;
    }
    decisions.push_back(std::move(decision));
}

DiffReport diff(Layer& left, Layer& right) {
    struct Side {
        std::map<Digest, WinnerRecord> winners;
        std::map<Digest, BinaryRecord> binaries;
        explicit Side(Layer& layer) {
            layer.visit({.winner = [&](const WinnerRecord& r) { winners.emplace(r.key, r); },
                         .binary = [&](const BinaryRecord& r) { binaries.emplace(r.key, r); },
                         .measurement = {}});
        }
    };
    const Side a(left), b(right);
    DiffReport report;
    report.same_winners = compare_sides(
        a.winners, b.winners,
        [](const WinnerRecord& r) {
            return r.schedule + " (" + r.policy + ", " + std::to_string(r.unix_time) + ")";
        },
        report.winners);
    report.same_binaries = compare_sides(
        a.binaries, b.binaries,
        [](const BinaryRecord& r) {
            return r.kernel_name + " (" + std::to_string(r.code_object.size()) + " bytes, " + r.toolchain +
                   ")";
        },
        report.binaries);
    return report;
}

} // namespace zyfa::cache
