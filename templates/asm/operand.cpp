// SPDX-License-Identifier: Apache-2.0
#include "templates/asm/operand.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <utility>

namespace zyfa::templates::isa {

Source::Source(Literal literal) : literal_(true) {
    std::array<char, 16> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "0x%08x", static_cast<unsigned>(literal.bits));
    text_ = buffer.data();
}

Source::Source(Float constant) {
    // CDNA4 ISA, source operand encodings 240..247
    constexpr std::array<std::pair<float, const char*>, 8> inline_forms{{{0.5f, "0.5"},
                                                                         {-0.5f, "-0.5"},
                                                                         {1.0f, "1.0"},
                                                                         {-1.0f, "-1.0"},
                                                                         {2.0f, "2.0"},
                                                                         {-2.0f, "-2.0"},
                                                                         {4.0f, "4.0"},
                                                                         {-4.0f, "-4.0"}}};
    for (const auto& [value, text] : inline_forms)
        if (constant.value == value) {
            text_ = text;
            return;
        }
    const auto bits = std::bit_cast<std::uint32_t>(constant.value);
    if (bits == 0)
        text_ = "0";
    else
        *this = Source(Literal{bits});
}

Source Source::operator-() const {
    Source out = *this;
    if (out.units_.empty())
        defect("neg modifier on a constant: " + text_);
    out.text_ = "-" + text_;
    return out;
}

Source Source::magnitude() const {
    Source out = *this;
    if (out.units_.empty())
        defect("abs modifier on a constant: " + text_);
    out.text_ = "|" + text_ + "|";
    return out;
}

} // namespace zyfa::templates::isa
