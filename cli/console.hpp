// SPDX-License-Identifier: Apache-2.0
// What people see: aligned tables on stdout; notes and progress on stderr, so that stdout stays clean for
// JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zyfa::cli {

/// "name  value" lines under a title, values aligned.
class Facts {
  public:
    explicit Facts(std::string title) : title_(std::move(title)) {}
    Facts& add(std::string name, std::string value);
    void print() const;

  private:
    std::string title_;
    std::vector<std::pair<std::string, std::string>> rows_;
};

/// Columns with a header; the last column is not padded. Numbers are right-aligned where asked.
class Table {
  public:
    struct Column {
        std::string name;
        bool right = false;
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    bool empty() const noexcept { return rows_.empty(); }
    void print() const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// One line on stderr, "zyfa: ...".
void note(std::string_view text);
void warn(std::string_view text);

/// Progress on stderr for work that lasts over a second: one line that is redrawn on a terminal; elsewhere a
/// plain line every few seconds.
class Progress {
  public:
    Progress();
    ~Progress() { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// `of` 0: the total is not known.
    void update(std::string_view what, std::size_t done, std::size_t of);
    void finish(); ///< clears the terminal line

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_, last_;
    bool terminal_, drawn_ = false;
};

/// "0.123 ms", "1.23 s": three digits that mean something.
std::string milliseconds(double ms);
/// "12.3 KiB".
std::string bytes(double count);
/// "1 winner", "2 winners".
std::string counted(std::size_t count, std::string_view thing);
/// The path with the home folder as "~".
std::string short_path(const std::string& path);

} // namespace zyfa::cli
