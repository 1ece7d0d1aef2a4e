// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/pending.hpp"

#include <algorithm>
#include <utility>

namespace zyfa::sim::sanitizer {

namespace {

constexpr unsigned vm_limit = 63, lgkm_limit = 15; // s_waitcnt's fields (CDNA4 ISA)

} // namespace

void PendingOperations::make_room(Wave& wave) {
    // A full counter stalls the next instruction: the oldest of an ordered queue must have come back.
    if (vm_.size() >= vm_limit)
        pop(wave, vm_);
    if (lds_.size() >= lgkm_limit)
        pop(wave, lds_);
}

Operation& PendingOperations::add(const Wave& wave, const Traits& t, Counter counter) {
    std::unique_ptr<Operation> operation;
    if (spare_.empty()) {
        operation = std::make_unique<Operation>();
    } else {
        operation = std::move(spare_.back());
        spare_.pop_back();
    }
    operation->traits = &t;
    operation->issued = wave.instructions;
    operation->counter = counter;
    operation->serial = ++serial_;
    operation->vm_open = counter == Counter::vm || counter == Counter::flat;
    operation->lgkm_open = !operation->vm_open || counter == Counter::flat;
    operation->destination = {};
    operation->cells.clear();
    operation->lds_address.clear();
    operation->early = false;
    if (random_ != 0) { // Marsaglia's xorshift
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        operation->early = (random_ >> 32 & 1) != 0;
    }
    Queue& queue = counter == Counter::vm ? vm_ : counter == Counter::lds ? lds_ : unordered_;
    queue.push_back(std::move(operation));
    return *queue.back();
}

bool PendingOperations::follows_late_one(const Operation& operation) const {
    const auto overlap = [](std::uint64_t a, std::uint64_t a_end, std::uint64_t b, std::uint64_t b_end) {
        return a < b_end && b < a_end;
    };
    const auto range = [](const Operation& o) {
        const auto [least, most] = std::minmax_element(o.lds_address.begin(), o.lds_address.end());
        return std::pair{*least, *most + o.lds_bytes};
    };
    for (const Queue* queue : {&vm_, &lds_, &unordered_})
        for (const auto& other : *queue) {
            if (other.get() == &operation || other->early)
                continue;
            const Use &a = operation.destination, &b = other->destination;
            if (overlap(a.first, unsigned{a.first} + a.count, b.first, unsigned{b.first} + b.count))
                return true;
            if (operation.lds_address.empty() || other->lds_address.empty())
                continue;
            const auto mine = range(operation), its = range(*other);
            if (overlap(mine.first, mine.second, its.first, its.second))
                return true;
        }
    return false;
}

void PendingOperations::hold_registers(Wave& wave, Operation& operation, std::uint64_t active,
                                       std::uint32_t mask) {
    if (operation.traits->write_count == 0)
        return;
    const Use d = operation.traits->writes[0];
    operation.destination = d;
    operation.active = active;
    operation.mask = mask;
    operation.early = operation.early && !follows_late_one(operation);
    if (operation.early) {
    } else if (d.vector()) {
        std::uint32_t* const registers = wave.v + d.first * lanes;
        operation.data.assign(registers, registers + d.count * lanes);
        if (active == ~0ull && mask == ~0u) {
            std::fill_n(registers, d.count * lanes, poison_vgpr);
        } else {
            for (unsigned n = 0; n < d.count * lanes; ++n)
                if ((active >> (n % lanes) & 1) != 0)
                    registers[n] = (registers[n] & ~mask) | (poison_vgpr & mask);
        }
    } else {
        std::uint32_t* const registers = wave.s + (d.first - sgpr_unit);
        operation.data.assign(registers, registers + d.count);
        std::fill_n(registers, d.count, poison_sgpr);
    }
    for (unsigned n = 0; n < d.count; ++n)
        ++units_[d.first + n];
    open_ += d.count;
}

void PendingOperations::hold_lds(Wave& wave, Operation& operation, const std::vector<std::byte>& before) {
    operation.early = operation.early && !follows_late_one(operation);
    operation.lds_data.resize(before.size());
    for (std::size_t n = 0; n < operation.lds_address.size(); ++n) {
        std::byte* const at = wave.group->lds.data() + operation.lds_address[n];
        std::memcpy(operation.lds_data.data() + n * operation.lds_bytes, at, operation.lds_bytes);
        if (!operation.early)
            std::memcpy(at, before.data() + n * operation.lds_bytes, operation.lds_bytes);
    }
}

void PendingOperations::land(Wave& wave, Operation& operation) {
    const Use d = operation.destination;
    if (d.count != 0) {
        if (operation.early) {
        } else if (d.vector()) {
            std::uint32_t* const registers = wave.v + d.first * lanes;
            if (operation.active == ~0ull && operation.mask == ~0u) {
                std::copy(operation.data.begin(), operation.data.end(), registers);
            } else {
                for (unsigned n = 0; n < d.count * lanes; ++n)
                    if ((operation.active >> (n % lanes) & 1) != 0)
                        registers[n] =
                            (registers[n] & ~operation.mask) | (operation.data[n] & operation.mask);
            }
        } else {
            std::copy(operation.data.begin(), operation.data.end(), wave.s + (d.first - sgpr_unit));
        }
        for (unsigned n = 0; n < d.count; ++n)
            --units_[d.first + n];
        open_ -= d.count;
    }
    for (std::size_t n = 0; n < operation.lds_address.size() && !operation.early; ++n)
        std::memcpy(wave.group->lds.data() + operation.lds_address[n],
                    operation.lds_data.data() + n * operation.lds_bytes, operation.lds_bytes);
}

void PendingOperations::pop(Wave& wave, Queue& queue) {
    land(wave, *queue.front());
    spare_.push_back(std::move(queue.front()));
    queue.pop_front();
}

void PendingOperations::wait(Wave& wave, unsigned vm, unsigned lgkm) {
    // Flat operations count in both and come back in any order, scalar loads in any order: they are sure only
    // at zero, and do not vouch for anything else.
    while (vm_.size() > vm)
        pop(wave, vm_);
    while (lds_.size() > lgkm)
        pop(wave, lds_);
    if (unordered_.empty() || (vm != 0 && lgkm != 0))
        return;
    for (auto at = unordered_.begin(); at != unordered_.end();) {
        Operation& operation = **at;
        operation.vm_open &= vm != 0;
        operation.lgkm_open &= lgkm != 0;
        if (operation.vm_open || operation.lgkm_open) {
            ++at;
            continue;
        }
        land(wave, operation);
        spare_.push_back(std::move(*at));
        at = unordered_.erase(at);
    }
}

const Operation* PendingOperations::writer_of(unsigned unit) const {
    const Operation* found = nullptr;
    for (const Queue* queue : {&vm_, &lds_, &unordered_})
        for (const auto& operation : *queue)
            if (const Use& d = operation->destination;
                unit >= d.first && unit < d.first + d.count && (!found || found->issued < operation->issued))
                found = operation.get();
    return found;
}

const Operation* PendingOperations::writer_of_lds(std::uint64_t address) const {
    for (auto operation = vm_.rbegin(); operation != vm_.rend(); ++operation)
        for (const std::uint32_t at : (*operation)->lds_address)
            if (address - at < (*operation)->lds_bytes)
                return operation->get();
    return nullptr;
}

std::string PendingOperations::needed(const Operation& operation) const {
    const auto younger = [&](const Queue& queue) {
        std::size_t count = 0;
        while (queue[queue.size() - 1 - count].get() != &operation)
            ++count;
        return std::to_string(count);
    };
    switch (operation.counter) {
    case Counter::vm:
        return "vmcnt(" + younger(vm_) + ")";
    case Counter::lds:
        return "lgkmcnt(" + younger(lds_) + ")";
    case Counter::flat:
        return operation.vm_open && operation.lgkm_open ? "vmcnt(0) lgkmcnt(0)"
               : operation.vm_open                      ? "vmcnt(0)"
                                                        : "lgkmcnt(0)";
    default:
        return "lgkmcnt(0)";
    }
}

std::string PendingOperations::fix(const Operation& operation) const {
    std::string text = "s_waitcnt " + needed(operation) + " needed, ";
    if (last_wait_.traits == nullptr || last_wait_.at < operation.issued)
        return text + "none found since";
    const bool vm = operation.vm_open;
    const unsigned count = vm ? last_wait_.traits->vm : last_wait_.traits->lgkm;
    if (count == (vm ? vm_limit : lgkm_limit))
        return text + "the last s_waitcnt does not wait for this counter";
    return text + (vm ? "vmcnt(" : "lgkmcnt(") + std::to_string(count) + ") found";
}

} // namespace zyfa::sim::sanitizer
