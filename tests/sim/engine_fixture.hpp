// SPDX-License-Identifier: Apache-2.0
// Assembles a kernel from its body and runs it on an engine of its own.
#pragma once

#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "tests/sim/without.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace zyfa::sim::test {

/// What the descriptor says; the defaults fit most tests.
struct KernelShape {
    unsigned vgprs = 64, agprs = 0, lds = 0, scratch = 0, kernarg = 64;
    unsigned work_item_dimensions = 0;
    bool keep_denormals = false;
};

inline std::string kernel_source(const std::string& body, const KernelShape& s = {}) {
    const auto number = [](unsigned n) { return std::to_string(n); };
    const unsigned accumulators_from = (s.vgprs + 3) / 4 * 4;
    const unsigned total = s.agprs == 0 ? s.vgprs : accumulators_from + s.agprs;
    return ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n.text\n.globl k\n"
           ".p2align 8\n.type k,@function\nk:\n" +
           body +
           "\ns_endpgm\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
           ".amdhsa_group_segment_fixed_size " +
           number(s.lds) + "\n.amdhsa_private_segment_fixed_size " + number(s.scratch) +
           "\n.amdhsa_kernarg_size " + number(s.kernarg) +
           "\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_user_sgpr_count 2\n"
           ".amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_workgroup_id_y 1\n"
           ".amdhsa_system_sgpr_workgroup_id_z 1\n.amdhsa_system_vgpr_workitem_id " +
           number(s.work_item_dimensions) + "\n.amdhsa_next_free_vgpr " + number(total) +
           "\n.amdhsa_next_free_sgpr 96\n.amdhsa_accum_offset " + number(accumulators_from) +
           "\n.amdhsa_reserve_vcc 1\n.amdhsa_float_denorm_mode_32 " + (s.keep_denormals ? "3" : "0") +
           "\n.amdhsa_float_denorm_mode_16_64 3\n.amdhsa_dx10_clamp 0\n.amdhsa_ieee_mode "
           "0\n.end_amdhsa_kernel\n"
           ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx950\n"
           "amdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: " +
           number(s.kernarg) +
           "\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: " + number(s.lds) +
           "\n    .private_segment_fixed_size: " + number(s.scratch) +
           "\n    .wavefront_size: 64\n    .sgpr_count: 102\n    .vgpr_count: " + number(total) +
           "\n    .agpr_count: " + number(s.agprs) +
           "\n    .max_flat_workgroup_size: 1024\n    .args:\n      - .offset: 0\n        .size: 8\n"
           "        .value_kind: global_buffer\n        .address_space: global\n...\n.end_amdgpu_metadata\n";
}

inline std::vector<std::byte> assemble(const std::string& source) {
    static const auto assembler = jit::make_llvm_assembler();
    if (!assembler)
        throw std::runtime_error("LLVM's assembler was not built, or not found beside the executable");
    return assembler->assemble(source, "gfx950", "test").elf;
}

/// For messages of assertions.
inline std::string text(const LaunchResult& result) {
    return result.fault ? result.fault->text : "no fault";
}

/// A device with memory; buffers live as long as it does.
class Machine {
  public:
    explicit Machine(DeviceConfig config = {}) : engine_(memory_, config) {}

    template <class T>
    T* buffer(std::size_t count, T fill = {}) {
        auto* const data =
            reinterpret_cast<T*>(memory_.allocate(count * sizeof(T), AllocationKind::device, 0));
        for (std::size_t n = 0; n < count; ++n)
            data[n] = fill;
        memory_.mark_initialised(reinterpret_cast<std::uint64_t>(data), count * sizeof(T));
        return data;
    }

    void load(const std::string& body, const KernelShape& shape = {}) {
        code_ = load_source(kernel_source(body, shape));
    }
    std::shared_ptr<CodeObject> load_source(const std::string& source) {
        const std::vector<std::byte> elf = assemble(source);
        return load_code(memory_, elf);
    }
    void use(std::shared_ptr<CodeObject> code) { code_ = std::move(code); }

    /// Of the launches from here on: under the sanitizer.
    void sanitize() {
        memory_.track_initialisation();
        sanitize_ = true;
    }

    /// Runs kernel k with the arguments packed one after another (each of 4 or 8 bytes, naturally aligned).
    template <class... Arguments>
    LaunchResult run(std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
                     Arguments... arguments) {
        std::vector<std::byte> packed;
        (pack(packed, arguments), ...);
        Launch launch;
        launch.code = code_;
        launch.kernel = code_->kernel("k");
        launch.grid = grid;
        launch.block = block;
        launch.kernarg = packed;
        launch.sanitize = sanitize_;
        return engine_.run(launch);
    }

    Memory& memory() { return memory_; }
    Engine& engine() { return engine_; }
    CodeObject& code() { return *code_; }

  private:
    template <class T>
    static void pack(std::vector<std::byte>& out, T value) {
        out.resize((out.size() + sizeof value - 1) / sizeof value * sizeof value);
        const std::size_t at = out.size();
        out.resize(at + sizeof value);
        std::memcpy(out.data() + at, &value, sizeof value);
    }

    Memory memory_;
    Engine engine_;
    std::shared_ptr<CodeObject> code_;
    bool sanitize_ = false;
};

} // namespace zyfa::sim::test
