// SPDX-License-Identifier: Apache-2.0
// Ranks of one job, each a process with a cache of its own.
#include "zyfa/agree.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include "attention/context_impl.hpp"
#include "attention/proposal.hpp"
#include "tests/attention/child_process.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

const Problem problem = bf16(1, 2, 1, 100, 100);

/// A job's broadcast over a shared folder: the n-th message is a file; whoever waits too long for it throws.
class FolderBroadcast {
  public:
    FolderBroadcast(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}

    void operator()(std::vector<std::byte>& bytes, int root) {
        const std::filesystem::path file = folder_ / ("message" + std::to_string(number_++));
        if (rank_ == root) {
            std::ofstream(file.string() + ".part", std::ios::binary)
                .write(reinterpret_cast<const char*>(bytes.data()),
                       static_cast<std::streamsize>(bytes.size()));
            std::filesystem::rename(file.string() + ".part", file);
            return;
        }
        for (int tries = 0; !std::filesystem::exists(file); ++tries) {
            if (tries > 2000)
                throw std::runtime_error("rank " + std::to_string(root) + " does not answer");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::ifstream in(file, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        const auto* data = reinterpret_cast<const std::byte*>(text.data());
        bytes.assign(data, data + text.size());
    }

  private:
    std::filesystem::path folder_;
    int rank_;
    int number_ = 0;
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// Stores `place`, the place of a schedule in the space, as the winner of the problem.
std::string store_winner(const std::filesystem::path& cache, std::size_t place) {
    Context context(simulator(Mode::tune, cache));
    call::PrepareRequest request;
    request.mode = Mode::tune;
    request.tuning.emplace();
    request.tuning->budget_s = 0;
    request.tuning->candidates.emplace(); // the default alone
    const templates::Template& form = templates::template_for(problem);
    context.impl().prepare(problem, 0, request);
    if (place == 0)
        return form.default_schedule(problem).canonical();
    cache::Cache& store = context.impl().services().cache();
    cache::WinnerRecord winner = store.winners().at(0);
    const Schedule schedule = templates::enumerate(form, problem).at(place);
    const templates::Kernel kernel = form.instantiate(classify(problem), schedule);
    cache::BinaryRecord binary;
    const BinaryKey key{digest(kernel.assembly), kernel.target, templates::kernarg_abi};
    binary.key_text = key.canonical();
    binary.key = key.digest();
    binary.kernel_name = kernel.name;
    binary.target = kernel.target;
    jit::CodeObject code =
        context.impl().services().assembler().assemble(kernel.assembly, kernel.target, kernel.name);
    binary.code_object = code.elf;
    binary.toolchain = code.toolchain;
    winner.schedule = schedule.canonical();
    winner.binary = binary.key;
    store.publish(winner, binary);
    return winner.schedule;
}

struct Job {
    explicit Job(int ranks) : count(ranks) {}

    ChildProcess start(int rank, const std::string& child) {
        return ChildProcess(child, {"ZYFA_TEST_RANK=" + std::to_string(rank),
                                    "ZYFA_TEST_COUNT=" + std::to_string(count),
                                    "ZYFA_TEST_JOB=" + folder.path().string()});
    }
    std::string cache(int rank) const { return folder.path() / ("cache" + std::to_string(rank)); }
    /// What a rank wrote down: schedule, binary, bytes assembled here.
    std::string report(int rank) const {
        std::ifstream in(folder.path() / ("report" + std::to_string(rank)));
        std::string line;
        std::getline(in, line);
        return line;
    }

    TemporaryFolder folder;
    int count;
};

/// What a rank does; `broadcast` may fail.
void be_rank(const std::function<void(std::vector<std::byte>&, int)>& broadcast, bool expect_agreement) {
    const std::filesystem::path folder = variable("ZYFA_TEST_JOB");
    const std::string rank = variable("ZYFA_TEST_RANK");
    Context context(simulator(Mode::replay, folder / ("cache" + rank)));
    const std::string before = context.prepare(problem).schedule; // warm, each in its own way
    const std::uint64_t assembled = context.counters().assembled;
    const Ranks ranks{std::stoi(rank), std::stoi(variable("ZYFA_TEST_COUNT")), broadcast};
    std::string outcome;
    try {
        const Explanation agreed = agree(context, problem, 0, ranks);
        outcome = agreed.schedule + " " + agreed.binary_digest;
        CHECK(expect_agreement);
        CHECK(context.counters().assembled == assembled); // the others were sent the binary
    } catch (const std::exception& error) {
        outcome = std::string("failed: ") + error.what();
        CHECK_FALSE(expect_agreement);
        CHECK(context.prepare(problem).schedule == before); // nothing has changed
    }
    Tensors tensors(context, problem);
    context.attention(tensors.args());
    const std::string fault = tensors.check(40);
    CHECK_MESSAGE(fault.empty(), fault);
    std::ofstream(folder / ("report" + rank)) << outcome << '\n';
}

FolderBroadcast own_broadcast() {
    return {variable("ZYFA_TEST_JOB"), std::stoi(variable("ZYFA_TEST_RANK"))};
}

} // namespace

TEST_CASE("child: a rank" * doctest::skip()) {
    if (!variable("ZYFA_TEST_JOB").empty())
        be_rank(own_broadcast(), true);
}

TEST_CASE("child: a rank whose job fails" * doctest::skip()) {
    if (!variable("ZYFA_TEST_JOB").empty())
        be_rank(own_broadcast(), false);
}

TEST_CASE("child: a rank that dies when it should vote" * doctest::skip()) {
    if (variable("ZYFA_TEST_JOB").empty())
        return;
    auto broadcast = own_broadcast();
    const int own = std::stoi(variable("ZYFA_TEST_RANK"));
    be_rank(
        [&](std::vector<std::byte>& bytes, int root) {
            if (root == own)
                ::_exit(0);
            broadcast(bytes, root);
        },
        true);
}

TEST_CASE("ranks with different warm caches run rank 0's schedule") {
    Job job(3);
    const std::string of_rank_0 = store_winner(job.cache(0), 5);
    CHECK(store_winner(job.cache(1), 9) != of_rank_0); // rank 2 has nothing
    std::vector<ChildProcess> ranks;
    for (int rank = 0; rank < job.count; ++rank)
        ranks.push_back(job.start(rank, "child: a rank"));
    for (ChildProcess& rank : ranks)
        CHECK(rank.wait() == 0);
    CHECK(job.report(0).starts_with(of_rank_0));
    CHECK(job.report(1) == job.report(0));
    CHECK(job.report(2) == job.report(0));
    // Nothing of it was stored: rank 1's next job starts from its own winner.
    CHECK(cache::Cache({.user_dir = job.cache(1), .read_only = {}}).winners().at(0).schedule != of_rank_0);
}

TEST_CASE("a rank that dies in between leaves the others with what they had") {
    Job job(3);
    store_winner(job.cache(0), 5);
    std::vector<ChildProcess> ranks;
    ranks.push_back(job.start(0, "child: a rank whose job fails"));
    ranks.push_back(job.start(1, "child: a rank that dies when it should vote"));
    ranks.push_back(job.start(2, "child: a rank whose job fails"));
    for (ChildProcess& rank : ranks)
        CHECK(rank.wait() == 0);
    CHECK(job.report(0).find("rank 1 does not answer") != std::string::npos);
    CHECK(job.report(2).find("rank 1 does not answer") != std::string::npos);
}

TEST_CASE("what one rank refuses, no rank takes") {
    // Two ranks in one process, one message box each way; the proposal is changed on its way to rank 1.
    std::vector<std::byte> proposal, vote;
    Context zero(simulator(Mode::off)), one(simulator(Mode::off));
    const auto tampered = [&] {
        call::Proposal p = call::decode_proposal(proposal);
        p.binary = digest("another generator").hex();
        return call::encode(p);
    };
    // Rank 1's part runs inside of rank 0's wait for its vote.
    std::string error_1;
    const Ranks of_0{0, 2, [&](std::vector<std::byte>& bytes, int root) {
                         if (root == 0) {
                             proposal = bytes;
                             return;
                         }
                         const Ranks of_1{1, 2, [&](std::vector<std::byte>& there, int its_root) {
                                              if (its_root == 0)
                                                  there = tampered();
                                              else
                                                  vote = there;
                                          }};
                         error_1 = error_of([&] { agree(one, problem, 0, of_1); }).what();
                         bytes = vote;
                     }};
    const std::string error_0 = error_of([&] { agree(zero, problem, 0, of_0); }).what();
    CHECK_MESSAGE(error_0.find("rank 1: ") != std::string::npos, error_0);
    CHECK_MESSAGE(error_0.find("another binary") != std::string::npos, error_0);
    CHECK(error_1 == error_0);
}

TEST_CASE("rank 0's failure is every rank's error") {
    Context zero(simulator(Mode::must_hit)), one(simulator(Mode::replay));
    std::vector<std::byte> message;
    const Ranks of_0{0, 2, [&](std::vector<std::byte>& bytes, int) { message = bytes; }};
    const Ranks of_1{1, 2, [&](std::vector<std::byte>& bytes, int) { bytes = message; }};
    CHECK(std::string(error_of([&] { agree(zero, problem, 0, of_0); }).what()).find("must_hit") !=
          std::string::npos);
    const std::string at_1 = error_of([&] { agree(one, problem, 0, of_1); }).what();
    CHECK_MESSAGE(at_1.find("rank 0: ") != std::string::npos, at_1);
    CHECK(error_of([&] { agree(one, problem, 0, {2, 2, of_1.broadcast}); }).code() ==
          ErrorCode::invalid_argument);
    CHECK(error_of([&] { agree(one, problem, 0, {0, 1, {}}); }).code() == ErrorCode::invalid_argument);
    message = {std::byte{1}};
    CHECK(std::string(error_of([&] { agree(one, problem, 0, of_1); }).what()).find("no proposal") !=
          std::string::npos);
}

TEST_CASE("winners count from the named layer alone") {
    const TemporaryFolder own, site;
    const std::string of_site = store_winner(site.path(), 5), of_own = store_winner(own.path(), 9);
    ContextOptions options = simulator(Mode::must_hit, own.path());
    options.cache_layers = {site.path()};
    CHECK(Context(options).prepare(problem).schedule == of_own);
    options.winners_layer = site.path();
    const Explanation explanation = Context(options).prepare(problem);
    CHECK(explanation.schedule == of_site);
    CHECK(explanation.layer == site.path());
    options.mode = Mode::tune;
    CHECK(error_of([&] { Context(options).prepare(problem); }).code() == ErrorCode::invalid_argument);
    options.mode = Mode::replay;
    options.winners_layer = "/nowhere";
    CHECK(error_of([&] { Context(options).prepare(problem); }).argument() == "winners_layer");
}
