// SPDX-License-Identifier: Apache-2.0
// Every matrix instruction of gfx950 as clang emits it, at every optimisation level, against a plain product.
// The places of elements are written from the CDNA4 ISA manual's layout tables, apart from the engine's: lane
// l holds of A row l % M, of block l / M % blocks, and the k from (l / (M blocks)) times its number of
// elements on; B likewise by columns. Values are small integers and halves of three, so that every sum is
// exact.
#include "sim/sanitizer/report.hpp"
#include "tests/sim/engine_fixture.hpp"

#include <cmath>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <regex>
#include <unistd.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

struct Format {
    unsigned width, exponent, mantissa; ///< bits; exponent 0: an integer
    int bias;
};
const std::map<std::string, Format> formats{{"f64", {64, 11, 52, 1023}}, {"f32", {32, 8, 23, 127}},
                                            {"f16", {16, 5, 10, 15}},    {"bf16", {16, 8, 7, 127}},
                                            {"fp8", {8, 4, 3, 7}},       {"bf8", {8, 5, 2, 15}},
                                            {"i8", {8, 0, 0, 0}},        {"fp6", {6, 2, 3, 1}},
                                            {"bf6", {6, 3, 2, 3}},       {"fp4", {4, 2, 1, 1}}};
const char* const scaled_formats[] = {"fp8", "bf8", "fp6", "bf6", "fp4"}; ///< by their code in cbsz and blgp

/// The code of a value that is normal in the format and needs no rounding, or 0.
std::uint64_t encode(double value, const Format& f) {
    if (f.exponent == 0)
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & ((1ull << f.width) - 1);
    if (value == 0)
        return 0;
    int e = 0;
    const double m = std::frexp(std::fabs(value), &e) * 2 - 1; // 1 + m times 2^(e - 1)
    const auto mantissa = static_cast<std::uint64_t>(std::ldexp(m, static_cast<int>(f.mantissa)));
    return (value < 0 ? 1ull << (f.width - 1) : 0) |
           static_cast<std::uint64_t>(e - 1 + f.bias) << f.mantissa | mantissa;
}

void put(std::byte* to, unsigned element, std::uint64_t code, unsigned width) {
    for (unsigned bit = 0; bit < width; ++bit) {
        const unsigned at = element * width + bit;
        if ((code >> bit & 1) != 0)
            to[at / 8] |= static_cast<std::byte>(1u << at % 8);
    }
}

struct Instruction {
    std::string name;
    unsigned m = 0, k = 0, blocks = 1; ///< N is M everywhere
    Format a{}, b{};
    std::string result; ///< f32, i32, f64
    bool scaled = false, sparse = false;

    unsigned elements(const Format&, bool compressed) const {
        return m * k * blocks / 64 / (compressed ? 2 : 1);
    }
    unsigned results() const { return m * m * blocks / 64; } ///< per lane
};

Instruction describe(const std::string& name) {
    static const std::regex scaled("scaled_(\\d+)x\\d+x(\\d+)_(\\d)_(\\d)"),
        plain("(s?)mfmac?_(f32|i32|f64)_(\\d+)x\\d+x(\\d+)_?([a-z0-9]+)(?:_(1k|fp8|bf8))?");
    std::smatch match;
    Instruction i;
    i.name = name;
    if (std::regex_match(name, match, scaled)) {
        i.m = static_cast<unsigned>(std::stoul(match[1]));
        i.k = static_cast<unsigned>(std::stoul(match[2]));
        i.a = formats.at(scaled_formats[std::stoul(match[3])]);
        i.b = formats.at(scaled_formats[std::stoul(match[4])]);
        i.result = "f32";
        i.scaled = true;
        return i;
    }
    REQUIRE(std::regex_match(name, match, plain));
    i.sparse = match[1].matched && match[1].length() != 0;
    i.result = match[2];
    i.m = static_cast<unsigned>(std::stoul(match[3]));
    i.k = static_cast<unsigned>(std::stoul(match[4]));
    const std::string a = match[5], b = match[6];
    i.a = formats.at(a);
    i.b = b == "fp8" || b == "bf8" ? formats.at(b) : i.a;
    // The instructions with several blocks: K of 1 (FP32) or 4 (16 bits, int8), and all of 4x4.
    const bool shallow = i.a.width == 32 ? i.k == 1 : i.a.width < 32 && i.k == 4;
    i.blocks = i.m == 4 ? (i.a.width == 64 ? 4 : 16) : shallow ? 64 / i.m : 1;
    return i;
}

/// Which k the element is; FP8 and BF8 of the f8f6f4 forms lie in chunks of 16 (HipKittens, AITER).
unsigned k_of(const Instruction& i, const Format& f, unsigned group, unsigned count, unsigned element) {
    return i.scaled && f.width == 8 ? element / 16 * (16 * 64 / i.m) + 16 * group + element % 16
                                    : group * count + element;
}

/// Lane and place of D's element.
std::pair<unsigned, unsigned> place(const Instruction& i, unsigned block, unsigned row, unsigned column) {
    if (i.m == 4)
        return i.a.width == 64 ? std::pair(row * 16 + block * 4 + column, 0u)
                               : std::pair(block * 4 + column, row);
    if (i.a.width == 64)
        return {row % 4 * 16 + column, row / 4};
    const unsigned groups = 64 / i.m; // of lanes, each with 4 consecutive rows
    return {row / 4 % groups * i.m + column, block * (i.m * i.m / 64) + row / 4 / groups * 4 + row % 4};
}

class Folder {
  public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "zyfa-matrix-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

void check(Machine& machine, const std::shared_ptr<CodeObject>& code, const Instruction& i,
           std::mt19937& random, bool watched) {
    static const double values[] = {0, 1, -1, 2, -2, 3, -3, 1.5};
    const unsigned usable = i.a.exponent == 0 ? 7 : 8;
    const unsigned count_a = i.elements(i.a, i.sparse), count_b = i.elements(i.b, false),
                   count_d = i.results();
    // Fragments: FP6 and FP4 lie in the 32 bytes of the general form.
    const std::size_t bytes_a = i.scaled ? 32 : count_a * i.a.width / 8,
                      bytes_b = i.scaled ? 32 : count_b * i.b.width / 8;
    const std::size_t width_d = i.result == "f64" ? 8 : 4;
    std::byte* a = machine.buffer<std::byte>(64 * bytes_a);
    std::byte* b = machine.buffer<std::byte>(64 * bytes_b);
    std::byte* c = machine.buffer<std::byte>(64 * count_d * width_d);
    std::byte* d = machine.buffer<std::byte>(64 * count_d * width_d);
    auto* index = machine.buffer<std::uint32_t>(64);
    auto* scale_b = machine.buffer<std::uint32_t>(64);

    // Sums over k per element of D; which k a lane holds of B only matters where A's differ with it.
    std::vector<double> product_a(i.blocks * i.m * i.k, 0.0), product_b(i.blocks * i.m * i.k, 0.0);
    std::vector<double> row_sum(i.m, 0.0), column_value(i.m);
    for (double& value : column_value)
        value = values[random() % usable];
    static const std::uint32_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; // ascending pairs of two bits
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned row = lane % i.m, block = lane / i.m % i.blocks, first = lane / (i.m * i.blocks);
        const std::uint32_t ea = 126 + random() % 4, eb = 126 + random() % 4;
        for (unsigned n = 0; n < 8; ++n)
            index[lane] |= pairs[random() % 6] << (4 * n);
        if (i.scaled) {
            index[lane] = ea;
            scale_b[lane] = eb;
        }
        for (unsigned e = 0; e < count_a; ++e) {
            const double value = values[random() % usable];
            put(a + lane * bytes_a, e, encode(value, i.a), i.a.width);
            if (i.sparse)
                row_sum[row] += value;
            else
                product_a[(block * i.m + row) * i.k + k_of(i, i.a, first, count_a, e)] = value;
        }
        for (unsigned e = 0; e < count_b; ++e) {
            const double value = i.sparse ? column_value[row] : values[random() % usable];
            put(b + lane * bytes_b, e, encode(value, i.b), i.b.width);
            if (!i.sparse)
                product_b[(block * i.m + row) * i.k + k_of(i, i.b, first, count_b, e)] = value;
        }
    }
    if (i.scaled) // the scale of row r and of k from 32 g on is lane r + M g's
        for (unsigned row = 0; row < i.m; ++row)
            for (unsigned k = 0; k < i.k; ++k) {
                const unsigned lane = row + i.m * (k / 32);
                double &a_value = product_a[row * i.k + k], &b_value = product_b[row * i.k + k];
                a_value = std::ldexp(a_value, static_cast<int>(index[lane]) - 127);
                b_value = std::ldexp(b_value, static_cast<int>(scale_b[lane]) - 127);
            }
    std::vector<double> expected(64 * count_d);
    for (unsigned block = 0; block < i.blocks; ++block)
        for (unsigned row = 0; row < i.m; ++row)
            for (unsigned column = 0; column < i.m; ++column) {
                const auto [lane, word] = place(i, block, row, column);
                const double addend = static_cast<double>(random() % 64) - 32;
                double sum = addend + (i.sparse ? row_sum[row] * column_value[column] : 0);
                for (unsigned k = 0; k < i.k && !i.sparse; ++k)
                    sum += product_a[(block * i.m + row) * i.k + k] *
                           product_b[(block * i.m + column) * i.k + k];
                const std::size_t at = lane * count_d + word;
                expected[at] = sum;
                if (i.result == "f64") {
                    std::memcpy(c + at * 8, &addend, 8);
                } else {
                    const auto integer = static_cast<std::int32_t>(addend);
                    const auto single = static_cast<float>(addend);
                    std::memcpy(c + at * 4, i.result == "i32" ? static_cast<const void*>(&integer) : &single,
                                4);
                }
            }

    const std::uint64_t arguments[6] = {
        reinterpret_cast<std::uint64_t>(a),     reinterpret_cast<std::uint64_t>(b),
        reinterpret_cast<std::uint64_t>(c),     reinterpret_cast<std::uint64_t>(d),
        reinterpret_cast<std::uint64_t>(index), reinterpret_cast<std::uint64_t>(scale_b)};
    Launch launch;
    launch.code = code;
    launch.kernel = code->kernel(i.name);
    launch.grid = {1, 1, 1};
    launch.block = {64, 1, 1};
    launch.kernarg = std::as_bytes(std::span(arguments));
    launch.sanitize = watched;
    const LaunchResult result = machine.engine().run(launch);
    REQUIRE_MESSAGE(!result.fault, text(result));
    if (watched)
        CHECK_MESSAGE(result.sanitizer->findings.empty(), sanitizer::to_text({&*result.sanitizer, 1}, true));
    unsigned wrong = 0;
    for (std::size_t at = 0; at < expected.size(); ++at) {
        double found = 0;
        if (i.result == "f64") {
            std::memcpy(&found, d + at * 8, 8);
        } else {
            std::int32_t integer;
            float single;
            std::memcpy(&integer, d + at * 4, 4);
            std::memcpy(&single, d + at * 4, 4);
            found = i.result == "i32" ? integer : static_cast<double>(single);
        }
        if (found != expected[at] && ++wrong <= 3)
            FAIL_CHECK("lane " << at / count_d << " word " << at % count_d << ": " << found << ", not "
                               << expected[at]);
    }
    for (void* buffer : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c),
                         static_cast<void*>(d), static_cast<void*>(index), static_cast<void*>(scale_b)})
        machine.memory().release(reinterpret_cast<std::uint64_t>(buffer));
}

} // namespace

TEST_CASE(
    "engine: compiled matrix instructions, every shape and format, at every optimisation level, with and "
    "without the sanitizer") {
    if (std::system("clang++-22 --version > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: clang++-22 is not installed");
        return;
    }
    const Folder folder;
    for (const char* const level : {"-O0", "-O1", "-O2", "-O3"}) {
        CAPTURE(std::string(level));
        const std::string file = folder / "matrix.co";
        REQUIRE(
            std::system((std::string("clang++-22 -std=c++20 -x c++ --target=amdgcn-amd-amdhsa -mcpu=gfx950 "
                                     "-nogpulib -ffreestanding ") +
                         level + " -o " + file + " " ZYFA_TEST_CORPUS "/matrix.cpp")
                            .c_str()) == 0);
        std::ifstream in(file, std::ios::binary);
        const std::vector<char> data{std::istreambuf_iterator<char>(in), {}};
        Machine machine;
        machine.memory().track_initialisation();
        const auto code = load_code(machine.memory(), std::as_bytes(std::span(data)));
        std::mt19937 random(7);
        const std::vector<const Kernel*> kernels = code->kernels();
        CHECK(kernels.size() == 36 + 50 + 28);
        for (const Kernel* kernel : kernels) {
            CAPTURE(kernel->name);
            for (const bool watched : {false, true})
                check(machine, code, describe(kernel->name), random, watched);
        }
    }
}
