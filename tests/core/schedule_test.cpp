// SPDX-License-Identifier: Apache-2.0
#include "core/schedule.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "zyfa/error.hpp"

using namespace zyfa;

namespace {

std::string any_word() {
    return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::inRange('a', '{'), rc::gen::inRange('0', ':'), rc::gen::element('_', '-', '.'))));
}

double any_number() {
    const double special = *rc::gen::element(0.0, -0.0, 0.125, 1.0, 1e300, 5e-324, 0.1, 1e22,
                                             std::numeric_limits<double>::infinity());
    return *rc::gen::oneOf(rc::gen::just(special), rc::gen::arbitrary<double>());
}

ParameterValue any_value() {
    switch (*rc::gen::inRange(0, 4)) {
    case 0:
        return *rc::gen::arbitrary<bool>();
    case 1:
        return *rc::gen::arbitrary<std::int64_t>();
    case 2:
        return any_number();
    default:
        return any_word();
    }
}

} // namespace

TEST_CASE("parse inverts canonical, or canonical refuses") {
    int written = 0;
    CHECK(rc::check([&] {
        Schedule schedule{any_word(), {}};
        for (int i = *rc::gen::inRange(0, 6); i > 0; --i)
            schedule.parameters[any_word()] = any_value();
        std::string text;
        try {
            text = schedule.canonical();
        } catch (const Error& error) {
            RC_ASSERT(error.code() == ErrorCode::internal); // a word like "true" or "17"
            return;
        }
        ++written;
        const Schedule read = Schedule::parse(text);
        RC_ASSERT(read == schedule);
        RC_ASSERT(read.canonical() == text);
        for (const auto& [name, value] : schedule.parameters)
            RC_ASSERT(read.parameters.at(name).index() == value.index());
    }));
    CHECK(written > 30);
}

TEST_CASE("the text of a schedule") {
    const Schedule s{"bf16_fwd_d128",
                     {{"tau", 0.5}, {"persistent", true}, {"rows", std::int64_t{32}}, {"map", "runs"}}};
    CHECK(s.canonical() == "bf16_fwd_d128{map=runs,persistent=true,rows=32,tau=0.5}");
    CHECK(Schedule{"t", {{"tau", 1.0}}}.canonical() == "t{tau=1.0}");
    CHECK(Schedule::parse("t{}") == Schedule{"t", {}});
}

TEST_CASE("typed look-up") {
    const Schedule s = Schedule::parse("t{a=true,b=3,c=2.5,d=runs}");
    CHECK(s.flag("a"));
    CHECK(s.integer("b") == 3);
    CHECK(s.number("b") == 3.0);
    CHECK(s.number("c") == 2.5);
    CHECK(s.text("d") == "runs");
    CHECK_THROWS_AS(s.integer("c"), Error);
    CHECK_THROWS_AS(s.text("a"), Error);
    CHECK_THROWS_WITH_AS(s.flag("missing"), "missing: schedule of template t has no such parameter", Error);
}

TEST_CASE("malformed text is refused") {
    for (const char* text : {"", "t", "t{", "{}", "t{a}", "t{a=}", "t{=1}", "t{a=1,}", "t{,a=1}",
                             "t{a=1,a=2}", "t{a=1 }", "t {a=1}", "t{a=1}x", "t{a=b=c}"})
        CHECK_THROWS_AS(Schedule::parse(text), Error);
    CHECK_THROWS_AS((Schedule{"t", {{"a", std::nan("")}}}.canonical()), Error);
    CHECK_THROWS_AS((Schedule{"t", {{"a", std::string("true")}}}.canonical()), Error);
}
