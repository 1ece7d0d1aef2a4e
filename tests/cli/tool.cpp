// SPDX-License-Identifier: Apache-2.0
#include "tool.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace zyfa::test {

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "zyfa-cli-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("mkdtemp " + pattern);
    }
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
}

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Output run_tool(const std::string& arguments, const std::map<std::string, std::string>& environment) {
    const TemporaryFolder folder;
    std::string command = "env";
    for (const char* name : {"ZYFA_DEVICE", "ZYFA_HIP_LIBRARY", "ZYFA_COMGR_LIBRARY", "ZYFA_CACHE_DIR",
                             "ZYFA_CACHE_LAYERS", "ZYFA_MODE", "ZYFA_LOG"}) {
        command += std::string(" -u ") + name;
    }
    for (const auto& [name, value] : environment) {
        command += " " + name + "='" + value + "'";
    }
    command += " " ZYFA_TOOL " " + arguments + " >" + folder.path("out") + " 2>" + folder.path("err") +
               " </dev/null";
    const int status = std::system(command.c_str());
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = read_text(folder.path("out")),
            .err = read_text(folder.path("err"))};
}

} // namespace zyfa::test
