// SPDX-License-Identifier: Apache-2.0
#include "cache/pack_layer.hpp"

#include "zyfa/error.hpp"

namespace zyfa::cache {

PackLayer::PackLayer(std::string name, std::string path, std::string signers_file, LayerEvents events)
    : name_(std::move(name)), path_(std::move(path)), signers_file_(std::move(signers_file)),
      events_(std::move(events)) {}

/// The pack, opened when its file is first seen or was replaced; null where there is none that is trusted.
const Pack* PackLayer::pack() {
    const auto identity = identify(path_);
    if (!identity) {
        pack_.reset();
        identity_.reset();
        note_ = "there is no " + path_;
        return nullptr;
    }
    if (identity_ != identity) {
        pack_.reset();
        identity_ = identity;
        note_.clear();
        try {
            pack_ = Pack::open(read_file(path_, max_pack_bytes), {SignerList::load(signers_file_), false});
        } catch (const Error& error) {
            note_ = error.what();
            events_.log("cache layer " + name_ + " is ignored: " + note_);
        }
    }
    return pack_ ? &*pack_ : nullptr;
}

void PackLayer::report(const std::string& damage) {
    if (damage.empty() || !known_damage_.insert(damage).second)
        return;
    events_.damaged();
    events_.log("cache layer " + name_ + ": " + damage);
}

std::optional<WinnerRecord> PackLayer::winner(const Digest& key) {
    const std::lock_guard lock(mutex_);
    std::string damage;
    std::optional<WinnerRecord> result;
    if (const Pack* p = pack())
        result = p->winner(key, &damage);
    hits_ += result.has_value();
    report(damage);
    return result;
}

std::optional<BinaryRecord> PackLayer::binary(const Digest& key) {
    const std::lock_guard lock(mutex_);
    std::string damage;
    std::optional<BinaryRecord> result;
    if (const Pack* p = pack())
        result = p->binary(key, &damage);
    report(damage);
    return result;
}

std::vector<MeasurementRecord> PackLayer::measurements(const Digest& winner_key) {
    const std::lock_guard lock(mutex_);
    std::string damage;
    std::vector<MeasurementRecord> result;
    if (const Pack* p = pack())
        result = p->measurements(winner_key, &damage);
    report(damage);
    return result;
}

void deliver(const Content& content, const RecordVisitor& visitor) {
    const auto each = [](const auto& records, const auto& receive) {
        if (receive)
            for (const auto& record : records)
                receive(record);
    };
    each(content.winners, visitor.winner);
    each(content.binaries, visitor.binary);
    each(content.measurements, visitor.measurement);
}

void PackLayer::visit(const RecordVisitor& visitor) {
    const std::lock_guard lock(mutex_);
    const Pack* p = pack();
    if (!p)
        return;
    std::vector<std::string> damage;
    const Content content = p->content(damage);
    deliver(content, visitor);
    for (const std::string& line : damage)
        report(line);
}

Statistics PackLayer::statistics() {
    const std::lock_guard lock(mutex_);
    Statistics result;
    result.layer = name_;
    result.path = path_;
    if (const Pack* p = pack()) {
        const Pack::Counts counts = p->counts();
        result.winners = counts.winners;
        result.binaries = counts.binaries;
        result.measurements = counts.measurements;
        result.bytes = p->size();
    }
    result.note = note_;
    result.hits = hits_;
    return result;
}

VerifyReport PackLayer::verify() {
    const std::lock_guard lock(mutex_);
    VerifyReport result;
    result.layer = name_;
    result.path = path_;
    const Pack* p = pack();
    if (!p) {
        result.findings.push_back(note_);
        return result;
    }
    const Pack::Counts counts = p->counts();
    result.checked = counts.winners + counts.binaries + counts.measurements;
    static_cast<void>(p->content(result.findings));
    result.damaged = result.findings.size();
    for (const std::string& line : result.findings)
        report(line);
    return result;
}

} // namespace zyfa::cache
