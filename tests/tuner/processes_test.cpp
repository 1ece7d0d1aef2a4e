// SPDX-License-Identifier: Apache-2.0
// Tunings in processes of their own: one that is killed at any moment, and two that want one device.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/attention/child_process.hpp"
#include "tests/tuner/copy_template.hpp"
#include "tuner/journal.hpp"
#include "tuner/tuner.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

struct Folder {
    std::filesystem::path path;
    explicit Folder(const char* name)
        : path(std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(getpid()))) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(const std::string& name) const { return (path / name).string(); }
};

/// Writes when each measurement began and ended, by a clock that all processes share.
class Times : public tuner::MeasurementSink {
  public:
    explicit Times(const std::string& file) : file_(file) {}
    void measured(const Measurement&) override { say("end"); }
    void say(const char* what) {
        file_ << what << ' ' << std::chrono::steady_clock::now().time_since_epoch().count() << std::endl;
    }

  private:
    std::ofstream file_;
};

CopyTemplate twelve_candidates() {
    CopyTemplate form;
    form.delays.clear();
    for (std::int64_t delay = 600; delay >= 50; delay -= 50)
        form.delays.emplace_back(delay);
    return form;
}

std::vector<std::string> lines_of(const std::string& file) {
    std::ifstream stream(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line) && !stream.eof();)
        lines.push_back(line);
    return lines;
}

std::size_t lines_with(const std::string& journal, const char* beginning) {
    const std::vector<std::string> lines = lines_of(journal);
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(beginning); }));
}

std::size_t ends_in(const std::string& journal) {
    return lines_with(journal, "{\"end\"");
}

} // namespace

TEST_CASE("child: a tuning" * doctest::skip()) {
    const char* folder = std::getenv("ZYFA_TEST_FOLDER");
    const char* name = std::getenv("ZYFA_TEST_NAME");
    if (!folder || !name)
        return; // run by hand or by a list of all tests: there is nothing to do
    const std::string base = std::string(folder) + "/" + name;
    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    REQUIRE(assembler);
    const CopyTemplate form = twelve_candidates();
    tuner::Options options;
    options.budget_s = 0;
    options.journal = base + ".journal";
    options.policy = std::getenv("ZYFA_TEST_POLICY");
    options.race.most_launches = 3;
    options.repeats = 2;
    Times times(base + ".times");
    options.progress = [&](const std::string& what, std::size_t, std::size_t) {
        if (!what.starts_with("waiting"))
            times.say("begin");
    };
    const tuner::Outcome outcome =
        tuner::tune(runtime, 0, *assembler, form, one_key(1, 64), {}, options, times);
    std::ofstream(base + ".result") << outcome.resumed << ' ' << outcome.gated << ' '
                                    << outcome.schedule.canonical() << '\n';
}

TEST_CASE("a tuning that is killed loses at most the measurement in flight") {
    const Folder folder("zyfa-kill-");
    const std::vector<std::string> variables{"ZYFA_TEST_FOLDER=" + folder.path.string(), "ZYFA_TEST_NAME=one",
                                             "ZYFA_TEST_POLICY=model"};
    const std::string journal = folder.file("one.journal");
    std::size_t known = 0, kills = 0;
    for (const int more : {1, 3, 2}) {
        ChildProcess child("child: a tuning", variables);
        // Measurements that the process has told its sink of are on disk when they are told.
        while (ends_in(journal) < known + static_cast<std::size_t>(more))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        child.kill();
        CHECK(child.wait() == -1);
        ++kills;
        const std::size_t now = ends_in(journal);
        CHECK(now >= known + static_cast<std::size_t>(more));
        // Each killed process had at most one candidate in flight; all others are on disk.
        CHECK(lines_with(journal, "{\"begin\"") - now <= kills);
        known = now;
    }
    ChildProcess last("child: a tuning", variables);
    CHECK(last.wait() == 0);
    std::size_t resumed = 0, gated = 0;
    std::string schedule;
    std::ifstream(folder.file("one.result")) >> resumed >> gated >> schedule;
    CHECK(resumed == known - kills); // every process measured the default anew, the others once
    CHECK(resumed + gated == 12);
    CHECK(schedule == CopyTemplate::schedule(50).canonical());
    CHECK_FALSE(std::filesystem::exists(journal));
}

TEST_CASE("two processes that tune on one device do not time at the same moment") {
    const Folder folder("zyfa-two-");
    const auto start = [&](const char* name) {
        return ChildProcess("child: a tuning",
                            {"ZYFA_TEST_FOLDER=" + folder.path.string(),
                             std::string("ZYFA_TEST_NAME=") + name, "ZYFA_TEST_POLICY=race",
                             "ZYFA_TUNER_LOCKS=" + folder.path.string()});
    };
    ChildProcess one = start("one"), two = start("two");
    CHECK(one.wait() == 0);
    CHECK(two.wait() == 0);
    struct Span {
        std::int64_t first, last;
    };
    const auto values = [&](const char* name) {
        std::vector<std::int64_t> moments;
        for (const std::string& line : lines_of(folder.file(std::string(name) + ".times")))
            moments.push_back(std::stoll(line.substr(line.find(' ') + 1)));
        REQUIRE(moments.size() > 24);
        return Span{*std::min_element(moments.begin(), moments.end()),
                    *std::max_element(moments.begin(), moments.end())};
    };
    const Span a = values("one"), b = values("two");
    CHECK((a.last < b.first || b.last < a.first));
}
