// SPDX-License-Identifier: Apache-2.0
// Digests, errors, problems' text, and evidence through JSON.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/digest.hpp"
#include "core/measurement.hpp"
#include "zyfa/error.hpp"
#include "zyfa/problem.hpp"

using namespace zyfa;

TEST_CASE("digest is BLAKE2b-256") {
    // Known answer for "abc" with a 32-byte result.
    CHECK(digest(std::string_view("abc")).hex() ==
          "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    CHECK(DigestBuilder().add("a").add("").add("bc").finish() == digest(std::string_view("abc")));
    CHECK(Digest::from_hex(digest(std::string_view("x")).hex()) == digest(std::string_view("x")));
    CHECK_THROWS_AS(Digest::from_hex("abc"), Error);
    CHECK_THROWS_AS(Digest::from_hex(std::string(63, '0') + "G"), Error);
}

TEST_CASE("an error names its argument once") {
    const Error named(ErrorCode::unsupported, "q.dtype", "is f32");
    CHECK(std::string(named.what()) == "q.dtype: is f32");
    CHECK(named.code() == ErrorCode::unsupported);
    CHECK(named.argument() == "q.dtype");
    CHECK(std::string(Error(ErrorCode::internal, "tau", "tau is 9").what()) == "tau is 9");
    CHECK(std::string(to_string(ErrorCode::cache_miss)) == "cache_miss");
}

TEST_CASE("a problem in one line") {
    CHECK(to_string(Problem::contiguous(DType::bf16, 1, 8, 2, 4096, 4096, 128, 128, Mask::causal)) ==
          "bf16 causal B=1 Hq=8 Hkv=2 Sq=4096 Skv=4096 d=128");
    CHECK(to_string(Problem::contiguous(DType::e4m3, 2, 4, 4, 7, 9, 192, 128, Mask::none)) ==
          "e4m3 full B=2 Hq=4 Hkv=4 Sq=7 Skv=9 d=192/128");
}

TEST_CASE("contiguous strides") {
    const Problem p = Problem::contiguous(DType::bf16, 2, 8, 2, 30, 50, 192, 128, Mask::causal);
    CHECK(p.q == Strides{8 * 30 * 192, 30 * 192, 192});
    CHECK(p.v == Strides{2 * 50 * 128, 50 * 128, 128});
    const Problem s =
        Problem::contiguous(DType::bf16, 2, 8, 2, 30, 50, 192, 128, Mask::causal, Problem::Layout::bshd);
    CHECK(s.o == Strides{30 * 8 * 128, 128, 8 * 128});
    CHECK(s.softmax_scale == doctest::Approx(0.0721688));
}

TEST_CASE("evidence survives JSON") {
    Evidence e;
    e.winner.schedule = Schedule::parse("bf16_fwd_d128{map=runs,tau=0.5}");
    e.winner.median_ms = 0.1;
    e.winner.lse_max_abs = std::numeric_limits<double>::infinity();
    e.winner.blocks = 4000000000u;
    e.winner.simulated = true;
    e.winner.message = "quote \" and \n newline";
    e.fallback.status = CandidateStatus::crashed;
    e.fallback.relative_rms = std::nan("");
    e.verdict = "faster by 3.1%";
    e.versions_json = R"({"hip":"7.2"})";
    e.unix_time = ~std::uint64_t{0};
    const std::string text = e.to_json();
    const Evidence back = Evidence::from_json(text);
    CHECK(back.to_json() == text);
    CHECK(back.winner.schedule == e.winner.schedule);
    CHECK(back.winner.median_ms == 0.1);
    CHECK(back.winner.lse_max_abs == e.winner.lse_max_abs);
    CHECK(std::isnan(back.fallback.relative_rms));
    CHECK(back.fallback.status == CandidateStatus::crashed);
    CHECK(back.unix_time == e.unix_time);
    CHECK(measurement_from_json(to_json(e.winner)).blocks == e.winner.blocks);
    e.winner.message = "\xff not UTF-8";
    CHECK_NOTHROW(Evidence::from_json(e.to_json()));
}

TEST_CASE("malformed evidence is refused") {
    CHECK_THROWS_AS(Evidence::from_json(""), Error);
    CHECK_THROWS_AS(Evidence::from_json("[]"), Error);
    CHECK_THROWS_AS(Evidence::from_json(R"({"winner":3})"), Error);
    std::string text = Evidence().to_json();
    text.replace(text.find("measured"), 8, "imagined");
    CHECK_THROWS_AS(Evidence::from_json(text), Error);
}
