// SPDX-License-Identifier: Apache-2.0
// Environment variables, for a process that may trust them.
#pragma once

#include <string>

namespace zyfa {

/// The variable's value; empty where it is not set, and in a privileged process (setuid, setgid, file
/// capabilities: secure_getenv(3)), whose environment belongs to somebody else: a path from it would let
/// that person choose the code that runs with the process's rights.
std::string environment(const char* name);

} // namespace zyfa
