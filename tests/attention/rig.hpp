// SPDX-License-Identifier: Apache-2.0
// What the tests of calls share: contexts on the simulator, tensors between guard bands, comparison with
// fp64.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/distributions.hpp"
#include "runtime/runtime.hpp"
#include "tuner/guarded_tensor.hpp"
#include "zyfa/context.hpp"

namespace zyfa::test {

/// A folder that goes when the scope ends.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// The simulator with two devices; the user layer in `cache_dir`.
ContextOptions simulator(Mode mode, const std::string& cache_dir = ":memory:");

/// One call on `problem`, 64 rows of which are compared with fp64.
void call_and_check(Context& context, const Problem& problem);

/// Tunes two schedules only, the default and the next one: enough for most tests. `again`: although a winner
/// is known.
Explanation tune_shortly(Context& context, const Problem& problem, bool again = false,
                         std::size_t candidates = 2);

/// The run time of a context.
const std::shared_ptr<runtime::Runtime>& runtime_of(Context& context);

/// Tensors of one problem on a device, with guard bands and sentinels.
class Tensors {
  public:
    Tensors(Context& context, const Problem& problem, int device = 0,
            Distribution distribution = Distribution::logit_sd_1);

    AttentionArgs args();
    /// Fills O and LSE with the sentinel.
    void clear();
    /// After the device is done: nothing is written outside of the views, everything is inside, inputs are as
    /// they were, and every row (or `rows` sampled ones) agrees with fp64. Empty if so; else what is wrong.
    std::string check(std::optional<std::size_t> rows = std::nullopt);
    /// O's bytes, base to extent.
    std::vector<std::byte> output();

    const Problem& problem() const { return problem_; }

  private:
    std::string check_surroundings();

    std::shared_ptr<runtime::Runtime> runtime_;
    Problem problem_;
    int device_;
    DrawnInputs inputs_;
    tuner::GuardedTensor q_, k_, v_, o_;
    std::optional<tuner::GuardedTensor> lse_;
    std::span<const std::byte> o_bytes_, lse_bytes_;
};

/// BF16, d = 128.
Problem bf16(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv, std::int64_t seq_q,
             std::int64_t seq_kv, Mask mask = Mask::causal, Problem::Layout layout = Problem::Layout::bhsd);
/// The same with gaps between rows, heads and batch entries.
Problem padded(Problem problem, Problem::Layout layout);

/// The error that `action` throws; fails the test if it throws none.
template <class Action>
Error error_of(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::internal, "test", "nothing was thrown");
}

} // namespace zyfa::test
