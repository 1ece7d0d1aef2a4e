// SPDX-License-Identifier: Apache-2.0
// --sanitize and --strict: launches of a command under the simulator's sanitizer, and what it found.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace zyfa::runtime {
class Runtime;
}

namespace zyfa::cli {

struct SanitizeFlags {
    bool sanitize = false, strict = false;
};
void add_sanitize_flags(CLI::App& command, SanitizeFlags& flags);

/// Switches the sanitizer on, where the flags ask for it, from construction to destruction. Throws
/// invalid_argument on a device that is not simulated.
class Sanitizing {
  public:
    Sanitizing(const runtime::Runtime& runtime, int device, const SanitizeFlags& flags);
    ~Sanitizing();
    Sanitizing(const Sanitizing&) = delete;
    Sanitizing& operator=(const Sanitizing&) = delete;

    explicit operator bool() const noexcept { return flags_.sanitize; }
    std::uint64_t errors() const; ///< findings so far
    std::string text() const;     ///< ends with "ERROR SUMMARY: n errors" and a newline
    std::string json() const;

  private:
    const runtime::Runtime& runtime_;
    const int device_;
    const SanitizeFlags flags_;
};

} // namespace zyfa::cli
