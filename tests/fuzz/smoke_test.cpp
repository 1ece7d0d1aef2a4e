// SPDX-License-Identifier: Apache-2.0
// Every target on its good inputs, on inputs that once did harm, and on some thousand fixed mutations: what
// libFuzzer does for longer, without it. A finding is a crash.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/targets.hpp"
#ifdef ZYFA_FUZZ_SIM
#include "tests/fuzz/sim_targets.hpp"
#endif

using namespace zyfa::fuzz;

namespace {

using Bytes = std::vector<std::byte>;
using Target = void (*)(std::span<const std::byte>);

/// A few changes of the kinds that readers stumble over: bits, bytes, numbers, lengths, pieces.
Bytes mutated(const Bytes& seed, const std::vector<Seed>& seeds, std::mt19937& random) {
    Bytes bytes = seed;
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        const std::size_t at = below(bytes.size());
        switch (bytes.empty() ? 4 : random() % 6) {
        case 0:
            bytes[at] ^= static_cast<std::byte>(1u << below(8));
            break;
        case 1:
            bytes[at] = static_cast<std::byte>(random());
            break;
        case 2: // a number at its limits
            for (std::size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
                bytes[i] = random() % 2 ? std::byte{0xff} : std::byte{0};
            break;
        case 3:
            bytes.resize(at);
            break;
        case 4: {
            const Bytes& other = seeds[below(seeds.size())].bytes;
            const std::size_t from = below(other.size());
            const std::size_t count = std::min<std::size_t>(below(64), other.size() - from);
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at, bytes.size())),
                         other.begin() + static_cast<std::ptrdiff_t>(from),
                         other.begin() + static_cast<std::ptrdiff_t>(from + count));
            break;
        }
        default:
            bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                        bytes.begin() +
                            static_cast<std::ptrdiff_t>(std::min(at + 1 + below(16), bytes.size())));
        }
    }
    return bytes;
}

void smoke(Target target, const std::vector<Seed>& seeds, int rounds) {
    REQUIRE_FALSE(seeds.empty()); // the targets themselves abort where something is wrong
    for (const Seed& seed : seeds)
        target(seed.bytes);
    std::mt19937 random(950);
    for (int round = 0; round < rounds; ++round)
        for (const Seed& seed : seeds)
            target(mutated(seed.bytes, seeds, random));
}

/// Inputs that a fuzzer has found, kept under inputs/<target>/.
void known(Target target, const char* name) {
    const std::filesystem::path folder = std::filesystem::path(ZYFA_FUZZ_INPUTS) / name;
    REQUIRE(std::filesystem::is_directory(ZYFA_FUZZ_INPUTS));
    if (!std::filesystem::exists(folder)) // nothing was found in this target
        return;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        INFO(entry.path().string());
        target(std::as_bytes(std::span(text.data(), text.size())));
    }
}

} // namespace

TEST_CASE("no bytes harm the reader of packs, records and frames") {
    known(read_as_pack, "pack");
    smoke(read_as_pack, pack_seeds(), 4000);
}

TEST_CASE("no bytes harm the readers of keys and signer lists") {
    known(read_as_key, "key");
    smoke(read_as_key, key_seeds(), 20000);
}

#ifdef ZYFA_FUZZ_SIM
TEST_CASE("no bytes harm the reader of code objects") {
    known(read_as_code_object, "code_object");
    smoke(read_as_code_object, code_object_seeds(), 1000);
}

TEST_CASE("no words harm the reading of instructions") {
    known(read_as_instructions, "instructions");
    smoke(read_as_instructions, instruction_seeds(), 1000);
}

TEST_CASE("no bytes harm the reader of bundles") {
    known(read_as_bundle, "bundle");
    smoke(read_as_bundle, bundle_seeds(), 4000);
}

TEST_CASE("no bytes harm the reader of LAUNCH.json") {
    known(read_as_launch_file, "launch");
    smoke(read_as_launch_file, launch_seeds(), 10000);
}
#endif
