// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <array>
#include <optional>

#include <nanobind/stl/string.h>

#include "dlpack.hpp"
#include "zyfa/error.hpp"

namespace nb = nanobind;

namespace zyfa::python {
namespace {

/// Objects that live as long as the process: Python may be gone before static objects are destroyed.
std::array<PyObject*, 3> dtypes{};
const dlpack::ExchangeApi* exchange = nullptr; ///< of torch.Tensor, if this PyTorch has it
bool cpu_memory_is_device_memory = false;

struct Names {
    PyObject* data_ptr = PyUnicode_InternFromString("data_ptr");
    PyObject* dtype = PyUnicode_InternFromString("dtype");
    PyObject* shape = PyUnicode_InternFromString("shape");
    PyObject* stride = PyUnicode_InternFromString("stride");
    PyObject* get_device = PyUnicode_InternFromString("get_device");
};

const Names& names() {
    static const Names interned;
    return interned;
}

nb::object owned(PyObject* object) {
    if (!object)
        throw nb::python_error();
    return nb::steal(object);
}

nb::object attribute(nb::handle tensor, PyObject* name) {
    return owned(PyObject_GetAttr(tensor.ptr(), name));
}

nb::object method(nb::handle tensor, PyObject* name) {
    return owned(PyObject_CallMethodNoArgs(tensor.ptr(), name));
}

long long integer(PyObject* object) {
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred())
        throw nb::python_error();
    return value;
}

std::string text(nb::handle object) {
    return nb::cast<std::string>(nb::str(object));
}

[[noreturn]] void refuse_dimensions(const char* name, std::int64_t count) {
    throw Error(ErrorCode::invalid_argument, name,
                std::string(name) + " has " + std::to_string(count) +
                    " dimensions; accepted: 4, [batch, sequence, heads, head_dim]");
}

/// [B, S, H, D] as [B, H, S, D].
std::array<std::int64_t, 4> bhsd(const nb::object& bshd, const char* name) {
    if (!PyTuple_Check(bshd.ptr()) || PyTuple_GET_SIZE(bshd.ptr()) != 4)
        refuse_dimensions(name, PyObject_Length(bshd.ptr()));
    std::array<std::int64_t, 4> out{};
    constexpr std::array<Py_ssize_t, 4> from{0, 2, 1, 3};
    for (std::size_t i = 0; i < 4; ++i)
        out[i] = integer(PyTuple_GET_ITEM(bshd.ptr(), from[i]));
    return out;
}

std::optional<DType> dtype_of(const nb::object& dtype) {
    constexpr std::array kinds{DType::bf16, DType::e4m3, DType::e4m3fnuz};
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (dtype.ptr() == dtypes[i])
            return kinds[i];
    return std::nullopt;
}

/// Negative for the CPU.
int checked_device(long long device, const char* name, bool simulated) {
    if (simulated != (device < 0) && !cpu_memory_is_device_memory)
        throw Error(ErrorCode::invalid_argument, name,
                    std::string(name) +
                        " is on another kind of device than q; accepted: all tensors on one device");
    return device < 0 ? 0 : static_cast<int>(device);
}

/// The short way, without a Python object: false where it is not there or does not know the tensor.
bool read_through_dlpack(nb::handle tensor, const char* name, bool simulated, TensorView& view) {
    dlpack::Tensor t;
    if (!exchange)
        return false;
    if (exchange->tensor_from_object(tensor.ptr(), &t) != 0) {
        PyErr_Clear();
        return false;
    }
    if (t.dtype.code == dlpack::bfloat && t.dtype.bits == 16)
        view.dtype = DType::bf16;
    else if (t.dtype.code == dlpack::float8_e4m3fn)
        view.dtype = DType::e4m3;
    else if (t.dtype.code == dlpack::float8_e4m3fnuz)
        view.dtype = DType::e4m3fnuz;
    else
        return false; // the long way has the dtype's name
    if (t.ndim != 4)
        refuse_dimensions(name, t.ndim);
    const std::int32_t type = t.device.type;
    const bool host = type == dlpack::cpu || type == dlpack::cuda_host || type == dlpack::rocm_host;
    view.device = checked_device(host ? -1 : t.device.id, name, simulated);
    view.data = static_cast<std::byte*>(t.data) + t.byte_offset;
    view.sizes = {t.shape[0], t.shape[2], t.shape[1], t.shape[3]};
    view.strides = {t.strides[0], t.strides[2], t.strides[1], t.strides[3]};
    return true;
}

TensorView layout_of(nb::handle tensor, const char* name, bool simulated, bool address) {
    TensorView view;
    view.sizes = bhsd(attribute(tensor, names().shape), name);
    view.strides = bhsd(method(tensor, names().stride), name);
    if (!address)
        return view;
    view.device = checked_device(integer(method(tensor, names().get_device).ptr()), name, simulated);
    view.data = address_of(tensor);
    return view;
}

} // namespace

void* address_of(nb::handle tensor) {
    const nb::object data = method(tensor, names().data_ptr);
    void* address = PyLong_AsVoidPtr(data.ptr());
    if (!address && PyErr_Occurred())
        throw nb::python_error();
    return address;
}

void take_cpu_memory_as_device_memory() {
    cpu_memory_is_device_memory = true;
}

void register_torch(nb::object bf16, nb::object e4m3, nb::object e4m3fnuz, nb::object exchange_api) {
    dtypes = {bf16.release().ptr(), e4m3.release().ptr(), e4m3fnuz.release().ptr()};
    exchange = nullptr;
    if (!PyCapsule_IsValid(exchange_api.ptr(), "dlpack_exchange_api"))
        return;
    const auto* api = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(exchange_api.ptr(), "dlpack_exchange_api"));
    while (api && api->version.major > dlpack::supported_major)
        api = api->previous;
    if (api && api->version.major == dlpack::supported_major && api->tensor_from_object) {
        exchange_api.release(); // lives as long as the process
        exchange = api;
    }
}

TensorView view_of(nb::handle tensor, const char* name, bool simulated, bool address) {
    TensorView view;
    if (address && read_through_dlpack(tensor, name, simulated, view))
        return view;
    const nb::object object = attribute(tensor, names().dtype);
    const std::optional<DType> dtype = dtype_of(object);
    if (!dtype)
        throw Error(ErrorCode::unsupported, std::string(name) + ".dtype",
                    std::string(name) + ".dtype is " + text(object) +
                        "; accepted: torch.bfloat16, torch.float8_e4m3fn");
    view = layout_of(tensor, name, simulated, address);
    view.dtype = *dtype;
    return view;
}

TensorView output_view_of(nb::handle tensor, bool simulated, bool address) {
    TensorView view;
    if (address && read_through_dlpack(tensor, "out", simulated, view) && view.dtype == DType::bf16)
        return view;
    const nb::object object = attribute(tensor, names().dtype);
    if (object.ptr() != dtypes[0])
        throw Error(ErrorCode::unsupported, "out.dtype",
                    "out.dtype is " + text(object) + "; accepted: torch.bfloat16");
    return layout_of(tensor, "out", simulated, address);
}

std::size_t element_bytes(DType dtype) {
    return dtype == DType::f32 ? 4 : dtype == DType::bf16 ? 2 : 1;
}

std::size_t reach(const TensorView& view) {
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < 4; ++i) {
        if (view.sizes[i] == 0)
            return 0;
        elements += (view.sizes[i] - 1) * view.strides[i];
    }
    return static_cast<std::size_t>(elements) * element_bytes(view.dtype);
}

nb::dict dict_of(const Explanation& e) {
    nb::dict stages;
    stages["instantiate"] = e.stages.instantiate;
    stages["assemble"] = e.stages.assemble;
    stages["gate"] = e.stages.gate;
    stages["tune"] = e.stages.tune;
    stages["load"] = e.stages.load;
    stages["launch"] = e.stages.launch;
    nb::list banned;
    for (const std::string& schedule : e.banned)
        banned.append(schedule);
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
    out["pinned"] = e.pinned;
    out["banned"] = banned;
    out["stages_ms"] = stages;
    return out;
}

} // namespace zyfa::python
