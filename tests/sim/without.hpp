// SPDX-License-Identifier: Apache-2.0
// Whether the tests notice an instruction: without.py runs them with
//   ZYFA_TEST_WITHOUT=MNEMONIC    the instruction does nothing, in every code object and vector of a test
//   ZYFA_TEST_RECORD=FILE         appended: "MNEMONIC<tab>TEST CASE" for each that a test has in its code
#pragma once

#include "sim/code_object.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace zyfa::sim::test {

/// Notes that the running test uses the mnemonic; true: it is to do nothing.
inline bool without(std::string_view mnemonic) {
    static const char* const muted = std::getenv("ZYFA_TEST_WITHOUT");
    static const char* const record = std::getenv("ZYFA_TEST_RECORD");
    if (record != nullptr) {
        static std::set<std::pair<std::string, std::string>> known;
        const std::string name = doctest::getContextOptions()->currentTest->m_name;
        if (known.emplace(mnemonic, name).second)
            std::ofstream(record, std::ios::app) << mnemonic << '\t' << name << '\n';
    }
    return muted != nullptr && mnemonic == muted;
}

/// CodeObject::load, heeding without().
inline std::shared_ptr<CodeObject> load_code(Memory& memory, std::span<const std::byte> elf) {
    std::shared_ptr<CodeObject> code = CodeObject::load(memory, elf, 0);
    for (const Instruction& instruction : dynamic_cast<const CodeObjectImpl&>(*code).instructions())
        if (instruction.mnemonic != nullptr && without(instruction.mnemonic)) {
            auto& muted = const_cast<Instruction&>(instruction); // of an object that is not const
            muted.execute = muted.execute_observed = [](Wave&, const Instruction&) {};
        }
    return code;
}

} // namespace zyfa::sim::test
