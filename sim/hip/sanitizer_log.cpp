// SPDX-License-Identifier: Apache-2.0
#include "sim/hip/sanitizer_log.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace zyfa::sim::hip {

SanitizerLog::SanitizerLog() {
    const char* const asked = std::getenv("ZYFA_SANITIZE");
    if (!asked || !*asked || std::strcmp(asked, "0") == 0)
        return;
    wanted_ = true;
    strict_ = std::strcmp(asked, "strict") == 0;
    if (!strict_ && std::strcmp(asked, "1") != 0)
        std::fprintf(stderr, "zyfa-sim: ZYFA_SANITIZE: '%s' is taken as 1; accepted are 0, 1, strict\n",
                     asked);
}

void SanitizerLog::add(const sanitizer::Report& launch) {
    const std::lock_guard lock(mutex_);
    ++launches_;
    sanitizer::add(reports_, launch);
}

void SanitizerLog::clear() {
    const std::lock_guard lock(mutex_);
    launches_ = 0;
    reports_.clear();
}

std::uint64_t SanitizerLog::launches() const {
    const std::lock_guard lock(mutex_);
    return launches_;
}

std::uint64_t SanitizerLog::errors(bool strict) const {
    const std::lock_guard lock(mutex_);
    return sanitizer::errors(reports_, strict);
}

std::string SanitizerLog::text(bool strict) const {
    const std::lock_guard lock(mutex_);
    return sanitizer::to_text(reports_, strict);
}

std::string SanitizerLog::json(bool strict) const {
    const std::lock_guard lock(mutex_);
    return sanitizer::to_json(reports_, strict);
}

void SanitizerLog::at_exit() const {
    if (!wanted_ || launches() == 0)
        return;
    std::fputs(text(strict_).c_str(), stderr);
    if (const char* path = std::getenv("ZYFA_SANITIZE_LOG")) {
        std::FILE* const file = std::fopen(path, "w");
        if (!file || std::fputs(json(strict_).c_str(), file) < 0)
            std::fprintf(stderr, "zyfa-sim: ZYFA_SANITIZE_LOG: %s cannot be written\n", path);
        if (file)
            std::fclose(file);
    }
    const char* const chosen = std::getenv("ZYFA_SANITIZE_EXITCODE");
    const int code = chosen ? std::atoi(chosen) : 99;
    if (code != 0 && errors(strict_) != 0) {
        std::fflush(nullptr);
        _exit(code);
    }
}

} // namespace zyfa::sim::hip
