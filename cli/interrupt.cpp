// SPDX-License-Identifier: Apache-2.0
// The signal handler.
#include "cli/interrupt.hpp"

#include <csignal>

namespace zyfa::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void note_interrupt(int signal) {
    interrupted = 1;
    std::signal(signal, SIG_DFL);
}

} // namespace

Interrupt::Interrupt() {
    interrupted = 0;
    std::signal(SIGINT, note_interrupt);
    std::signal(SIGTERM, note_interrupt);
}

Interrupt::~Interrupt() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::seen() noexcept {
    return interrupted != 0;
}

} // namespace zyfa::cli
