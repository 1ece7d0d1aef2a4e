// SPDX-License-Identifier: Apache-2.0
// Initial state of waves (LLVM AMDGPUUsage, "Initial Kernel Execution State").
#include "sim/dispatch.hpp"

#include "sim/mode.hpp"

#include <algorithm>

namespace zyfa::sim {

namespace {

constexpr std::size_t file_words = std::size_t{512} * lanes;

class ScalarInit {
  public:
    explicit ScalarInit(Wave& wave) : wave_(wave) {}
    void put(std::uint32_t value) {
        if (next_ < 102)
            wave_.s[next_++] = value;
    }
    void put64(std::uint64_t value) {
        put(static_cast<std::uint32_t>(value));
        put(static_cast<std::uint32_t>(value >> 32));
    }
    void at_least(unsigned count) { next_ = std::max(next_, count); }

  private:
    Wave& wave_;
    unsigned next_ = 0;
};

void set_scalars(const Dispatch& d, const Workgroup& group, Wave& wave) {
    const Kernel& k = *d.kernel;
    std::fill(std::begin(wave.s), std::end(wave.s), poison_sgpr);
    ScalarInit init(wave);
    if ((k.properties & 1) != 0) // private segment buffer: 4 SGPRs
        for (unsigned n = 0; n < 4; ++n)
            init.put(0);
    if ((k.properties & 2) != 0)
        init.put64(d.packet);
    if ((k.properties & 4) != 0)
        init.put64(d.queue);
    if ((k.properties & 8) != 0)
        init.put64(d.kernarg);
    if ((k.properties & 16) != 0) // dispatch id
        init.put64(0);
    if ((k.properties & 32) != 0) // flat scratch init
        init.put64(0);
    if ((k.properties & 64) != 0)
        init.put(d.scratch_bytes);
    const unsigned preload = k.kernarg_preload & 127, from = k.kernarg_preload >> 7;
    for (unsigned n = 0; n < preload; ++n) {
        std::uint32_t value = 0;
        if ((from + n + 1) * 4 <= k.kernarg_size)
            std::memcpy(&value, reinterpret_cast<const void*>(d.kernarg + (from + n) * 4), sizeof value);
        init.put(value);
    }
    init.at_least(k.rsrc2 >> 1 & 31);
    for (unsigned axis = 0; axis < 3; ++axis)
        if ((k.rsrc2 >> (7 + axis) & 1) != 0)
            init.put(group.id[axis]);
    if ((k.rsrc2 >> 10 & 1) != 0) // workgroup info: waves in the group
        init.put(d.waves);
    wave.set_s64(scalar_code::flat_scratch, private_aperture);
    wave.set_exec(wave.existing);
}

void set_vectors(const Dispatch& d, Wave& wave) {
    const Kernel& k = *d.kernel;
    const std::uint32_t vgprs = d.code->v_end() > k.vgprs ? std::min(256u, k.vgprs + k.agprs) : k.vgprs;
    std::fill_n(wave.v, std::size_t{vgprs} * lanes, poison_vgpr);
    std::fill_n(wave.v + std::size_t{agpr_base} * lanes, std::size_t{k.agprs} * lanes, poison_vgpr);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const std::uint32_t item = wave.id * lanes + lane;
        const std::uint32_t x = item % d.block[0], y = item / d.block[0] % d.block[1],
                            z = item / d.block[0] / d.block[1];
        wave.v[lane] = x | y << 10 | z << 20; // always packed on GFX90A and later
    }
}

} // namespace

void start_workgroup(const Dispatch& d, std::uint64_t linear_id, Workgroup& group) {
    group.index = linear_id;
    group.id = {static_cast<std::uint32_t>(linear_id % d.grid[0]),
                static_cast<std::uint32_t>(linear_id / d.grid[0] % d.grid[1]),
                static_cast<std::uint32_t>(linear_id / d.grid[0] / d.grid[1])};
    group.at_barrier = group.ended = 0;
    group.next_wave = 0;
    if (group.waves.size() != d.waves) {
        group.waves = std::vector<Wave>(d.waves);
        // Not cleared: pages that no kernel of this size touches stay unbacked.
        group.registers = std::make_unique_for_overwrite<std::uint32_t[]>(file_words * d.waves + 16);
    }
    auto storage = reinterpret_cast<std::uintptr_t>(group.registers.get());
    auto* const registers = reinterpret_cast<std::uint32_t*>((storage + 63) / 64 * 64);
    group.lds_bytes = d.lds_bytes;
    group.lds.resize((d.lds_bytes + 3) / 4 * 4);
    for (std::size_t offset = 0; offset + 4 <= group.lds.size(); offset += 4)
        std::memcpy(group.lds.data() + offset, &poison_lds, 4);
    const std::uint32_t xcd = static_cast<std::uint32_t>(linear_id % std::max(1u, d.device.xcds));
    const std::uint64_t slot = linear_id / std::max(1u, d.device.xcds);
    for (unsigned n = 0; n < d.waves; ++n) {
        Wave& wave = group.waves[n];
        wave.id = n;
        wave.group = &group;
        wave.code = d.code;
        wave.pool = d.code->pool();
        wave.next = d.entry;
        wave.v = registers + file_words * n;
        wave.state = WaveState::running;
        wave.scc = wave.indexed = wave.skipping = false;
        wave.priority = 0;
        wave.instructions = wave.idle = 0;
        std::fill(std::begin(wave.cycles), std::end(wave.cycles), 0);
        // The file is one: a VGPR is in range up to the whole allocation, whatever accum_offset says. AITER's
        // BF16 kernels name v160 to v255 with an accum_offset of 160 and no AGPR.
        wave.v_limit = static_cast<std::uint16_t>(std::min(256u, d.kernel->vgprs + d.kernel->agprs));
        wave.accumulators_from = static_cast<std::uint16_t>(d.kernel->vgprs);
        wave.high_vgprs = wave.accumulators = false;
        wave.a_limit = static_cast<std::uint16_t>(d.kernel->agprs);
        wave.scratch_bytes = d.scratch_bytes;
        wave.scratch.resize(std::size_t{d.scratch_bytes} * lanes);
        const std::uint32_t items = std::min(lanes, d.work_items - n * lanes);
        wave.existing = items == lanes ? ~0ull : (1ull << items) - 1;
        set_mode(wave, mode_from_rsrc1(d.kernel->rsrc1));
        // HW_ID of GFX9: wave [3:0], SIMD [5:4], CU [11:8], SE [14:13].
        const auto cu = static_cast<std::uint32_t>(slot % 8), se = static_cast<std::uint32_t>(slot / 8 % 4);
        wave.hardware_id = n / 4 | (n % 4) << 4 | cu << 8 | se << 13;
        wave.xcc_id = xcd;
        set_scalars(d, group, wave);
        set_vectors(d, wave);
    }
}

} // namespace zyfa::sim
