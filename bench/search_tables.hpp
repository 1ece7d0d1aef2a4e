// SPDX-License-Identifier: Apache-2.0
// Times of every schedule of a named grid, as a file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/schedule.hpp"
#include "templates/template.hpp"

namespace zyfa::bench {

inline constexpr double not_timed = -1;

struct SearchTable {
    std::string name, input, problem;
    std::vector<std::string> device;             ///< options of the simulated device
    std::string form;                            ///< template
    std::vector<templates::ParameterSpec> space; ///< name and grid of each axis, the default first
    std::vector<double> ms; ///< last axis fastest; 0: refused by the template; or not_timed

    Schedule schedule(std::size_t index) const;
};

SearchTable empty_table(const templates::Template& form, const Problem& problem);
void write_table(const std::filesystem::path& file, const SearchTable& table);
SearchTable read_table(const std::filesystem::path& file); ///< throws Error

} // namespace zyfa::bench
