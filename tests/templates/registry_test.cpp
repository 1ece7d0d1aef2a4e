// SPDX-License-Identifier: Apache-2.0
// Which problems are served, and what an instantiated kernel says about itself.
#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <vector>

#include "templates/attention/kernarg.hpp"
#include "templates/template.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::templates;

namespace {

Problem problem(std::int64_t heads_q = 4, std::int64_t heads_kv = 1, std::int64_t dim_qk = 128) {
    return Problem::contiguous(DType::bf16, 2, heads_q, heads_kv, 300, 300, dim_qk, 128, Mask::causal);
}

std::string message_of(const Problem& p, std::string* argument = nullptr) {
    try {
        template_for(p);
    } catch (const Error& e) {
        CHECK(e.code() == ErrorCode::unsupported);
        if (argument)
            *argument = e.argument();
        return e.what();
    }
    return "";
}

} // namespace

TEST_CASE("refusals name argument, value and what is accepted") {
    std::string argument;
    Problem p = problem();
    for (const std::int64_t dim : {64, 96, 160, 256, 576}) {
        p.dim_qk = dim;
        const std::string text = message_of(p, &argument);
        CHECK(text.find("dim_qk=" + std::to_string(dim)) != std::string::npos);
        CHECK(text.find("dim_qk=128 with dim_v=128, dim_qk=192 with dim_v=128") != std::string::npos);
        CHECK(argument == "dim_qk");
    }
    p = problem();
    p.dim_v = 64;
    CHECK(message_of(p, &argument).find("accepted") != std::string::npos);
    CHECK(argument == "dim_v");
    p = problem();
    p.dtype = DType::e4m3fnuz;
    CHECK(message_of(p, &argument).find("accepted: bf16, e4m3") != std::string::npos);
    CHECK(argument == "dtype");
    p = problem();
    p.k.batch = std::int64_t{1} << 47;
    CHECK(message_of(p, &argument).find("140737488355328") != std::string::npos);
    CHECK(argument == "k");
    p = problem();
    p.v.seq = std::int64_t{1} << 25;
    CHECK(message_of(p, &argument).find("row stride") != std::string::npos);
    CHECK(argument == "v");
    CHECK_THROWS_AS(template_named("nothing"), Error);
    CHECK(&template_named("bf16_fwd_d128") == &template_for(problem()));
    p = problem();
    p.dim_qk = 192;
    CHECK(&template_named("bf16_fwd_d192") == &template_for(p));
    p.dtype = DType::e4m3;
    CHECK(&template_named("fp8_fwd_d192") == &template_for(p));
    CHECK(template_for(p).default_schedule(p).text("probability") == "exact"); // paper Section VI-C
    p.dim_qk = 128;
    CHECK(&template_named("fp8_fwd_d128") == &template_for(p));
    CHECK(template_for(p).default_schedule(p).text("probability") == "lean");
}

TEST_CASE("the schedule space: default first, no duplicates, all accepted") {
    const Problem p = problem();
    const Template& t = template_for(p);
    const auto schedules = enumerate(t, p);
    CHECK(schedules.front() == t.default_schedule(p));
    CHECK(t.default_schedule(p).number("tau") == 0.5);
    const Problem mla = problem(4, 4, 192);
    CHECK(template_for(mla).default_schedule(mla).number("tau") == 8); // paper Section IV-A
    CHECK(schedules.size() == 6 * 3 * 2 * 2);
    std::set<std::string> names;
    for (const Schedule& s : schedules) {
        CHECK_FALSE(t.reject(p, s));
        CHECK(names.insert(s.canonical()).second);
        CHECK(Schedule::parse(s.canonical()) == s);
    }
    Schedule s = t.default_schedule(p);
    s.parameters["tau"] = 65.0;
    CHECK(t.reject(p, s).value().find("65") != std::string::npos);
    s = t.default_schedule(p);
    s.parameters["key_order"] = std::string("backwards");
    CHECK(t.reject(p, s).value().find("from_diagonal") != std::string::npos);
    s = t.default_schedule(p);
    s.parameters["nan_exact"] = false; // the problem asks for it
    CHECK(t.reject(p, s));
    s = t.default_schedule(p);
    s.parameters["speed"] = true;
    CHECK(t.reject(p, s));
    s.parameters.erase("speed");
    s.parameters.erase("tau");
    CHECK(t.reject(p, s));
}

TEST_CASE("kernels: stable telling names, readable text, the limits of two waves per SIMD") {
    for (const bool causal : {true, false})
        for (const auto& [dim_qk, group] : {std::pair{128, 1}, {128, 3}, {128, 4}, {192, 1}, {192, 4}})
            for (const bool lse : {true, false}) {
                Problem p = problem(4 * group, 4, dim_qk);
                p.mask = causal ? Mask::causal : Mask::none;
                p.lse = lse;
                const Template& t = template_for(p);
                const Kernel kernel = t.instantiate(classify(p), t.default_schedule(p));
                CHECK(kernel.name ==
                      std::string(dim_qk == 192 ? "zyfa_fwd_bf16_d192_128_" : "zyfa_fwd_bf16_d128_") +
                          (causal ? "causal" : "full") + (group == 4 ? "_two_heads" : "") +
                          (lse ? "_lse" : ""));
                CHECK(kernel.vgprs + kernel.agprs <= 256); // two waves per SIMD (paper Section IV-A)
                CHECK(kernel.sgprs <= 102);
                CHECK(kernel.lds_bytes <= 163840);
                CHECK(kernel.kernarg_bytes == sizeof(attention::Kernarg));
                CHECK(kernel.assembly.find(".set vO, ") != std::string::npos);
                CHECK(kernel.assembly.find(t.default_schedule(p).canonical()) != std::string::npos);
                CHECK(kernel.assembly.find("softmax phase") != std::string::npos);
                const LaunchPlan plan = t.plan(p, t.default_schedule(p), {});
                CHECK(plan.kernel == kernel.name);
                CHECK(plan.kernarg.size() == kernel.kernarg_bytes);
            }
}

TEST_CASE("launch plans: grid, steps, strides in bytes") {
    Problem p =
        Problem::contiguous(DType::bf16, 3, 6, 2, 1000, 900, 128, 128, Mask::causal, Problem::Layout::bshd);
    const Template& t = template_for(p);
    Schedule s = t.default_schedule(p);
    attention::Kernarg k;
    auto plan_of = [&](std::uint32_t units) {
        DeviceShape device;
        device.compute_units = units;
        const LaunchPlan plan = t.plan(p, s, device);
        std::memcpy(&k, plan.kernarg.data(), sizeof k);
        return plan;
    };
    CHECK(plan_of(256).grid[0] == 36); // 2 pairs of 256-row tiles, 6 heads, 3 batches
    CHECK(k.step == 36);
    CHECK(plan_of(16).grid[0] == 16);
    CHECK(k.step == 16);
    CHECK(k.items == 36);
    s.parameters["persistent"] = false;
    CHECK(plan_of(16).grid[0] == 36);
    CHECK(k.q_row == 6 * 128 * 2);
    CHECK(k.k_head == 128 * 2);
    CHECK(k.seq_kv == 900);
    CHECK(k.last_tile == 3);
    p = Problem::contiguous(DType::bf16, 1, 8, 2, 1000, 1000, 128, 128, Mask::none);
    s = t.default_schedule(p);
    CHECK(plan_of(256).grid[0] == 8 * 4); // even group: tiles of 128 rows of two heads, not paired
}

TEST_CASE("the divider is exact") {
    for (const std::uint32_t d :
         {1u, 2u, 3u, 5u, 7u, 12u, 31u, 64u, 65u, 1000u, 65537u, 1u << 29, (1u << 29) + 1}) {
        const attention::Divider divider = attention::make_divider(d);
        for (const std::uint64_t base :
             std::vector<std::uint64_t>{0, d, std::uint64_t{d} * 17, (1ull << 31) / d * d})
            for (std::int64_t delta : {-1, 0, 1}) {
                const auto n = static_cast<std::int64_t>(base) + delta;
                if (n < 0 || n >= (std::int64_t{1} << 31))
                    continue;
                const auto doubled = static_cast<std::uint64_t>(2 * n);
                const std::uint64_t q = (doubled * divider.magic >> 32) >> divider.shift;
                CHECK(q == static_cast<std::uint64_t>(n) / d);
            }
    }
}
