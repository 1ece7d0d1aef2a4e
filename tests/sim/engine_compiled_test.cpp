// SPDX-License-Identifier: Apache-2.0
// Kernels that clang compiled for gfx950, at every optimisation level, against the same code on the host.
#include "sim/sanitizer/report.hpp"
#include "tests/sim/engine_fixture.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

constexpr unsigned items = 2048, words = 8;

const char* const kernels[] = {"int_arithmetic",
                               "int_division",
                               "long_arithmetic",
                               "long_division",
                               "shifts",
                               "bit_counts",
                               "bit_fields",
                               "minmax",
                               "narrow",
                               "compares",
                               "wide_products",
                               "float_arithmetic",
                               "float_division",
                               "float_rounding",
                               "float_minmax",
                               "float_compares",
                               "float_conversions",
                               "long_conversions",
                               "double_arithmetic",
                               "double_division",
                               "double_rounding",
                               "half_arithmetic",
                               "vectors",
                               "collatz",
                               "branches",
                               "recursion",
                               "calls",
                               "private_array",
                               "bytes",
                               "structures",
                               "sort",
                               "unaligned",
                               "halves"};

/// What the tests compile into; removed at exit.
class Folder {
  public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "zyfa-corpus-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

const std::filesystem::path sources = std::filesystem::path(ZYFA_TEST_CORPUS);

/// Whether the command succeeded; its output goes to the test's.
bool compile(const std::string& arguments) {
    return std::system(("clang++-22 -std=c++20 -ffp-contract=off -fno-strict-aliasing -I" + sources.string() +
                        " " + arguments)
                           .c_str()) == 0;
}
bool have_clang() {
    return std::system("clang++-22 --version > /dev/null 2>&1") == 0;
}

std::vector<std::byte> read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::byte> bytes(data.size());
    std::memcpy(bytes.data(), data.data(), data.size());
    return bytes;
}

/// Random words with zeros, ones, extremes and the edges of the floating formats among them.
std::vector<std::uint32_t> draw() {
    static const std::uint32_t edges[] = {
        0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000, 0x7f800000,
        0xff800000, 0x7fc00000, 0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x80000001, 0x4f000000,
        0x3c003c00, 0x7c00fbff, 0x00010400, 0x7ff00000, 0x3ff00000, 0x000fffff, 0xfff00000, 0x40490fdb};
    std::mt19937 random(5);
    std::vector<std::uint32_t> in(items * words);
    for (std::uint32_t& word : in) {
        word = static_cast<std::uint32_t>(random());
        if (random() % 4 == 0)
            word = edges[random() % std::size(edges)];
        else if (random() % 4 == 0) // an ordinary float or double
            word = (word & 0x83ffffffu) + 0x3c000000u;
    }
    return in;
}

struct Corpus {
    Folder folder;
    void* host = nullptr;
    std::vector<std::uint32_t> in = draw();
    Corpus() {
        const std::string library = (folder / "host.so").string();
        if (compile("-O1 -shared -fPIC -fvisibility=hidden -o " + library + " " +
                    (sources / "host.cpp").string()))
            host = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    std::vector<std::byte> device(const std::string& level) {
        const std::string file = (folder / ("device" + level + ".co")).string();
        if (!compile("-x c++ --target=amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -ffreestanding " + level +
                     " -o " + file + " " + (sources / "device.cpp").string()))
            return {};
        return read(file);
    }
};

/// Whether launches run under the sanitizer and must be clean.
bool watched = false;

LaunchResult launch(Engine& engine, const std::shared_ptr<CodeObject>& code, const std::string& name,
                    std::uint32_t groups, const std::uint32_t* in, std::uint32_t* out) {
    const std::uint64_t arguments[2] = {reinterpret_cast<std::uint64_t>(in),
                                        reinterpret_cast<std::uint64_t>(out)};
    Launch l;
    l.code = code;
    l.kernel = code->kernel(name);
    REQUIRE(l.kernel != nullptr);
    l.grid = {groups, 1, 1};
    l.block = {256, 1, 1};
    l.kernarg = std::as_bytes(std::span(arguments));
    l.sanitize = watched;
    LaunchResult result = engine.run(l);
    if (watched)
        CHECK_MESSAGE(result.sanitizer->findings.empty(), sanitizer::to_text({&*result.sanitizer, 1}, true));
    return result;
}

void check_against_host(Corpus& corpus, Machine& machine, const std::shared_ptr<CodeObject>& code) {
    auto* in = machine.buffer<std::uint32_t>(items * words);
    auto* out = machine.buffer<std::uint32_t>(items * words);
    std::copy(corpus.in.begin(), corpus.in.end(), in);
    for (const char* const name : kernels) {
        CAPTURE(std::string(name));
        std::fill_n(out, items * words, 0xcdcdcdcdu);
        std::vector<std::uint32_t> expected(items * words, 0xcdcdcdcdu);
        const auto reference =
            reinterpret_cast<void (*)(std::uint32_t, const std::uint32_t*, std::uint32_t*)>(
                dlsym(corpus.host, name));
        REQUIRE((reference != nullptr));
        reference(items, corpus.in.data(), expected.data());
        const LaunchResult result = launch(machine.engine(), code, name, items / 256, in, out);
        CHECK_MESSAGE(!result.fault, text(result));
        unsigned wrong = 0;
        for (unsigned n = 0; n < items * words && wrong < 3; ++n)
            if (out[n] != expected[n]) {
                ++wrong;
                const std::uint32_t* own = corpus.in.data() + n / words * words;
                std::string inputs;
                for (unsigned k = 0; k < words; ++k) {
                    char word[16];
                    std::snprintf(word, sizeof word, " %08x", own[k]);
                    inputs += word;
                }
                char message[64];
                std::snprintf(message, sizeof message, "item %u word %u: %08x, not %08x;", n / words,
                              n % words, out[n], expected[n]);
                FAIL_CHECK(message << inputs);
            }
    }
}

void check_cooperation(Corpus& corpus, Machine& machine, const std::shared_ptr<CodeObject>& code) {
    auto* in = machine.buffer<std::uint32_t>(items * words);
    std::copy(corpus.in.begin(), corpus.in.end(), in);
    { // scan
        auto* out = machine.buffer<std::uint32_t>(items + 8);
        const LaunchResult result = launch(machine.engine(), code, "scan", items / 256, in, out);
        REQUIRE_MESSAGE(!result.fault, text(result));
        bool same = true;
        for (unsigned group = 0; group < items / 256; ++group) {
            std::uint32_t sum = 0;
            for (unsigned t = 0; t < 256; ++t) {
                sum += in[group * 256 + t];
                same = same && out[group * 256 + t] == sum;
            }
            CHECK(out[items + group] == sum);
        }
        CHECK(same);
    }
    { // wave
        auto* out = machine.buffer<std::uint32_t>(items * words);
        const LaunchResult result = launch(machine.engine(), code, "wave", items / 256, in, out);
        REQUIRE_MESSAGE(!result.fault, text(result));
        bool same = true;
        for (unsigned i = 0; i < items; ++i) {
            const unsigned lane = i % 64, row = lane / 16 * 16;
            const std::uint32_t* wave = in + i - lane;
            std::uint64_t votes = 0;
            for (unsigned l = 0; l < 64; ++l)
                votes |= std::uint64_t{wave[l] & 1} << l;
            const auto first = [&](unsigned l) { return wave[l] + (l > row ? wave[l - 1] : 0); };
            const std::uint32_t sum = first(lane) + (lane >= row + 2 ? first(lane - 2) : 0);
            const std::uint32_t expected[7] = {static_cast<std::uint32_t>(votes),
                                               static_cast<std::uint32_t>(votes >> 32),
                                               wave[lane ^ 5],
                                               wave[0],
                                               wave[17],
                                               sum,
                                               lane};
            same =
                same && std::equal(expected, expected + 7, out + i * 8) && out[i * 8 + 7] == wave[lane ^ 1];
        }
        CHECK(same);
    }
    { // atomics
        auto* out = machine.buffer<std::uint32_t>(512);
        const LaunchResult result = launch(machine.engine(), code, "atomics", items / 256, in, out);
        REQUIRE_MESSAGE(!result.fault, text(result));
        std::vector<std::uint32_t> expected(512);
        std::uint64_t sum = 0;
        for (unsigned group = 0; group < items / 256; ++group) {
            std::vector<std::uint32_t> tile(128);
            for (unsigned t = 0; t < 256; ++t) {
                const std::uint32_t value = in[group * 256 + t];
                ++tile[value & 63];
                tile[64 + (value >> 6 & 3)] = std::max(tile[64 + (value >> 6 & 3)], value);
                tile[70] ^= value;
                sum += std::uint64_t{value} << 16;
                expected[260] = static_cast<std::uint32_t>(
                    std::min(static_cast<std::int32_t>(expected[260]), static_cast<std::int32_t>(value)));
                expected[261] |= value & 0x11111111u;
                expected[262] = expected[262] * 5 + 1;
            }
            for (unsigned t = 0; t < 128; ++t)
                expected[t] += tile[t];
        }
        expected[256] = static_cast<std::uint32_t>(sum);
        expected[257] = static_cast<std::uint32_t>(sum >> 32);
        CHECK(std::equal(expected.begin(), expected.end(), out));
    }
}

} // namespace

static void check_corpus() {
    if (!have_clang()) {
        MESSAGE("skipped: clang++-22 is not installed");
        return;
    }
    static Corpus corpus;
    REQUIRE(corpus.host != nullptr);
    for (const char* const level : {"-O0", "-O1", "-O2", "-O3"}) {
        CAPTURE(std::string(level));
        Machine machine;
        machine.memory().track_initialisation();
        const std::vector<std::byte> elf = corpus.device(level);
        REQUIRE(!elf.empty());
        const auto code = load_code(machine.memory(), elf);
        check_against_host(corpus, machine, code);
        check_cooperation(corpus, machine, code);
    }
}

TEST_CASE("sanitizer: compiled kernels are clean at every optimisation level") {
    watched = true;
    check_corpus();
    watched = false;
}

TEST_CASE("engine: compiled kernels give the host's results at every optimisation level") {
    check_corpus();
}
