// SPDX-License-Identifier: Apache-2.0
// The part of `zyfa cache` that moves entries between places.
#pragma once

namespace CLI {
class App;
}

namespace zyfa::cli {

struct Invocation;
void add_pack_commands(CLI::App& cache, Invocation& invocation);

} // namespace zyfa::cli
