// SPDX-License-Identifier: Apache-2.0
#include "cli/console.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace zyfa::cli {

namespace {
// Progress appears after this time, so that short commands stay quiet.
constexpr std::chrono::milliseconds quiet_time{1000};
constexpr std::chrono::milliseconds redraw_time{100};
constexpr std::chrono::seconds plain_line_time{5};
} // namespace

Facts& Facts::add(std::string name, std::string value) {
    rows_.emplace_back(std::move(name), std::move(value));
    return *this;
}

void Facts::print() const {
    std::size_t width = 0;
    for (const auto& [name, value] : rows_) {
        width = std::max(width, name.size());
    }
    fmt::print("{}\n", title_);
    for (const auto& [name, value] : rows_) {
        // A value of several lines continues under its first one.
        std::size_t begin = 0;
        bool first = true;
        while (begin <= value.size()) {
            const std::size_t end = std::min(value.find('\n', begin), value.size());
            fmt::print("  {:<{}}  {}\n", first ? name : "", width, value.substr(begin, end - begin));
            begin = end + 1;
            first = false;
        }
    }
}

void Table::print() const {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = columns_[c].name.size();
        for (const std::vector<std::string>& row : rows_) {
            width = std::max(width, row[c].size());
        }
        widths.push_back(width);
    }
    const auto line = [&](const auto& cell) {
        std::string text;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (c != 0) {
                text += "  ";
            }
            text += columns_[c].right ? fmt::format("{:>{}}", cell(c), widths[c])
                                      : fmt::format("{:<{}}", cell(c), widths[c]);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        fmt::print("{}\n", text);
    };
    line([&](std::size_t c) { return columns_[c].name; });
    for (const std::vector<std::string>& row : rows_) {
        line([&](std::size_t c) { return row[c]; });
    }
}

void note(std::string_view text) {
    spdlog::info("{}", text);
}
void warn(std::string_view text) {
    spdlog::warn("{}", text);
}

Progress::Progress() : start_(Clock::now()), last_(start_), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::update(std::string_view what, std::size_t done, std::size_t of) {
    const Clock::time_point now = Clock::now();
    if (now - start_ < quiet_time) {
        return;
    }
    const bool first = last_ == start_;
    const bool last_step = of != 0 && done == of;
    if (terminal_ ? !first && !last_step && now - last_ < redraw_time
                  : !first && now - last_ < plain_line_time) {
        return;
    }
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string count = of == 0 ? fmt::format("{}", done) : fmt::format("{}/{}", done, of);
    if (terminal_) {
        fmt::print(stderr, "\r\033[K{} {} ({:.1f} s)", what, count, seconds);
        std::fflush(stderr);
        drawn_ = true;
    } else {
        fmt::print(stderr, "zyfa: {} {} ({:.1f} s)\n", what, count, seconds);
    }
}

void Progress::finish() {
    if (drawn_) {
        fmt::print(stderr, "\r\033[K");
        std::fflush(stderr);
        drawn_ = false;
    }
}

std::string milliseconds(double ms) {
    if (ms >= 1000) {
        return fmt::format("{:.2f} s", ms / 1000);
    }
    if (ms >= 100) {
        return fmt::format("{:.0f} ms", ms);
    }
    if (ms >= 10) {
        return fmt::format("{:.1f} ms", ms);
    }
    if (ms >= 0.1 || ms == 0) {
        return fmt::format("{:.2f} ms", ms);
    }
    return fmt::format("{:.2f} us", ms * 1000);
}

std::string bytes(double count) {
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (count >= 1024 && unit + 1 < units.size()) {
        count /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} {}", count, units[unit])
                     : fmt::format("{:.1f} {}", count, units[unit]);
}

std::string counted(std::size_t count, std::string_view thing) {
    if (count == 1) {
        return fmt::format("1 {}", thing);
    }
    const bool y = thing.ends_with('y'); // binary, entry
    return fmt::format("{} {}{}", count, y ? thing.substr(0, thing.size() - 1) : thing, y ? "ies" : "s");
}

std::string short_path(const std::string& path) {
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0' && path.rfind(std::string(home) + "/", 0) == 0) {
        return "~" + path.substr(std::string(home).size());
    }
    return path;
}

} // namespace zyfa::cli
