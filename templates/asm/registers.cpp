// SPDX-License-Identifier: Apache-2.0
#include "templates/asm/registers.hpp"

#include "zyfa/error.hpp"

namespace zyfa::templates::isa {

void defect(const std::string& message) {
    throw Error(ErrorCode::internal, "", message);
}

namespace {
std::string index_text(const char* name, unsigned base, unsigned index) {
    if (!name)
        return std::to_string(index);
    return index == base ? name : std::string(name) + "+" + std::to_string(index - base);
}
} // namespace

template <Bank B>
std::string Registers<B>::text() const {
    if (count == 0)
        defect("empty register range used as an operand");
    std::string out(1, B == Bank::vgpr ? 'v' : B == Bank::agpr ? 'a' : 's');
    if (count == 1 && !name)
        return out + std::to_string(first);
    out += '[' + index_text(name, base, first);
    if (count > 1)
        out += ':' + index_text(name, base, first + count - 1u);
    return out + ']';
}
template struct Registers<Bank::vgpr>;
template struct Registers<Bank::agpr>;
template struct Registers<Bank::sgpr>;

} // namespace zyfa::templates::isa
