// SPDX-License-Identifier: Apache-2.0
// How problems are cut for the simulator, and that they are not for a GPU.
#include "tuner/representative.hpp"

#include <cstring>

#include <doctest/doctest.h>

#include "core/distributions.hpp"
#include "tuner/inputs.hpp"
#include "tuner/tensor_layout.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

Problem problem(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv, std::int64_t seq_q,
                std::int64_t seq_kv, Mask mask = Mask::causal) {
    return Problem::contiguous(DType::bf16, batch, heads_q, heads_kv, seq_q, seq_kv, 128, 128, mask);
}

double counted(const Problem& p) {
    double sum = 0;
    for (std::int64_t i = 0; i < p.seq_q; ++i)
        for (std::int64_t j = 0; j < p.seq_kv; ++j)
            sum += p.mask == Mask::none || j <= i + p.seq_kv - p.seq_q;
    return sum * static_cast<double>(p.batch * p.heads_q);
}

} // namespace

TEST_CASE("scores are counted by the mask's definition") {
    for (const auto& p : {problem(2, 3, 1, 7, 7), problem(1, 1, 1, 5, 9), problem(1, 2, 2, 9, 5),
                          problem(1, 1, 1, 6, 4, Mask::none)})
        CHECK(scores(p) == counted(p));
}

TEST_CASE("a GPU gets the problem that was asked") {
    const Problem asked = problem(8, 64, 8, 32768, 32768);
    const Representative result = representative(asked, false, 3);
    CHECK(result.problem == asked);
    CHECK(result.note.empty());
}

TEST_CASE("gaps of gigabytes are closed, gigabytes of elements are not cut on a GPU") {
    Problem asked = problem(2, 4, 2, 1000, 900);
    asked.k.batch = std::int64_t{3} << 30;
    Representative result = representative(asked, false, 3);
    CHECK(result.problem == problem(2, 4, 2, 1000, 900));
    CHECK(result.note.find("without the gaps") != std::string::npos);
    asked = problem(8, 40, 40, 75600, 75600); // 6.2 GB a tensor, dense
    result = representative(asked, false, 3);
    CHECK(result.problem == asked);
}

TEST_CASE("a problem beyond the memory that tuning may take loses batch entries, then heads, then rows, and "
          "says so") {
    const Problem asked = problem(8, 64, 8, 8192, 8192); // 2.1 GB for Q and O, 0.3 GB for K and V
    CHECK(representative(asked, false, 3, std::uint64_t{8} << 30).problem == asked);
    Representative result = representative(asked, false, 3, std::uint64_t{1} << 30);
    CHECK(result.problem.batch < 8);
    CHECK(result.problem.heads_q == 64);
    CHECK(result.note.find("cut to the memory that tuning may take") != std::string::npos);
    result = representative(asked, false, 3, std::uint64_t{64} << 20);
    CHECK(result.problem.batch == 1);
    CHECK(result.problem.heads_q == 8 * result.problem.heads_kv); // the group stays
    CHECK(result.problem.heads_kv < 8);
    CHECK(result.problem.seq_q == 8192);
    result = representative(asked, false, 3, std::uint64_t{8} << 20);
    CHECK(result.problem.seq_q < 8192);
    CHECK(result.problem.seq_q % 256 == 0);
    CHECK_THROWS_AS(representative(asked, false, 3, 1000), Error);

    const Problem whole = problem(2, 4, 2, 1024, 1024);
    const DrawnInputs drawn = draw_inputs(whole, Distribution::gaussian, 3);
    const Problem part = representative(whole, false, 3, std::uint64_t{1} << 20).problem;
    const TuningInputs inputs = repacked({drawn.q, drawn.k, drawn.v, "mine"}, whole, part);
    CHECK(inputs.profile == "mine");
    CHECK(inputs.q.size() == layout_q(part).extent_bytes());
    const std::size_t row = layout_q(part).row_bytes();
    for (std::int64_t h = 0; h < part.heads_q; ++h)
        CHECK(std::memcmp(inputs.q.data() + layout_q(part).row_offset(0, h, part.seq_q - 1),
                          drawn.q.data() + layout_q(whole).row_offset(0, h, part.seq_q - 1), row) == 0);
}

TEST_CASE("small problems are not cut on the simulator") {
    const Problem asked = problem(1, 8, 2, 256, 256);
    CHECK(representative(asked, true, 3).problem == asked);
}

TEST_CASE("the simulator's cut keeps the kernel") {
    const Problem asked = problem(4, 32, 8, 4096, 4096);
    for (const double budget : {0.0, 3.0}) {
        const Representative result = representative(asked, true, budget);
        const Problem& cut = result.problem;
        CHECK(cut.batch == 1);
        CHECK(cut.heads_kv == 1);
        CHECK(cut.heads_q == 4); // the GQA ratio
        CHECK(cut.q == asked.q);
        CHECK(cut.o == asked.o);
        CHECK(cut.mask == asked.mask);
        CHECK_FALSE(result.note.empty());
        if (budget == 0)
            CHECK(cut.seq_q == 4096); // lengths are cut under a budget only
        else
            CHECK(scores(cut) <= budget / 16 * simulated_scores_per_second);
    }
}

TEST_CASE("cut lengths keep their tail and their order") {
    const Problem tail = representative(problem(1, 1, 1, 4095, 4095), true, 1).problem;
    CHECK(tail.seq_q < 4095);
    CHECK(tail.seq_q % 256 == 4095 % 256);
    CHECK(tail.seq_kv == tail.seq_q);
    const Problem decode = representative(problem(1, 8, 1, 1, 1000000), true, 1).problem;
    CHECK(decode.seq_q == 1);
    CHECK(decode.seq_kv < 1000000);
    CHECK(decode.seq_kv > 1);
    const Problem longer = representative(problem(1, 1, 1, 3000, 5000), true, 1).problem;
    CHECK(longer.seq_q < longer.seq_kv);
    const Problem shorter = representative(problem(1, 1, 1, 5000, 3000, Mask::none), true, 1).problem;
    CHECK(shorter.seq_q > shorter.seq_kv);
}

TEST_CASE("the cut ends even where nothing can be cut") {
    const Problem wide = problem(1, 1024, 1, 255, 255); // one key-value head, under one tile
    CHECK(representative(wide, true, 0.01).problem == wide);
}
