// SPDX-License-Identifier: Apache-2.0
// zyfa._core: what the Python package calls. Arguments are positional: each Python object made on the way of
// a call costs host time.
#include <cstring>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "context.hpp"
#include "errors.hpp"
#include "quantize.hpp"
#include "values.hpp"
#include "zyfa.h"
#include "zyfa/agree.hpp"
#include "zyfa/memory.hpp"
#include "zyfa/tuning.hpp"

namespace nb = nanobind;
using namespace zyfa;
using python::context_for;
using python::in_python_words;

namespace {

using Scale = std::optional<float>;

/// Whether the call runs on the CPU's tensors, and on the simulator, is one question: a GPU's tensors never
/// do.
void run_attention(bool simulated, std::uintptr_t stream, nb::handle q, nb::handle k, nb::handle v,
                   nb::handle out, nb::handle lse, bool causal, Scale softmax_scale, Scale q_descale,
                   Scale k_descale, Scale v_descale) {
    in_python_words([&] {
        AttentionArgs args;
        args.q = python::view_of(q, "q", simulated);
        args.k = python::view_of(k, "k", simulated);
        args.v = python::view_of(v, "v", simulated);
        args.o = python::output_view_of(out, simulated);
        args.lse = static_cast<float*>(lse.is_none() ? nullptr : python::address_of(lse));
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

/// The problem of a call, from tensors whose memory is not looked at.
Problem described(nb::handle q, nb::handle k, nb::handle v, nb::handle out, bool lse, bool causal,
                  Scale softmax_scale, Scale q_descale, Scale k_descale, Scale v_descale) {
    Problem problem = problem_of(python::view_of(q, "q", true, false), python::view_of(k, "k", true, false),
                                 python::view_of(v, "v", true, false),
                                 python::output_view_of(out, true, false), lse, causal, softmax_scale);
    problem.q_descale = q_descale.value_or(1.0f);
    problem.k_descale = k_descale.value_or(1.0f);
    problem.v_descale = v_descale.value_or(1.0f);
    return problem;
}

enum class Ask { prepare, explain, tune };

/// `inputs`: whether q, k and v are host copies of inputs to tune on.
nb::dict about(Ask ask, bool simulated, int device, nb::handle q_tensor, nb::handle k_tensor,
               nb::handle v_tensor, nb::handle out_tensor, bool lse, bool causal, Scale softmax_scale,
               Scale q_descale, Scale k_descale, Scale v_descale, bool inputs, double budget_s, bool retune,
               bool fresh, const std::string& profile) {
    const Explanation explanation = in_python_words([&] {
        const Problem problem = described(q_tensor, k_tensor, v_tensor, out_tensor, lse, causal,
                                          softmax_scale, q_descale, k_descale, v_descale);
        TuneRequest request;
        request.budget_s = budget_s;
        request.retune = retune;
        request.fresh = fresh;
        if (inputs) {
            request.q = python::view_of(q_tensor, "q", true, true).data;
            request.k = python::view_of(k_tensor, "k", true, true).data;
            request.v = python::view_of(v_tensor, "v", true, true).data;
        }
        request.profile = profile;
        const nb::gil_scoped_release released;
        Context& context = context_for(simulated);
        if (ask == Ask::prepare)
            return context.prepare(problem, device);
        if (ask == Ask::explain)
            return context.explain(problem, device);
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
    out["retuned"] = c.retuned;
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

/// `broadcast(bytes, root)` gives the bytes of rank `root`, on every rank.
nb::dict agreed(bool simulated, int device, nb::handle q_tensor, nb::handle k_tensor, nb::handle v_tensor,
                nb::handle out_tensor, bool lse, bool causal, Scale softmax_scale, Scale q_descale,
                Scale k_descale, Scale v_descale, int rank, int count, nb::callable broadcast) {
    const Explanation explanation = in_python_words([&] {
        const Problem problem = described(q_tensor, k_tensor, v_tensor, out_tensor, lse, causal,
                                          softmax_scale, q_descale, k_descale, v_descale);
        Ranks ranks;
        ranks.rank = rank;
        ranks.count = count;
        ranks.broadcast = [&](std::vector<std::byte>& bytes, int root) {
            const nb::gil_scoped_acquire acquired;
            const nb::object answer = broadcast(nb::bytes(bytes.data(), bytes.size()), root);
            if (!nb::isinstance<nb::bytes>(answer))
                throw Error(ErrorCode::invalid_argument, "broadcast",
                            "broadcast returned something else than bytes; accepted: the bytes of rank root");
            const nb::bytes received = nb::borrow<nb::bytes>(answer);
            bytes.resize(received.size());
            if (!bytes.empty()) // memcpy from null is undefined even for nothing
                std::memcpy(bytes.data(), received.data(), received.size());
        };
        const nb::gil_scoped_release released;
        return agree(context_for(simulated), problem, device, ranks);
    });
    return python::dict_of(explanation);
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
    m.def("attention", &run_attention, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
          nb::arg().none());
    m.def("register_torch", &python::register_torch, nb::arg().none(), nb::arg().none(), nb::arg().none(),
          nb::arg().none());
    m.def("take_cpu_memory_as_device_memory", &python::take_cpu_memory_as_device_memory);
    nb::enum_<Ask>(m, "Ask")
        .value("prepare", Ask::prepare)
        .value("explain", Ask::explain)
        .value("tune", Ask::tune);
    m.def("about", &about);
    m.def("agree", &agreed);
    python::bind_quantize(m);
    m.def("counters", &counters);
    m.def("layers", &layers);
    m.def("devices", &devices);
    m.def("environment_asks_for_simulator", [] { return Context::global().options().device == "sim"; });
    m.def("device_allocate", [](std::size_t bytes, int device) {
        return reinterpret_cast<std::uintptr_t>(device_allocate(context_for(false), bytes, device));
    });
}
