// SPDX-License-Identifier: Apache-2.0
// Kernels from files as candidates: assembly that somebody has edited, or a code object from elsewhere,
// behind the launch plan of one of the template's schedules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/digest.hpp"
#include "jit/assembler.hpp"
#include "templates/template.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::tuner {

/// Name of the parameter that tells a file's kernel from the schedule whose launch plan it takes.
inline constexpr const char* file_parameter = "file";

struct ForeignCandidate {
    Schedule schedule;        ///< that of the launch plan, and `file`: the first digits of the digest
    templates::Kernel kernel; ///< `assembly` of a code object: a line with its digest
    jit::CodeObject code;
    std::string provenance; ///< "FILE (edited assembly, BLAKE2b 0123...)"
};

/// Whether the schedule stands for a file's kernel.
bool is_foreign(const Schedule& schedule);
/// The schedule without the file: what the template knows.
Schedule without_file(const Schedule& schedule);

/// The candidate in a file: assembly is assembled, anything else is taken for a code object. It runs behind
/// the launch plan of `like`; by default that of the schedule which `zyfa asm` has written at the top of its
/// output, or the default schedule. Throws Error{io_error}, Error{assemble_failed}, and
/// Error{invalid_argument} naming the file where the kernel cannot take that plan's launches: another symbol,
/// another size of the kernel-argument block, a smaller workgroup, too much LDS, another target.
ForeignCandidate read_foreign(const std::string& file, const templates::Template& form,
                              const Problem& problem, const std::optional<Schedule>& like,
                              const templates::DeviceShape& device, jit::Assembler& assembler);

} // namespace zyfa::tuner
