// SPDX-License-Identifier: Apache-2.0
// Properties of the two identities: any field that changes gives another key, text and key are one to one,
// and what does not matter to a winner does not reach its key.
#include "core/keys.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "core/profile_key.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;

namespace {

/// Devices' names may hold anything, also what a key is written with.
rc::Gen<std::string> any_text() {
    return rc::gen::oneOf(rc::gen::element<std::string>("gfx950:sramecc+:xnack-", "SPX", "", " ", "a=b %20"),
                          rc::gen::arbitrary<std::string>());
}

WinnerKey any_winner_key() {
    WinnerKey key;
    key.problem_class.dtype = *rc::gen::element(DType::bf16, DType::e4m3);
    key.problem_class.dim_qk = *rc::gen::inRange<std::uint32_t>(1, 600);
    key.problem_class.dim_v = *rc::gen::inRange<std::uint32_t>(1, 600);
    key.problem_class.mask = *rc::gen::element(Mask::none, Mask::causal);
    key.problem_class.even_group = *rc::gen::arbitrary<bool>();
    key.problem_class.nan_exact = *rc::gen::arbitrary<bool>();
    key.problem_class.lse = *rc::gen::arbitrary<bool>();
    key.problem_class.probability =
        *rc::gen::element(Probability::automatic, Probability::lean, Probability::exact);
    key.sizes = {*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint32_t>(),
                 *rc::gen::arbitrary<std::uint32_t>()};
    key.strides = *rc::gen::element(StrideClass::bhsd, StrideClass::bshd, StrideClass::other);
    key.device = {*any_text(), *rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint32_t>(),
                  *any_text(), *rc::gen::arbitrary<bool>()};
    return key;
}

Problem any_problem() {
    const std::int64_t group = *rc::gen::inRange(1, 9), heads_kv = *rc::gen::inRange(1, 9);
    Problem p =
        Problem::contiguous(*rc::gen::element(DType::bf16, DType::e4m3), *rc::gen::inRange(1, 5),
                            group * heads_kv, heads_kv, *rc::gen::inRange(1, 9000),
                            *rc::gen::inRange(1, 9000), 128, 128, *rc::gen::element(Mask::none, Mask::causal),
                            *rc::gen::element(Problem::Layout::bhsd, Problem::Layout::bshd));
    p.probability = *rc::gen::element(Probability::automatic, Probability::lean, Probability::exact);
    return p;
}

const DeviceIdentity mi355x{"gfx950:sramecc+:xnack-", 256, 8, "SPX", false};

/// Every way to change one field of a winner key.
const std::vector<std::function<void(WinnerKey&)>> changes{
    [](WinnerKey& k) {
        k.problem_class.dtype = k.problem_class.dtype == DType::bf16 ? DType::e4m3 : DType::bf16;
    },
    [](WinnerKey& k) { ++k.problem_class.dim_qk; },
    [](WinnerKey& k) { ++k.problem_class.dim_v; },
    [](WinnerKey& k) {
        k.problem_class.mask = k.problem_class.mask == Mask::none ? Mask::causal : Mask::none;
    },
    [](WinnerKey& k) { k.problem_class.even_group = !k.problem_class.even_group; },
    [](WinnerKey& k) { k.problem_class.nan_exact = !k.problem_class.nan_exact; },
    [](WinnerKey& k) { k.problem_class.lse = !k.problem_class.lse; },
    [](WinnerKey& k) {
        k.problem_class.probability =
            k.problem_class.probability == Probability::lean ? Probability::exact : Probability::lean;
    },
    [](WinnerKey& k) { ++k.sizes.batch_heads; },
    [](WinnerKey& k) { ++k.sizes.seq_q; },
    [](WinnerKey& k) { ++k.sizes.seq_kv; },
    [](WinnerKey& k) {
        k.strides = k.strides == StrideClass::other ? StrideClass::bhsd : StrideClass::other;
    },
    [](WinnerKey& k) { k.device.target += "+"; },
    [](WinnerKey& k) { ++k.device.compute_units; },
    [](WinnerKey& k) { ++k.device.xcds; },
    [](WinnerKey& k) { k.device.partition += "x"; },
    [](WinnerKey& k) { k.device.simulated = !k.device.simulated; },
};

} // namespace

TEST_CASE("a winner key is its text: parse inverts canonical") {
    CHECK(rc::check("parse(canonical) is the key", [] {
        const WinnerKey key = any_winner_key();
        RC_ASSERT(WinnerKey::parse(key.canonical()) == key);
    }));
    CHECK(rc::check("two keys have equal text only if they are equal", [] {
        const WinnerKey a = any_winner_key(), b = any_winner_key();
        RC_ASSERT((a == b) == (a.canonical() == b.canonical()));
    }));
}

TEST_CASE("any changed field of a winner key gives another digest") {
    CHECK(rc::check([] {
        const WinnerKey key = any_winner_key();
        std::set<Digest> digests{key.digest()};
        for (const auto& change : changes) {
            WinnerKey changed = key;
            change(changed);
            digests.insert(changed.digest());
        }
        RC_ASSERT(digests.size() == changes.size() + 1);
    }));
}

TEST_CASE("any changed field of a binary key gives another digest, and its text parses back") {
    CHECK(rc::check([] {
        BinaryKey key{digest(*any_text()), *any_text(), *rc::gen::arbitrary<std::uint32_t>()};
        RC_ASSERT(BinaryKey::parse(key.canonical()) == key);
        BinaryKey text = key, target = key, abi = key;
        text.assembly.bytes[*rc::gen::inRange(0, 32)] ^= 1;
        target.target += " ";
        ++abi.kernarg_abi;
        RC_ASSERT(std::set<Digest>({key.digest(), text.digest(), target.digest(), abi.digest()}).size() == 4);
    }));
}

TEST_CASE("the text of a key is stable") {
    const Problem p = Problem::contiguous(DType::bf16, 1, 8, 2, 4096, 4096, 128, 128, Mask::causal);
    // A change of this line invalidates every cache: raise the version in it.
    CHECK(winner_key(p, mi355x).canonical() == "zyfa.winner/1 dtype=bf16 dqk=128 dv=128 mask=causal "
                                               "even_group=1 nan_exact=1 lse=1 probability=automatic "
                                               "bh=3 sq=12 skv=12 strides=bhsd target=gfx950:sramecc+:xnack- "
                                               "cus=256 xcds=8 partition=SPX simulated=0");
}

TEST_CASE("only canonical text parses") {
    const std::string good =
        winner_key(Problem::contiguous(DType::bf16, 1, 1, 1, 1, 1, 128, 128, Mask::none), mi355x).canonical();
    CHECK_NOTHROW(WinnerKey::parse(good));
    for (const auto& [from, to] :
         std::vector<std::pair<std::string, std::string>>{{"/1", "/2"},
                                                          {"dqk=128", "dqk=0128"},
                                                          {"dqk=128", "dqk="},
                                                          {"dqk=128", "dqk=99999999999"},
                                                          {"dqk=128 dv=128", "dv=128 dqk=128"},
                                                          {"lse=1", "lse=2"},
                                                          {"mask=none", "mask=window"},
                                                          {"SPX", "S%50X"},
                                                          {"SPX", "%5"},
                                                          {" sq=", "  sq="},
                                                          {"simulated=0", "simulated=0 "}}) {
        std::string bad = good;
        REQUIRE(bad.find(from) != std::string::npos);
        bad.replace(bad.find(from), from.size(), to);
        CHECK_THROWS_AS(WinnerKey::parse(bad), Error);
    }
    CHECK(rc::check("cut text is refused", [&] {
        RC_ASSERT_THROWS_AS(WinnerKey::parse(good.substr(0, *rc::gen::inRange<std::size_t>(0, good.size()))),
                            Error);
    }));
    CHECK_THROWS_AS(BinaryKey::parse(good), Error);
}

TEST_CASE("what a winner does not depend on does not change its key") {
    CHECK(rc::check([] {
        const Problem p = any_problem();
        const WinnerKey key = winner_key(p, mi355x);
        Problem q = p; // scales are launch arguments, padding keeps the class
        q.softmax_scale *= 2;
        q.q_descale *= 3;
        q.q.batch += 64;
        if (q.dtype == DType::bf16)
            q.probability = Probability::exact;
        RC_ASSERT(winner_key(q, mi355x) == key);
    }));
}

TEST_CASE("buckets are monotone, and every size of a bucket has its key") {
    CHECK(bucket(1) == 0);
    CHECK(bucket(2) == 1);
    CHECK(bucket(4096) == 12);
    CHECK(bucket(4097) == 13);
    CHECK(rc::check([] {
        const auto size = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40);
        const std::uint32_t n = bucket(size);
        RC_ASSERT(size <= std::int64_t{1} << n);
        if (n > 0) // RC_ASSERT evaluates both sides of ||
            RC_ASSERT(size > std::int64_t{1} << (n - 1));
    }));
}

TEST_CASE("lengths 256 k for k = 1 to 50 take seven tunings") {
    std::set<Digest> keys;
    for (std::int64_t k = 1; k <= 50; ++k)
        keys.insert(
            winner_key(Problem::contiguous(DType::bf16, 1, 8, 2, 256 * k, 256 * k, 128, 128, Mask::causal),
                       mi355x)
                .digest());
    CHECK(keys.size() == 7);
}

TEST_CASE("a key that names a data profile parses as the key without it") {
    const WinnerKey key =
        winner_key(Problem::contiguous(DType::bf16, 1, 8, 2, 512, 512, 128, 128, Mask::causal), mi355x);
    for (const char* profile : {"gaussian", "captured:a b=c*3+captured:%d*1"}) {
        const std::string text = key_with_profile(key.canonical(), profile);
        CHECK(profile_of_key(text) == profile);
        CHECK(key_without_profile(text) == key.canonical());
        CHECK(WinnerKey::parse(text) == key);
    }
    CHECK(profile_of_key(key.canonical()).empty());
}

TEST_CASE("stride classes") {
    using Layout = Problem::Layout;
    Problem p = Problem::contiguous(DType::bf16, 2, 4, 2, 100, 200, 128, 128, Mask::causal);
    CHECK(stride_class(p) == StrideClass::bhsd);
    p.k.head = 0; // keys shared by all heads
    CHECK(stride_class(p) == StrideClass::other);
    p = Problem::contiguous(DType::bf16, 2, 4, 2, 100, 200, 128, 128, Mask::causal, Layout::bshd);
    CHECK(stride_class(p) == StrideClass::bshd);
    p.v = {2 * 200 * 128, 200 * 128, 128};
    CHECK(stride_class(p) == StrideClass::other);
    p = Problem::contiguous(DType::bf16, 2, 1, 1, 100, 200, 128, 128, Mask::causal, Layout::bshd);
    CHECK(stride_class(p) == StrideClass::bhsd); // one head: both layouts are the same memory
}

TEST_CASE("the class of a problem") {
    Problem p = Problem::contiguous(DType::bf16, 1, 24, 4, 1, 1, 128, 128, Mask::causal);
    CHECK(classify(p).even_group);
    p.heads_q = 12;
    CHECK_FALSE(classify(p).even_group);
    p.probability = Probability::lean;
    CHECK(classify(p).probability == Probability::automatic);
    p.dtype = DType::e4m3;
    CHECK(classify(p).probability == Probability::lean);
}
