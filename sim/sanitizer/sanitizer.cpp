// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/sanitizer.hpp"

#include "sim/fault.hpp"

#include <algorithm>
#include <string_view>

namespace zyfa::sim::sanitizer {

Sanitizer::Sanitizer(Session& session) : session_(session) {}

Sanitizer::~Sanitizer() {
    session_.merge(findings_);
}

const Traits& Sanitizer::traits_of_executed(WaveShadow& shadow, const Instruction& instruction) {
    const std::span<const Instruction> all = session_.dispatch.code->instructions();
    const auto index = static_cast<std::size_t>(&instruction - all.data());
    if (&instruction >= all.data() && index < all.size()) [[likely]]
        return (*session_.traits)[index];
    // A copy with indexed registers: kept as long as a rule may still look at it.
    shadow.moved.emplace_back(instruction, Traits{});
    auto& [copy, traits] = shadow.moved.back();
    traits = traits_of(copy);
    if (shadow.moved.size() > 256)
        shadow.moved.pop_front();
    return traits;
}

SiteIndex Sanitizer::site(const Traits& t) const noexcept {
    const std::span<const Instruction> all = session_.dispatch.code->instructions();
    const Instruction* i = t.instruction;
    if (i < all.data() || i >= all.data() + all.size())
        i = session_.dispatch.code->at(session_.dispatch.code->base() + i->pc);
    return static_cast<SiteIndex>(i - all.data());
}

Finding* Sanitizer::find(Severity severity, const char* rule, const Wave& wave, int lane, SiteIndex at,
                         SiteIndex other) {
    const FindingKey key{rule, at, other};
    if (const auto known = findings_.find(key); known != findings_.end()) {
        ++known->second.count;
        return nullptr;
    }
    if (findings_.size() > Session::finding_limit) // one more, so that the session knows
        return nullptr;
    const CodeObjectImpl& code = *session_.dispatch.code;
    const auto describe = [&](SiteIndex index) {
        if (index == no_site)
            return Site{};
        const Instruction& i = code.instructions()[index];
        return Site{code.location(i), code.disassemble(i), code.base() + i.pc};
    };
    Finding& fresh = findings_[key];
    fresh.severity = severity;
    fresh.rule = rule;
    fresh.at = describe(at);
    fresh.other = describe(other);
    const auto& id = wave.group->id;
    fresh.place = "workgroup (" + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," +
                  std::to_string(id[2]) + "), wave " + std::to_string(wave.id);
    if (lane >= 0)
        fresh.place += ", lane " + std::to_string(lane);
    return &fresh;
}

std::string Sanitizer::describe_global(std::uint64_t address) const {
    std::string text = "address " + hexadecimal(address);
    if (const auto a = session_.memory.find(address))
        text += ", byte " + std::to_string(address - a->address) + " of allocation #" +
                std::to_string(a->serial) + " (" + std::to_string(a->size) + " bytes at " +
                hexadecimal(a->address) + ")";
    return text;
}

bool Sanitizer::coherent(SiteIndex index) {
    const auto known = coherent_.find(index);
    if (known != coherent_.end())
        return known->second;
    // sc1 without or with sc0: device and system scope (LLVM AMDGPUUsage, memory model of gfx942).
    const std::string text =
        session_.dispatch.code->disassemble(session_.dispatch.code->instructions()[index]);
    return coherent_[index] = text.find(" sc1") != std::string::npos;
}

void Sanitizer::before(Wave& wave, const Instruction& instruction) {
    WaveShadow& shadow = wave.group->shadow->waves[wave.id];
    const Traits& t = traits_of_executed(shadow, instruction);
    current_ = &t;
    beyond_ = 0;
    if (t.is(trait::waits)) {
        shadow.pending.wait(wave, t.vm, t.lgkm);
        shadow.pending.note_wait(t, wave.instructions);
    }
    if (shadow.pending.registers_open())
        check_pending(wave, shadow, t);
    check_wait_states(wave, shadow, t);
    check_validity(wave, shadow, t);
    const bool memory_kind = t.is(trait::memory) || instruction.kind == InstructionClass::smem;
    if (!memory_kind) {
        shadow.validity.flow(wave, t);
    } else {
        shadow.pending.make_room(wave);
        part_count_ = 0;
        if (instruction.kind == InstructionClass::lds && !t.is(trait::needs_address))
            permute(wave, shadow, t);
    }
}

void Sanitizer::after(Wave& wave, const Instruction& instruction) {
    const Traits& t = *current_;
    WaveShadow& shadow = wave.group->shadow->waves[wave.id];
    if (t.is(trait::memory))
        memory(wave, shadow, t);
    else if (instruction.kind == InstructionClass::smem)
        scalar_memory(wave, shadow, t);
    else if (wave.state == WaveState::barrier)
        barrier(wave, shadow, t);
    else if (wave.state == WaveState::ended)
        end(wave, shadow);
}

void Sanitizer::access(Wave& wave, const Instruction& instruction, const std::uint64_t* addresses,
                       std::uint64_t active, unsigned bytes) {
    LaneAccess& part = parts_[part_count_ & 1];
    part_bytes_[part_count_ & 1] = bytes;
    part_count_ = std::min(part_count_ + 1, 2u);
    part.active = active;
    const bool buffer = instruction.kind == InstructionClass::vmem &&
                        (instruction.flags & (flag::global | flag::scratch)) == 0;
    const ThreadContext& thread = *wave.thread;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        part.address[lane] = addresses[lane];
        part.bytes[lane] = static_cast<std::uint8_t>(bytes);
    }
    if (buffer)
        for (std::uint64_t out = thread.partial & active; out != 0; out &= out - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(out));
            part.bytes[lane] = thread.in_range[lane];
        }
    for (; beyond_ != 0; beyond_ &= beyond_ - 1)
        part.bytes[std::countr_zero(beyond_)] = 0;
    if ((instruction.flags & flag::lds) != 0) { // CDNA4 ISA: LDS address of a load to LDS, as copy_to_lds
        dma_address_.clear();
        const unsigned size = std::max(bytes, 4u), stride = bytes <= 4 ? 4 : 16;
        const std::uint64_t base = std::uint64_t{wave.m0() & 0x3ffff} + instruction.imm;
        dma_before_.resize(std::size_t{size} * lanes);
        for (unsigned lane = 0; lane < lanes; ++lane) {
            if ((active >> lane & 1) == 0)
                continue;
            const std::uint64_t at = base + lane * stride;
            if (at + size > wave.group->lds_bytes) { // reported where it is copied
                part.active &= ~(1ull << lane);
                continue;
            }
            std::memcpy(dma_before_.data() + dma_address_.size() * size, wave.group->lds.data() + at, size);
            dma_address_.push_back(static_cast<std::uint32_t>(at));
        }
        dma_before_.resize(dma_address_.size() * size);
    }
}

bool Sanitizer::out_of_bounds(Wave& wave, const Instruction&, const OutOfBounds& access) {
    const char* rule = access.kind();
    if (access.space == OutOfBounds::Space::global) {
        const auto near = session_.memory.nearest(access.address);
        rule = near && near->freed && access.address >= near->address &&
                       access.address - near->address < near->size
                   ? "global memory used after free"
                   : "global memory out of bounds";
    }
    report(Severity::error, rule, wave, access.lane, site(*current_), no_site,
           [&](Finding& f) { f.detail = access.describe(session_.memory); });
    beyond_ |= 1ull << std::max(access.lane, 0);
    return true;
}

} // namespace zyfa::sim::sanitizer
