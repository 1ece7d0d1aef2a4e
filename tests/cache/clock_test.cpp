// SPDX-License-Identifier: Apache-2.0
// The machine's clock jumps. This file's time() takes the place of the C library's in the test program.
#include <time.h>

#include <atomic>

#include <doctest/doctest.h>

#include "tests/cache/fixture.hpp"

namespace {

std::atomic<long> seconds_off{0};

} // namespace

extern "C" time_t time(time_t* result) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const time_t shown = now.tv_sec + seconds_off;
    if (result)
        *result = shown;
    return shown;
}

using namespace zyfa::cache;
using namespace zyfa::cache::test;

TEST_CASE("a clock that jumps costs nothing, and makes no entry immortal") {
    constexpr long century = 100L * 365 * 24 * 3600, hours = 5 * 3600;
    const Folder folder;
    Cache cache({folder / "c", {}});
    seconds_off = century;
    for (std::uint64_t n = 0; n < 4; ++n)
        publish(cache, n);
    seconds_off = -century; // before 1970
    publish(cache, 4);
    CHECK(has(cache, 4));
    seconds_off = 0;
    for (std::uint64_t n = 5; n < 10; ++n)
        publish(cache, n);
    for (std::uint64_t n = 0; n < 10; ++n)
        CHECK(has(cache, n)); // each is used now, whatever its stamp says
    seconds_off = century;
    CHECK(has(cache, 0)); // once more in the future
    seconds_off = hours;
    for (std::uint64_t n = 5; n < 10; ++n)
        CHECK(has(cache, n));
    CHECK(cache.prune({.bytes = 1 << 30, .entries = 20}).winners == 0);
    seconds_off = 2 * hours;
    for (std::uint64_t n = 5; n < 10; ++n)
        CHECK(has(cache, n));
    CHECK(cache.prune({.bytes = 1 << 30, .entries = 10}).winners == 5);
    for (std::uint64_t n = 0; n < 10; ++n)
        CHECK(has(cache, n) == (n >= 5)); // 0 was not kept for its stamp
    CHECK(cache.damaged() == 0);
    CHECK(cache.verify().at(0).damaged == 0);
    seconds_off = 0;
}
