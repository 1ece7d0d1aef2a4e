// SPDX-License-Identifier: Apache-2.0
// What a code object says about its kernels: the msgpack note (NT_AMDGPU_METADATA) and the 64-byte kernel
// descriptors, read independently of how the object was made, to hold it against what a template declared.
// Layouts: LLVM's AMDGPUUsage, "Code Object V3 Metadata" and "Kernel Descriptor".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zyfa::jit {

/// The descriptor "<kernel>.kd", which is what the hardware is set up from.
struct KernelDescriptor {
    std::uint32_t lds_bytes = 0, private_bytes = 0, kernarg_bytes = 0;
    std::uint32_t registers =
        0; ///< vector registers per lane that a wave is given: VGPRs and AGPRs (gfx90a+)
    std::uint32_t accum_offset = 0; ///< where the AGPRs begin in them (gfx90a+)
    std::uint32_t user_sgprs = 0;
    std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0; ///< COMPUTE_PGM_RSRC1..3
    std::uint16_t properties = 0;                  ///< which user SGPRs are set up, wave32, dynamic stack
    std::uint64_t entry_address = 0; ///< of the code, in the object's own addresses; 256-byte aligned
};

/// One entry of "amdhsa.kernels".
struct KernelMetadata {
    std::string name, symbol; ///< "k", "k.kd"
    std::uint32_t kernarg_bytes = 0, lds_bytes = 0, private_bytes = 0;
    std::uint32_t vgprs = 0, agprs = 0, sgprs = 0, wavefront_size = 0, max_workgroup_size = 0;
    KernelDescriptor descriptor;
};

struct CodeObjectMetadata {
    std::string target; ///< "amdgcn-amd-amdhsa--gfx950"
    std::vector<KernelMetadata> kernels;
};

/// Throws Error{invalid_argument} ("elf") where the bytes are not an AMD GPU code object or are damaged;
/// never reads outside of them.
CodeObjectMetadata read_metadata(std::span<const std::byte> elf);

/// Contents of a section by name, empty if there is none. Throws like read_metadata.
std::span<const std::byte> section(std::span<const std::byte> elf, std::string_view name);

/// What the maker of a kernel believes of it.
struct DeclaredKernel {
    std::string name;
    std::uint32_t kernarg_bytes = 0, lds_bytes = 0, vgprs = 0, agprs = 0, sgprs = 0, workgroup_size = 0;
};

/// One sentence per disagreement between declaration, metadata and descriptor; empty if there is none.
std::vector<std::string> disagreements(const CodeObjectMetadata& metadata, const DeclaredKernel& declared);

} // namespace zyfa::jit
