// SPDX-License-Identifier: Apache-2.0
// zyfa_fuzz_seeds pack|key FOLDER: the good inputs as files, for libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/seeds.hpp"

int main(int argc, char** argv) {
    if (argc != 3 || (std::string(argv[1]) != "pack" && std::string(argv[1]) != "key")) {
        std::fprintf(stderr, "usage: %s pack|key FOLDER\n", argv[0]);
        return 2;
    }
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    const auto seeds = std::string(argv[1]) == "pack" ? zyfa::fuzz::pack_seeds() : zyfa::fuzz::key_seeds();
    for (const zyfa::fuzz::Seed& seed : seeds)
        std::ofstream(folder / seed.name, std::ios::binary)
            .write(reinterpret_cast<const char*>(seed.bytes.data()),
                   static_cast<std::streamsize>(seed.bytes.size()));
    return 0;
}
