// SPDX-License-Identifier: Apache-2.0
// Simulated device memory: one reserved range of host addresses, backed by the kernel on first touch.
#include "sim/memory_view.hpp"

#include "sim/memory_impl.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace zyfa::sim {

namespace {

/// Every block starts on this boundary and at least one boundary apart from its neighbour's end: addresses
/// are cheap, and a wild access rarely reaches the next allocation.
constexpr std::uint64_t block_alignment = 64 * 1024;
/// MI355X: 288 GB of HBM3E (paper Table I).
constexpr std::uint64_t device_capacity = 288ull << 30;
constexpr std::size_t freed_history = 4096;
/// Larger allocations count as written: marking them would take longer than any kernel.
constexpr std::uint64_t tracked_size_limit = 8ull << 30;

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

} // namespace

Memory::Impl::Impl() {
    // Address space only: nothing is committed. Smaller machines or limits get a smaller arena.
    for (std::uint64_t size = 4ull << 40; size >= 1ull << 32; size /= 2) {
        void* base =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            continue;
        madvise(base, size, MADV_DONTDUMP);
        mapping = base;
        mapping_size = size;
        begin = round_up(reinterpret_cast<std::uint64_t>(base), block_alignment);
        end = reinterpret_cast<std::uint64_t>(base) + size;
        cursor = begin + block_alignment;
        return;
    }
}

Memory::Impl::~Impl() {
    if (mapping != nullptr)
        munmap(mapping, mapping_size);
    if (std::uint8_t* const shadow = uninitialised.load())
        munmap(shadow, mapping_size / 8);
}

std::uint64_t Memory::Impl::place(std::uint64_t size) {
    // Fresh addresses first, so that a use after free stays recognisable for as long as possible.
    if (cursor + size <= end && cursor + size > cursor) {
        const std::uint64_t address = cursor;
        cursor += size;
        return address;
    }
    for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
        if (hole->second < size)
            continue;
        const std::uint64_t address = hole->first;
        const std::uint64_t left = hole->second - size;
        holes.erase(hole);
        if (left != 0)
            holes.emplace(address + size, left);
        return address;
    }
    return 0;
}

void Memory::Impl::give_back(std::uint64_t address, std::uint64_t size) {
    auto [hole, inserted] = holes.emplace(address, size);
    if (!inserted)
        return;
    if (auto after = std::next(hole); after != holes.end() && hole->first + hole->second == after->first) {
        hole->second += after->second;
        holes.erase(after);
    }
    if (hole != holes.begin()) {
        auto before = std::prev(hole);
        if (before->first + before->second == hole->first) {
            before->second += hole->second;
            holes.erase(hole);
        }
    }
}

Memory::Memory() : impl_(std::make_unique<Impl>()) {}
Memory::~Memory() = default;

std::uint64_t Memory::allocate(std::uint64_t size, AllocationKind kind, int device) {
    if (size > device_capacity)
        return 0;
    const std::unique_lock lock(impl_->mutex);
    std::uint64_t& used = impl_->used[device];
    if (used + size > device_capacity)
        return 0;
    const std::uint64_t block = round_up(std::max<std::uint64_t>(size, 1), block_alignment) + block_alignment;
    const std::uint64_t address = impl_->place(block);
    if (address == 0)
        return 0;
    used += size;
    // Records of freed allocations whose addresses are used again would only mislead.
    auto stale = impl_->freed.lower_bound(address);
    while (stale != impl_->freed.end() && stale->first < address + block)
        stale = impl_->freed.erase(stale);
    impl_->live.emplace(address, Record{{address, size, kind, device, ++impl_->serial, false}, block});
    if (std::uint8_t* const shadow =
            kind == AllocationKind::device && size <= tracked_size_limit ? uninitialised(address) : nullptr)
        std::memset(shadow, 0xff, (size + 7) / 8); // blocks begin on whole bytes of the shadow
    return address;
}

void Memory::adopt(std::uint64_t address, std::uint64_t size, AllocationKind kind, int device) {
    const std::unique_lock lock(impl_->mutex);
    impl_->freed.erase(address);
    impl_->live.insert_or_assign(address, Record{{address, size, kind, device, ++impl_->serial, false}, 0});
    impl_->generation.fetch_add(1, std::memory_order_release);
}

bool Memory::release(std::uint64_t address) {
    const std::unique_lock lock(impl_->mutex);
    const auto found = impl_->live.find(address);
    if (found == impl_->live.end())
        return false;
    Record record = found->second;
    impl_->live.erase(found);
    impl_->generation.fetch_add(1, std::memory_order_release);
    if (record.block != 0) {
        impl_->used[record.allocation.device] -= record.allocation.size;
        madvise(reinterpret_cast<void*>(address), record.block, MADV_DONTNEED);
        if (std::uint8_t* const shadow = uninitialised(address))
            std::memset(shadow, 0, (record.allocation.size + 7) / 8);
        impl_->give_back(address, record.block);
    }
    record.allocation.freed = true;
    impl_->freed.insert_or_assign(address, record.allocation);
    if (impl_->freed.size() > freed_history) {
        const auto oldest = std::min_element(impl_->freed.begin(), impl_->freed.end(), [](auto& a, auto& b) {
            return a.second.serial < b.second.serial;
        });
        impl_->freed.erase(oldest);
    }
    return true;
}

std::optional<Allocation> Memory::find(std::uint64_t address) const {
    const std::shared_lock lock(impl_->mutex);
    auto after = impl_->live.upper_bound(address);
    if (after == impl_->live.begin())
        return std::nullopt;
    const Allocation& allocation = std::prev(after)->second.allocation;
    return address - allocation.address < allocation.size ? std::optional(allocation) : std::nullopt;
}

std::optional<Allocation> Memory::nearest(std::uint64_t address) const {
    const std::shared_lock lock(impl_->mutex);
    const Allocation* best = nullptr;
    std::uint64_t best_distance = ~0ull;
    const auto consider = [&](const Allocation& a) {
        const std::uint64_t distance = address < a.address            ? a.address - address
                                       : address < a.address + a.size ? 0
                                                                      : address - (a.address + a.size) + 1;
        if (distance < best_distance) {
            best_distance = distance;
            best = &a;
        }
    };
    const auto around = [&](const auto& map, const auto& get) {
        const auto after = map.upper_bound(address);
        if (after != map.end())
            consider(get(after->second));
        if (after != map.begin())
            consider(get(std::prev(after)->second));
    };
    around(impl_->live, [](const Record& r) -> const Allocation& { return r.allocation; });
    around(impl_->freed, [](const Allocation& a) -> const Allocation& { return a; });
    return best ? std::optional(*best) : std::nullopt;
}

std::uint64_t Memory::used(int device) const {
    const std::shared_lock lock(impl_->mutex);
    const auto found = impl_->used.find(device);
    return found == impl_->used.end() ? 0 : found->second;
}

void Memory::track_initialisation() {
    const std::unique_lock lock(impl_->mutex);
    if (impl_->mapping == nullptr || impl_->uninitialised.load() != nullptr)
        return;
    void* const shadow = mmap(nullptr, impl_->mapping_size / 8, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shadow == MAP_FAILED)
        return;
    madvise(shadow, impl_->mapping_size / 8, MADV_DONTDUMP);
    impl_->uninitialised.store(static_cast<std::uint8_t*>(shadow));
}

std::uint8_t* Memory::uninitialised(std::uint64_t address) const noexcept {
    std::uint8_t* const shadow = impl_->uninitialised.load(std::memory_order_acquire);
    const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(impl_->mapping);
    return shadow == nullptr || offset >= impl_->mapping_size ? nullptr : shadow + offset / 8;
}

void Memory::mark_initialised(std::uint64_t address, std::uint64_t size) noexcept {
    if (uninitialised(address) == nullptr)
        return;
    for (; size != 0 && address % 8 != 0; ++address, --size)
        *uninitialised(address) &= static_cast<std::uint8_t>(~(1u << address % 8));
    if (size >= 8)
        std::memset(uninitialised(address), 0, size / 8);
    address += size / 8 * 8;
    for (size %= 8; size != 0; ++address, --size)
        *uninitialised(address) &= static_cast<std::uint8_t>(~(1u << address % 8));
}

void Memory::copy_initialisation(std::uint64_t from, std::uint64_t to, std::uint64_t size) noexcept {
    if (uninitialised(to) == nullptr)
        return;
    mark_initialised(to, size);
    for (std::uint64_t at = 0; at < size; ++at)
        if (const std::uint8_t* const shadow = uninitialised(from + at)) {
            if (*shadow == 0 && (from + at) % 8 == 0 && size - at >= 8)
                at += 7;
            else if ((*shadow >> (from + at) % 8 & 1) != 0)
                *uninitialised(to + at) |= static_cast<std::uint8_t>(1u << (to + at) % 8);
        } else {
            return; // host memory counts as written
        }
}

void MemoryView::refresh() {
    const std::uint64_t now = memory_->impl_->generation.load(std::memory_order_acquire);
    if (now == generation_)
        return;
    generation_ = now;
    take_uses(used_);
    ranges_ = {};
}

void MemoryView::take_uses(std::vector<Use>& uses) {
    for (Range& range : ranges_) {
        if (range.use != 0)
            uses.push_back(range);
        range.use = 0;
    }
    if (&uses != &used_) {
        uses.insert(uses.end(), used_.begin(), used_.end());
        used_.clear();
    }
}

bool MemoryView::look_up(std::uint64_t address, std::uint64_t size, std::uint8_t use) {
    const std::shared_lock lock(memory_->impl_->mutex);
    const auto& live = memory_->impl_->live;
    const auto after = live.upper_bound(address);
    if (after == live.begin())
        return false;
    const Allocation& found = std::prev(after)->second.allocation;
    const std::uint64_t offset = address - found.address;
    if (offset >= found.size || size > found.size - offset)
        return false;
    if (Range& out = ranges_[next_]; out.use != 0)
        used_.push_back(out);
    ranges_[next_] = {found.address, found.size, use};
    next_ = (next_ + 1) % ranges_.size();
    return true;
}

} // namespace zyfa::sim
