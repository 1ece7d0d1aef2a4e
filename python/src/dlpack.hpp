// SPDX-License-Identifier: Apache-2.0
// The part of DLPack's C exchange interface (github.com/dmlc/dlpack, ABI of 1.3) that reads a tensor's layout
// without making Python objects. Its structures are stable within a major version.
#pragma once

#include <cstdint>

namespace zyfa::python::dlpack {

struct Version {
    std::uint32_t major, minor;
};
constexpr std::uint32_t supported_major = 1;

enum DeviceType : std::int32_t { cpu = 1, cuda_host = 3, rocm_host = 11 };
struct Device {
    std::int32_t type, id;
};

enum TypeCode : std::uint8_t { bfloat = 4, float8_e4m3fn = 10, float8_e4m3fnuz = 11 };
struct DataType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};

struct Tensor {
    void* data;
    Device device;
    std::int32_t ndim;
    DataType dtype;
    std::int64_t* shape;
    std::int64_t* strides; // elements
    std::uint64_t byte_offset;
};

struct ExchangeApi {
    Version version;
    const ExchangeApi* previous;
    void* managed_tensor_allocator;
    void* managed_tensor_from_object;
    void* managed_tensor_to_object;
    /// 0, or -1 with a Python exception. The tensor's arrays live as long as the object. May be null.
    int (*tensor_from_object)(void* object, Tensor* out);
    void* current_stream;
};

} // namespace zyfa::python::dlpack
