// SPDX-License-Identifier: Apache-2.0
#include "cli/ruling_commands.hpp"

#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/pack_place.hpp"
#include "core/keys.hpp"
#include "core/schedule.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

using cache::FormerWinner;
using cache::RulingRecord;

struct RulingFlags {
    std::string key, schedule, reason;
    bool every_key = false, and_ban = false;
};

struct NamedKey {
    Digest digest;
    std::string text;
};

/// The key that `name` stands for: its whole text, or the first digits of its digest where a winner or a
/// ruling of it is stored.
NamedKey key_of(cache::Cache& cache, const std::string& name) {
    if (name.starts_with("zyfa.")) {
        const WinnerKey key = WinnerKey::parse(name);
        return {key.digest(), key.canonical()};
    }
    std::map<Digest, std::string> found;
    for (const cache::WinnerRecord& winner : cache.winners()) {
        if (winner.key.hex().starts_with(name)) {
            found.emplace(winner.key, winner.key_text);
        }
    }
    for (const RulingRecord& ruling : cache.rulings()) {
        if (ruling.key != cache::every_key() && ruling.key.hex().starts_with(name)) {
            found.emplace(ruling.key, ruling.key_text);
        }
    }
    if (found.empty()) {
        throw Error(ErrorCode::invalid_argument, "key",
                    fmt::format("no winner's or ruling's digest starts with '{}'; accepted: one that "
                                "`zyfa cache list` shows, or the text of a key",
                                name));
    }
    if (found.size() > 1) {
        throw Error(ErrorCode::invalid_argument, "key",
                    fmt::format("'{}' is ambiguous: {} and {}", name, found.begin()->first.hex(),
                                std::next(found.begin())->first.hex()));
    }
    return {found.begin()->first, found.begin()->second};
}

std::string when(std::uint64_t unix_time) {
    return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(unix_time)));
}

nlohmann::ordered_json in_json(const RulingRecord& ruling) {
    return {{"ruling", to_string(ruling.kind)},
            {"schedule", ruling.schedule},
            {"every_key", ruling.key == cache::every_key()},
            {"reason", ruling.reason},
            {"unix_time", ruling.unix_time}};
}

std::string verdict_of(const cache::WinnerRecord& winner) {
    const auto evidence = nlohmann::json::parse(winner.evidence_json, nullptr, false);
    return evidence.is_object() ? evidence.value("verdict", "") : std::string();
}

/// "pinned since 2026-03-01 12:00 (why)".
std::string in_words(const RulingRecord& ruling) {
    return fmt::format("{} ({}{}{})", ruling.schedule, when(ruling.unix_time),
                       ruling.key == cache::every_key() ? ", for every key" : "",
                       ruling.reason.empty() ? "" : ", " + ruling.reason);
}

std::string in_words(const FormerWinner& former) {
    return fmt::format("{} ({}, {}; measured {}, {} {})", former.winner.schedule, former.winner.policy,
                       verdict_of(former.winner), when(former.winner.unix_time),
                       former.rolled_back ? "rolled back" : "replaced", when(former.replaced));
}

/// What the command did, and what is so now.
ExitCode answer(const CommonOptions& common, cache::Cache& cache, const NamedKey& key,
                const std::string& done) {
    const std::optional<cache::WinnerRecord> winner = cache.find_winner(key.digest);
    if (common.json) {
        nlohmann::ordered_json json{{"digest", key.digest.hex()},
                                    {"key", key.text},
                                    {"done", done},
                                    {"winner", winner ? winner->schedule : ""}};
        add_rulings(json, cache, key.digest);
        fmt::print("{}\n", json.dump(2));
        return ExitCode::ok;
    }
    Facts facts(done.empty() ? key.digest.hex() : done);
    facts.add("key", key.text).add("winner", winner ? winner->schedule : "none that counts");
    add_rulings(facts, cache, key.digest);
    facts.print();
    return ExitCode::ok;
}

std::string canonical(const std::string& schedule) {
    return Schedule::parse(schedule).canonical();
}

void rule(cache::Cache& cache, const NamedKey& key, RulingRecord::Kind kind, const std::string& schedule,
          const std::string& reason) {
    cache.rule(
        {key.digest, key.text, schedule, kind, reason, static_cast<std::uint64_t>(std::time(nullptr))});
}

ExitCode pin(const CommonOptions& common, const RulingFlags& flags) {
    cache::Cache cache = open(place());
    const NamedKey key = key_of(cache, flags.key);
    std::string schedule = flags.schedule;
    if (schedule.empty()) {
        const std::optional<cache::WinnerRecord> winner = cache.find_winner(key.digest);
        if (!winner) {
            throw Error(ErrorCode::invalid_argument, "schedule",
                        "the key has no winner to pin; accepted: a schedule behind the key");
        }
        schedule = winner->schedule;
    }
    schedule = canonical(schedule);
    rule(cache, key, RulingRecord::Kind::pin, schedule, flags.reason);
    return answer(common, cache, key, "pinned " + schedule);
}

ExitCode unpin(const CommonOptions& common, const RulingFlags& flags) {
    cache::Cache cache = open(place());
    const NamedKey key = key_of(cache, flags.key);
    for (const RulingRecord& ruling : cache.rulings(key.digest)) {
        if (ruling.kind == RulingRecord::Kind::pin && cache.repeal(key.digest, ruling.schedule)) {
            return answer(common, cache, key, "unpinned " + ruling.schedule);
        }
    }
    throw Error(ErrorCode::invalid_argument, "key", "nothing is pinned for the key");
}

NamedKey key_or_every(cache::Cache& cache, const RulingFlags& flags) {
    if (!flags.every_key) {
        return key_of(cache, flags.key);
    }
    return {cache::every_key(), RulingRecord::every_key_text};
}

/// KEY SCHEDULE, or SCHEDULE alone with --every-key.
std::string schedule_of(const RulingFlags& flags) {
    const std::string& text = flags.every_key ? flags.key : flags.schedule;
    if (text.empty() || (flags.every_key && !flags.schedule.empty())) {
        throw Error(ErrorCode::invalid_argument, "schedule",
                    "accepted: KEY SCHEDULE, or --every-key SCHEDULE");
    }
    return canonical(text);
}

ExitCode ban(const CommonOptions& common, const RulingFlags& flags) {
    cache::Cache cache = open(place());
    const std::string schedule = schedule_of(flags);
    const NamedKey key = key_or_every(cache, flags);
    rule(cache, key, RulingRecord::Kind::ban, schedule, flags.reason);
    return answer(common, cache, key, "banned " + schedule);
}

ExitCode unban(const CommonOptions& common, const RulingFlags& flags) {
    cache::Cache cache = open(place());
    const std::string schedule = schedule_of(flags);
    const NamedKey key = key_or_every(cache, flags);
    for (const RulingRecord& ruling : cache.rulings(key.digest)) {
        if (ruling.kind == RulingRecord::Kind::ban && ruling.key == key.digest &&
            ruling.schedule == schedule && cache.repeal(key.digest, schedule)) {
            return answer(common, cache, key, "unbanned " + schedule);
        }
    }
    throw Error(ErrorCode::invalid_argument, "schedule", schedule + " is not banned for " + key.text);
}

ExitCode history(const CommonOptions& common, const RulingFlags& flags) {
    cache::Cache cache = open(place());
    return answer(common, cache, key_of(cache, flags.key), "");
}

ExitCode roll_back(const CommonOptions& common, const RulingFlags& flags) {
    cache::Cache cache = open(place());
    const NamedKey key = key_of(cache, flags.key);
    const std::optional<cache::WinnerRecord> left = cache.find_winner(key.digest);
    const std::string wanted = flags.schedule.empty() ? "" : canonical(flags.schedule);
    const cache::WinnerRecord winner = cache.roll_back(key.digest, wanted);
    if (flags.and_ban && left && left->schedule != winner.schedule) {
        rule(cache, key, RulingRecord::Kind::ban, left->schedule, flags.reason);
    }
    return answer(common, cache, key, "rolled back to " + winner.schedule);
}

} // namespace

std::string ruling_summary(cache::Cache& cache, const Digest& key) {
    bool pinned = false;
    std::size_t banned = 0;
    for (const RulingRecord& ruling : cache.rulings(key)) {
        pinned = pinned || ruling.kind == RulingRecord::Kind::pin;
        banned += ruling.kind == RulingRecord::Kind::ban;
    }
    std::string text = pinned ? "pinned" : "";
    if (banned > 0) {
        text += (text.empty() ? "" : ", ") + counted(banned, "schedule") + " banned";
    }
    return text;
}

void add_rulings(Facts& facts, cache::Cache& cache, const Digest& key) {
    for (const RulingRecord& ruling : cache.rulings(key)) {
        facts.add(ruling.kind == RulingRecord::Kind::pin ? "pinned" : "banned", in_words(ruling));
    }
    for (const FormerWinner& former : cache.former_winners(key)) {
        facts.add("former", in_words(former));
    }
}

void add_rulings(nlohmann::ordered_json& json, cache::Cache& cache, const Digest& key) {
    json["rulings"] = nlohmann::ordered_json::array();
    for (const RulingRecord& ruling : cache.rulings(key)) {
        json["rulings"].push_back(in_json(ruling));
    }
    json["former_winners"] = nlohmann::ordered_json::array();
    for (const FormerWinner& former : cache.former_winners(key)) {
        json["former_winners"].push_back({{"schedule", former.winner.schedule},
                                          {"policy", former.winner.policy},
                                          {"verdict", verdict_of(former.winner)},
                                          {"unix_time", former.winner.unix_time},
                                          {"replaced", former.replaced},
                                          {"rolled_back", former.rolled_back}});
    }
}

void add_ruling_commands(CLI::App& cache, Invocation& invocation) {
    using Run = ExitCode (*)(const CommonOptions&, const RulingFlags&);
    enum Takes { key_alone, key_and_schedule, key_or_flag };
    const auto add = [&](const char* name, const char* help, Takes takes, bool reason, Run run) {
        CLI::App* command = cache.add_subcommand(name, help);
        const auto flags = std::make_shared<RulingFlags>();
        command
            ->add_option("key", flags->key,
                         takes == key_or_flag
                             ? "The first digits of the winner's digest, or its key; with --every-key, the "
                               "schedule"
                             : "The first digits of the winner's digest, or its key")
            ->required()
            ->type_name("KEY");
        if (takes != key_alone) {
            command->add_option("schedule", flags->schedule, "Canonical text, as `zyfa cache show` has it")
                ->type_name("SCHEDULE");
        }
        if (takes == key_or_flag) {
            command->add_flag("--every-key", flags->every_key, "For every problem and device");
        }
        if (reason) {
            command->add_option("--reason", flags->reason, "Stored with it, and shown")->type_name("TEXT");
        }
        add_json_flag(*command, invocation.common);
        command->callback([&invocation, flags, run] {
            invocation.action = [&invocation, flags, run] { return run(invocation.common, *flags); };
        });
        return std::pair(command, flags);
    };
    add("pin", "Keep the winner, or a schedule, for a key whatever is measured", key_and_schedule, true, pin);
    add("unpin", "Let measurements decide again", key_alone, false, unpin);
    add("ban", "Neither let a schedule win nor run it for a key", key_or_flag, true, ban);
    add("unban", "Take a ban back", key_or_flag, false, unban);
    add("history", "A key's winner, its pins and bans, and its former winners", key_alone, false, history);
    const auto [command, flags] = add("rollback", "Make the winner before the present one the winner again",
                                      key_and_schedule, true, roll_back);
    command->add_flag("--ban", flags->and_ban, "And ban the present one");
}

} // namespace zyfa::cli
