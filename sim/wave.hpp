// SPDX-License-Identifier: Apache-2.0
// Machine state: a wave's registers, its workgroup's LDS, and what a host thread lends to the waves it runs.
#pragma once

#include "sim/instruction.hpp"
#include "sim/memory_view.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace zyfa::sim {

class CodeObjectImpl;
struct OutOfBounds;
struct Workgroup;
namespace sanitizer {
class GroupShadow;
}

inline constexpr unsigned lanes = 64;
inline constexpr unsigned agpr_base = 256; ///< of the register file; fixed, whatever accum_offset says

namespace scalar_code { // CDNA4 ISA, scalar operand encoding
inline constexpr unsigned flat_scratch = 102, vcc = 106, ttmp = 108, m0 = 124, exec = 126;
inline constexpr unsigned shared_base = 235, shared_limit = 236, private_base = 237, private_limit = 238;
inline constexpr unsigned vccz = 251, execz = 252, scc = 253, literal = 255;
} // namespace scalar_code

/// Apertures of flat addresses, as the Linux driver sets them on GFX9.
inline constexpr std::uint64_t shared_aperture = 1ull << 48, private_aperture = 2ull << 48;

/// Registers that the ABI leaves undefined hold these: a signalling NaN as FP32, a wild pointer as an
/// address.
inline constexpr std::uint32_t poison_vgpr = 0xffbaadf0u, poison_sgpr = 0xffbaad05u, poison_lds = 0xffbaad1du;

enum class WaveState : std::uint8_t { running, barrier, sleeping, ended };

/// Told of every memory access in observed mode (sanitizer, timing).
class Observer {
  public:
    virtual ~Observer() = default;
    /// addresses: 64 entries, those of `active` valid; bytes per lane.
    virtual void access(Wave& wave, const Instruction& instruction, const std::uint64_t* addresses,
                        std::uint64_t active, unsigned bytes) = 0;
    /// Of a lane whose access is not possible, before access() is told of the lanes' addresses. True: the
    /// launch goes on; the lane loads zeros and stores nothing. False: it stops with a fault.
    virtual bool out_of_bounds(Wave&, const Instruction&, const OutOfBounds&) { return false; }
};

/// Buffers of one host thread.
struct ThreadContext {
    explicit ThreadContext(const Memory& memory) : view(memory) {}
    MemoryView view;
    Observer* observer = nullptr;
    /// Operand temporaries: 4 sources and a destination of up to 32 registers each.
    alignas(64) std::uint32_t temporary[5][32 * lanes];
    std::byte* pointers[lanes];                 ///< where each lane's access goes
    alignas(64) std::uint64_t addresses[lanes]; ///< simulated addresses, for an observer
    alignas(16) std::byte bounce[lanes][16];    ///< stands for what lies out of range
    std::uint64_t partial = 0;                  ///< lanes whose access is not wholly in range
    std::uint8_t in_range[lanes];               ///< bytes in range of those lanes
};

struct Wave {
    // Hot.
    const Instruction* next = nullptr;
    std::uint32_t* v = nullptr;          ///< 512 x 64 words; AGPRs from agpr_base
    const std::uint32_t* pool = nullptr; ///< the code object's constants
    ThreadContext* thread = nullptr;
    Workgroup* group = nullptr;
    const CodeObjectImpl* code = nullptr;
    WaveState state = WaveState::running;
    bool scc = false;
    bool indexed = false;  ///< s_set_gpr_idx_on
    bool skipping = false; ///< s_setvskip
    std::uint8_t priority = 0;
    FloatMode mode;
    std::uint32_t mode_bits = 0; ///< MODE register as s_getreg sees it
    alignas(64) std::uint32_t s[128];
    std::uint64_t instructions = 0;
    std::uint64_t idle = 0;           ///< issue slots slept away
    std::uint64_t cycles[pipes] = {}; ///< occupancy by pipe
    // Cold.
    unsigned id = 0; ///< in the workgroup
    std::uint16_t v_limit = 0, a_limit = 0;
    std::uint16_t accumulators_from =
        0; ///< v[accumulators_from + n] and a[n] are one register (accum_offset)
    bool high_vgprs = false, accumulators = false; ///< which of the two names were used
    std::uint32_t scratch_bytes = 0;               ///< per lane
    std::vector<std::byte> scratch;                ///< 64 lanes one after the other
    std::uint64_t existing = ~0ull;                ///< lanes that hold work-items
    std::uint32_t hardware_id = 0, xcc_id = 0;

    std::uint64_t s64(unsigned code_index) const noexcept {
        std::uint64_t value;
        std::memcpy(&value, s + code_index, sizeof value);
        return value;
    }
    void set_s64(unsigned code_index, std::uint64_t value) noexcept {
        std::memcpy(s + code_index, &value, sizeof value);
    }
    std::uint64_t exec() const noexcept { return s64(scalar_code::exec); }
    void set_exec(std::uint64_t value) noexcept { set_s64(scalar_code::exec, value); }
    std::uint64_t vcc() const noexcept { return s64(scalar_code::vcc); }
    std::uint32_t m0() const noexcept { return s[scalar_code::m0]; }
    std::uint32_t* vgpr(unsigned index) noexcept { return v + index * lanes; }
};

struct Workgroup {
    std::vector<Wave> waves;
    std::unique_ptr<std::uint32_t[]> registers; ///< 512 x 64 words per wave
    std::vector<std::byte> lds;                 ///< the whole array; lds_bytes of it are the workgroup's
    std::uint32_t lds_bytes = 0;
    std::uint64_t index = 0; ///< linear workgroup id
    std::array<std::uint32_t, 3> id{};
    unsigned at_barrier = 0, ended = 0;
    std::size_t next_wave = 0;
    std::uint64_t wave_quantum = 4096; ///< instructions of one wave before the next gets its turn
    std::shared_ptr<sanitizer::GroupShadow> shadow; ///< while it runs under the sanitizer

    bool done() const noexcept { return ended == waves.size(); }
};

/// What a memory instruction does to the allocation that it names.
inline std::uint8_t memory_use(const Instruction& i) noexcept {
    return (i.flags & flag::atomic) != 0  ? MemoryView::reads | MemoryView::writes
           : (i.flags & flag::store) != 0 ? MemoryView::writes
                                          : MemoryView::reads;
}

std::uint32_t read_special(const Wave& wave, unsigned code, bool high);

inline std::uint32_t read32(const Wave& wave, const Operand& operand) noexcept {
    switch (operand.kind) {
    case OperandKind::sgpr:
        return wave.s[operand.index];
    case OperandKind::constant:
    case OperandKind::constant_zext:
    case OperandKind::constant_f64:
        return operand.value;
    case OperandKind::special:
        return read_special(wave, operand.index, false);
    case OperandKind::vgpr: // s_* never; v_readlane's and similar scalar reads of a vector operand: lane 0
    case OperandKind::lanes:
    case OperandKind::none:
        break;
    }
    return 0;
}

inline std::uint64_t read64(const Wave& wave, const Operand& operand) noexcept {
    switch (operand.kind) {
    case OperandKind::sgpr:
        return wave.s64(operand.index);
    case OperandKind::constant:
        return static_cast<std::uint64_t>(
            static_cast<std::int64_t>(static_cast<std::int32_t>(operand.value)));
    case OperandKind::constant_zext:
        return operand.value;
    case OperandKind::constant_f64:
        return std::uint64_t{operand.value} << 32;
    case OperandKind::special:
        return std::uint64_t{read_special(wave, operand.index, true)} << 32 |
               read_special(wave, operand.index, false);
    case OperandKind::vgpr:
    case OperandKind::lanes:
    case OperandKind::none:
        break;
    }
    return 0;
}

inline void write32(Wave& wave, const Operand& operand, std::uint32_t value) noexcept {
    if (operand.kind == OperandKind::sgpr)
        wave.s[operand.index] = value;
}
inline void write64(Wave& wave, const Operand& operand, std::uint64_t value) noexcept {
    if (operand.kind == OperandKind::sgpr)
        wave.set_s64(operand.index, value);
}

} // namespace zyfa::sim
