// SPDX-License-Identifier: Apache-2.0
// Wait states between dependent instructions that the hardware does not interlock, and the pass that supplies
// them with s_nop.
#pragma once

#include <span>

#include "templates/asm/instruction.hpp"

namespace zyfa::templates::schedule {

/// A rule: when `consumer` follows `producer`, at least the returned number of wait states must lie between
/// them (0: none). One wait state is one issued instruction of the same wave; s_nop n supplies n + 1.
struct HazardRule {
    const char* name;
    const char* source; ///< where the number is published
    unsigned (*required)(const isa::Instruction& producer, const isa::Instruction& consumer);
};
std::span<const HazardRule> hazard_rules();

/// Largest distance that any rule asks for.
inline constexpr unsigned hazard_window = 20;

/// The strictest rule for a pair; null `rule` where none applies.
struct Requirement {
    unsigned wait_states = 0;
    const HazardRule* rule = nullptr;
};
Requirement required_wait_states(const isa::Instruction& producer, const isa::Instruction& consumer);

/// Inserts s_nop where a rule is not met on some path through the stream's branches. Returns the wait states
/// added.
unsigned insert_hazard_nops(isa::Stream& stream);

/// Pairs that break a rule; empty after insert_hazard_nops. Text for people.
std::vector<std::string> hazard_violations(const isa::Stream& stream);

} // namespace zyfa::templates::schedule
