// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <nanobind/stl/string.h>

#include "zyfa/error.hpp"

namespace nb = nanobind;

namespace zyfa::python {
namespace {

std::array<std::int64_t, 4> bhsd(const nb::tuple& bshd) {
    if (bshd.size() != 4)
        throw Error(ErrorCode::invalid_argument, "shape",
                    "a tensor has " + std::to_string(bshd.size()) +
                        " dimensions; accepted: 4, [batch, sequence, heads, head_dim]");
    std::array<std::int64_t, 4> out{};
    constexpr std::array<Py_ssize_t, 4> from{0, 2, 1, 3};
    for (std::size_t i = 0; i < 4; ++i) {
        const long long value = PyLong_AsLongLong(PyTuple_GET_ITEM(bshd.ptr(), from[i]));
        if (value == -1 && PyErr_Occurred())
            throw nb::python_error();
        out[i] = value;
    }
    return out;
}

} // namespace

TensorView view_of(std::uintptr_t data, const nb::tuple& shape, const nb::tuple& stride, DType dtype,
                   int device) {
    TensorView view;
    view.data = reinterpret_cast<void*>(data);
    view.dtype = dtype;
    view.device = device;
    view.sizes = bhsd(shape);
    view.strides = bhsd(stride);
    return view;
}

std::size_t reach(const TensorView& view) {
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < 4; ++i) {
        if (view.sizes[i] == 0)
            return 0;
        elements += (view.sizes[i] - 1) * view.strides[i];
    }
    const std::size_t bytes = view.dtype == DType::f32 ? 4 : view.dtype == DType::bf16 ? 2 : 1;
    return static_cast<std::size_t>(elements) * bytes;
}

nb::dict dict_of(const Explanation& e) {
    nb::dict stages;
    stages["instantiate"] = e.stages.instantiate;
    stages["assemble"] = e.stages.assemble;
    stages["gate"] = e.stages.gate;
    stages["tune"] = e.stages.tune;
    stages["load"] = e.stages.load;
    stages["launch"] = e.stages.launch;
    nb::dict out;
    out["kernel"] = e.kernel;
    out["schedule"] = e.schedule;
    out["cache"] = to_string(e.cache);
    out["layer"] = e.layer;
    out["key"] = e.key;
    out["reason"] = e.reason;
    out["evidence_json"] = e.evidence_json;
    out["binary_digest"] = e.binary_digest;
    out["toolchain"] = e.toolchain;
    out["resident"] = e.resident;
    out["stages_ms"] = stages;
    return out;
}

} // namespace zyfa::python
