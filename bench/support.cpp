// SPDX-License-Identifier: Apache-2.0
#include "bench/support.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace zyfa::bench {

Problem problem(std::int64_t heads, std::int64_t seq, DType dtype) {
    return Problem::contiguous(dtype, 1, heads, heads % 4 == 0 ? heads / 4 : heads, seq, seq, 128, 128,
                               Mask::causal);
}

ContextOptions fake_device() {
    ContextOptions options;
    options.device = "0";
    options.hip_library = ZYFA_FAKE_HIP;
    options.cache_dir = ":memory:";
    options.mode = Mode::replay;
    return options;
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "zyfa-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("mkdtemp " + pattern);
    }
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

} // namespace zyfa::bench
