// SPDX-License-Identifier: Apache-2.0
// A template for the tuner's tests: with one key, attention is a copy of V's row into every row of O. Its
// kernel is a dozen instructions, and its schedules can be slow or do what kernels must not do.
#pragma once

#include <string>
#include <vector>

#include "templates/template.hpp"

namespace zyfa::test {

class CopyTemplate : public templates::Template {
  public:
    /// Values of the axes; the default schedule is the first of each.
    /// delay: turns of an empty loop. fault: "none", or what the kernel does wrong:
    /// syntax (does not assemble), silent (writes nothing), wild (stores to an address that is nobody's),
    /// below (also writes before O), input (also writes into V), bits (a wrong value), stale (mixes in what O
    /// held before), hang. row: the low bit of this row's first element is flipped; -1: of none.
    std::vector<ParameterValue> delays{std::int64_t{0}}, faults{std::string("none")}, rows{std::int64_t{-1}};

    std::string_view name() const override { return "copy"; }
    std::string_view description() const override { return "attention over one key"; }
    bool serves(const Problem& problem, std::string* why) const override;
    std::vector<templates::ParameterSpec> space(const Problem& problem) const override;
    Schedule default_schedule(const Problem& problem) const override;
    std::optional<std::string> reject(const Problem& problem, const Schedule& schedule) const override;
    templates::Kernel instantiate(const ProblemClass& problem_class, const Schedule& schedule) const override;
    templates::LaunchPlan plan(const Problem& problem, const Schedule& schedule,
                               const templates::DeviceShape& device) const override;

    static Schedule schedule(std::int64_t delay, const std::string& fault = "none", std::int64_t row = -1);
};

/// A problem that the template serves: one key, one head of keys and values, no mask, no LSE.
Problem one_key(std::int64_t heads_q, std::int64_t seq_q);

} // namespace zyfa::test
