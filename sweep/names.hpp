// SPDX-License-Identifier: Apache-2.0
// Names of the enumerations that sweep files carry. Private to sweep.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "sweep/json_fields.hpp"
#include "sweep/spec.hpp"

namespace zyfa::sweep {

template <class Value>
struct Named {
    const char* name;
    Value value;
};

inline constexpr std::array dtype_names{Named<DType>{"bf16", DType::bf16}, Named<DType>{"fp8", DType::e4m3},
                                        Named<DType>{"e4m3", DType::e4m3}};
inline constexpr std::array mask_names{Named<Mask>{"causal", Mask::causal}, Named<Mask>{"none", Mask::none}};
inline constexpr std::array layout_names{Named<Problem::Layout>{"bhsd", Problem::Layout::bhsd},
                                         Named<Problem::Layout>{"bshd", Problem::Layout::bshd}};
inline constexpr std::array probability_names{Named<Probability>{"automatic", Probability::automatic},
                                              Named<Probability>{"lean", Probability::lean},
                                              Named<Probability>{"exact", Probability::exact}};
inline constexpr std::array across_names{Named<Agreement::Across>{"nodes", Agreement::Across::nodes},
                                         Named<Agreement::Across>{"gpus", Agreement::Across::gpus}};

template <class Value, std::size_t count>
Value value_named(const std::array<Named<Value>, count>& names, const Json& json, const std::string& path) {
    std::string accepted;
    for (const Named<Value>& entry : names) {
        if (json.is_string() && json.get_ref<const std::string&>() == entry.name)
            return entry.value;
        accepted += (accepted.empty() ? "" : ", ") + std::string(entry.name);
    }
    refuse_field(path, json, accepted);
}

template <class Value, std::size_t count>
const char* name_of(const std::array<Named<Value>, count>& names, Value value) {
    for (const Named<Value>& entry : names)
        if (entry.value == value)
            return entry.name;
    return "unknown";
}

} // namespace zyfa::sweep
