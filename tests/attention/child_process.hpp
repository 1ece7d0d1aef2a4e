// SPDX-License-Identifier: Apache-2.0
// A test case of this executable in a process of its own.
#pragma once

#include <string>
#include <vector>

#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

extern char** environ;

namespace zyfa::test {

class ChildProcess {
  public:
    /// `variables`: "NAME=value", before those of this process.
    ChildProcess(const std::string& test_case, std::vector<std::string> variables) {
        std::vector<std::string> arguments{"/proc/self/exe", "--no-skip", "--test-case=" + test_case};
        std::vector<char*> argv, envp;
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        for (std::string& variable : variables)
            envp.push_back(variable.data());
        for (char** variable = environ; *variable; ++variable)
            envp.push_back(*variable);
        envp.push_back(nullptr);
        REQUIRE(posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, argv.data(), envp.data()) == 0);
    }

    pid_t id() const { return pid_; }
    /// Ends it at once, whatever it is doing.
    void kill() { REQUIRE(::kill(pid_, SIGKILL) == 0); }

    /// Waits for the end; the exit code, or -1 where a signal ended it.
    int wait() {
        int status = 0;
        REQUIRE(waitpid(pid_, &status, 0) == pid_);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t pid_ = 0;
};

} // namespace zyfa::test
