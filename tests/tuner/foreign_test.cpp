// SPDX-License-Identifier: Apache-2.0
// Kernels from files: what is held against the launch plan, and how they take part.
#include "tuner/foreign.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/tuner/copy_bench.hpp"
#include "tuner/tuner.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

struct Bench {
    std::shared_ptr<runtime::Runtime> runtime = runtime::Runtime::open("sim", "");
    std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    CopyTemplate form;
    Problem problem = one_key(2, 64);
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("zyfa-foreign-" + std::to_string(getpid()));

    Bench() {
        REQUIRE(assembler);
        std::filesystem::create_directories(folder);
        form.delays = {std::int64_t{100}, std::int64_t{0}};
    }
    ~Bench() { std::filesystem::remove_all(folder); }

    std::string text(std::int64_t delay = 100) const {
        return form.instantiate(classify(problem), CopyTemplate::schedule(delay)).assembly;
    }
    std::string file(const char* name, const std::string& content) const {
        std::ofstream(folder / name, std::ios::binary) << content;
        return (folder / name).string();
    }
    tuner::ForeignCandidate read(const std::string& path, std::optional<Schedule> like = std::nullopt) {
        return tuner::read_foreign(path, form, problem, like, {}, *assembler);
    }
    std::string refusal(const std::string& path) {
        try {
            read(path);
        } catch (const Error& error) {
            return error.what();
        }
        return "taken";
    }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("edited assembly and a code object take part under their digests, gated as any other") {
    Bench bench;
    const tuner::ForeignCandidate faster = bench.read(bench.file("faster.s", "// by hand\n" + bench.text(0)));
    CHECK(tuner::is_foreign(faster.schedule));
    CHECK(tuner::without_file(faster.schedule) == bench.form.default_schedule(bench.problem));
    CHECK(Schedule::parse(faster.schedule.canonical()) == faster.schedule);
    CHECK(faster.provenance.find("faster.s (edited assembly, BLAKE2b ") != std::string::npos);
    const std::string elf(reinterpret_cast<const char*>(faster.code.elf.data()), faster.code.elf.size());
    const tuner::ForeignCandidate object = bench.read(bench.file("faster.co", elf));
    CHECK(object.provenance.find("code object") != std::string::npos);
    const tuner::ForeignCandidate wrong =
        bench.read(bench.file("wrong.s", replaced(bench.text(0), "  global_store_dwordx4",
                                                  "  v_xor_b32_e32 v4, 0x4000, v4\n  global_store_dwordx4")));

    tuner::Options options;
    options.budget_s = 0;
    options.files = {faster, object, wrong};
    Ignore sink;
    const tuner::Outcome outcome =
        tuner::tune(bench.runtime, 0, *bench.assembler, bench.form, bench.problem, {}, options, sink);
    REQUIRE(outcome.measurements.size() == 4);
    CHECK(tuner::is_foreign(outcome.schedule));
    CHECK(outcome.evidence.verdict.find("faster by") == 0);
    std::size_t measured = 0;
    for (const Measurement& m : outcome.measurements) {
        if (m.schedule == wrong.schedule)
            CHECK(m.status == CandidateStatus::wrong);
        else
            CHECK_MESSAGE(m.status == CandidateStatus::measured, m.message);
        CHECK(m.provenance.empty() == !tuner::is_foreign(m.schedule));
        CHECK(measurement_from_json(to_json(m)).provenance == m.provenance);
        measured += m.status == CandidateStatus::measured;
    }
    CHECK(measured == 3);
}

TEST_CASE("a baseline takes the default's part, and the default stays away") {
    Bench bench;
    tuner::Options options;
    options.budget_s = 0;
    options.candidates = {CopyTemplate::schedule(400), CopyTemplate::schedule(0)};
    options.baseline = CopyTemplate::schedule(400);
    Ignore sink;
    const tuner::Outcome outcome =
        tuner::tune(bench.runtime, 0, *bench.assembler, bench.form, bench.problem, {}, options, sink);
    REQUIRE(outcome.measurements.size() == 2);
    CHECK(outcome.evidence.fallback.schedule == CopyTemplate::schedule(400));
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    options.baseline = CopyTemplate::schedule(7);
    CHECK_THROWS_AS(
        tuner::tune(bench.runtime, 0, *bench.assembler, bench.form, bench.problem, {}, options, sink), Error);
}

TEST_CASE("a file whose kernel cannot take the launches is refused, and the refusal says why") {
    Bench bench;
    const std::string text = bench.text();
    CHECK(bench.refusal(bench.file("good.s", text)) == "taken");
    const auto says = [&](const char* name, const std::string& content, const char* what) {
        const std::string refusal = bench.refusal(bench.file(name, content));
        CAPTURE(refusal);
        CHECK(refusal.find(what) != std::string::npos);
    };
    std::string renamed = text;
    for (std::size_t at = 0; (at = renamed.find("copy", at)) != std::string::npos; at += 4)
        renamed.replace(at, 4, "move");
    says("renamed.s", renamed, "has no kernel copy");
    says("arguments.s",
         replaced(replaced(text, ".amdhsa_kernarg_size 24", ".amdhsa_kernarg_size 32"),
                  ".kernarg_segment_size: 24", ".kernarg_segment_size: 32"),
         "takes 32 bytes of kernel arguments; accepted: 24");
    says("narrow.s", replaced(text, ".max_flat_workgroup_size: 64", ".max_flat_workgroup_size: 32"),
         "allows workgroups of 32");
    says("object.co", "\177ELF and nothing else", "is no code object");
    says("text.s", "no assembly at all\n", "error");
    says("bytes.co", "\xcbo\xbd\x1d]\xdan\xc4\x04\x08", "neither a code object");
    CHECK_THROWS_AS(bench.read("/no/such/file.s"), Error);
    CHECK_THROWS_AS(bench.read(bench.file("like.s", text), Schedule{"another", {}}), Error);
}
