// SPDX-License-Identifier: Apache-2.0
#include "sim/mode.hpp"

#include "sim/fault.hpp"

namespace zyfa::sim {

namespace {

// LLVM SIDefines.h, Hwreg::Id.
enum HardwareRegister : unsigned {
    id_mode = 1,
    id_status = 2,
    id_trapsts = 3,
    id_hw_id = 4,
    id_gpr_alloc = 5,
    id_lds_alloc = 6,
    id_ib_sts = 7,
    id_sh_mem_bases = 15,
    id_xcc_id = 20,
};

} // namespace

std::uint32_t mode_from_rsrc1(std::uint32_t rsrc1) {
    // FLOAT_MODE [19:12], DX10_CLAMP [21], IEEE [23], FP16_OVFL [26] -> MODE [7:0], [8], [9], [23].
    return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 | (rsrc1 >> 26 & 1) << 23;
}

void set_mode(Wave& wave, std::uint32_t bits) {
    wave.mode_bits = bits;
    wave.mode.round32 = bits & 3;
    wave.mode.round64 = bits >> 2 & 3;
    wave.mode.denorm32 = bits >> 4 & 3;
    wave.mode.denorm64 = bits >> 6 & 3;
    wave.mode.dx10_clamp = (bits >> 8 & 1) != 0;
    wave.mode.ieee = (bits >> 9 & 1) != 0;
    wave.mode.fp16_ovfl = (bits >> 23 & 1) != 0;
}

std::uint32_t read_hardware_register(const Wave& wave, unsigned id) {
    switch (id) {
    case id_mode:
        return wave.mode_bits | (wave.indexed ? 1u << 27 : 0) | (wave.skipping ? 1u << 28 : 0);
    case id_status:
        return (wave.scc ? 1u : 0) | (wave.exec() == 0 ? 1u << 9 : 0) | (wave.vcc() == 0 ? 1u << 10 : 0) |
               1u << 16 /* valid */;
    case id_trapsts:
        return 0;
    case id_hw_id:
        return wave.hardware_id;
    case id_gpr_alloc:
        return (wave.accumulators_from + wave.a_limit) / 8u << 8;
    case id_lds_alloc:
        return (wave.group->lds_bytes + 511) / 512 << 12;
    case id_ib_sts:
        return 0;
    case id_sh_mem_bases:
        return static_cast<std::uint32_t>(private_aperture >> 48) |
               static_cast<std::uint32_t>(shared_aperture >> 48) << 16;
    case id_xcc_id:
        return wave.xcc_id;
    default:
        fault("unknown instruction", "hardware register " + std::to_string(id) + " is not modelled");
    }
}

void write_hardware_register(Wave& wave, unsigned id, std::uint32_t value, std::uint32_t mask) {
    if (id == id_trapsts)
        return; // exceptions are not modelled
    if (id != id_mode)
        fault("unknown instruction", "hardware register " + std::to_string(id) + " cannot be written here");
    const std::uint32_t bits = (wave.mode_bits & ~mask) | value;
    set_mode(wave, bits & ~(3u << 27));
    if ((mask >> 27 & 1) != 0)
        wave.indexed = (value >> 27 & 1) != 0;
    if ((mask >> 28 & 1) != 0)
        wave.skipping = (value >> 28 & 1) != 0;
}

} // namespace zyfa::sim
