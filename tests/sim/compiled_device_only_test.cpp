// SPDX-License-Identifier: Apache-2.0
// Instructions that only a device has, as clang emits them at every optimisation level; expected values from
// the CDNA4 ISA manual's operations.
#include "core/reference.hpp"
#include "sim/sanitizer/report.hpp"
#include "tests/sim/engine_fixture.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

using Words = std::array<std::uint32_t, 256>; ///< four a lane

std::uint32_t half_of(const Words& w, unsigned lane, unsigned first, unsigned i) {
    return w[lane * 4 + first + i / 2] >> (16 * (i % 2)) & 0xffff;
}
std::uint32_t byte_of(const Words& w, unsigned lane, unsigned first, unsigned i) {
    return w[lane * 4 + first + i / 4] >> (8 * (i % 4)) & 0xff;
}

Words transposed(const Words& in) {
    Words out{};
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned row = lane / 16 * 16, l = lane % 16;
        for (unsigned i = 0; i < 4; ++i)
            out[lane * 4 + i / 2] |= half_of(in, row + 4 * i + l / 4, 0, l % 4) << (16 * (i % 2));
        for (unsigned i = 0; i < 8; ++i)
            out[lane * 4 + 2 + i / 4] |= byte_of(in, row + 2 * i + l / 8, 2, l % 8) << (8 * (i % 4));
    }
    return out;
}

Words bounded(const Words& in) {
    Words out{};
    const auto source = [&](unsigned word) { return word < 150 ? in[word] : 0; };
    for (unsigned word = 0; word < 225; ++word) // what lies beyond 900 bytes is not written
        out[word] = word % 4 == 2 ? source(word / 4 * 4 + 2) : source(word);
    return out;
}

Words direct(const Words& in) {
    Words out{};
    for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned i = 0; i < 4; ++i)
            out[lane * 4 + i] = in[(i < 2 ? lane : lane ^ 1) * 4 + i];
    return out;
}

Words swapped(const Words& in) {
    Words out{};
    for (unsigned lane = 0; lane < 64; ++lane) {
        const bool upper = lane >= 32, odd = lane / 16 % 2 == 1;
        out[lane * 4] = upper ? in[(lane - 32) * 4 + 1] : in[lane * 4];
        out[lane * 4 + 1] = upper ? in[lane * 4 + 1] : in[(lane + 32) * 4];
        out[lane * 4 + 2] = odd ? in[(lane - 16) * 4 + 3] : in[lane * 4 + 2];
        out[lane * 4 + 3] = odd ? in[lane * 4 + 3] : in[(lane + 16) * 4 + 2];
    }
    return out;
}

Words moved(const Words& in) {
    Words out{};
    for (unsigned lane = 0; lane < 64; ++lane) {
        out[lane * 4] = lane % 16 == 0 ? 0 : in[(lane - 1) * 4];
        out[lane * 4 + 1] = in[(lane / 16 * 16 + 15 - lane % 16) * 4];
        out[lane * 4 + 2] = in[lane / 4 * 16];
        out[lane * 4 + 3] = (in[lane * 4 + 1] >> 8 & 0xff) + (in[lane * 4 + 2] >> 16);
    }
    return out;
}

Words narrow(const Words& in) {
    Words out{};
    for (unsigned lane = 0; lane < 64; ++lane) {
        const std::uint32_t x = in[lane * 4], y = in[lane * 4 + 1], z = in[lane * 4 + 2];
        const float a = static_cast<float>(x % 17) - 8, b = static_cast<float>(y % 15); // exact in E4M3
        out[lane * 4] = zyfa::float_to_e4m3(a) | static_cast<std::uint32_t>(zyfa::float_to_e4m3(b)) << 8;
        out[lane * 4 + 1] = std::bit_cast<std::uint32_t>(a + b);
        std::uint32_t sum = z;
        for (unsigned i = 0; i < 4; ++i)
            sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(x >> (8 * i)) *
                                              static_cast<std::int8_t>(y >> (8 * i)));
        out[lane * 4 + 2] = sum;
        // v_perm_b32: bytes 0 to 3 of the second operand, 4 to 7 of the first.
        const auto pick = [&](unsigned n) { return (n < 4 ? y >> (8 * n) : x >> (8 * (n - 4))) & 0xff; };
        out[lane * 4 + 3] = pick(0) | pick(5) << 8 | pick(2) << 16 | pick(7) << 24;
    }
    return out;
}

Words sums(const Words&) {
    Words out{};
    out[0] = 0x58005400; // 64, 128 in FP16
    out[1] = 0x43004280; // and in BF16
    out[2] = std::bit_cast<std::uint32_t>(32.0f);
    out[3] = 189;
    return out;
}

struct Case {
    const char* name;
    Words (*expected)(const Words&);
};
const Case cases[] = {
    {"transposed", transposed}, {"bounded", bounded}, {"direct", direct}, {"swapped", swapped},
    {"moved", moved},           {"narrow", narrow},   {"sums", sums}};

} // namespace

TEST_CASE("engine: compiled instructions without a host's counterpart, at every optimisation level, with and "
          "without the sanitizer") {
    if (std::system("clang++-22 --version > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: clang++-22 is not installed");
        return;
    }
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("zyfa-device-only-" + std::to_string(getpid()) + ".co");
    for (const char* const level : {"-O0", "-O1", "-O2", "-O3"}) {
        CAPTURE(std::string(level));
        REQUIRE(
            std::system((std::string("clang++-22 -std=c++20 -x c++ --target=amdgcn-amd-amdhsa -mcpu=gfx950 "
                                     "-nogpulib -ffreestanding ") +
                         level + " -o " + file.string() + " " ZYFA_TEST_CORPUS "/device_only.cpp")
                            .c_str()) == 0);
        std::ifstream stream(file, std::ios::binary);
        const std::vector<char> data{std::istreambuf_iterator<char>(stream), {}};
        Machine machine;
        machine.memory().track_initialisation();
        const auto code = load_code(machine.memory(), std::as_bytes(std::span(data)));
        std::mt19937 random(3);
        for (unsigned run = 0; run < 2 * std::size(cases); ++run) {
            const Case& c = cases[run / 2];
            const bool watched = run % 2 != 0;
            CAPTURE(std::string(c.name));
            auto* const in = machine.buffer<std::uint32_t>(256);
            auto* const out = machine.buffer<std::uint32_t>(256);
            Words words;
            for (unsigned n = 0; n < 256; ++n)
                words[n] = in[n] = static_cast<std::uint32_t>(random());
            const std::uint64_t arguments[2] = {reinterpret_cast<std::uint64_t>(in),
                                                reinterpret_cast<std::uint64_t>(out)};
            Launch launch;
            launch.code = code;
            launch.kernel = code->kernel(c.name);
            REQUIRE(launch.kernel != nullptr);
            launch.grid = {1, 1, 1};
            launch.block = {64, 1, 1};
            launch.kernarg = std::as_bytes(std::span(arguments));
            launch.sanitize = watched;
            const LaunchResult result = machine.engine().run(launch);
            CHECK_MESSAGE(!result.fault, text(result));
            if (watched)
                CHECK_MESSAGE(result.sanitizer->findings.empty(),
                              sanitizer::to_text({&*result.sanitizer, 1}, true));
            const Words expected = c.expected(words);
            unsigned wrong = 0;
            for (unsigned n = 0; n < 256; ++n)
                if (out[n] != expected[n] && ++wrong <= 3)
                    FAIL_CHECK("lane " << n / 4 << " word " << n % 4 << ": " << std::hex << out[n] << ", not "
                                       << expected[n]);
        }
    }
    std::filesystem::remove(file);
}
