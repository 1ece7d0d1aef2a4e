// SPDX-License-Identifier: Apache-2.0
// Winners of one key on several data profiles, and which of them a call takes.
#include "attention/profiles.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "core/profile_key.hpp"
#include "tests/attention/rig.hpp"
#include "tuner/inputs.hpp"

using namespace zyfa;
using namespace zyfa::call;
using namespace zyfa::test;

namespace {

const std::string key = "zyfa.winner/1 of=test";

struct Store {
    cache::Cache cache{{.user_dir = ":memory:", .read_only = {}}};

    Profiles::Published publish(const Profiles& profiles, const std::string& profile,
                                const std::string& policy, const std::string& schedule, bool usable = true) {
        cache::BinaryRecord binary;
        binary.key_text = "zyfa.binary/1 of=" + schedule;
        binary.key = digest(binary.key_text);
        binary.kernel_name = "k";
        binary.target = "gfx950";
        binary.code_object.assign(16, std::byte{1});
        cache::WinnerRecord winner;
        winner.key_text = key;
        winner.key = digest(key);
        winner.schedule = schedule;
        winner.binary = binary.key;
        winner.evidence_json = "{}";
        winner.data_profile = profile;
        winner.policy = policy;
        return profiles.publish(cache, winner, binary, {{winner.key, schedule, "{}", 1}},
                                [&](const cache::WinnerRecord&) { return usable; });
    }
    std::string schedule(const Profiles& profiles, const std::vector<std::string>& banned = {}) {
        const auto found = profiles.find(cache, key, banned);
        return found ? found->record.schedule : "none";
    }
};

/// A tuning of the default schedule alone.
Explanation tune_default(Context& context, const Problem& problem, Distribution distribution) {
    PrepareRequest request;
    request.inputs = tuner::drawn_inputs(problem, distribution);
    request.tuning.emplace().candidates.emplace();
    request.retune = true;
    return context.impl().prepare(problem, 0, request);
}

} // namespace

TEST_CASE("profiles: order first, then evidence, then the newest") {
    Store store;
    const Profiles any({}), gaussian_first({"gaussian", "captured:a"}), unknown({"captured:b"});
    CHECK(store.schedule(any) == "none");
    CHECK(store.publish(any, "gaussian", "race", "t{x=1}") == Profiles::Published::taken);
    CHECK(store.publish(any, "captured:a", "race", "t{x=2}") == Profiles::Published::taken); // newer
    CHECK(store.schedule(any) == "t{x=2}");
    CHECK(store.schedule(gaussian_first) == "t{x=1}");
    CHECK(store.schedule(gaussian_first, {"t{x=1}"}) == "t{x=2}"); // banned
    CHECK(store.schedule(unknown) == "t{x=2}");
    // What was measured of each stands with it.
    const auto beside = store.cache.measurements(digest(key_with_profile(key, "gaussian")));
    REQUIRE(beside.size() == 1);
    CHECK(beside[0].schedule == "t{x=1}");

    CHECK(store.publish(any, "gaussian", "model", "t{x=3}") == Profiles::Published::beside);
    CHECK(store.schedule(any) == "t{x=2}");
    CHECK(store.schedule(gaussian_first) == "t{x=3}");
    CHECK(store.publish(any, "gaussian", "sustained", "t{x=4}") == Profiles::Published::taken);
    CHECK(store.schedule(any) == "t{x=4}");
    CHECK(store.publish(any, "captured:a", "race", "t{x=5}") == Profiles::Published::beside);
    CHECK(store.schedule(any) == "t{x=4}");
    Store stale;
    stale.publish(any, "gaussian", "sustained", "t{x=1}");
    CHECK(stale.publish(any, "captured:a", "race", "t{x=2}", false) == Profiles::Published::taken);
    CHECK(store.publish(Profiles({"captured:a"}), "captured:a", "race", "t{x=6}") ==
          Profiles::Published::taken); // the order goes before evidence
    CHECK(store.schedule(any) == "t{x=6}");
}

TEST_CASE("profiles: a call takes the configured one, and explain says which") {
    const TemporaryFolder folder;
    const Problem problem = bf16(1, 2, 1, 128, 128);
    {
        Context context(simulator(Mode::tune, folder.path()));
        tune_default(context, problem, Distribution::gaussian);
        tune_default(context, problem, Distribution::logit_sd_4);
    }
    Context plain(simulator(Mode::replay, folder.path()));
    CHECK_MESSAGE(plain.explain(problem).reason.find("policy model on data profile logit-sd-4") !=
                      std::string::npos,
                  plain.explain(problem).reason);
    setenv("ZYFA_PROFILES", "captured:x,gaussian", 1);
    Context ordered(simulator(Mode::replay, folder.path()));
    unsetenv("ZYFA_PROFILES");
    CHECK_MESSAGE(ordered.explain(problem).reason.find("policy model on data profile gaussian") !=
                      std::string::npos,
                  ordered.explain(problem).reason);
    CHECK(ordered.prepare(problem).cache == CacheResult::hit);
}
