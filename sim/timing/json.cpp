// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include <nlohmann/json.hpp>

namespace zyfa::sim::timing {

namespace {

using Json = nlohmann::ordered_json;

Json stalls_of(const std::array<std::uint64_t, stalls>& stalled) {
    Json out = Json::object();
    for (unsigned n = 0; n < stalls; ++n)
        if (stalled[n] != 0)
            out[to_string(static_cast<Stall>(n))] = stalled[n];
    return out;
}

std::uint64_t sum(const std::array<std::uint64_t, stalls>& stalled) {
    return std::accumulate(stalled.begin(), stalled.end(), std::uint64_t{0});
}

const char* kind_name(InstructionClass kind) {
    switch (kind) {
    case InstructionClass::salu:
        return "scalar";
    case InstructionClass::smem:
        return "scalar memory";
    case InstructionClass::branch:
        return "branch";
    case InstructionClass::barrier:
        return "barrier";
    case InstructionClass::waitcnt:
        return "wait";
    case InstructionClass::control:
        return "control";
    case InstructionClass::valu:
        return "vector";
    case InstructionClass::transcendental:
        return "exponential";
    case InstructionClass::packed_fp32:
        return "packed FP32";
    case InstructionClass::matrix:
        return "matrix";
    case InstructionClass::lds:
        return "LDS";
    case InstructionClass::vmem:
        return "memory";
    case InstructionClass::flat:
        return "flat memory";
    case InstructionClass::unknown:
        break;
    }
    return "unknown";
}

/// Writes trace events one by one: a launch has hundreds of thousands.
class Trace {
  public:
    Trace() { text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"; }
    void name(unsigned process, unsigned thread, const std::string& what) {
        add(Json{{"ph", "M"},
                 {"pid", process},
                 {"tid", thread},
                 {"name", "thread_name"},
                 {"args", {{"name", what}}}});
    }
    void slice(unsigned process, unsigned thread, const char* category, const std::string& what, Cycle at,
               std::uint64_t length) {
        add(Json{{"ph", "X"},
                 {"pid", process},
                 {"tid", thread},
                 {"cat", category},
                 {"name", what},
                 {"ts", at},
                 {"dur", length}});
    }
    std::string finish() {
        text_ += "\n]}\n";
        return std::move(text_);
    }

  private:
    void add(const Json& event) {
        if (!first_)
            text_ += ",\n";
        first_ = false;
        text_ += event.dump();
    }
    std::string text_;
    bool first_ = true;
};

/// Over the workgroup's own time; the clock is that of a device whose units all do this.
Json activity_of(const TimingReport& report) {
    const Activity activity = report.activity();
    Json toggles = Json::object();
    for (unsigned kind = 0; kind < matrix_kinds; ++kind)
        if (activity.matrix[kind] > 0)
            toggles[to_string(static_cast<MatrixKind>(kind))] = activity.toggles[kind];
    // What each takes of the current limit at the maximum clock (clock_model.hpp).
    const ClockParameters p;
    const double load = current_load(activity), vector = p.vector * activity.vector,
                 lds = p.lds * activity.lds;
    Json matrix = Json::object(), changing = Json::object();
    for (unsigned kind = 0; kind < matrix_kinds; ++kind) {
        matrix[to_string(static_cast<MatrixKind>(kind))] = p.matrix[kind];
        changing[to_string(static_cast<MatrixKind>(kind))] = p.changing_toggles[kind];
    }
    return Json{
        {"clock_model",
         {{"base", p.base},
          {"vector", p.vector},
          {"lds", p.lds},
          {"matrix", matrix},
          {"constant_operands", p.constant_operands},
          {"changing_toggles", changing},
          {"maximum_ghz", p.maximum_ghz},
          {"fit_error", p.fit_error},
          {"held_out_error", p.held_out_error}}},
        {"load",
         {{"base", p.base}, {"vector", vector}, {"lds", lds}, {"matrix", load - p.base - vector - lds}}},
        {"matrix", activity.matrix_total()},
        {"toggles", toggles},
        {"vector", activity.vector},
        {"lds", activity.lds},
        {"clock_ghz", sustained_ghz(activity)}};
}

} // namespace

std::string to_json(const TimingReport& report, const Disassembly& disassembly) {
    const TimingReport::Steady steady = report.steady();
    const PipeCycles& pipes = report.simd[0];
    std::array<std::uint64_t, stalls> total{};
    for (const auto& [pc, profile] : report.profile)
        for (unsigned n = 0; n < stalls; ++n)
            total[n] += profile.stalled[n];
    Json out{{"workgroup", report.workgroup},
             {"cycles", report.cycles},
             {"complete", report.complete},
             {"late", {{"infinity_cache", report.late[0]}, {"hbm", report.late[1]}}},
             {"matrix_busy",
              {{"steady", steady.phases != 0 ? Json(steady.matrix_busy) : Json()},
               {"whole_loop", report.whole_loop()}}},
             {"idle_beside_softmax", report.idle_beside_softmax_share()},
             {"phase_cycles", steady.phases != 0 ? Json(steady.phase_cycles) : Json()},
             {"phases", steady.phases},
             {"pipes",
              {{"matrix", pipes.matrix},
               {"packed", pipes.packed},
               {"vector", pipes.vector},
               {"lds", pipes.lds},
               {"issue", pipes.issue},
               {"scalar", pipes.scalar},
               {"memory", pipes.memory}}},
             {"activity", activity_of(report)},
             {"stalls", stalls_of(total)}};
    Json waves = Json::array();
    for (const WaveProfile& wave : report.waves)
        waves.push_back(
            {{"instructions", wave.instructions}, {"end", wave.end}, {"stalls", stalls_of(wave.stalled)}});
    out["waves"] = std::move(waves);
    // Between two barriers each.
    Json between = Json::array();
    for (std::size_t n = 0; n + 1 < report.barriers.size(); ++n)
        between.push_back({{"begin", report.barriers[n]},
                           {"cycles", report.barriers[n + 1] - report.barriers[n]},
                           {"matrix_busy", report.matrix_busy(report.barriers[n], report.barriers[n + 1])}});
    out["between_barriers"] = std::move(between);
    if (disassembly) {
        Json list = Json::array();
        for (const auto& [pc, profile] : report.profile)
            list.push_back({{"pc", pc},
                            {"text", disassembly(pc)},
                            {"count", profile.count},
                            {"busy", profile.busy},
                            {"stalled", sum(profile.stalled)},
                            {"stalls", stalls_of(profile.stalled)}});
        out["instructions"] = std::move(list);
    }
    return out.dump();
}

std::string to_listing(const TimingReport& report, const Disassembly& disassembly) {
    std::string out = "   count     waited  by           instruction\n";
    for (const auto& [pc, profile] : report.profile) {
        const auto most = std::max_element(profile.stalled.begin(), profile.stalled.end());
        const char* reason =
            *most == 0 ? "" : to_string(static_cast<Stall>(std::distance(profile.stalled.begin(), most)));
        char line[96];
        std::snprintf(line, sizeof line, "%8llu %10llu  %-12s ",
                      static_cast<unsigned long long>(profile.count),
                      static_cast<unsigned long long>(sum(profile.stalled)), reason);
        out += line;
        out += disassembly(pc);
        out += '\n';
    }
    return out;
}

std::string to_perfetto(const TimingReport& report, const Disassembly& disassembly, Cycle begin, Cycle end) {
    constexpr unsigned pipe_tracks = 1000; // thread numbers of the pipes, above those of the waves
    Trace trace;
    std::uint16_t waves = 0;
    for (const Event& event : report.events)
        waves = std::max<std::uint16_t>(waves, static_cast<std::uint16_t>(event.wave + 1));
    for (unsigned wave = 0; wave < waves; ++wave)
        trace.name(wave % 4, wave, "wave " + std::to_string(wave));
    for (unsigned simd = 0; simd < 4; ++simd) {
        trace.name(simd, pipe_tracks + 2 * simd, "matrix pipe");
        trace.name(simd, pipe_tracks + 2 * simd + 1, "vector pipe");
    }
    trace.name(0, pipe_tracks + 8, "barriers");
    // One LDS port for two SIMDs each (cu_model.hpp); accesses queue.
    std::array<Cycle, 2> lds_free{};
    for (unsigned port = 0; port < 2; ++port)
        trace.name(2 * port, pipe_tracks + 9 + port, "LDS port");
    std::map<std::uint32_t, std::string> texts;
    for (const Event& event : report.events) {
        const unsigned port = event.wave % 4 / 2;
        Cycle access = 0;
        if (event.kind == InstructionClass::lds) {
            access = std::max(lds_free[port], event.issue);
            lds_free[port] = access + event.busy;
        }
        if (event.issue < begin || event.issue >= end)
            continue;
        const unsigned simd = event.wave % 4;
        std::string& text = texts[event.pc];
        if (text.empty())
            text = disassembly(event.pc);
        if (event.stalled != 0)
            trace.slice(simd, event.wave, "wait", std::string("wait: ") + to_string(event.stall),
                        event.issue - event.stalled, event.stalled);
        trace.slice(simd, event.wave, kind_name(event.kind), text, event.issue, 4);
        if (event.kind == InstructionClass::matrix || event.kind == InstructionClass::packed_fp32)
            trace.slice(simd, pipe_tracks + 2 * simd, kind_name(event.kind),
                        "wave " + std::to_string(event.wave), event.issue, event.busy);
        if (event.kind == InstructionClass::valu || event.kind == InstructionClass::transcendental)
            trace.slice(simd, pipe_tracks + 2 * simd + 1, kind_name(event.kind),
                        "wave " + std::to_string(event.wave), event.issue, event.busy);
        if (event.kind == InstructionClass::lds)
            trace.slice(2 * port, pipe_tracks + 9 + port, "LDS", "wave " + std::to_string(event.wave), access,
                        event.busy);
    }
    for (const Cycle release : report.barriers)
        if (release >= begin && release < end)
            trace.slice(0, pipe_tracks + 8, "barrier", "barrier", release, 4);
    return trace.finish();
}

} // namespace zyfa::sim::timing
