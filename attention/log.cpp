// SPDX-License-Identifier: Apache-2.0
// Appends whole lines, so that several processes can share a file.
#include "attention/log.hpp"

#include <cstdio>
#include <memory>

namespace zyfa::call {

namespace {

void write(const std::string& where, const std::string& text) noexcept {
    if (where.empty())
        return;
    if (where == "stderr") {
        std::fprintf(stderr, "zyfa: %s\n", text.c_str());
        return;
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(where.c_str(), "a"), std::fclose);
    if (file)
        std::fprintf(file.get(), "zyfa: %s\n", text.c_str());
}

} // namespace

void log_line(const ContextOptions& options, const std::string& text) noexcept {
    write(options.log, text);
    try {
        if (options.log_callback)
            options.log_callback(text);
    } catch (...) { // the call goes on
    }
}

} // namespace zyfa::call
