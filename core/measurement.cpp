// SPDX-License-Identifier: Apache-2.0
// Measurements and evidence as JSON, read back without loss.
#include "core/measurement.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "zyfa/error.hpp"

namespace zyfa {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array all_statuses{CandidateStatus::measured,        CandidateStatus::rejected_constraint,
                                  CandidateStatus::assemble_failed, CandidateStatus::load_failed,
                                  CandidateStatus::wrong,           CandidateStatus::unstable,
                                  CandidateStatus::crashed,         CandidateStatus::timed_out,
                                  CandidateStatus::skipped};

/// JSON has no infinities and no NaN; they are written as words.
Json write_number(double value) {
    if (std::isfinite(value))
        return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double read_number(const Json& json) {
    if (json.is_number())
        return json.get<double>();
    const auto& word = json.get_ref<const std::string&>();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (word == "inf")
        return infinity;
    if (word == "-inf")
        return -infinity;
    if (word == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    throw Error(ErrorCode::invalid_argument, "evidence", "\"" + word + "\" where a number is expected");
}

CandidateStatus read_status(const std::string& word) {
    for (const CandidateStatus status : all_statuses)
        if (word == to_string(status))
            return status;
    throw Error(ErrorCode::invalid_argument, "evidence", "status \"" + word + "\" is not known");
}

/// One list of fields for both directions: `field(name, member)` either writes or reads.
template <class Archive, class Value>
void measurement_fields(Archive& archive, Value& m) {
    archive.schedule("schedule", m.schedule);
    archive.status("status", m.status);
    archive.field("message", m.message);
    archive.field("binary", m.binary_digest);
    archive.number("median_ms", m.median_ms);
    archive.number("min_ms", m.min_ms);
    archive.number("max_ms", m.max_ms);
    archive.field("blocks", m.blocks);
    archive.field("launches", m.launches);
    archive.field("policy", m.policy);
    archive.field("simulated", m.simulated);
    archive.number("clock_ghz", m.clock_ghz);
    archive.number("power_w", m.power_w);
    archive.number("temperature_c", m.temperature_c);
    archive.number("relative_rms", m.relative_rms);
    archive.number("emulation_relative_rms", m.emulation_relative_rms);
    archive.number("max_abs", m.max_abs);
    archive.number("lse_max_abs", m.lse_max_abs);
    archive.field("gate_rows", m.gate_rows);
    // Since 0.1's first evidence; absent in older rows.
    archive.later("throttle", m.throttle);
    archive.later("tflops", m.tflops);
    archive.later("tflop_per_joule", m.tflop_per_joule);
    archive.later("gain", m.gain);
    archive.later("gain_low", m.gain_low);
    archive.later("gain_high", m.gain_high);
    archive.later("block_ms", m.block_ms);
    archive.later("provenance", m.provenance);
    archive.later("subject", m.subject);
    archive.later("output_bits", m.output_bits);
    archive.later("screen_ms", m.screen_ms);
}

template <class Archive, class Value>
void later_fields(Archive& archive, Value& e) {
    archive.later("telemetry", e.telemetry);
    archive.later("settled_ms", e.settled_ms);
    archive.later("period_ms", e.period_ms);
    archive.later("block_ms", e.block_ms);
    archive.later("device_ms", e.device_ms);
    archive.later("problem", e.problem_json);
}

struct Writer {
    Json json = Json::object();
    template <class Value>
    void field(const char* name, const Value& value) {
        json[name] = value;
    }
    /// A field that is left out where it has nothing to say. Finite numbers only.
    template <class Value>
    void later(const char* name, const Value& value) {
        if (!(value == Value{}))
            json[name] = value;
    }
    void number(const char* name, double value) { json[name] = write_number(value); }
    void status(const char* name, CandidateStatus value) { json[name] = to_string(value); }
    void schedule(const char* name, const Schedule& value) {
        json[name] = value.template_name.empty() ? std::string() : value.canonical();
    }
};

struct Reader {
    const Json& json;
    template <class Value>
    void field(const char* name, Value& value) {
        json.at(name).get_to(value);
    }
    template <class Value>
    void later(const char* name, Value& value) {
        if (const auto found = json.find(name); found != json.end())
            found->get_to(value);
    }
    void number(const char* name, double& value) { value = read_number(json.at(name)); }
    void status(const char* name, CandidateStatus& value) {
        value = read_status(json.at(name).get_ref<const std::string&>());
    }
    void schedule(const char* name, Schedule& value) {
        const auto& text = json.at(name).get_ref<const std::string&>();
        value = text.empty() ? Schedule{} : Schedule::parse(text);
    }
};

Json write(const Measurement& measurement) {
    Writer writer;
    measurement_fields(writer, measurement);
    return std::move(writer.json);
}

Measurement read(const Json& json) {
    Measurement measurement;
    Reader reader{json};
    measurement_fields(reader, measurement);
    return measurement;
}

/// Text that is not valid UTF-8 (a driver's message, say) is replaced, not thrown at.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Function>
auto parsed(const std::string& text, const char* argument, Function read_from) {
    try {
        return read_from(Json::parse(text));
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::invalid_argument, argument, std::string("malformed JSON: ") + error.what());
    }
}

} // namespace

int policy_rank(std::string_view policy) noexcept {
    if (policy == "sustained")
        return 5;
    if (policy == "paper-fixed" || policy == "paper-adaptive")
        return 4;
    if (policy == "kernel-only")
        return 3;
    return policy == "race" ? 2 : policy == "model" ? 1 : 0;
}

const char* to_string(CandidateStatus status) noexcept {
    switch (status) {
    case CandidateStatus::measured:
        return "measured";
    case CandidateStatus::rejected_constraint:
        return "rejected_constraint";
    case CandidateStatus::assemble_failed:
        return "assemble_failed";
    case CandidateStatus::load_failed:
        return "load_failed";
    case CandidateStatus::wrong:
        return "wrong";
    case CandidateStatus::unstable:
        return "unstable";
    case CandidateStatus::crashed:
        return "crashed";
    case CandidateStatus::timed_out:
        return "timed_out";
    case CandidateStatus::skipped:
        return "skipped";
    }
    return "unknown";
}

std::string to_json(const Measurement& measurement) {
    return dump(write(measurement));
}

Measurement measurement_from_json(const std::string& text) {
    return parsed(text, "measurement", [](const Json& json) { return read(json); });
}

std::string Evidence::to_json() const {
    Json json;
    json["winner"] = write(winner);
    json["fallback"] = write(fallback);
    json["verdict"] = verdict;
    json["data_profile"] = data_profile;
    json["versions"] = versions_json;
    json["unix_time"] = unix_time;
    Writer writer{std::move(json)};
    later_fields(writer, *this);
    if (!series.empty()) {
        Json& points = writer.json["series"] = Json::array();
        for (const SeriesPoint& point : series)
            points.push_back({point.at_ms, point.ms, point.finalist});
    }
    json = std::move(writer.json);
    return dump(json);
}

Evidence Evidence::from_json(const std::string& text) {
    return parsed(text, "evidence", [](const Json& json) {
        Evidence evidence;
        evidence.winner = read(json.at("winner"));
        evidence.fallback = read(json.at("fallback"));
        json.at("verdict").get_to(evidence.verdict);
        json.at("data_profile").get_to(evidence.data_profile);
        json.at("versions").get_to(evidence.versions_json);
        json.at("unix_time").get_to(evidence.unix_time);
        Reader reader{json};
        later_fields(reader, evidence);
        if (const auto points = json.find("series"); points != json.end())
            for (const Json& point : *points)
                evidence.series.push_back({point.at(0), point.at(1), point.at(2)});
        return evidence;
    });
}

} // namespace zyfa
