// SPDX-License-Identifier: Apache-2.0
// A forward data-flow analysis. The state before an instruction holds, for each register or token that an
// outstanding operation will write, how many operations of the same counter were issued after that one at
// least: waiting for "count <= that number" makes the register safe. States of joining paths take the
// minimum.
#include "templates/schedule/waits.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "templates/schedule/flow.hpp"

namespace zyfa::templates::schedule {

using isa::Instruction;
using isa::Kind;
using isa::Units;

namespace {

constexpr std::uint8_t idle = 255;                 // nothing outstanding
constexpr std::uint8_t max_vm = 63, max_lgkm = 15; // counter widths (CDNA4 ISA, S_WAITCNT)

struct State {
    std::array<std::uint8_t, isa::unit_count> vm{}, lds{}, scalar{}; // scalar: 0 outstanding, or idle
    bool any_scalar = false;

    State() {
        vm.fill(idle);
        lds.fill(idle);
        scalar.fill(idle);
    }
    /// Takes the worse of both; true if this state changed.
    bool merge(const State& other) {
        bool changed = false;
        auto worse = [&changed](auto& mine, const auto& theirs) {
            for (std::size_t u = 0; u < mine.size(); ++u)
                if (theirs[u] < mine[u]) {
                    mine[u] = theirs[u];
                    changed = true;
                }
        };
        worse(vm, other.vm);
        worse(lds, other.lds);
        worse(scalar, other.scalar);
        if (other.any_scalar && !any_scalar) {
            any_scalar = true;
            changed = true;
        }
        return changed;
    }
    void wait_vm(int count) {
        for (std::uint8_t& distance : vm)
            if (distance != idle && distance >= count)
                distance = idle;
    }
    void wait_lgkm(int count) {
        if (count == 0) {
            scalar.fill(idle);
            any_scalar = false;
        }
        if (count == 0 || !any_scalar)
            for (std::uint8_t& distance : lds)
                if (distance != idle && distance >= count)
                    distance = idle;
    }
};

struct Wait {
    int vm = -1, lgkm = -1;
};

void tighten(int& wait, int count) {
    wait = wait < 0 ? count : std::min(wait, count);
}

template <typename Distances>
void nearest(const Distances& distances, Units units, int& wait) {
    for (unsigned u = units.first; u < units.first + units.count; ++u)
        if (distances[u] != idle)
            tighten(wait, distances[u]);
}

/// What the instruction must wait for in this state.
Wait needed(const State& state, const Instruction& instruction) {
    Wait wait;
    int lds = -1, scalar = -1;
    const bool vm_load = instruction.kind == Kind::vmem_load || instruction.kind == Kind::lds_dma;
    for (Units u : instruction.reads) {
        nearest(state.vm, u, wait.vm);
        nearest(state.lds, u, lds);
        nearest(state.scalar, u, scalar);
    }
    for (Units u : instruction.writes) {
        // Operations of one in-order counter write in order among themselves.
        if (!vm_load)
            nearest(state.vm, u, wait.vm);
        if (instruction.kind != Kind::lds_read)
            nearest(state.lds, u, lds);
        nearest(state.scalar, u, scalar);
    }
    if (scalar >= 0 || (lds >= 0 && state.any_scalar))
        wait.lgkm = 0;
    else
        wait.lgkm = lds;
    return wait;
}

void age(std::array<std::uint8_t, isa::unit_count>& distances, std::uint8_t max) {
    for (std::uint8_t& distance : distances)
        if (distance < max)
            ++distance;
}

void apply(State& state, const Wait& wait, const Instruction& instruction) {
    if (wait.vm >= 0)
        state.wait_vm(wait.vm);
    if (wait.lgkm >= 0)
        state.wait_lgkm(wait.lgkm);
    if (instruction.kind == Kind::wait) {
        if (instruction.wait_vm >= 0)
            state.wait_vm(instruction.wait_vm);
        if (instruction.wait_lgkm >= 0)
            state.wait_lgkm(instruction.wait_lgkm);
    }
    if (instruction.counts_vm()) {
        age(state.vm, max_vm);
        for (Units u : instruction.writes)
            std::fill_n(state.vm.begin() + u.first, u.count, std::uint8_t{0});
    } else if (instruction.kind == Kind::smem) {
        state.any_scalar = true;
        for (Units u : instruction.writes)
            std::fill_n(state.scalar.begin() + u.first, u.count, std::uint8_t{0});
    } else if (instruction.counts_lgkm()) {
        age(state.lds, max_lgkm);
        for (Units u : instruction.writes)
            std::fill_n(state.lds.begin() + u.first, u.count, std::uint8_t{0});
    }
}

/// First instruction of each run without branches in or out of its middle.
std::vector<std::size_t> block_starts(const Flow& flow) {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < flow.code.size(); ++i)
        if (i == 0 || flow.before[i].size() != 1 || flow.before[i][0] != i - 1 ||
            flow.after[i - 1].size() != 1)
            starts.push_back(i);
    return starts;
}

/// States at block starts only grow worse, so this ends; every block was last passed through with its final
/// state, whose waits are the answer.
std::vector<Wait> solve(const Flow& flow) {
    const std::size_t n = flow.code.size();
    const std::vector<std::size_t> starts = block_starts(flow);
    std::vector<std::size_t> block_of(n, 0);
    auto end_of = [&](std::size_t block) { return block + 1 < starts.size() ? starts[block + 1] : n; };
    for (std::size_t b = 0; b < starts.size(); ++b)
        for (std::size_t i = starts[b]; i < end_of(b); ++i)
            block_of[i] = b;

    std::vector<Wait> waits(n);
    std::vector<State> at_start(starts.size());
    std::vector<bool> reached(starts.size(), false);
    std::deque<std::size_t> work;
    if (n > 0) {
        reached[0] = true;
        work.push_back(0);
    }
    while (!work.empty()) {
        const std::size_t b = work.front();
        work.pop_front();
        State state = at_start[b];
        for (std::size_t i = starts[b]; i < end_of(b); ++i) {
            waits[i] = needed(state, *flow.code[i]);
            apply(state, waits[i], *flow.code[i]);
        }
        for (std::size_t next : flow.after[end_of(b) - 1]) {
            const std::size_t to = block_of[next];
            if (at_start[to].merge(state) || !reached[to]) {
                reached[to] = true;
                work.push_back(to);
            }
        }
    }
    return waits;
}

} // namespace

unsigned insert_memory_waits(isa::Stream& stream) {
    const Flow flow = make_flow(stream);
    const std::vector<Wait> waits = solve(flow);
    std::vector<isa::Item> items;
    items.reserve(stream.items.size() + stream.items.size() / 8);
    std::size_t next = 0;
    unsigned added = 0;
    for (std::size_t i = 0; i < stream.items.size(); ++i) {
        if (next < flow.item.size() && flow.item[next] == i) {
            const Wait& wait = waits[next++];
            if (wait.vm >= 0 || wait.lgkm >= 0) {
                items.push_back({isa::Item::Type::instruction, isa::make_waitcnt(wait.vm, wait.lgkm), {}});
                ++added;
            }
        }
        items.push_back(stream.items[i]);
    }
    stream.items = std::move(items);
    return added;
}

} // namespace zyfa::templates::schedule
