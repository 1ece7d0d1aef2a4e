// SPDX-License-Identifier: Apache-2.0
// Small gfx950 kernels as assembly, assembled once through LLVM.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace zyfa::sim::hip::test {

/// scale(const float* in, float* out, unsigned n, float factor): out[i] = factor * in[i], one work-item each,
/// blocks of 64. scale has no hidden arguments.
///
/// echo(void* out): copies the 256 bytes of its argument block to `out`; workgroup 0 only. The block holds
/// hidden arguments where code-object version 5 puts them.
///
/// spin(const unsigned* flag, unsigned* out): waits until *flag is not 0, then *out = *flag.
///
/// wild(unsigned* out, unsigned long long offset): stores one dword `offset` bytes past `out`.
///
/// broken(): an encoding that gfx950 does not have.
///
/// Variables: `counter` (4 bytes, 41), `table` (16 bytes).
const std::vector<std::byte>& code_object();

/// An ELF for another processor (gfx942).
std::vector<std::byte> foreign_code_object();

/// Assembles any text for gfx950.
std::vector<std::byte> assemble(const std::string& text);

} // namespace zyfa::sim::hip::test
