// SPDX-License-Identifier: Apache-2.0
// Which templates there are, and which one serves a problem.
#include <algorithm>
#include <array>

#include "core/validate.hpp"
#include "templates/bf16_fwd.hpp"
#include "templates/fp8_fwd.hpp"
#include "zyfa/error.hpp"

namespace zyfa::templates {

std::span<const Template* const> all_templates() {
    static const std::array<const Template*, 4> list{&bf16_fwd_d128(), &bf16_fwd_d192(), &fp8_fwd_d128(),
                                                     &fp8_fwd_d192()};
    return list;
}

namespace {

/// The argument that no template of this build accepts, with its value and what is accepted.
[[noreturn]] void refuse(const Problem& p, const std::string& reasons) {
    if (p.dtype != DType::bf16 && p.dtype != DType::e4m3)
        throw Error(ErrorCode::unsupported, "dtype",
                    "dtype is " + std::string(to_string(p.dtype)) + "; accepted: bf16, e4m3");
    const bool known_qk = p.dim_qk == 128 || p.dim_qk == 192;
    if (!known_qk || p.dim_v != 128)
        throw Error(ErrorCode::unsupported, known_qk ? "dim_v" : "dim_qk",
                    "head dimensions are dim_qk=" + std::to_string(p.dim_qk) +
                        ", dim_v=" + std::to_string(p.dim_v) +
                        "; accepted: dim_qk=128 with dim_v=128, dim_qk=192 with dim_v=128");
    throw Error(ErrorCode::unsupported, "problem", reasons);
}

/// A problem that was not made by validate() has strides that nobody has looked at.
void check_strides(const Problem& p) {
    struct Tensor {
        const char* name;
        std::int64_t heads, rows, width;
        std::uint32_t bytes;
        const Strides& strides;
    };
    const std::uint32_t element = p.dtype == DType::bf16 ? 2 : 1;
    for (const Tensor& x : {Tensor{"q", p.heads_q, p.seq_q, p.dim_qk, element, p.q},
                            {"k", p.heads_kv, p.seq_kv, p.dim_qk, element, p.k},
                            {"v", p.heads_kv, p.seq_kv, p.dim_v, element, p.v},
                            {"o", p.heads_q, p.seq_q, p.dim_v, 2, p.o}}) {
        const std::int64_t row = x.rows > 1 ? x.strides.seq : 0;
        if (row < 0 || row > max_row_stride_bytes / x.bytes)
            throw Error(ErrorCode::unsupported, x.name,
                        std::string(x.name) + " has a row stride of " + std::to_string(row) +
                            " elements; accepted: 0 to " + std::to_string(max_row_stride_bytes / x.bytes));
        const std::uint64_t bytes = extent_bytes(x.strides, p.batch, x.heads, x.rows, x.width, x.bytes);
        if (bytes > max_extent_bytes)
            throw Error(ErrorCode::unsupported, x.name,
                        std::string(x.name) + " spans " + std::to_string(bytes) +
                            " bytes; accepted: at most " + std::to_string(max_extent_bytes));
    }
}

} // namespace

const Template& template_for(const Problem& problem) {
    std::string reasons;
    for (const Template* t : all_templates()) {
        std::string why;
        if (t->serves(problem, &why)) {
            check_strides(problem);
            return *t;
        }
        reasons += (reasons.empty() ? "" : "; ") + std::string(t->name()) + ": " + why;
    }
    refuse(problem, reasons);
}

const Template& template_named(std::string_view name) {
    std::string known;
    for (const Template* t : all_templates()) {
        if (t->name() == name)
            return *t;
        known += (known.empty() ? "" : ", ") + std::string(t->name());
    }
    throw Error(ErrorCode::invalid_argument, "template",
                "template is " + std::string(name) + "; accepted: " + known);
}

std::vector<Schedule> enumerate(const Template& t, const Problem& problem) {
    const std::vector<ParameterSpec> specs = t.space(problem);
    std::vector<Schedule> out{t.default_schedule(problem)};
    std::vector<std::size_t> at(specs.size(), 0);
    for (;;) {
        Schedule schedule{std::string(t.name()), {}};
        for (std::size_t i = 0; i < specs.size(); ++i)
            schedule.parameters[specs[i].name] = specs[i].grid[at[i]];
        if (schedule != out.front() && !t.reject(problem, schedule))
            out.push_back(std::move(schedule));
        std::size_t axis = 0; // odometer
        while (axis < specs.size() && ++at[axis] == specs[axis].grid.size())
            at[axis++] = 0;
        if (axis == specs.size())
            return out;
    }
}

} // namespace zyfa::templates
