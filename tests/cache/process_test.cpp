// SPDX-License-Identifier: Apache-2.0
// Several real processes on one store: creation, publication, kills, key locks, fork.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <random>
#include <thread>

#include "cache/store.hpp"
#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

namespace {

/// A pipe on which children report and wait.
class Pipe {
  public:
    Pipe() { REQUIRE(::pipe(ends_) == 0); }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_read() { close_end(0); }
    void close_write() { close_end(1); }
    void put(std::uint64_t value) const { CHECK(::write(ends_[1], &value, sizeof value) == sizeof value); }
    bool get(std::uint64_t& value) const { return ::read(ends_[0], &value, sizeof value) == sizeof value; }

  private:
    void close_end(int end) {
        if (ends_[end] >= 0)
            ::close(ends_[end]);
        ends_[end] = -1;
    }
    int ends_[2] = {-1, -1};
};

/// Starts processes that all wait for the same moment.
std::vector<pid_t> start_together(int count, const std::function<int(int)>& body) {
    Pipe gate;
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i)
        children.push_back(start_process([&] {
            gate.close_write();
            std::uint64_t never;
            gate.get(never); // returns when the parent closes its end
            return body(i);
        }));
    gate.close_write();
    return children;
}

} // namespace

TEST_CASE("64 processes make one new file at once, and lose nothing") {
    for (const bool on_network : {false, false, true}) {
        const Folder folder;
        const auto children = start_together(64, [&](int i) {
            Cache::Options options{folder / "c", {}};
            options.on_network = on_network;
            Cache cache(options);
            publish(cache, static_cast<std::uint64_t>(i));
            return has(cache, static_cast<std::uint64_t>(i)) && cache.statistics().at(0).layer == "user" &&
                           cache.damaged() == 0
                       ? 0
                       : 1;
        });
        for (const pid_t child : children)
            CHECK(wait_for(child) == 0);
        Cache cache({folder / "c", {}});
        for (std::uint64_t i = 0; i < 64; ++i)
            CHECK(has(cache, i));
    }
}

TEST_CASE("two processes make the file again and again without a failure") {
    for (int round = 0, rounds = repetitions(100, 500); round < rounds; ++round) {
        const Folder folder;
        for (const pid_t child : start_together(2, [&](int i) {
                 Cache cache({folder / "c", {}});
                 cache.publish_binary(some_binary(static_cast<std::uint64_t>(i)));
                 return cache.statistics().at(0).layer == "user" ? 0 : 1;
             }))
            CHECK(wait_for(child) == 0);
    }
}

TEST_CASE("kill -9 at random points: every finished publication is kept, no half entry is there") {
    const Folder folder;
    std::mt19937 engine(1);
    std::uint64_t next = 0, finished_total = 0;
    std::vector<std::uint64_t> finished;
    for (int round = 0, rounds = repetitions(60, 1000); round < rounds; ++round) {
        Pipe reports;
        const std::uint64_t first = next;
        const pid_t child = start_process([&] {
            Cache cache({folder / "c", {}});
            for (std::uint64_t n = first;; ++n) {
                publish(cache, n);
                reports.put(n);
            }
            return 0;
        });
        reports.close_write();
        // From before the file is opened to some dozen publications in.
        std::this_thread::sleep_for(std::chrono::microseconds(engine() % 40'000));
        ::kill(child, SIGKILL);
        CHECK(wait_for(child) == -SIGKILL);
        for (std::uint64_t n; reports.get(n); ++finished_total) {
            finished.push_back(n);
            next = n + 1;
        }
        next += 1; // the one that was in the making
    }
    Cache cache({folder / "c", {}});
    CHECK(finished_total > 60);
    for (const std::uint64_t n : finished)
        CHECK_MESSAGE(has(cache, n), n);
    for (const WinnerRecord& winner : cache.winners())
        CHECK(cache.find(winner.key));
    for (const VerifyReport& report : cache.verify())
        CHECK(report.damaged == 0);
    CHECK(cache.damaged() == 0);
}

TEST_CASE("64 processes on one cold key: one builds, the others wait and find") {
    const Folder folder;
    const Digest key = some_winner(1).key;
    const auto children = start_together(64, [&](int) {
        Cache cache({folder / "c", {}});
        if (has(cache, 1))
            return 0;
        const auto lock = cache.lock(key, 60);
        if (!lock.held())
            return 3;
        if (has(cache, 1))
            return 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        publish(cache, 1);
        return 10; // built
    });
    int built = 0;
    for (const pid_t child : children) {
        const int result = wait_for(child);
        built += result == 10;
        CHECK((result == 0 || result == 10));
    }
    CHECK(built == 1);
}

TEST_CASE("a dead holder frees a key, a living one is waited for so long and no longer") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    const Digest key = some_winner(1).key, other = some_winner(2).key;
    Pipe ready;
    const pid_t holder = start_process([&] {
        Cache own({folder / "c", {}});
        const auto lock = own.lock(key, 1);
        ready.put(lock.held());
        ::pause();
        return 0;
    });
    std::uint64_t held = 0;
    REQUIRE(ready.get(held));
    CHECK(held == 1);
    {
        const auto refused = cache.lock(key, 0.05);
        CHECK_FALSE(refused.held());
        CHECK(refused.waited());
        CHECK(cache.lock(other, 0).held()); // another key is free
    }
    CHECK(cache.counters().timed_out == 1);
    ::kill(holder, SIGKILL);
    wait_for(holder);
    const auto lock = cache.lock(key, 1);
    CHECK(lock.held());
    CHECK_FALSE(cache.lock(key, 0).held()); // also between two users in one process
}

TEST_CASE("a child of fork may use the cache, and its parent too") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    publish(cache, 1);
    for (std::uint64_t n = 2; n < 6; ++n) {
        CHECK(run_process([&] {
                  publish(cache, n);
                  return has(cache, 1) && has(cache, n) ? 0 : 1;
              }) == 0);
        CHECK(has(cache, n));
        publish(cache, n + 100);
    }
    CHECK(cache.verify().at(0).damaged == 0);
}

TEST_CASE("a full disk costs the entry, not the process, and the store recovers") {
    const Folder folder;
    {
        Cache cache({folder / "c", {}});
        publish(cache, 1);
    }
    CHECK(run_process([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              Cache cache({folder / "c", {}});
              publish(cache, 2);
              const rlimit full{200'000, RLIM_INFINITY}, free{RLIM_INFINITY, RLIM_INFINITY};
              ::setrlimit(RLIMIT_FSIZE, &full);
              std::uint64_t n = 3;
              bool refused = false;
              for (; n < 200 && !refused; ++n) {
                  try {
                      publish(cache, n);
                  } catch (const Error& error) {
                      refused = error.code() == ErrorCode::io_error;
                  }
              }
              const std::uint64_t lost = n - 1;
              if (!refused || !has(cache, lost) || !has(cache, 1)) // the lost one is there in memory
                  return 1;
              if (cache.counters().unpublished != 1 || cache.damaged() != 0)
                  return 2;
              ::setrlimit(RLIMIT_FSIZE, &free);
              publish(cache, 500);
              Cache other({folder / "c", {}});
              return has(other, 500) && !has(other, lost) && has(other, lost - 1) && other.damaged() == 0 ? 0
                                                                                                          : 3;
          }) == 0);
}

TEST_CASE("many threads share one cache") {
    const Folder folder;
    Cache cache({folder / "c", {}});
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (std::uint64_t n = 0; n < 10; ++n) {
                    publish(cache, t * 100 + n);
                    wrong += !has(cache, t * 100 + n);
                    wrong += is_wrong(cache, (t + 1) % 8 * 100 + n);
                }
            });
    }
    CHECK(wrong == 0);
    CHECK(cache.winners().size() == 80);
}
