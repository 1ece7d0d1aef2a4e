// SPDX-License-Identifier: Apache-2.0
#include "cli/sanitize.hpp"

#include <CLI/CLI.hpp>

#include "runtime/runtime.hpp"
#include "sim/hip/zyfa_sim.h"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

template <class Function>
Function find(const runtime::Runtime& runtime, const char* name) {
    return reinterpret_cast<Function>(runtime.extension(name));
}

} // namespace

void add_sanitize_flags(CLI::App& command, SanitizeFlags& flags) {
    CLI::Option* const sanitize = command.add_flag("--sanitize", flags.sanitize,
                                                   "Run under the simulator's sanitizer: waits, wait states, "
                                                   "uninitialised bits, races; exit code 1 if it "
                                                   "finds an error (docs/sanitizer.md)");
    command.add_flag("--strict", flags.strict, "The sanitizer's notes count as errors")->needs(sanitize);
}

Sanitizing::Sanitizing(const runtime::Runtime& runtime, int device, const SanitizeFlags& flags)
    : runtime_(runtime), device_(device), flags_(flags) {
    if (!flags_.sanitize) {
        return;
    }
    const auto set = find<decltype(&zyfaSimSetDevice)>(runtime, "zyfaSimSetDevice");
    const auto clear = find<decltype(&zyfaSimSanitizerClear)>(runtime, "zyfaSimSanitizerClear");
    if (set == nullptr || clear == nullptr) {
        throw Error(ErrorCode::invalid_argument, "--sanitize",
                    "the device is not simulated; --device sim is");
    }
    if (const char* const wrong = set(device, "sanitize", "1")) {
        throw Error(ErrorCode::invalid_argument, "--sanitize", wrong);
    }
    clear();
}

Sanitizing::~Sanitizing() {
    if (flags_.sanitize) {
        find<decltype(&zyfaSimSetDevice)>(runtime_, "zyfaSimSetDevice")(device_, "sanitize", "0");
    }
}

std::uint64_t Sanitizing::errors() const {
    return flags_.sanitize ? find<decltype(&zyfaSimSanitizerErrors)>(runtime_, "zyfaSimSanitizerErrors")(
                                 flags_.strict ? 1 : 0)
                           : 0;
}

std::string Sanitizing::text() const {
    const char* const report =
        find<decltype(&zyfaSimSanitizerReport)>(runtime_, "zyfaSimSanitizerReport")(0, flags_.strict ? 1 : 0);
    return report != nullptr ? report : "ERROR SUMMARY: nothing was launched\n";
}

std::string Sanitizing::json() const {
    const char* const report =
        find<decltype(&zyfaSimSanitizerReport)>(runtime_, "zyfaSimSanitizerReport")(1, flags_.strict ? 1 : 0);
    return report != nullptr ? report : "null";
}

} // namespace zyfa::cli
