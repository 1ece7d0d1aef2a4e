// SPDX-License-Identifier: Apache-2.0
// After a memory instruction has executed: alignment, who touched what, which bytes are initialised, and its
// result taken back until a wait vouches for it.
#include "sim/sanitizer/sanitizer.hpp"

#include "sim/fault.hpp"

#include <algorithm>
#include <string_view>

namespace zyfa::sim::sanitizer {

namespace {

template <class F>
void for_lanes(std::uint64_t active, F&& f) {
    for (; active != 0; active &= active - 1)
        f(static_cast<unsigned>(std::countr_zero(active)));
}

bool signed_load(std::string_view name) {
    return name.find("sbyte") != std::string_view::npos || name.find("sshort") != std::string_view::npos ||
           name.find("_i8") != std::string_view::npos || name.find("_i16") != std::string_view::npos;
}

/// Bits of a destination register that a load writes: D16 forms leave a half alone.
std::uint32_t loaded_bits(std::string_view name) {
    if (name.find("d16") == std::string_view::npos)
        return ~0u;
    return name.ends_with("_hi") ? 0xffff0000u : 0x0000ffffu;
}

/// First byte of the data register that a store of less than a dword takes.
unsigned first_stored_byte(std::string_view name) {
    return name.ends_with("_d16_hi") ? 2 : 0;
}

} // namespace

bool Sanitizer::valid_range(const Wave& wave, const WaveShadow& shadow, std::uint64_t address,
                            unsigned bytes) const {
    if (in_lds(address)) {
        const std::vector<LdsCell>& cells = wave.group->shadow->lds;
        for (std::uint64_t at = address & 0xffffffff, left = bytes; left != 0;) {
            const auto offset = static_cast<unsigned>(at % 4);
            const auto here = static_cast<unsigned>(std::min<std::uint64_t>(left, 4 - offset));
            const unsigned mask = ((1u << here) - 1) << offset;
            if (at / 4 >= cells.size() || (cells[at / 4].valid & mask) != mask)
                return false;
            at += here;
            left -= here;
        }
        return true;
    }
    if (in_scratch(address)) {
        const std::uint64_t at = address & 0xffffffff;
        const unsigned lane = static_cast<unsigned>(address >> 56);
        const std::uint8_t* const own = shadow.scratch.data() + std::uint64_t{lane} * wave.scratch_bytes;
        for (unsigned n = 0; n < bytes; ++n)
            if (at + n < wave.scratch_bytes && own[at + n] == 0)
                return false;
        return true;
    }
    const std::uint8_t* bits = session_.memory.uninitialised(address);
    if (bits == nullptr)
        return true;
    for (std::uint64_t at = address, left = bytes; left != 0; ++bits) {
        const auto offset = static_cast<unsigned>(at % 8);
        const auto here = static_cast<unsigned>(std::min<std::uint64_t>(left, 8 - offset));
        if ((*bits >> offset & ((1u << here) - 1)) != 0)
            return false;
        at += here;
        left -= here;
    }
    return true;
}

void Sanitizer::mark(Wave& wave, WaveShadow& shadow, std::uint64_t address, bool valid) {
    if (in_lds(address)) {
        const std::uint64_t at = address & 0xffffffff;
        std::uint8_t& bytes = wave.group->shadow->lds[at / 4].valid;
        const auto bit = static_cast<std::uint8_t>(1u << at % 4);
        bytes = static_cast<std::uint8_t>(valid ? bytes | bit : bytes & ~bit);
    } else if (in_scratch(address)) {
        const std::uint64_t at = address & 0xffffffff, lane = address >> 56;
        if (at < wave.scratch_bytes)
            shadow.scratch[lane * wave.scratch_bytes + at] = valid;
    } else if (std::uint8_t* const bits = session_.memory.uninitialised(address)) {
        // Neighbours may be other workgroups' on other threads. What is stored uninitialised has been
        // reported, so that it counts as written.
        const auto bit = static_cast<std::uint8_t>(1u << address % 8);
        const std::atomic_ref<std::uint8_t> shared(*bits);
        if ((shared.load(std::memory_order_relaxed) & bit) != 0)
            shared.fetch_and(static_cast<std::uint8_t>(~bit), std::memory_order_relaxed);
    }
}

void Sanitizer::check_alignment(const Wave& wave, const Traits& t, const LaneAccess& a) {
    const Instruction& i = *t.instruction;
    const bool lds_kind = i.kind == InstructionClass::lds;
    const std::string_view name = i.mnemonic;
    const bool atomic = (i.flags & flag::atomic) != 0;
    const bool pair = name.starts_with("ds_read2") || name.starts_with("ds_write2");
    // LDS: b64 and wider take any dword address in unaligned mode, which the driver sets (SH_MEM_CONFIG);
    // transposed reads need their natural alignment (CDNA4 ISA). Two-address forms and atomics always do.
    const unsigned bytes = part_bytes_[0];
    unsigned needed = 1;
    if (atomic)
        needed = bytes;
    else if (lds_kind && name.find("_tr_") != std::string_view::npos)
        needed = 8;
    else if (lds_kind && pair)
        needed = 4;
    if (needed == 1)
        return;
    for_lanes(a.active, [&](unsigned lane) {
        const std::uint64_t at = a.address[lane] & 0xffffffffffffull;
        if (at % needed == 0 || a.bytes[lane] == 0)
            return;
        report(Severity::error, "misaligned access", wave, static_cast<int>(lane), site(t), no_site,
               [&](Finding& f) {
                   f.detail = (in_lds(a.address[lane]) ? "LDS byte " + std::to_string(at & 0xffffffff)
                                                       : describe_global(a.address[lane])) +
                              " is no multiple of " + std::to_string(needed);
               });
    });
}

void Sanitizer::memory(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const Instruction& i = *t.instruction;
    const std::string_view name = i.mnemonic;
    if (t.is(trait::vmem) && !t.is(trait::needs_address)) { // buffer_wbl2, buffer_inv
        synchronise(wave);
        if (t.counter != Counter::none)
            shadow.pending.add(wave, t, t.counter);
        return;
    }
    if (t.counter == Counter::none)
        return;
    const bool is_store = (i.flags & flag::store) != 0, is_atomic = (i.flags & flag::atomic) != 0;
    const SiteIndex here = site(t);
    const bool shared = is_atomic || (t.is(trait::vmem) && coherent(here));
    const std::uint64_t lane_tag = ~0ull >> 8;
    bool touches_lds = false, touches_global = false;
    for (unsigned n = 0; n < part_count_; ++n) {
        LaneAccess& a = parts_[n];
        check_alignment(wave, t, a);
        for_lanes(a.active, [&](unsigned lane) {
            if (a.bytes[lane] == 0)
                return;
            const Touch touch{a.address[lane], a.bytes[lane], lane, here, is_store || is_atomic, shared};
            if (in_lds(a.address[lane])) {
                touches_lds = true;
                touch_lds(wave, shadow, touch);
            } else if (in_scratch(a.address[lane])) { // private to the lane: which one goes into the address
                a.address[lane] = (a.address[lane] & lane_tag) | std::uint64_t{lane} << 56;
            } else {
                touches_global = true;
                touch_global(wave, shadow, touch);
            }
        });
    }
    if (page_ != nullptr) {
        page_->mutex.unlock();
        page_ = nullptr;
        page_number_ = ~0ull;
    }
    // FLAT counts in both counters; what lies outside LDS comes back in the order of vmcnt.
    Counter counter = t.counter;
    if (counter == Counter::flat && !touches_lds)
        counter = Counter::vm;
    if (is_atomic && touches_global)
        synchronise(wave);

    Operation& operation = shadow.pending.add(wave, t, counter);
    if (touches_lds)
        for (unsigned n = 0; n < part_count_; ++n)
            for_lanes(parts_[n].active, [&](unsigned lane) {
                if (!in_lds(parts_[n].address[lane]) || parts_[n].bytes[lane] == 0)
                    return;
                const std::uint64_t at = parts_[n].address[lane] & 0xffffffff;
                for (std::uint64_t cell = at / 4; cell * 4 < at + parts_[n].bytes[lane]; ++cell)
                    operation.cells.push_back(static_cast<std::uint32_t>(cell));
            });
    if (t.is(trait::lds_dma)) {
        lds_dma(wave, shadow, t, operation);
        return;
    }
    if (t.write_count != 0) {
        if (part_count_ != 0)
            load_validity(wave, shadow, t);
        shadow.pending.hold_registers(wave, operation, wave.exec(), loaded_bits(name));
    }
    if (is_store || is_atomic)
        store_validity(wave, shadow, t);
}

void Sanitizer::load_validity(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const Instruction& i = *t.instruction;
    const std::string_view name = i.mnemonic;
    const unsigned per_part = part_count_ == 2 ? i.dst.words / 2u : i.dst.words;
    const bool transposed = name.find("_tr_") != std::string_view::npos;
    for (unsigned n = 0; n < part_count_; ++n) {
        const LaneAccess& a = parts_[n];
        const unsigned bytes = part_bytes_[n];
        std::uint64_t whole = 0;
        for_lanes(a.active, [&](unsigned lane) {
            if (a.bytes[lane] == 0 || valid_range(wave, shadow, a.address[lane], a.bytes[lane]))
                whole |= 1ull << lane;
        });
        if (transposed) // any lane of a group of 16 may get what another has addressed
            for (unsigned group = 0; group < lanes; group += 16)
                if ((whole >> group & 0xffff) != 0xffff)
                    whole &= ~(0xffffull << group);
        const std::uint32_t bits = loaded_bits(name);
        if (whole == a.active && bits == ~0u) {
            for (unsigned word = 0; word < per_part; ++word)
                shadow.validity.vector(i.dst.index + n * per_part + word).assign(a.active, ~0ull);
            continue;
        }
        for (unsigned word = 0; word < per_part; ++word)
            for (unsigned byte = 0; byte < 4; ++byte) {
                if ((bits >> (8 * byte) & 1) == 0)
                    continue;
                std::uint64_t valid = whole;
                unsigned source = 4 * word + byte - (bits == 0xffff0000u ? 2 : 0);
                const bool extended = source >= bytes;
                if (extended)
                    source = bytes - 1;
                if (!transposed)
                    for_lanes(a.active & ~whole, [&](unsigned lane) {
                        if ((extended && !signed_load(name)) || source >= a.bytes[lane] ||
                            valid_range(wave, shadow, a.address[lane] + source, 1))
                            valid |= 1ull << lane;
                    });
                std::uint64_t& d = shadow.validity.vector(i.dst.index + n * per_part + word).byte[byte];
                d = (d & ~a.active) | (valid & a.active);
                if ((a.active & ~valid) != 0)
                    shadow.unwritten_load = site(t);
            }
    }
}

void Sanitizer::store_validity(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const Instruction& i = *t.instruction;
    const std::string_view name = i.mnemonic;
    const bool is_atomic = (i.flags & flag::atomic) != 0;
    const bool exchanges =
        name.find("swap") != std::string_view::npos || name.find("wrxchg") != std::string_view::npos;
    const unsigned skip = first_stored_byte(name);
    for (unsigned n = 0; n < part_count_; ++n) {
        const LaneAccess& a = parts_[n];
        const Operand& data = i.src[1 + n];
        if (data.kind != OperandKind::vgpr)
            continue;
        const auto valid_at = [&](unsigned lane, unsigned byte) {
            const unsigned at = byte + skip;
            return (shadow.validity.vector(data.index + at / 4).byte[at % 4] >> lane & 1) != 0;
        };
        std::uint64_t complete = ~0ull;
        for (unsigned word = 0; word < (part_bytes_[n] + 3) / 4; ++word)
            complete &= shadow.validity.vector(data.index + word).all();
        for_lanes(a.active, [&](unsigned lane) {
            const bool all = (complete >> lane & 1) != 0;
            const std::uint64_t address = a.address[lane];
            const bool global = !in_lds(address) && !in_scratch(address);
            if (all && valid_range(wave, shadow, address, a.bytes[lane]))
                return;
            for (unsigned byte = 0; byte < a.bytes[lane]; ++byte) {
                const bool valid = all || valid_at(lane, byte);
                if (!valid && global)
                    report(Severity::error, "uninitialised register stored", wave, static_cast<int>(lane),
                           site(t), no_site, [&](Finding& f) {
                               f.detail = name_of_unit(data.index + (byte + skip) / 4) +
                                          holds_unwritten(shadow) + "; stored to " + describe_global(address);
                           });
                if (!is_atomic || exchanges || !valid)
                    mark(wave, shadow, address + byte, valid || global);
            }
        });
    }
}

void Sanitizer::lds_dma(Wave& wave, WaveShadow& shadow, const Traits& t, Operation& operation) {
    if (part_count_ == 0 || dma_address_.empty())
        return;
    const LaneAccess& a = parts_[0];
    const unsigned size = std::max(part_bytes_[0], 4u);
    operation.lds_address = dma_address_;
    operation.lds_bytes = size;
    std::size_t next = 0;
    for_lanes(a.active, [&](unsigned lane) {
        const std::uint32_t at = dma_address_[next++];
        touch_lds(wave, shadow, {shared_aperture + at, size, lane, site(t), true, false});
        const bool whole = a.bytes[lane] == 0 || valid_range(wave, shadow, a.address[lane], a.bytes[lane]);
        for (unsigned byte = 0; byte < size; ++byte)
            mark(wave, shadow, shared_aperture + at + byte,
                 whole || byte >= a.bytes[lane] || valid_range(wave, shadow, a.address[lane] + byte, 1));
        for (std::uint32_t cell = at / 4; cell * 4 < at + size; ++cell) {
            wave.group->shadow->lds[cell].load = operation.serial;
            operation.cells.push_back(cell);
        }
    });
    shadow.pending.hold_lds(wave, operation, dma_before_);
}

void Sanitizer::scalar_memory(Wave& wave, WaveShadow& shadow, const Traits& t) {
    const Instruction& i = *t.instruction;
    if (t.counter == Counter::none)
        return;
    const bool writes = (i.flags & (flag::store | flag::atomic)) != 0;
    if (part_count_ != 0) {
        const std::uint64_t address = parts_[0].address[0];
        // A scalar buffer load beyond the descriptor's range has not touched memory there.
        const bool mapped = parts_[0].bytes[0] != 0 && session_.memory.find(address).has_value();
        if (mapped) {
            touch_global(wave, shadow,
                         {address, part_bytes_[0], 0, site(t), writes, (i.flags & flag::atomic) != 0});
            if (page_ != nullptr) {
                page_->mutex.unlock();
                page_ = nullptr;
                page_number_ = ~0ull;
            }
        }
        if (i.dst.kind == OperandKind::sgpr)
            for (unsigned word = 0; word < i.dst.words; ++word) {
                std::uint32_t& bits = shadow.validity.scalar(i.dst.index + word);
                bits = 0;
                for (unsigned byte = 0; byte < 4; ++byte)
                    if (!mapped || valid_range(wave, shadow, address + 4 * word + byte, 1))
                        bits |= 0xffu << (8 * byte);
                if (bits != ~0u)
                    shadow.unwritten_load = site(t);
            }
        if (writes)
            for (const Use& use : t.read())
                if (use.role == Role::data && !shadow.validity.whole(use))
                    report(Severity::error, "uninitialised register stored", wave, -1, site(t), no_site,
                           [&](Finding& f) {
                               f.detail = name_of_unit(use.first) + holds_unwritten(shadow) + "; stored to " +
                                          describe_global(address);
                           });
        if (writes && mapped)
            for (unsigned byte = 0; byte < part_bytes_[0]; ++byte)
                mark(wave, shadow, address + byte, true);
    } else if (i.dst.kind == OperandKind::sgpr) {
        for (const Use& use : t.written())
            shadow.validity.set(use);
    }
    Operation& operation = shadow.pending.add(wave, t, t.counter);
    if (t.write_count != 0)
        shadow.pending.hold_registers(wave, operation, 1, ~0u);
}

} // namespace zyfa::sim::sanitizer
