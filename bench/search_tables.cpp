// SPDX-License-Identifier: Apache-2.0
// As JSON; the axes are written once, so that a table of hundreds of schedules stays small.
#include "bench/search_tables.hpp"

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "zyfa/error.hpp"

namespace zyfa::bench {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ParameterValue& value) {
    return std::visit([](const auto& x) { return Json(x); }, value);
}

ParameterValue value_of(const Json& json) {
    if (json.is_boolean())
        return json.get<bool>();
    if (json.is_number_float())
        return json.get<double>();
    if (json.is_number_integer())
        return json.get<std::int64_t>();
    return json.get<std::string>();
}

} // namespace

Schedule SearchTable::schedule(std::size_t index) const {
    Schedule schedule{form, {}};
    for (std::size_t axis = space.size(); axis-- > 0;) {
        const std::vector<ParameterValue>& grid = space[axis].grid;
        schedule.parameters[space[axis].name] = grid[index % grid.size()];
        index /= grid.size();
    }
    return schedule;
}

SearchTable empty_table(const templates::Template& form, const Problem& problem) {
    SearchTable table;
    table.form = form.name();
    table.space = form.space(problem);
    std::size_t points = 1;
    for (const templates::ParameterSpec& axis : table.space)
        points *= axis.grid.size();
    table.ms.assign(points, not_timed);
    return table;
}

void write_table(const std::filesystem::path& file, const SearchTable& table) {
    Json json{{"name", table.name},     {"input", table.input},   {"problem", table.problem},
              {"device", table.device}, {"template", table.form}, {"space", Json::object()},
              {"ns", Json::array()}};
    for (const templates::ParameterSpec& axis : table.space)
        for (const ParameterValue& value : axis.grid)
            json["space"][axis.name].push_back(to_json(value));
    for (const double ms : table.ms)
        json["ns"].push_back(ms == not_timed ? -1 : std::llround(1e6 * ms));
    std::ofstream stream(file);
    stream << json.dump() << "\n";
    if (!stream.flush())
        throw Error(ErrorCode::io_error, "file", file.string() + " cannot be written");
}

SearchTable read_table(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream)
        throw Error(ErrorCode::io_error, "file", file.string() + " cannot be opened");
    SearchTable table;
    std::size_t points = 1;
    try {
        const auto json = Json::parse(stream);
        table.name = json.at("name").get<std::string>();
        table.input = json.at("input").get<std::string>();
        table.problem = json.at("problem").get<std::string>();
        table.device = json.at("device").get<std::vector<std::string>>();
        table.form = json.at("template").get<std::string>();
        for (const auto& ns : json.at("ns"))
            table.ms.push_back(ns.get<double>() < 0 ? not_timed : 1e-6 * ns.get<double>());
        for (const auto& [name, grid] : json.at("space").items()) {
            templates::ParameterSpec& axis = table.space.emplace_back();
            axis.name = name;
            for (const auto& value : grid)
                axis.grid.push_back(value_of(value));
            points *= axis.grid.size();
        }
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::invalid_argument, "file", file.string() + ": " + error.what());
    }
    if (table.ms.empty() || table.ms.size() != points || table.ms[0] <= 0)
        throw Error(ErrorCode::invalid_argument, "file",
                    file.string() + ": the times are not those of its space, the default's first");
    return table;
}

} // namespace zyfa::bench
