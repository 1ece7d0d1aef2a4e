// SPDX-License-Identifier: Apache-2.0
// zyfa cache keys: the keys that packs are signed with, and whose packs are accepted.
#pragma once

namespace CLI {
class App;
}

namespace zyfa::cli {

struct Invocation;
void add_key_commands(CLI::App& cache, Invocation& invocation);

} // namespace zyfa::cli
