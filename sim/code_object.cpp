// SPDX-License-Identifier: Apache-2.0
#include "sim/code_object.hpp"

#include "sim/decoder.hpp"
#include "sim/disassembler.hpp"
#include "sim/elf.hpp"
#include "sim/fault.hpp"
#include "sim/metadata.hpp"
#include "sim/operations.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <stdexcept>

namespace zyfa::sim {

namespace {

constexpr std::uint64_t descriptor_size = 64;
constexpr std::uint64_t largest_text = 256ull << 20;

template <class T>
T load_at(std::uint64_t address) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}
template <class T>
void store_at(std::uint64_t address, T value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

} // namespace

std::uint32_t ConstantPool::add(std::uint64_t value, unsigned words) {
    const auto [entry, inserted] =
        known_.try_emplace({value, words}, static_cast<std::uint32_t>(blocks_.size() * 64));
    if (inserted)
        for (unsigned word = 0; word < words; ++word) {
            LaneConstant block;
            std::fill(std::begin(block.lane), std::end(block.lane),
                      static_cast<std::uint32_t>(value >> (32 * word)));
            blocks_.push_back(block);
        }
    return entry->second;
}

std::shared_ptr<CodeObject> CodeObject::load(Memory& memory, std::span<const std::byte> elf, int device) {
    return std::make_shared<CodeObjectImpl>(memory, elf, device);
}

CodeObjectImpl::CodeObjectImpl(Memory& memory, std::span<const std::byte> elf, int device) : memory_(memory) {
    const ElfImage image = parse_elf(elf);
    map(image, elf, device);
    try {
        relocate(image);
        find_kernels(image);
        decode(image);
    } catch (...) {
        memory_.release(begin_);
        throw;
    }
}

CodeObjectImpl::~CodeObjectImpl() {
    memory_.release(begin_);
}

void CodeObjectImpl::map(const ElfImage& image, std::span<const std::byte> elf, int device) {
    const std::uint64_t first = image.begin / 4096 * 4096;
    size_ = image.end - first;
    begin_ = memory_.allocate(size_, AllocationKind::code, device);
    if (begin_ == 0)
        throw std::runtime_error("code object: no device memory for " + std::to_string(size_) + " bytes");
    base_ = begin_ - first;
    for (const ElfSegment& segment : image.segments)
        std::memcpy(reinterpret_cast<void*>(base_ + segment.address), elf.data() + segment.offset,
                    segment.file_size);
}

void CodeObjectImpl::check(std::uint64_t address, std::uint64_t size, const char* what) const {
    const std::uint64_t offset = base_ + address - begin_;
    if (offset > size_ || size > size_ - offset)
        throw std::runtime_error("code object: " + std::string(what) + " at " + hexadecimal(address) +
                                 " lies outside its segments");
}

void CodeObjectImpl::relocate(const ElfImage& image) {
    // LLVM AMDGPUUsage, "Relocation Records": S symbol, A addend, B base, P place.
    enum : std::uint32_t {
        abs32_lo = 1,
        abs32_hi = 2,
        abs64 = 3,
        rel32 = 4,
        rel64 = 5,
        abs32 = 6,
        rel32_lo = 10,
        rel32_hi = 11,
        relative64 = 13
    };
    for (const ElfRelocation& r : image.relocations) {
        const bool wide = r.type == abs64 || r.type == rel64 || r.type == relative64;
        check(r.address, wide ? 8 : 4, "a relocation");
        const std::uint64_t place = base_ + r.address;
        std::uint64_t symbol = base_;
        if (r.type != relative64) {
            const ElfSymbol* named = r.symbol < image.symbols.size() ? &image.symbols[r.symbol] : nullptr;
            if (named == nullptr || !named->defined)
                throw std::runtime_error("code object: undefined symbol '" + (named ? named->name : "") +
                                         "'");
            symbol = base_ + named->address;
        }
        const std::uint64_t value = symbol + static_cast<std::uint64_t>(r.addend);
        switch (r.type) {
        case relative64:
        case abs64:
            store_at(place, value);
            break;
        case rel64:
            store_at(place, value - place);
            break;
        case abs32:
        case abs32_lo:
            store_at(place, static_cast<std::uint32_t>(value));
            break;
        case abs32_hi:
            store_at(place, static_cast<std::uint32_t>(value >> 32));
            break;
        case rel32:
        case rel32_lo:
            store_at(place, static_cast<std::uint32_t>(value - place));
            break;
        case rel32_hi:
            store_at(place, static_cast<std::uint32_t>((value - place) >> 32));
            break;
        default:
            throw std::runtime_error("code object: relocation type " + std::to_string(r.type) +
                                     " is not known");
        }
    }
}

void CodeObjectImpl::find_kernels(const ElfImage& image) {
    std::map<std::string, const ElfSymbol*> objects;
    for (const ElfSymbol& symbol : image.all_symbols) {
        if (!symbol.defined || symbol.name.empty())
            continue;
        if (symbol.type == STT_FUNC)
            functions_.emplace(symbol.address, symbol.name);
    }
    for (const auto* list : {&image.symbols, &image.all_symbols})
        for (const ElfSymbol& symbol : *list)
            if (symbol.defined && (symbol.type == STT_OBJECT || ends_with(symbol.name, ".kd")))
                objects.emplace(symbol.name, &symbol);
    std::map<std::string, KernelMetadata> metadata;
    if (!image.metadata.empty())
        for (KernelMetadata& kernel : parse_metadata(image.metadata))
            metadata.emplace(kernel.symbol, std::move(kernel));
    for (const auto& [name, described] : metadata)
        if (!objects.contains(name))
            throw std::runtime_error("code object: metadata names kernel symbol '" + name +
                                     "', which is not there");
    for (const auto& [name, symbol] : objects) {
        if (!ends_with(name, ".kd")) {
            check(symbol->address, symbol->size, "a variable");
            variables_.emplace(name, Variable{name, base_ + symbol->address, symbol->size});
            continue;
        }
        check(symbol->address, descriptor_size, "a kernel descriptor");
        const std::uint64_t d = base_ + symbol->address;
        Kernel kernel;
        kernel.name = name.substr(0, name.size() - 3);
        kernel.descriptor_address = d;
        kernel.static_lds = load_at<std::uint32_t>(d);
        kernel.scratch = load_at<std::uint32_t>(d + 4);
        kernel.kernarg_size = load_at<std::uint32_t>(d + 8);
        kernel.entry = d + load_at<std::uint64_t>(d + 16);
        kernel.rsrc3 = load_at<std::uint32_t>(d + 44);
        kernel.rsrc1 = load_at<std::uint32_t>(d + 48);
        kernel.rsrc2 = load_at<std::uint32_t>(d + 52);
        kernel.properties = load_at<std::uint16_t>(d + 56);
        kernel.kernarg_preload = load_at<std::uint16_t>(d + 58);
        // The unified register file (LLVM AMDGPUUsage, compute_pgm_rsrc1 and rsrc3 for GFX90A and later).
        const std::uint32_t total = ((kernel.rsrc1 & 63) + 1) * 8;
        const std::uint32_t accumulators_from = ((kernel.rsrc3 & 63) + 1) * 4;
        kernel.vgprs = std::min(total, accumulators_from);
        kernel.agprs = total - kernel.vgprs;
        kernel.sgprs = 102;
        check(kernel.entry - base_, 4, "a kernel's entry");
        if (const auto found = metadata.find(name); found != metadata.end()) {
            const KernelMetadata& m = found->second;
            kernel.kernarg_size = std::max(kernel.kernarg_size, m.kernarg_size);
            kernel.max_workgroup_size = m.max_workgroup_size;
            kernel.arguments = m.arguments;
            if (m.sgprs != 0)
                kernel.sgprs = m.sgprs;
        }
        kernels_.emplace(kernel.name, std::move(kernel));
    }
}

void CodeObjectImpl::decode(const ElfImage& image) {
    std::vector<std::int64_t> branch_targets;
    Disassembler& disassembler = Disassembler::instance();
    for (const ElfSegment& segment : image.segments) {
        if (!segment.executable)
            continue;
        if (segment.file_size > largest_text)
            throw std::runtime_error("code object: " + std::to_string(segment.file_size) + " bytes of code");
        const std::uint64_t end = segment.address + segment.file_size;
        auto next_function = functions_.upper_bound(segment.address);
        for (std::uint64_t address = (segment.address + 3) / 4 * 4; address + 4 <= end;) {
            RawInstruction raw;
            const std::byte* bytes = reinterpret_cast<const std::byte*>(base_ + address);
            const std::uint64_t left = end - address;
            const Disassembled found = disassembler.decode({bytes, left}, base_ + address);
            raw.size = found.size;
            raw.mnemonic = found.mnemonic;
            raw.pc = static_cast<std::uint32_t>(address);
            // Data among the code may swallow the start of the next function: begin anew there.
            while (next_function != functions_.end() && next_function->first <= address)
                ++next_function;
            if (next_function != functions_.end() && address + raw.size > next_function->first) {
                raw.size = 4;
                raw.mnemonic = nullptr;
            }
            std::memcpy(raw.word, bytes, std::min<std::size_t>(raw.size, sizeof raw.word));
            std::int64_t target = -1;
            index_.emplace(raw.pc, static_cast<std::uint32_t>(instructions_.size()));
            instructions_.push_back(decode_instruction(raw, pool_, target));
            branch_targets.push_back(target);
            address += raw.size;
        }
        // Running off the end of the code is a fault, not a crash.
        Instruction stop;
        stop.execute = stop.execute_observed = execute_unknown;
        stop.pc = static_cast<std::uint32_t>(end);
        instructions_.push_back(stop);
        branch_targets.push_back(-1);
    }
    for (std::size_t i = 0; i < instructions_.size(); ++i) {
        Instruction& instruction = instructions_[i];
        v_end_ = std::max<unsigned>(v_end_, instruction.v_end);
        a_end_ = std::max<unsigned>(a_end_, instruction.a_end);
        if (branch_targets[i] < 0)
            continue;
        const auto target = index_.find(static_cast<std::uint32_t>(branch_targets[i]));
        if (target != index_.end())
            instruction.target = static_cast<std::int32_t>(target->second) - static_cast<std::int32_t>(i);
    }
    for (const auto& [name, kernel] : kernels_)
        if (at(kernel.entry) == nullptr)
            throw std::runtime_error("code object: the entry of kernel '" + name + "' is not an instruction");
}

const Instruction* CodeObjectImpl::at(std::uint64_t address) const noexcept {
    const std::uint64_t offset = address - base_;
    if (offset > 0xffffffffull)
        return nullptr;
    const auto found = index_.find(static_cast<std::uint32_t>(offset));
    return found == index_.end() ? nullptr : &instructions_[found->second];
}

const Kernel* CodeObjectImpl::kernel(const std::string& name) const {
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
}

std::vector<const Kernel*> CodeObjectImpl::kernels() const {
    std::vector<const Kernel*> list;
    for (const auto& [name, kernel] : kernels_)
        list.push_back(&kernel);
    return list;
}

const Variable* CodeObjectImpl::variable(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
}

std::string CodeObjectImpl::disassemble(const Instruction& instruction) const {
    const std::uint64_t address = base_ + instruction.pc;
    const std::uint64_t left = begin_ + size_ - address;
    if (left < 4 || left > size_)
        return "(end of code)";
    return Disassembler::instance().text(
        {reinterpret_cast<const std::byte*>(address), std::min<std::uint64_t>(left, 20)}, address);
}

std::string CodeObjectImpl::location(const Instruction& instruction) const {
    auto after = functions_.upper_bound(instruction.pc);
    if (after == functions_.begin())
        return {};
    --after;
    return after->second + "+" + hexadecimal(instruction.pc - after->first);
}

} // namespace zyfa::sim
