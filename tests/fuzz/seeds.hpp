// SPDX-License-Identifier: Apache-2.0
// Good inputs for the targets, to be mutated.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace zyfa::fuzz {

struct Seed {
    std::string name;
    std::vector<std::byte> bytes;
};

std::vector<Seed> pack_seeds(); ///< for read_as_pack
std::vector<Seed> key_seeds();  ///< for read_as_key

// Of the simulator's readers (sim_targets.hpp).
std::vector<Seed> code_object_seeds(); ///< empty bytes where LLVM's assembler is not there
std::vector<Seed> instruction_seeds(); ///< likewise
std::vector<Seed> bundle_seeds();
std::vector<Seed> launch_seeds();

} // namespace zyfa::fuzz
