// SPDX-License-Identifier: Apache-2.0
#include "jit/metadata.hpp"

#include "jit/elf_image.hpp"
#include "zyfa/error.hpp"

#include <nlohmann/json.hpp>

namespace zyfa::jit {
namespace {

using nlohmann::json;

constexpr std::uint16_t em_amdgpu = 224;         // LLVM BinaryFormat/ELF.h
constexpr std::uint32_t nt_amdgpu_metadata = 32; // same
constexpr std::size_t kernel_descriptor_bytes =
    64; // LLVM Support/AMDHSAKernelDescriptor.h, offsets below too

constexpr std::uint32_t bits(std::uint32_t value, unsigned low, unsigned count) {
    return (value >> low) & ((1u << count) - 1);
}

KernelDescriptor read_descriptor(const ElfImage& elf, const std::string& symbol) {
    const auto address = elf.symbol(symbol);
    if (!address)
        throw_damaged("it has no symbol " + symbol);
    const auto bytes = elf.at_address(*address, kernel_descriptor_bytes);
    KernelDescriptor d;
    d.lds_bytes = ElfImage::read<std::uint32_t>(bytes, 0);
    d.private_bytes = ElfImage::read<std::uint32_t>(bytes, 4);
    d.kernarg_bytes = ElfImage::read<std::uint32_t>(bytes, 8);
    d.entry_address = *address + static_cast<std::uint64_t>(ElfImage::read<std::int64_t>(bytes, 16));
    d.rsrc3 = ElfImage::read<std::uint32_t>(bytes, 44);
    d.rsrc1 = ElfImage::read<std::uint32_t>(bytes, 48);
    d.rsrc2 = ElfImage::read<std::uint32_t>(bytes, 52);
    d.properties = ElfImage::read<std::uint16_t>(bytes, 56);
    d.registers = (bits(d.rsrc1, 0, 6) + 1) * 8;    // GRANULATED_WORKITEM_VGPR_COUNT, gfx90a+: granules of 8
    d.accum_offset = (bits(d.rsrc3, 0, 6) + 1) * 4; // ACCUM_OFFSET, gfx90a+
    d.user_sgprs = bits(d.rsrc2, 1, 5);             // USER_SGPR_COUNT
    return d;
}

std::uint32_t number(const json& kernel, const char* key) {
    const auto found = kernel.find(key);
    if (found == kernel.end())
        return 0;
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > UINT32_MAX)
        throw_damaged(std::string("its metadata has no sensible ") + key);
    return found->get<std::uint32_t>();
}

std::string text(const json& node, const char* key) {
    const auto found = node.find(key);
    if (found == node.end() || !found->is_string())
        throw_damaged(std::string("its metadata lacks ") + key);
    return found->get<std::string>();
}

/// Metadata before version 1.2, which code objects of V3 and some of V4's producers have, does not name the
/// target; the ELF header does (LLVM AMDGPUUsage, "Code Object V4 Metadata" and EF_AMDGPU_MACH).
std::string target_of(const json& document, const ElfImage& elf) {
    constexpr std::uint32_t machine_mask = 0xff, machine_gfx950 = 0x4f;
    if (document.contains("amdhsa.target"))
        return text(document, "amdhsa.target");
    const std::uint32_t machine = elf.header().e_flags & machine_mask;
    return machine == machine_gfx950 ? "amdgcn-amd-amdhsa--gfx950"
                                     : "EF_AMDGPU_MACH " + std::to_string(machine);
}

} // namespace

CodeObjectMetadata read_metadata(std::span<const std::byte> bytes) {
    const ElfImage elf(bytes);
    if (elf.header().e_machine != em_amdgpu)
        throw_damaged("its machine number is " + std::to_string(elf.header().e_machine) + ", not EM_AMDGPU");
    const auto note = elf.note("AMDGPU", nt_amdgpu_metadata);
    if (note.empty())
        throw_damaged("it has no NT_AMDGPU_METADATA note");
    const json document =
        json::from_msgpack(reinterpret_cast<const std::uint8_t*>(note.data()),
                           reinterpret_cast<const std::uint8_t*>(note.data()) + note.size(), /*strict=*/true,
                           /*allow_exceptions=*/false);
    if (!document.is_object())
        throw_damaged("its metadata note is not a msgpack map");

    CodeObjectMetadata metadata;
    metadata.target = target_of(document, elf);
    const auto kernels = document.find("amdhsa.kernels");
    if (kernels == document.end() || !kernels->is_array())
        throw_damaged("its metadata lacks amdhsa.kernels");
    for (const json& entry : *kernels) {
        if (!entry.is_object())
            throw_damaged("an entry of amdhsa.kernels is not a map");
        KernelMetadata kernel;
        kernel.name = text(entry, ".name");
        kernel.symbol = text(entry, ".symbol");
        kernel.kernarg_bytes = number(entry, ".kernarg_segment_size");
        kernel.lds_bytes = number(entry, ".group_segment_fixed_size");
        kernel.private_bytes = number(entry, ".private_segment_fixed_size");
        kernel.vgprs = number(entry, ".vgpr_count");
        kernel.agprs = number(entry, ".agpr_count");
        kernel.sgprs = number(entry, ".sgpr_count");
        kernel.wavefront_size = number(entry, ".wavefront_size");
        kernel.max_workgroup_size = number(entry, ".max_flat_workgroup_size");
        kernel.descriptor = read_descriptor(elf, kernel.symbol);
        metadata.kernels.push_back(std::move(kernel));
    }
    return metadata;
}

std::span<const std::byte> section(std::span<const std::byte> bytes, std::string_view name) {
    const ElfImage elf(bytes);
    const Elf64_Shdr* found = elf.find(name);
    return found ? elf.contents(*found) : std::span<const std::byte>{};
}

std::vector<std::string> disagreements(const CodeObjectMetadata& metadata, const DeclaredKernel& declared) {
    std::vector<std::string> found;
    const KernelMetadata* kernel = nullptr;
    for (const KernelMetadata& candidate : metadata.kernels)
        if (candidate.name == declared.name)
            kernel = &candidate;
    if (!kernel) {
        found.push_back("the code object has no kernel " + declared.name);
        return found;
    }
    const KernelDescriptor& descriptor = kernel->descriptor;
    const auto equal = [&](const char* what, std::uint32_t declaration, const char* where,
                           std::uint32_t value) {
        if (declaration != value)
            found.push_back(std::string(what) + " is declared as " + std::to_string(declaration) + ", but " +
                            where + " says " + std::to_string(value));
    };
    equal("kernarg_bytes", declared.kernarg_bytes, "the metadata", kernel->kernarg_bytes);
    equal("kernarg_bytes", declared.kernarg_bytes, "the descriptor", descriptor.kernarg_bytes);
    equal("lds_bytes", declared.lds_bytes, "the metadata", kernel->lds_bytes);
    equal("lds_bytes", declared.lds_bytes, "the descriptor", descriptor.lds_bytes);
    equal("workgroup_size", declared.workgroup_size, "the metadata", kernel->max_workgroup_size);
    equal("agprs", declared.agprs, "the metadata", kernel->agprs);
    // .sgpr_count may include VCC, FLAT_SCRATCH and the XNACK mask, which are no allotted registers.
    if (kernel->sgprs < declared.sgprs || kernel->sgprs > declared.sgprs + 6)
        found.push_back("sgprs is declared as " + std::to_string(declared.sgprs) +
                        ", but the metadata says " + std::to_string(kernel->sgprs));
    if (kernel->wavefront_size != 64)
        found.push_back("wavefront_size is " + std::to_string(kernel->wavefront_size) + ", not 64");
    if (declared.vgprs > descriptor.accum_offset && declared.agprs > 0)
        found.push_back("vgprs is declared as " + std::to_string(declared.vgprs) +
                        ", but the AGPRs begin at " + std::to_string(descriptor.accum_offset));
    const std::uint32_t needed = declared.agprs ? descriptor.accum_offset + declared.agprs : declared.vgprs;
    if (needed > descriptor.registers)
        found.push_back("vgprs and agprs need " + std::to_string(needed) +
                        " registers per lane, but the descriptor allots " +
                        std::to_string(descriptor.registers));
    return found;
}

} // namespace zyfa::jit
