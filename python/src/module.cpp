// SPDX-License-Identifier: Apache-2.0
// zyfa._core: what the Python package calls. It knows addresses, shapes and strides, not PyTorch, so that one
// build serves every version of it. Arguments are positional and many: each Python object made on the way of
// a call costs host time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "context.hpp"
#include "errors.hpp"
#include "values.hpp"
#include "zyfa.h"
#include "zyfa/memory.hpp"
#include "zyfa/tuning.hpp"

namespace nb = nanobind;
using namespace zyfa;
using python::context_for;
using python::in_python_words;
using python::view_of;

namespace {

using Scale = std::optional<float>;

// clang-format off
#define ZYFA_TENSOR_PARAMETERS(t)                                                                          \
    std::uintptr_t t##_data, int t##_dtype, const nb::tuple &t##_shape, const nb::tuple &t##_stride
#define ZYFA_TENSOR(t) view_of(t##_data, t##_shape, t##_stride, static_cast<DType>(t##_dtype), device)
// clang-format on

/// Whether the call runs on host memory, and on the simulator, is one question: a GPU's tensors never do.
void run_attention(bool simulated, int device, std::uintptr_t stream, ZYFA_TENSOR_PARAMETERS(q),
                   ZYFA_TENSOR_PARAMETERS(k), ZYFA_TENSOR_PARAMETERS(v), ZYFA_TENSOR_PARAMETERS(o),
                   std::uintptr_t lse, bool causal, Scale softmax_scale, Scale q_descale, Scale k_descale,
                   Scale v_descale) {
    in_python_words([&] {
        AttentionArgs args;
        args.q = ZYFA_TENSOR(q);
        args.k = ZYFA_TENSOR(k);
        args.v = ZYFA_TENSOR(v);
        args.o = ZYFA_TENSOR(o);
        args.lse = reinterpret_cast<float*>(lse);
        args.mask = causal ? Mask::causal : Mask::none;
        args.softmax_scale = softmax_scale;
        args.q_descale = q_descale;
        args.k_descale = k_descale;
        args.v_descale = v_descale;
        args.stream = reinterpret_cast<void*>(stream);
        const nb::gil_scoped_release released;
        Context& context = context_for(simulated);
        if (simulated)
            python::attention_on_host(context, args);
        else
            context.attention(args);
    });
}

Strides strides_of(const TensorView& view) {
    return {view.strides[0], view.strides[1], view.strides[2]};
}

void same(const char* argument, std::int64_t value, std::int64_t wanted, const char* as) {
    if (value != wanted)
        throw Error(ErrorCode::invalid_argument, argument,
                    std::string(argument) + " is " + std::to_string(value) +
                        "; accepted: " + std::to_string(wanted) + ", " + as);
}

Problem problem_of(const TensorView& q, const TensorView& k, const TensorView& v, const TensorView& o,
                   bool lse, bool causal, Scale softmax_scale) {
    same("k.sizes[0]", k.sizes[0], q.sizes[0], "the batch of q");
    same("v.sizes[0]", v.sizes[0], q.sizes[0], "the batch of q");
    same("v.sizes[1]", v.sizes[1], k.sizes[1], "the heads of k");
    same("v.sizes[2]", v.sizes[2], k.sizes[2], "the length of k");
    same("k.sizes[3]", k.sizes[3], q.sizes[3], "the head dimension of q");
    for (const auto& [name, view] : {std::pair{"k.dtype", &k}, {"v.dtype", &v}})
        if (view->dtype != q.dtype)
            throw Error(ErrorCode::invalid_argument, name,
                        std::string(name) + " is " + to_string(view->dtype) +
                            "; accepted: " + to_string(q.dtype) + ", the dtype of q");
    Problem p =
        Problem::contiguous(q.dtype, q.sizes[0], q.sizes[1], k.sizes[1], q.sizes[2], k.sizes[2], q.sizes[3],
                            v.sizes[3], causal ? Mask::causal : Mask::none, Problem::Layout::bhsd, lse);
    p.q = strides_of(q);
    p.k = strides_of(k);
    p.v = strides_of(v);
    p.o = strides_of(o);
    if (softmax_scale)
        p.softmax_scale = *softmax_scale;
    return p;
}

enum class Ask { prepare, explain, tune };

/// For tune, the addresses are those of host copies of the inputs, or 0.
nb::dict about(Ask ask, bool simulated, int device, ZYFA_TENSOR_PARAMETERS(q), ZYFA_TENSOR_PARAMETERS(k),
               ZYFA_TENSOR_PARAMETERS(v), ZYFA_TENSOR_PARAMETERS(o), bool lse, bool causal,
               Scale softmax_scale, double budget_s, bool retune, const std::string& profile) {
    (void)o_data;
    const Explanation explanation = in_python_words([&] {
        const TensorView q = ZYFA_TENSOR(q), k = ZYFA_TENSOR(k), v = ZYFA_TENSOR(v), o = ZYFA_TENSOR(o);
        const Problem problem = problem_of(q, k, v, o, lse, causal, softmax_scale);
        const nb::gil_scoped_release released;
        Context& context = context_for(simulated);
        if (ask == Ask::prepare)
            return context.prepare(problem, device);
        if (ask == Ask::explain)
            return context.explain(problem, device);
        TuneRequest request;
        request.budget_s = budget_s;
        request.retune = retune;
        request.q = q.data;
        request.k = k.data;
        request.v = v.data;
        request.profile = profile;
        return tune(context, problem, device, request);
    });
    return python::dict_of(explanation);
}

nb::dict counters(bool simulated) {
    const Counters c = context_for(simulated).counters();
    nb::dict out;
    out["assembled"] = c.assembled;
    out["gated"] = c.gated;
    out["timed"] = c.timed;
    out["hits"] = c.hits;
    out["misses"] = c.misses;
    out["waited"] = c.waited;
    out["damaged"] = c.damaged;
    out["stale"] = c.stale;
    out["old"] = c.old;
    out["timed_out"] = c.timed_out;
    out["unpublished"] = c.unpublished;
    out["pruned"] = c.pruned;
    return out;
}

nb::list layers(bool simulated) {
    nb::list out;
    for (const LayerSummary& layer : context_for(simulated).layers()) {
        nb::dict entry;
        entry["name"] = layer.name;
        entry["path"] = layer.path;
        entry["writable"] = layer.writable;
        entry["winners"] = layer.winners;
        entry["binaries"] = layer.binaries;
        entry["measurements"] = layer.measurements;
        entry["quarantined"] = layer.quarantined;
        entry["bytes"] = layer.bytes;
        entry["hits"] = layer.hits;
        entry["note"] = layer.note;
        out.append(entry);
    }
    return out;
}

nb::list devices(bool simulated) {
    nb::list out;
    for (const DeviceSummary& device : context_for(simulated).devices()) {
        nb::dict entry;
        entry["ordinal"] = device.ordinal;
        entry["name"] = device.name;
        entry["target"] = device.target;
        entry["compute_units"] = device.compute_units;
        entry["xcds"] = device.xcds;
        entry["simulated"] = device.simulated;
        out.append(entry);
    }
    return out;
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() = "zyfa's C++ library for the Python package; use the functions of zyfa.";
    python::translate_errors();
    m.attr("version") = zyfa_version();
    m.def("attention", &run_attention);
    const auto question = [&m](const char* name, auto ask) {
        m.def(name, [](bool simulated, int device, ZYFA_TENSOR_PARAMETERS(q), ZYFA_TENSOR_PARAMETERS(k),
                       ZYFA_TENSOR_PARAMETERS(v), ZYFA_TENSOR_PARAMETERS(o), bool lse, bool causal,
                       Scale softmax_scale, double budget_s, bool retune, const std::string& profile) {
            return about(decltype(ask)::value, simulated, device, q_data, q_dtype, q_shape, q_stride, k_data,
                         k_dtype, k_shape, k_stride, v_data, v_dtype, v_shape, v_stride, o_data, o_dtype,
                         o_shape, o_stride, lse, causal, softmax_scale, budget_s, retune, profile);
        });
    };
    question("prepare", std::integral_constant<Ask, Ask::prepare>{});
    question("explain", std::integral_constant<Ask, Ask::explain>{});
    question("tune", std::integral_constant<Ask, Ask::tune>{});
    m.def("counters", &counters);
    m.def("layers", &layers);
    m.def("devices", &devices);
    m.def("environment_asks_for_simulator", [] { return Context::global().options().device == "sim"; });
    m.def("device_allocate", [](std::size_t bytes, int device) {
        return reinterpret_cast<std::uintptr_t>(device_allocate(context_for(false), bytes, device));
    });
}
