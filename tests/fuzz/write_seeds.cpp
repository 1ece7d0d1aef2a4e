// SPDX-License-Identifier: Apache-2.0
// zyfa_fuzz_seeds TARGET FOLDER: the good inputs as files, for libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/fuzz/seeds.hpp"

int main(int argc, char** argv) {
    using namespace zyfa::fuzz;
    const std::map<std::string, std::vector<Seed> (*)()> targets{
        {"pack", pack_seeds},
        {"key", key_seeds},
#ifdef ZYFA_FUZZ_SIM
        {"code_object", code_object_seeds},
        {"instructions", instruction_seeds},
        {"bundle", bundle_seeds},
        {"launch", launch_seeds},
#endif
    };
    if (argc != 3 || !targets.contains(argv[1])) {
        std::fprintf(stderr, "usage: %s TARGET FOLDER; targets:", argv[0]);
        for (const auto& [name, seeds] : targets)
            std::fprintf(stderr, " %s", name.c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    for (const Seed& seed : targets.at(argv[1])())
        std::ofstream(folder / seed.name, std::ios::binary)
            .write(reinterpret_cast<const char*>(seed.bytes.data()),
                   static_cast<std::streamsize>(seed.bytes.size()));
    return 0;
}
