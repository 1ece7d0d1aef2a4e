// SPDX-License-Identifier: Apache-2.0
#include "attention/part_counters.hpp"

#include <algorithm>
#include <optional>

namespace zyfa::call {

namespace {

/// Of a split call with some 100 tiles of 256 rows there are 3 KiB.
constexpr std::size_t fewest_bytes = 16384;

} // namespace

PartCounters::~PartCounters() {
    for (const std::vector<Run>* list : {&runs_, &outgrown_})
        for (const Run& run : *list)
            runtime::free_ordered(*runtime_, run.data, run.device);
}

void* PartCounters::of(const runtime::Runtime& runtime, int device, void* stream, std::size_t bytes) {
    if (runtime::is_capturing(runtime, stream))
        return nullptr;
    const std::optional<std::uint64_t> id = runtime::stream_id(runtime, stream);
    if (!id)
        return nullptr;
    const std::lock_guard lock(lock_);
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
        return run.device == device && run.stream == *id;
    });
    if (found != runs_.end() && found->bytes >= bytes)
        return found->data;
    if (found == runs_.end() && runs_.size() == most_streams)
        return nullptr;
    const std::size_t size = std::max({bytes, fewest_bytes, found == runs_.end() ? 0 : 2 * found->bytes});
    runtime::OrderedBuffer fresh(runtime, size, stream);
    runtime::fill_ordered(runtime, fresh.data(), 0, size, stream);
    runtime_ = &runtime;
    if (found == runs_.end())
        return runs_.emplace_back(Run{device, *id, fresh.release(), size}).data;
    outgrown_.push_back(*found); // another thread may be about to launch with it
    *found = {device, *id, fresh.release(), size};
    return found->data;
}

void PartCounters::forget(const runtime::Runtime& runtime, int device, void* stream) noexcept {
    const std::optional<std::uint64_t> id = runtime::stream_id(runtime, stream);
    const std::lock_guard lock(lock_);
    std::erase_if(runs_, [&](const Run& run) {
        if (run.device != device || (id && run.stream != *id))
            return false;
        runtime::free_ordered(runtime, run.data, run.device);
        return true;
    });
}

} // namespace zyfa::call
