// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files; Error{io_error} names the file and what the system said.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zyfa::cli {

std::vector<std::byte> read_file(const std::string& path);
/// Written beside and renamed, so that a reader never sees half a file.
void write_file(const std::string& path, std::span<const std::byte> content);
void write_file(const std::string& path, std::string_view content);

} // namespace zyfa::cli
