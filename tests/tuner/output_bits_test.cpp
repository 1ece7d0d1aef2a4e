// SPDX-License-Identifier: Apache-2.0
// Bit classes, differences between outputs, unwritten elements.
#include "tuner/output_bits.hpp"

#include <doctest/doctest.h>

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

const Problem problem = Problem::contiguous(DType::bf16, 2, 3, 1, 5, 5, 128, 128, Mask::causal);

OutputBits bits(const std::vector<std::byte>& o, const std::vector<std::byte>& lse) {
    const TensorLayout lse_layout = layout_lse(problem);
    return {layout_o(problem), o, &lse_layout, lse};
}

} // namespace

TEST_CASE("schedules of one bit class differ only in what must not change bits") {
    std::vector<templates::ParameterSpec> space(2);
    space[0].name = "tau";
    space[0].changes_bits = true;
    space[1].name = "map";
    const auto schedule = [](double tau, const char* map) {
        return Schedule{"t", {{"tau", tau}, {"map", std::string(map)}}};
    };
    CHECK(bit_class(space, schedule(0.5, "none")) == bit_class(space, schedule(0.5, "runs")));
    CHECK(bit_class(space, schedule(0.5, "none")) != bit_class(space, schedule(1.0, "none")));
}

TEST_CASE("a flipped bit is found and placed") {
    std::vector<std::byte> o(layout_o(problem).extent_bytes()), lse(layout_lse(problem).extent_bytes());
    const OutputBits before = bits(o, lse);
    CHECK_FALSE(before.difference(bits(o, lse)));
    std::vector<std::byte> other = o;
    other[layout_o(problem).row_offset(1, 2, 3) + 200] ^= std::byte{0x40};
    CHECK(before.difference(bits(other, lse)) == "O at b=1 h=2 row=3");
    std::vector<std::byte> other_lse = lse;
    other_lse[layout_lse(problem).row_offset(1, 1, 0) + 8] ^= std::byte{1};
    CHECK(before.difference(bits(o, other_lse)) == "LSE at b=1 h=1");
}

TEST_CASE("an element that nobody wrote is found") {
    std::vector<std::byte> o(layout_o(problem).extent_bytes());
    CHECK_FALSE(unwritten(layout_o(problem), o, 0xff, "O"));
    const std::size_t at = layout_o(problem).row_offset(0, 1, 4) + 2 * 9;
    o[at] = std::byte{0xff}; // half an element: a value like any other
    CHECK_FALSE(unwritten(layout_o(problem), o, 0xff, "O"));
    o[at + 1] = std::byte{0xff};
    CHECK(unwritten(layout_o(problem), o, 0xff, "O") == "O at b=0 h=1 row=4 element 9 was not written");
}
