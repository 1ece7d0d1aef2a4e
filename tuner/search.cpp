// SPDX-License-Identifier: Apache-2.0
// The order of an exhaustive search.
#include "tuner/search.hpp"

#include <algorithm>

namespace zyfa::tuner {

std::uint32_t distance(const Schedule& a, const Schedule& b) {
    std::uint32_t differing = 0;
    for (const auto& [name, value] : a.parameters) {
        const auto other = b.parameters.find(name);
        differing += other == b.parameters.end() || !(other->second == value);
    }
    return differing;
}

std::vector<SearchPoint> search_points(const templates::Template& form, const Problem& problem,
                                       const std::optional<std::vector<Schedule>>& candidates,
                                       const std::optional<Schedule>& hint) {
    const Schedule fallback = form.default_schedule(problem);
    std::vector<SearchPoint> points{{fallback, std::nullopt, 0, false}};
    std::vector<Schedule> schedules = candidates ? *candidates : templates::enumerate(form, problem);
    if (hint)
        schedules.insert(schedules.begin(), *hint);
    for (const Schedule& schedule : schedules) {
        const bool seen = std::any_of(points.begin(), points.end(),
                                      [&](const SearchPoint& point) { return point.schedule == schedule; });
        if (seen)
            continue;
        SearchPoint point{schedule, std::nullopt, schedule == hint ? 0 : distance(schedule, fallback), false};
        if (schedule.template_name != form.name())
            point.rejection = "the problem is served by template " + std::string(form.name());
        else
            point.rejection = form.reject(problem, schedule);
        points.push_back(std::move(point));
    }
    std::vector<SearchPoint> ordered; // stable: within a distance, the order of enumeration
    ordered.reserve(points.size());
    for (std::uint32_t ring = 0; ordered.size() < points.size(); ++ring)
        for (SearchPoint& point : points)
            if (point.distance == ring)
                ordered.push_back(std::move(point));
    return ordered;
}

} // namespace zyfa::tuner
