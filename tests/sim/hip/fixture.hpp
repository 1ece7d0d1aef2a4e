// SPDX-License-Identifier: Apache-2.0
// What the tests of the HIP library share.
#pragma once

#include <cstring>
#include <vector>

#include <doctest/doctest.h>
#include <hip/hip_runtime_api.h>

#include "tests/sim/hip/kernels.hpp"

#define HIP_CHECK(call) REQUIRE_EQ(static_cast<int>(call), static_cast<int>(hipSuccess))
#define HIP_EXPECT(call, code)                                                                               \
    do {                                                                                                     \
        CHECK_EQ(static_cast<int>(call), static_cast<int>(code));                                            \
        (void)hipGetLastError();                                                                             \
    } while (false)

namespace zyfa::sim::hip::test {

/// Device memory for a test.
template <class T>
struct Buffer {
    explicit Buffer(std::size_t n) : count(n) {
        HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&data), bytes()));
    }
    Buffer(const std::vector<T>& values) : Buffer(values.size()) { write(values); }
    ~Buffer() { (void)hipFree(data); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    std::size_t bytes() const { return count * sizeof(T); }
    void write(const std::vector<T>& values) {
        HIP_CHECK(hipMemcpy(data, values.data(), bytes(), hipMemcpyHostToDevice));
    }
    std::vector<T> read() const {
        std::vector<T> values(count);
        HIP_CHECK(hipMemcpy(values.data(), data, bytes(), hipMemcpyDeviceToHost));
        return values;
    }
    T* data = nullptr;
    std::size_t count;
};

/// The test kernels on the current device.
struct Kernels {
    Kernels() { HIP_CHECK(hipModuleLoadData(&module, code_object().data())); }
    ~Kernels() { (void)hipModuleUnload(module); }
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;
    hipFunction_t get(const char* name) const {
        hipFunction_t function = nullptr;
        HIP_CHECK(hipModuleGetFunction(&function, module, name));
        return function;
    }
    hipError_t scale(const float* in, float* out, unsigned n, float factor,
                     hipStream_t stream = nullptr) const {
        void* parameters[] = {&in, &out, &n, &factor};
        return hipModuleLaunchKernel(get("scale"), (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, parameters,
                                     nullptr);
    }
    hipError_t wild(void* base, unsigned long long offset, hipStream_t stream = nullptr) const {
        void* parameters[] = {&base, &offset};
        return hipModuleLaunchKernel(get("wild"), 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
    }
    hipModule_t module = nullptr;
};

inline std::vector<float> ramp(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(i) + 0.5f;
    return values;
}

} // namespace zyfa::sim::hip::test
