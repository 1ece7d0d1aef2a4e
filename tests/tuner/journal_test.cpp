// SPDX-License-Identifier: Apache-2.0
// The journal through whole files, torn ones and other subjects; and tunings that go on from one.
#include "tuner/journal.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "tests/tuner/copy_bench.hpp"
#include "tuner/tuner.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::tuner;
using zyfa::test::CopyTemplate;
using zyfa::test::Ignore;

namespace {

struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("zyfa-journal-" + std::to_string(getpid()));
    Folder() { std::filesystem::remove_all(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file() const { return (path / "one.journal").string(); }
};

Measurement measured(std::int64_t delay, double ms) {
    Measurement m;
    m.schedule = CopyTemplate::schedule(delay);
    m.binary_digest = "b" + std::to_string(delay);
    m.median_ms = ms;
    return m;
}

} // namespace

TEST_CASE("a journal gives back what was measured, for the same subject alone") {
    const Folder folder;
    {
        Journal journal(folder.file(), "a");
        journal.begin(CopyTemplate::schedule(1));
        journal.end(measured(1, 0.5));
        journal.begin(CopyTemplate::schedule(2));
    }
    {
        const Journal journal(folder.file(), "a");
        REQUIRE(journal.find(CopyTemplate::schedule(1), "b1"));
        CHECK(journal.find(CopyTemplate::schedule(1), "b1")->median_ms == 0.5);
        CHECK_FALSE(journal.find(CopyTemplate::schedule(1), "another binary"));
        CHECK_FALSE(journal.find(CopyTemplate::schedule(2), "b2"));
        CHECK(journal.lost(CopyTemplate::schedule(1)) == 0);
        CHECK(journal.lost(CopyTemplate::schedule(2)) == 1);
    }
    CHECK(Journal(folder.file(), "b").size() == 0);
    CHECK(Journal(folder.file(), "b").size() == 0); // and "a" is gone
}

TEST_CASE("a journal cut at any byte opens, with the measurements whose lines are whole") {
    const Folder folder;
    {
        Journal journal(folder.file(), "a");
        for (int i = 0; i < 3; ++i) {
            journal.begin(CopyTemplate::schedule(i));
            journal.end(measured(i, i + 1));
        }
    }
    std::ifstream stream(folder.file());
    const std::string whole((std::istreambuf_iterator<char>(stream)), {});
    for (std::size_t size = 0; size <= whole.size(); size += 7) {
        std::ofstream(folder.file(), std::ios::trunc) << whole.substr(0, size);
        std::size_t ends = 0;
        for (std::size_t from = 0, end = 0; (end = whole.find('\n', from)) < size; from = end + 1)
            ends += whole.compare(from, 6, "{\"end\"") == 0;
        Journal journal(folder.file(), "a");
        CHECK(journal.size() == ends);
        journal.end(measured(9, 9)); // and goes on
        CHECK(Journal(folder.file(), "a").size() == ends + 1);
    }
}

TEST_CASE("a cancelled tuning is resumed: what was measured is not measured again") {
    const Folder folder;
    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    REQUIRE(assembler);
    CopyTemplate form;
    form.delays = {std::int64_t{300}, std::int64_t{200}, std::int64_t{100}, std::int64_t{0}};
    const Problem problem = test::one_key(1, 8);
    Options options;
    options.budget_s = 0;
    options.journal = folder.file();
    int asked = 0;
    options.cancelled = [&] { return ++asked > 2; };
    Ignore ignore;
    const auto tune_it = [&] { return tune(runtime, 0, *assembler, form, problem, {}, options, ignore); };
    const Outcome cut = tune_it();
    CHECK(cut.gated == 3);
    CHECK(std::filesystem::exists(folder.file()));
    CHECK(cut.measurements[3].message == "cancelled");
    options.cancelled = {};
    const Outcome whole = tune_it();
    CHECK(whole.resumed == 2); // all but the default
    CHECK(whole.gated == 2);
    CHECK(whole.schedule == CopyTemplate::schedule(0));
    CHECK_FALSE(std::filesystem::exists(folder.file())); // complete
    asked = 0;
    options.cancelled = [&] { return ++asked > 2; };
    tune_it();
    options.cancelled = {};
    options.fresh = true;
    const Outcome anew = tune_it();
    CHECK(anew.resumed == 0);
    CHECK(anew.gated == 4);
}

TEST_CASE("a candidate with which two processes ended is not tried again") {
    const Folder folder;
    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    CopyTemplate form;
    form.delays = {std::int64_t{10}, std::int64_t{5}, std::int64_t{0}};
    Options options;
    options.budget_s = 0;
    options.journal = folder.file();
    int asked = 0;
    options.cancelled = [&] { return ++asked > 1; };
    Ignore ignore;
    const Problem problem = test::one_key(1, 8);
    tune(runtime, 0, *assembler, form, problem, {}, options, ignore);
    for (int i = 0; i < 2; ++i) // as two processes leave it
        std::ofstream(folder.file(), std::ios::app)
            << "{\"begin\":\"" << CopyTemplate::schedule(0).canonical() << "\"}\n";
    options.cancelled = {};
    const Outcome outcome = tune(runtime, 0, *assembler, form, problem, {}, options, ignore);
    REQUIRE(outcome.measurements.size() == 3);
    for (const Measurement& m : outcome.measurements)
        if (m.schedule == CopyTemplate::schedule(0)) {
            CHECK(m.status == CandidateStatus::crashed);
            CHECK(m.message == "two tunings ended while they ran it");
        }
    CHECK_FALSE(outcome.schedule == CopyTemplate::schedule(0));
}
