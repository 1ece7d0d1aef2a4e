// SPDX-License-Identifier: Apache-2.0
// Every instruction that kernels in use hold, and every one that the compiled corpus holds, is named in the
// code of a test of instructions: of an assembled vector (engine_*_test.cpp), of the vector unit's
// (valu_*_test.cpp) or the matrix unit's (math_mfma_test.cpp), or as a matrix instruction a kernel of
// matrix.cpp, each of which is compared with a plain product. It finds an instruction that nobody has thought
// of, not one whose test looks at something else: a name counts wherever it stands, comments aside.
#include "sim/code_object.hpp"
#include "tests/sim/engine_fixture.hpp"
#include "tests/sim/mnemonics_in_use.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <unistd.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

using Names = std::set<std::string>;

std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::string without_suffix(std::string name) {
    for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa"})
        if (name.ends_with(suffix))
            name.resize(name.size() - suffix.size());
    return name;
}

/// Mnemonics in the text of the tests of instructions.
Names named_by_tests() {
    static const std::regex mnemonic("\\b(?:v|s|ds|buffer|global|flat|scratch)_[a-z0-9_]+\\b");
    static const std::regex no_code("//[^\n]*|\\\\n"); // comments; the end of an assembly line in a string
    Names names;
    const std::filesystem::path folder = std::filesystem::path(ZYFA_TEST_CORPUS).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with("_test.cpp") ||
            !(name.starts_with("engine_") || name.starts_with("valu_") || name.starts_with("math_")))
            continue;
        const std::string text = std::regex_replace(read(entry.path()), no_code, " ");
        for (auto at = std::sregex_iterator(text.begin(), text.end(), mnemonic); at != std::sregex_iterator();
             ++at)
            names.insert(without_suffix(at->str()));
    }
    return names;
}

/// What clang makes of a file of the corpus; what is no instruction has no name.
Names compiled(const std::string& source, const std::string& level) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("zyfa-coverage-" + std::to_string(getpid()) + ".co");
    REQUIRE(std::system(("clang++-22 -std=c++20 -x c++ --target=amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib "
                         "-ffreestanding " +
                         level + " -o " + file.string() + " " ZYFA_TEST_CORPUS "/" + source)
                            .c_str()) == 0);
    const std::string elf = read(file);
    std::filesystem::remove(file);
    Memory memory;
    const CodeObjectImpl code(memory, std::as_bytes(std::span(elf)), 0);
    Names names;
    for (const Instruction& i : code.instructions())
        if (i.mnemonic != nullptr)
            names.insert(i.mnemonic);
    return names;
}

bool is_matrix(const std::string& name) {
    return name.starts_with("v_mfma_") || name.starts_with("v_smfmac_");
}

} // namespace

TEST_CASE("engine: every instruction in use and in the corpus is named in a test of instructions") {
    if (std::system("clang++-22 --version > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: clang++-22 is not installed");
        return;
    }
    Names tested = named_by_tests();
    tested.insert("s_endpgm"); // every kernel's last
    const Names matrix = compiled("matrix.cpp", "-O1");
    for (const std::string& name : matrix)
        if (is_matrix(name))
            tested.insert(name);
    Names corpus = matrix;
    for (const char* const level : {"-O0", "-O3"})
        for (const char* const source : {"device.cpp", "device_only.cpp"})
            corpus.merge(compiled(source, level));
    const Names in_use(std::begin(mnemonics_in_use), std::end(mnemonics_in_use));
    Names wanted = in_use;
    wanted.insert(corpus.begin(), corpus.end());
    MESSAGE(in_use.size() << " mnemonics in use, " << corpus.size() << " in the corpus, " << wanted.size()
                          << " in all");
    CHECK(in_use.size() == 188);
    CHECK(corpus.size() > 300);
    for (const std::string& name : wanted)
        static_cast<void>(without(name)); // without.py's list
    std::string missing;
    for (const std::string& name : wanted)
        if (!tested.contains(name))
            missing += " " + name;
    CHECK_MESSAGE(missing.empty(), "in no test:" << missing);
}
