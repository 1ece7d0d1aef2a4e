// SPDX-License-Identifier: Apache-2.0
// The table of resident kernels: keys, growth, readers beside a writer.
#include "attention/dispatch_table.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "attention/resident.hpp"

using namespace zyfa;
using namespace zyfa::call;

namespace {

CallKey key(std::int64_t seq) {
    return call_key(Problem::contiguous(DType::bf16, 1, 8, 2, seq, seq, 128, 128, Mask::causal), 0,
                    Mode::replay);
}

} // namespace

TEST_CASE("every part of a call but pointers and scales is in its key") {
    const AttentionArgs base =
        arguments_of(Problem::contiguous(DType::bf16, 2, 8, 2, 100, 200, 128, 128, Mask::causal), 0);
    const CallKey reference = call_key(base, Mode::replay);
    const auto differs = [&](auto change) {
        AttentionArgs args = base;
        change(args);
        return !(call_key(args, Mode::replay) == reference);
    };
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(differs([i](AttentionArgs& a) { a.q.sizes[i]++; }));
        CHECK(differs([i](AttentionArgs& a) { a.k.sizes[i]++; }));
        CHECK(differs([i](AttentionArgs& a) { a.v.strides[i]++; }));
        CHECK(differs([i](AttentionArgs& a) { a.o.strides[i]++; }));
    }
    CHECK(differs([](AttentionArgs& a) { a.k.device = 1; }));
    CHECK(differs([](AttentionArgs& a) { a.v.dtype = DType::e4m3; }));
    CHECK(differs([](AttentionArgs& a) { a.lse = nullptr; }));
    CHECK(differs([](AttentionArgs& a) { a.lse_head_stride++; }));
    CHECK(differs([](AttentionArgs& a) { a.lse_batch_stride++; }));
    CHECK(differs([](AttentionArgs& a) { a.mask = Mask::none; }));
    CHECK(differs([](AttentionArgs& a) { a.probability = Probability::lean; }));
    CHECK(differs([](AttentionArgs& a) { a.nan_exact = false; }));
    CHECK_FALSE(call_key(base, Mode::tune) == reference);
    CHECK_FALSE(differs([](AttentionArgs& a) { a.q.data = static_cast<char*>(a.q.data) + 4096; }));
    CHECK_FALSE(differs([](AttentionArgs& a) { a.softmax_scale = 2.0f; }));
}

TEST_CASE("a table finds what was put in, through several growths") {
    DispatchTable table;
    std::vector<Resident> residents(1000);
    for (std::size_t i = 0; i < residents.size(); ++i) {
        CHECK(table.find(key(static_cast<std::int64_t>(i) + 1)) == nullptr);
        table.insert(key(static_cast<std::int64_t>(i) + 1), &residents[i]);
    }
    bool all = true;
    for (std::size_t i = 0; i < residents.size(); ++i)
        all = all && table.find(key(static_cast<std::int64_t>(i) + 1)) == &residents[i];
    CHECK(all);
    CHECK(table.find(key(5000)) == nullptr);
}

TEST_CASE("what a thread remembers ends when a key leads elsewhere or the table is emptied") {
    DispatchTable table, another;
    CHECK(table.version() != another.version());
    Resident first, second;
    const std::uint64_t fresh = table.version();
    table.insert(key(7), &first);
    CHECK(table.version() == fresh); // a new key changes no old answer
    table.insert(key(7), &second);
    CHECK(table.version() != fresh);
    CHECK(table.find(key(7)) == &second);
    const std::uint64_t replaced = table.version();
    table.clear();
    CHECK(table.version() != replaced);
    CHECK(table.find(key(7)) == nullptr);
    table.insert(key(7), &first);
    CHECK(table.find(key(7)) == &first);
}

TEST_CASE("readers beside a writer see a key's resident or nothing") {
    DispatchTable table;
    constexpr std::int64_t count = 2000;
    std::vector<Resident> residents(count);
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    const auto read = [&] {
        while (!done)
            for (std::int64_t i = 0; i < count; i += 7) {
                const Resident* found = table.find(key(i + 1));
                if (found && found != &residents[static_cast<std::size_t>(i)])
                    ++wrong;
            }
    };
    std::thread one(read), two(read);
    for (std::int64_t i = 0; i < count; ++i)
        table.insert(key(i + 1), &residents[static_cast<std::size_t>(i)]);
    done = true;
    one.join();
    two.join();
    CHECK(wrong == 0);
}
