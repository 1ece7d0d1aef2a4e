// SPDX-License-Identifier: Apache-2.0
// One line a refusal: device, template, facts, divided by tabs; facts by commas.
#include "attention/refusals.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "zyfa/error.hpp"

namespace zyfa::call {

namespace {

std::filesystem::path path_in(const std::string& folder) {
    return std::filesystem::path(folder) / "refused-templates";
}

std::string kind_of(const DeviceIdentity& device) {
    return device.target + " " + std::to_string(device.compute_units) + " " + std::to_string(device.xcds) +
           " " + (device.partition.empty() ? "-" : device.partition) +
           (device.simulated ? " simulated" : " gpu");
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);)
        parts.push_back(part);
    return parts;
}

std::vector<std::string> lines_of(const std::string& folder) {
    std::ifstream in(path_in(folder));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

} // namespace

void keep_refusals(const std::string& folder, const DeviceIdentity& device,
                   const std::vector<Refusal>& refusals) {
    if (folder == ":memory:")
        return;
    const std::string own = kind_of(device) + "\t";
    std::string text;
    for (const std::string& line : lines_of(folder))
        if (line.compare(0, own.size(), own) != 0)
            text += line + "\n";
    for (const Refusal& refusal : refusals) {
        text += own + refusal.form + "\t";
        for (std::size_t i = 0; i < refusal.facts.size(); ++i)
            text += (i == 0 ? "" : ",") + refusal.facts[i];
        text += "\n";
    }
    std::error_code failed;
    const std::filesystem::path path = path_in(folder);
    if (text.empty()) {
        std::filesystem::remove(path, failed);
        return;
    }
    std::filesystem::create_directories(folder, failed);
    const std::filesystem::path half = path.string() + ".new"; // renamed, so that nobody reads half of it
    std::ofstream out(half);
    out << text;
    out.close();
    if (out)
        std::filesystem::rename(half, path, failed);
    if (!out || failed)
        throw Error(ErrorCode::io_error, "cache_dir",
                    path.string() + ": the templates that the self-test refused could not be written");
}

std::optional<Refusal> refusal_of(const std::string& folder, const DeviceIdentity& device,
                                  const std::string& form) {
    if (folder == ":memory:")
        return std::nullopt;
    const std::string kind = kind_of(device);
    for (const std::string& line : lines_of(folder)) {
        const std::vector<std::string> parts = split(line, '\t');
        if (parts.size() == 3 && parts[0] == kind && parts[1] == form)
            return Refusal{form, split(parts[2], ',')};
    }
    return std::nullopt;
}

} // namespace zyfa::call
