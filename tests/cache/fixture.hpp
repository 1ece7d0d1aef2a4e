// SPDX-License-Identifier: Apache-2.0
// A folder that goes with the test, records to store, and real processes.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "cache/store.hpp"

namespace zyfa::cache::test {

namespace fs = std::filesystem;

class Folder {
  public:
    Folder() {
        // In memory where there is a place for it: hundreds of stores are made, and each is synced.
        const fs::path base = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
        std::string pattern = (base / "zyfa-cache-test-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    /// A path in the folder; nothing is made there.
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  private:
    fs::path path_;
};

/// How often a test repeats: `usual` times, and under ZYFA_STRESS=1 (scripts/stress-cache.sh) `stressed`
/// times.
inline int repetitions(int usual, int stressed) {
    const char* stress = std::getenv("ZYFA_STRESS");
    return stress && std::string(stress) == "1" ? stressed : usual;
}

/// A code object that compresses a little, like a real one.
inline std::vector<std::byte> some_code(std::uint64_t seed, std::size_t bytes = 6000) {
    std::vector<std::byte> code(bytes);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (std::size_t i = 0; i < bytes; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        code[i] = i % 4 == 3 ? std::byte{0xd3} : static_cast<std::byte>(state >> 56);
    }
    return code;
}

inline BinaryRecord some_binary(std::uint64_t n) {
    BinaryRecord r;
    r.key_text = "zyfa.binary/1 test=" + std::to_string(n);
    r.key = digest(std::string_view(r.key_text));
    r.kernel_name = "zyfa_fwd_bf16_d128_causal";
    r.target = "gfx950";
    r.toolchain = "comgr 3.0";
    r.code_object = some_code(n);
    return r;
}

inline WinnerRecord some_winner(std::uint64_t n) {
    WinnerRecord r;
    r.key_text = "zyfa.winner/1 test=" + std::to_string(n);
    r.key = digest(std::string_view(r.key_text));
    r.schedule = "bf16_fwd_d128{tau=" + std::to_string(n) + "}";
    r.binary = some_binary(n).key;
    r.evidence_json = R"({"verdict":"faster by 3.1%"})";
    r.data_profile = "gaussian";
    r.policy = "model";
    r.versions_json = "{}";
    r.unix_time = 1'700'000'000 + n;
    return r;
}

inline std::vector<MeasurementRecord> some_measurements(std::uint64_t n) {
    std::vector<MeasurementRecord> result;
    for (const char* schedule : {"bf16_fwd_d128{tau=0.0}", "bf16_fwd_d128{tau=0.5}"})
        result.push_back({some_winner(n).key, schedule, R"({"median_ms":1.5})", 1'700'000'000});
    return result;
}

inline void publish(Cache& cache, std::uint64_t n) {
    cache.publish(some_winner(n), some_binary(n), some_measurements(n));
}

/// Whether entry n is found, and is exactly what was published.
inline bool has(Cache& cache, std::uint64_t n) {
    const auto found = cache.find(some_winner(n).key);
    return found && found->winner.schedule == some_winner(n).schedule &&
           found->winner.evidence_json == some_winner(n).evidence_json &&
           found->binary.code_object == some_binary(n).code_object &&
           found->binary.kernel_name == some_binary(n).kernel_name;
}

/// Whether entry n is wrong: found, but not what was published.
inline bool is_wrong(Cache& cache, std::uint64_t n) {
    return cache.find(some_winner(n).key) && !has(cache, n);
}

inline std::vector<char> contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_contents(const std::string& path, const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Runs `body` in a child; 0 stands for success. The child leaves without running the test program's
/// destructors.
inline pid_t start_process(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child != 0)
        return child;
    int result = 125;
    try {
        result = body();
    } catch (...) {
        result = 124;
    }
    ::_exit(result);
}

/// The child's exit code, or minus the signal that ended it.
inline int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

inline int run_process(const std::function<int()>& body) {
    return wait_for(start_process(body));
}

inline const std::string store_name = "zyfa-cache-v1.sqlite";

} // namespace zyfa::cache::test
