// SPDX-License-Identifier: Apache-2.0
// What a merge makes of finished, unfinished and failed tasks, and of damaged files.
#include "sweep/merge.hpp"

#include <algorithm>
#include <fstream>

#include "cache/pack.hpp"
#include "fixture.hpp"
#include "templates/template.hpp"
#include "tuner/binaries.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::sweep;

namespace {

/// What a worker finds, with the binaries that a pack needs.
Result with_binaries(const Task& task, Stage stage) {
    Result result = found(task, stage, 1, 2);
    const templates::Template& form = templates::template_named(task.template_name);
    for (const Measurement& m : result.measurements) {
        const BinaryKey key = tuner::binary_key(form.instantiate(classify(task.problem), m.schedule));
        cache::BinaryRecord record;
        record.key_text = key.canonical();
        record.key = digest(record.key_text);
        record.kernel_name = "kernel";
        record.target = key.target;
        record.toolchain = "none";
        record.code_object.resize(1000);
        result.binaries.push_back(std::move(record));
    }
    return result;
}

void search_all(FakeWorker& worker) {
    for (std::size_t task = 0; task < 3; ++task) {
        REQUIRE(worker.claim(task, Stage::search));
        worker.journal->done(with_binaries(worker.board.plan().tasks[task], Stage::search), 0.5, 2);
    }
}

cache::Content read(const MergedPack& pack) {
    cache::PackTrust anyone;
    anyone.unsigned_too = true;
    std::vector<std::string> damage;
    std::ifstream file(pack.path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    cache::Content content =
        cache::Pack::open(std::vector<std::byte>(data, data + bytes.size()), anyone).content(damage);
    CHECK(damage.empty());
    return content;
}

} // namespace

TEST_CASE("versions in which no task has a winner are reported, with why, beside the pack of the others") {
    const Sweep sweep(three_tasks(60, 1));
    FakeWorker good(sweep, "a", "6.14"), bad(sweep, "b", "6.12");
    search_all(good);
    REQUIRE(bad.claim(0, Stage::search));
    bad.journal->failed(sweep.plan.tasks[0].key, Stage::search, "the device is lost", 1, 2);

    const MergeReport report = merge(sweep.board(), sweep.folder.path("x.zyfapack"), nullptr);
    REQUIRE(report.packs.size() == 2);
    const auto none = std::find_if(report.packs.begin(), report.packs.end(),
                                   [](const MergedPack& pack) { return pack.path.empty(); });
    REQUIRE(none != report.packs.end());
    CHECK(none->winners == 0);
    CHECK(none->versions.find("6.12") != std::string::npos);
    REQUIRE(none->missing.size() == 3);
    CHECK_MESSAGE(none->missing[0].ends_with(": the device is lost"), none->missing[0]);
    CHECK_MESSAGE(none->missing[1].ends_with(": not measured"), none->missing[1]);
    const MergedPack& some = none == report.packs.begin() ? report.packs[1] : report.packs[0];
    CHECK(some.winners == 3);
    CHECK(some.missing.empty());
    CHECK(some.path != sweep.folder.path("x.zyfapack")); // its versions are in its name
    CHECK(read(some).winners.size() == 3);
}

TEST_CASE("where no task has a winner in any versions the merge is refused, and says why") {
    const Sweep sweep(three_tasks());
    FakeWorker worker(sweep, "a");
    REQUIRE(worker.claim(0, Stage::search));
    worker.journal->failed(sweep.plan.tasks[0].key, Stage::search, "the device is lost", 1, 2);
    const std::string output = sweep.folder.path("x.zyfapack");
    try {
        merge(sweep.board(), output, nullptr);
        FAIL("a pack without a winner");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_MESSAGE(std::string(error.what()).find("the device is lost") != std::string::npos,
                      error.what());
    }
    CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("a worker's damaged results cost what was in them, and are named") {
    const Sweep sweep(three_tasks(60, 1));
    FakeWorker worker(sweep, "a");
    search_all(worker);
    const std::string data = sweep.folder.path("workers/" + worker.info.id + ".data");
    const std::string output = sweep.folder.path("x.zyfapack");
    const std::uintmax_t whole = std::filesystem::file_size(data);

    std::filesystem::resize_file(data, whole - 1); // the last task's result
    const MergeReport cut = merge(sweep.board(), output, nullptr);
    REQUIRE(cut.packs.size() == 1);
    CHECK(cut.packs[0].winners == 2);
    CHECK(cut.packs[0].missing.size() == 1);
    REQUIRE(cut.damage.size() == 1);
    CHECK_MESSAGE(cut.damage[0].find("damaged") != std::string::npos, cut.damage[0]);
    CHECK(read(cut.packs[0]).winners.size() == 2);

    // The binary that all three share. No winner goes out without its binary.
    std::fstream(data, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('\x55');
    try {
        merge(sweep.board(), output, nullptr);
        FAIL("a pack without the winners' binary");
    } catch (const Error& error) {
        CHECK_MESSAGE(std::string(error.what()).find("damaged") != std::string::npos, error.what());
    }
}
