// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_fp8_launches [N]: an FP8 call's bits over N launches (default 1000) of both dimensions, lean
// and exact P, each with another simulator seed (order of workgroups and waves, landing of memory), number of
// compute units, grid, chiplet map, and other batch entries: their content (NaN too) and the place of ours
// among them, at equal B. Prints one line per kernel; exit code 1 where a bit differed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/random.hpp"
#include "tests/templates/kernel_runner.hpp"

namespace {

using namespace zyfa;

constexpr std::int64_t batch = 3, heads = 3, seq = 300;

/// Batch entry `entry` of `from` becomes entry `to` of a call whose others are drawn by `seed`.
test::Inputs8 among_others(const Problem& p, const test::Inputs8& ours, std::int64_t to, std::uint64_t seed) {
    Problem other = p;
    test::Inputs8 out = test::draw8(other, seed, 2.0, 2.0);
    if (seed % 3 == 0) // what the others hold must not matter
        std::fill(out.v.begin(), out.v.end(), std::uint8_t{0x7f});
    for (const auto& [all, one] : {std::pair{&out.q, &ours.q}, {&out.k, &ours.k}, {&out.v, &ours.v}})
        std::copy(one->begin(), one->end(), all->begin() + to * static_cast<std::ptrdiff_t>(one->size()));
    return out;
}

/// O and LSE of one batch entry.
std::string bits_of(const Problem& p, const test::Outputs& out, std::int64_t entry) {
    std::string bits;
    const auto add = [&bits](const void* data, std::size_t bytes) {
        bits.append(static_cast<const char*>(data), bytes);
    };
    for (std::int64_t h = 0; h < p.heads_q; ++h)
        for (std::int64_t row = 0; row < p.seq_q; ++row) {
            add(&out.o[static_cast<std::size_t>(entry * p.o.batch + h * p.o.head + row * p.o.seq)],
                static_cast<std::size_t>(2 * p.dim_v));
            const float lse = test::lse_at(p, out, entry, h, row);
            add(&lse, sizeof lse);
        }
    return bits;
}

unsigned differing(std::int64_t dim_qk, Probability probability, unsigned launches) {
    Problem one = Problem::contiguous(DType::e4m3, 1, heads, 1, seq, seq, dim_qk, 128, Mask::causal);
    const test::Inputs8 ours = test::draw8(one, 17, 2.0, 2.0);
    Problem p = Problem::contiguous(DType::e4m3, batch, heads, 1, seq, seq, dim_qk, 128, Mask::causal);
    p.probability = probability;
    p.q_descale = p.k_descale = p.v_descale = one.q_descale;
    const Schedule schedule = templates::template_for(p).default_schedule(p);
    const std::array<const char*, 3> maps{"runs", "none", "head_first"};
    std::string expected;
    unsigned wrong = 0;
    for (unsigned n = 0; n < launches; ++n) {
        const std::int64_t place = n % batch;
        Schedule s = schedule;
        s.parameters["chiplet_map"] = std::string(maps[n / 3 % 3]);
        s.parameters["persistent"] = n / 9 % 2 == 0;
        test::RunOptions options;
        options.seed = n + 1;
        options.compute_units = std::array<std::uint32_t, 4>{1, 3, 16, 256}[n / 18 % 4];
        const test::Outputs out = test::run(p, s, among_others(p, ours, place, n + 1), options);
        if (!out.fault.empty()) {
            std::fprintf(stderr, "%s\n", out.fault.c_str());
            return launches;
        }
        const std::string bits = bits_of(p, out, place);
        if (expected.empty())
            expected = bits;
        wrong += bits != expected;
    }
    return wrong;
}

} // namespace

int main(int argc, char** argv) {
    const unsigned launches = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 1000;
    unsigned wrong = 0;
    for (const std::int64_t dim_qk : {128, 192})
        for (const Probability probability : {Probability::lean, Probability::exact}) {
            const unsigned here = differing(dim_qk, probability, launches / 4);
            std::printf("%s, %s P: %u launches, %u with other bits\n", dim_qk == 128 ? "d = 128" : "192/128",
                        probability == Probability::lean ? "lean" : "exact", launches / 4, here);
            std::fflush(stdout);
            wrong += here;
        }
    return wrong > 0 ? 1 : 0;
}
