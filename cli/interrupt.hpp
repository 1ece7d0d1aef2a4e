// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a wish to stop: the work at hand is finished and kept. A second one ends the process as usual.
#pragma once

namespace zyfa::cli {

/// While it lives, the first SIGINT or SIGTERM is noted instead of ending the process.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    static bool seen() noexcept;
};

} // namespace zyfa::cli
