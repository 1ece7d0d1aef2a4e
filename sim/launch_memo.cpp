// SPDX-License-Identifier: Apache-2.0
#include "sim/launch_memo.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "sim/code_object.hpp"

namespace zyfa::sim {

namespace {

constexpr std::size_t most_entries = 64;
constexpr std::uint64_t most_bytes = 4ull << 30;

template <class T>
void append(std::string& key, const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool reads_a_clock(const CodeObjectImpl& code) {
    return std::any_of(code.instructions().begin(), code.instructions().end(), [](const Instruction& i) {
        return i.mnemonic != nullptr && (std::string_view(i.mnemonic) == "s_memtime" ||
                                         std::string_view(i.mnemonic) == "s_memrealtime");
    });
}

std::uint64_t mix(std::uint64_t lane, std::uint64_t word) {
    return std::rotl((lane ^ word) * 0x9e3779b97f4a7c15ull, 29);
}

} // namespace

std::uint64_t content_hash(const void* data, std::uint64_t size) {
    // Four independent lanes keep the host's multipliers busy; each step is a bijection of lane and word.
    const auto* bytes = static_cast<const std::byte*>(data);
    std::uint64_t lane[4] = {size, 1, 2, 3};
    std::uint64_t at = 0;
    for (; at + 32 <= size; at += 32) {
        std::uint64_t words[4];
        std::memcpy(words, bytes + at, sizeof words);
        for (unsigned n = 0; n < 4; ++n)
            lane[n] = mix(lane[n], words[n]);
    }
    for (; at < size; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, std::min<std::uint64_t>(8, size - at));
        lane[0] = mix(lane[0], word);
    }
    return mix(mix(mix(lane[0], lane[1]), lane[2]), lane[3]);
}

std::string LaunchMemo::key_of(const Launch& launch) {
    std::string key;
    append(key, launch.code.get());
    append(key, launch.kernel);
    append(key, launch.grid);
    append(key, launch.block);
    append(key, launch.dynamic_lds);
    append(key, launch.stack_size);
    append(key, launch.timed_workgroups);
    append(key, launch.keep_events);
    key.append(reinterpret_cast<const char*>(launch.kernarg.data()), launch.kernarg.size());
    return key;
}

const LaunchResult* LaunchMemo::find(const Launch& launch) {
    if (entries_.empty())
        return nullptr;
    const std::string key = key_of(launch);
    const auto same =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
    if (same == entries_.end())
        return nullptr;
    const auto unchanged = [&](const Content& content) {
        const auto allocation = memory_.find(content.begin);
        return allocation && allocation->serial == content.serial && allocation->size == content.size &&
               content_hash(reinterpret_cast<const void*>(content.begin), content.size) == content.hash;
    };
    if (same->code.expired() || !std::all_of(same->contents.begin(), same->contents.end(), unchanged)) {
        entries_.erase(same);
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, same);
    entries_.front().again = !entries_.front().settled;
    return entries_.front().settled ? &entries_.front().result : nullptr;
}

void LaunchMemo::store(const Launch& launch, std::vector<MemoryView::Use> uses, const LaunchResult& result) {
    std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    Entry entry;
    std::uint64_t bytes = 0;
    for (std::size_t first = 0, next = 0; first < uses.size(); first = next) {
        std::uint8_t use = 0;
        for (next = first; next < uses.size() && uses[next].begin == uses[first].begin; ++next)
            use |= uses[next].use;
        const auto allocation = memory_.find(uses[first].begin);
        if (!allocation || allocation->kind == AllocationKind::kernarg)
            continue; // the argument block is part of the key
        bytes += allocation->size;
        if (bytes > most_bytes)
            return;
        entry.settled &= use != (MemoryView::reads | MemoryView::writes);
        entry.contents.push_back({allocation->address, allocation->size, allocation->serial, 0});
    }
    if (const auto* code = dynamic_cast<const CodeObjectImpl*>(launch.code.get());
        code == nullptr || reads_a_clock(*code))
        return;
    for (Content& content : entry.contents)
        content.hash = content_hash(reinterpret_cast<const void*>(content.begin), content.size);
    entry.key = key_of(launch);
    const auto earlier = std::find_if(entries_.begin(), entries_.end(),
                                      [&](const Entry& other) { return other.key == entry.key; });
    if (earlier != entries_.end()) { // of a launch that was not settled
        entry.settled |= earlier->again && earlier->contents == entry.contents;
        entries_.erase(earlier);
    }
    entry.code = launch.code;
    entry.result = result;
    entries_.push_front(std::move(entry));
    if (entries_.size() > most_entries)
        entries_.pop_back();
}

} // namespace zyfa::sim
