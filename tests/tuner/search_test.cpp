// SPDX-License-Identifier: Apache-2.0
// The order of the search.
#include "tuner/search.hpp"

#include <doctest/doctest.h>

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

/// Two axes; the combination (a=2, b=true) is not allowed.
class TwoAxes : public templates::Template {
  public:
    std::string_view name() const override { return "two_axes"; }
    std::string_view description() const override { return "test"; }
    bool serves(const Problem&, std::string*) const override { return true; }
    std::vector<templates::ParameterSpec> space(const Problem&) const override {
        return {{"a", "", {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}}, true},
                {"b", "", {false, true}, false}};
    }
    Schedule default_schedule(const Problem&) const override { return make(0, false); }
    std::optional<std::string> reject(const Problem&, const Schedule& schedule) const override {
        if (schedule.integer("a") == 2 && schedule.flag("b"))
            return "a=2 does not go with b";
        return std::nullopt;
    }
    templates::Kernel instantiate(const ProblemClass&, const Schedule&) const override { return {}; }
    templates::LaunchPlan plan(const Problem&, const Schedule&,
                               const templates::DeviceShape&) const override {
        return {};
    }
    static Schedule make(std::int64_t a, bool b) { return {"two_axes", {{"a", a}, {"b", b}}}; }
};

const Problem problem = Problem::contiguous(DType::bf16, 1, 1, 1, 64, 64, 128, 128, Mask::causal);

} // namespace

TEST_CASE("the default goes first, its neighbours next") {
    const auto points = search_points(TwoAxes(), problem, std::nullopt);
    REQUIRE(points.size() == 5); // the rejected point is not enumerated
    CHECK(points[0].schedule == TwoAxes::make(0, false));
    for (std::size_t i = 1; i < points.size(); ++i)
        CHECK(points[i].distance >= points[i - 1].distance);
    CHECK(points[1].distance == 1);
    CHECK(points.back().distance == 2);
}

TEST_CASE("given candidates keep their rejections, and the default is added") {
    const std::vector<Schedule> given{TwoAxes::make(2, true), TwoAxes::make(1, true), TwoAxes::make(1, true),
                                      Schedule{"another", {}}};
    const auto points = search_points(TwoAxes(), problem, given);
    REQUIRE(points.size() == 4);
    CHECK(points[0].schedule == TwoAxes::make(0, false));
    int rejected = 0;
    for (const SearchPoint& point : points)
        rejected += point.rejection.has_value();
    CHECK(rejected == 2);
}
