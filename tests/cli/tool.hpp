// SPDX-License-Identifier: Apache-2.0
// Runs the built tool as a process of its own, and gives tests folders that vanish.
#pragma once

#include <map>
#include <string>

namespace zyfa::test {

struct Output {
    int code = -1;
    std::string out, err;
};

/// `arguments` as a shell would read them. The environment is the test's own without any ZYFA_ variable, plus
/// `environment`.
Output run_tool(const std::string& arguments, const std::map<std::string, std::string>& environment = {});

class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
    std::string write(const std::string& name, const std::string& content) const; ///< its path

  private:
    std::string path_;
};

std::string read_text(const std::string& path);

} // namespace zyfa::test
