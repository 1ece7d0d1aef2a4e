// SPDX-License-Identifier: Apache-2.0
#include "attention/freshness.hpp"

#include <nlohmann/json.hpp>

#include "core/schedule.hpp"
#include "templates/template.hpp"
#include "tuner/binaries.hpp"
#include "zyfa/error.hpp"

namespace zyfa::call {

const char* to_string(Freshness freshness) noexcept {
    switch (freshness) {
    case Freshness::valid:
        return "valid";
    case Freshness::old:
        return "old";
    case Freshness::stale:
        return "stale";
    case Freshness::unusable:
        return "unusable";
    }
    return "unknown";
}

std::string changed_versions(const std::string& versions_json, const runtime::Versions& now) {
    const nlohmann::json then = nlohmann::json::parse(versions_json, nullptr, false);
    std::string changes;
    const auto compare = [&](const char* name, const std::string& value) {
        if (!then.is_object() || !then.contains(name) || !then[name].is_string())
            return;
        const std::string stored = then[name].get<std::string>();
        if (!stored.empty() && !value.empty() && stored != value)
            changes += (changes.empty() ? "" : ", ") + std::string(name) + " " + stored + " -> " + value;
    };
    compare("hip", now.hip);
    compare("driver", now.driver);
    compare("firmware", now.firmware);
    return changes;
}

Freshener::Answer Freshener::ask(const cache::WinnerRecord& winner,
                                 const std::optional<runtime::Versions>& now) {
    WinnerKey key;
    Schedule schedule;
    try {
        key = WinnerKey::parse(winner.key_text);
        schedule = Schedule::parse(winner.schedule);
    } catch (const Error& error) {
        return {Freshness::unusable, error.what()};
    }
    WinnerKey of_class; // the class alone, as text
    of_class.problem_class = key.problem_class;
    const std::pair<std::string, std::string> made_of(of_class.canonical(), winner.schedule);
    auto made = made_.find(made_of);
    if (made == made_.end()) {
        try {
            const templates::Template& form = templates::template_named(schedule.template_name);
            const templates::Kernel kernel = form.instantiate(key.problem_class, schedule);
            made = made_.emplace(made_of, tuner::binary_key(kernel).digest()).first;
        } catch (const Error& error) {
            return {Freshness::stale, error.what()};
        }
    }
    if (made->second != winner.binary)
        return {Freshness::stale, "measured with another version of the kernel generator"};
    if (now)
        if (const std::string changes = changed_versions(winner.versions_json, *now); !changes.empty())
            return {Freshness::old, "measured with other versions: " + changes};
    return {};
}

} // namespace zyfa::call
