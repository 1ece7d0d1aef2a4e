// SPDX-License-Identifier: Apache-2.0
// The rule of agreement.
//
// Each site has chosen for itself, by the tuner's rule (the default schedule stays unless another one is
// faster for a clear reason). A schedule holds on a site if it is the site's choice, or slower than that by
// no more than the sweep's tolerance. Of the sites' choices and the default schedule the winner is one that
// holds on every site: the default where it does, else the one whose worst site is the best. Where none holds
// everywhere, the one whose worst site is the best is taken and marked.
#include "sweep/agreement.hpp"

#include <algorithm>
#include <limits>

#include "sweep/json_fields.hpp"

namespace zyfa::sweep {

namespace {

double time_of(const Result& result, const Schedule& schedule) {
    // What the choice rests on counts before the list, whose entry may be a screening's.
    for (const Measurement* measurement : {&result.evidence.winner, &result.evidence.fallback})
        if (measurement->schedule == schedule && measurement->status == CandidateStatus::measured)
            return measurement->median_ms;
    for (const Measurement& measurement : result.measurements)
        if (measurement.schedule == schedule && measurement.status == CandidateStatus::measured)
            return measurement.median_ms;
    return 0;
}

/// How far the schedule lies behind the site's choice; infinite where it failed there.
double behind(const Result& result, const Schedule& schedule) {
    const double time = time_of(result, schedule), choice = result.evidence.winner.median_ms;
    if (schedule == result.evidence.winner.schedule)
        return 0;
    return time > 0 && choice > 0 ? time / choice - 1 : std::numeric_limits<double>::infinity();
}

Schedule pick(const std::vector<SiteResult>& results, double tolerance) {
    std::vector<Schedule> choices{results.front().result.evidence.fallback.schedule};
    for (const SiteResult& site : results) {
        const Schedule& choice = site.result.evidence.winner.schedule;
        if (std::find(choices.begin(), choices.end(), choice) == choices.end())
            choices.push_back(choice);
    }
    const bool one_mind = std::all_of(results.begin(), results.end(), [&](const SiteResult& site) {
        return site.result.evidence.winner.schedule == results.front().result.evidence.winner.schedule;
    });
    if (one_mind)
        return results.front().result.evidence.winner.schedule;
    const Schedule* best = nullptr;
    double best_worst = 0;
    for (const Schedule& choice : choices) {
        double worst = 0;
        for (const SiteResult& site : results)
            worst = std::max(worst, behind(site.result, choice));
        if (&choice == &choices.front() && worst <= tolerance)
            return choice;
        if (!best || worst < best_worst) {
            best = &choice;
            best_worst = worst;
        }
    }
    return *best;
}

const Measurement* measurement_of(const Result& result, const Schedule& schedule) {
    if (result.evidence.winner.schedule == schedule)
        return &result.evidence.winner;
    for (const Measurement& measurement : result.measurements)
        if (measurement.schedule == schedule)
            return &measurement;
    return nullptr;
}

std::string where(const std::vector<SiteView>& sites, bool holds) {
    std::string text;
    for (const SiteView& site : sites)
        if (site.holds == holds)
            text += (text.empty() ? "" : ", ") + site.site;
    return text;
}

/// Versions of the measuring node, and what every site measured.
std::string versions_json(const Plan& plan, const Winner& winner, const Lane& lane,
                          const std::string& of_tuner) {
    Json json = Json::parse(of_tuner, nullptr, false);
    if (!json.is_object())
        json = Json::object();
    json["driver"] = lane.versions.driver;
    json["firmware"] = lane.versions.firmware;
    Json sites = Json::array();
    for (const SiteView& site : winner.sites)
        sites.push_back({{"site", site.site},
                         {"node", site.node},
                         {"gpu", site.gpu},
                         {"winner_ms", site.winner_ms},
                         {"default_ms", site.fallback_ms},
                         {"choice", site.choice},
                         {"holds", site.holds}});
    json["sweep"] = {{"name", plan.spec.name},
                     {"plan", plan.id},
                     {"task", plan.tasks[winner.task].key},
                     {"holds", to_string(winner.hold)},
                     {"sites", sites}};
    return dump(json);
}

} // namespace

const char* to_string(Hold hold) noexcept {
    switch (hold) {
    case Hold::everywhere:
        return "everywhere";
    case Hold::alone:
        return "one site";
    case Hold::partly:
        return "partly";
    }
    return "unknown";
}

Winner settle(const Plan& plan, std::size_t task, const std::vector<SiteResult>& results) {
    const double tolerance = plan.spec.agreement.tolerance;
    Winner winner;
    winner.task = task;
    winner.schedule = pick(results, tolerance);
    double fastest = 0, slowest = 0;
    for (const SiteResult& site : results) {
        const Evidence& evidence = site.result.evidence;
        SiteView view;
        view.site = site.worker.site;
        view.node = site.worker.node;
        view.gpu = site.worker.gpu;
        view.winner_ms = time_of(site.result, winner.schedule);
        view.fallback_ms =
            evidence.fallback.status == CandidateStatus::measured ? evidence.fallback.median_ms : 0;
        view.choice = evidence.winner.schedule.canonical();
        view.choice_ms = evidence.winner.median_ms;
        view.behind = behind(site.result, winner.schedule);
        view.holds = view.behind <= tolerance;
        winner.changed =
            winner.changed || !(evidence.winner.schedule == results.front().result.evidence.winner.schedule);
        if (view.fallback_ms > 0) {
            fastest = fastest > 0 ? std::min(fastest, view.fallback_ms) : view.fallback_ms;
            slowest = std::max(slowest, view.fallback_ms);
        }
        winner.sites.push_back(std::move(view));
    }
    winner.spread = fastest > 0 ? slowest / fastest - 1 : 0;
    const bool all = std::all_of(winner.sites.begin(), winner.sites.end(),
                                 [](const SiteView& site) { return site.holds; });
    winner.hold = results.size() < 2 ? Hold::alone : all ? Hold::everywhere : Hold::partly;

    // The evidence is that of a site that has measured the winner, the searching one if it has.
    const SiteResult* witness = &results.front();
    for (const SiteResult& site : results)
        if (time_of(site.result, winner.schedule) > 0) {
            witness = &site;
            break;
        }
    winner.key = witness->result.winner_key;
    winner.evidence = witness->result.evidence;
    if (const Measurement* measured = measurement_of(witness->result, winner.schedule);
        measured && !(winner.evidence.winner.schedule == winner.schedule)) {
        winner.evidence.verdict = winner.schedule == winner.evidence.fallback.schedule
                                      ? "default"
                                      : "chosen on " + where(winner.sites, true);
        winner.evidence.winner = *measured;
    }
    const std::string here = where(winner.sites, true), not_here = where(winner.sites, false);
    winner.evidence.verdict +=
        winner.hold == Hold::alone ? "; seen on " + winner.sites.front().site + " alone"
        : winner.hold == Hold::everywhere
            ? "; holds on " + here
            : "; holds on " + (here.empty() ? "no site" : here) + ", not on " + not_here;
    winner.evidence.versions_json =
        versions_json(plan, winner, witness->worker.lane, witness->result.evidence.versions_json);
    return winner;
}

std::vector<SiteResult> read_results(const Board& board, const std::string& lane, std::size_t task,
                                     std::vector<std::string>& damage) {
    std::vector<SiteResult> results;
    for (const Attempt& attempt : board.attempts(lane, task)) {
        if (attempt.standing != Standing::done)
            continue;
        const WorkerInfo& worker = board.workers()[attempt.worker].info;
        if (std::any_of(results.begin(), results.end(),
                        [&](const SiteResult& known) { return known.worker.site == worker.site; }))
            continue; // measured twice, by a worker that was taken for lost
        try {
            results.push_back(
                {worker, read_result(board.folder(), worker.id, *attempt.done), &*attempt.done});
        } catch (const Error& error) {
            damage.push_back(error.what());
        }
    }
    std::sort(results.begin(), results.end(), [](const SiteResult& a, const SiteResult& b) {
        return a.result.stage != b.result.stage ? a.result.stage < b.result.stage
                                                : a.worker.site < b.worker.site;
    });
    return results;
}

} // namespace zyfa::sweep
