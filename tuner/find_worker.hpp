// SPDX-License-Identifier: Apache-2.0
// The worker program that comes with the library.
#pragma once

#include <string>
#include <vector>

namespace zyfa::tuner {

/// Command of zyfa-tuning-worker in the folder `zyfa` beside the library or program that this is part of
/// (dladdr(3)), or in lib/zyfa beside the program's folder; empty where there is none.
std::vector<std::string> find_worker();

} // namespace zyfa::tuner
