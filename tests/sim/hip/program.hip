// SPDX-License-Identifier: Apache-2.0
// A HIP program as anyone would write it: compiled by clang against the real headers, linked to the simulator's
// library, nothing in it knows of the simulator. Exit code 0 if everything came out right.
#include <hip/hip_runtime.h>

// Needs the runtime's declarations before it, hence apart.
#include <hip/hip_cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                  \
    do {                                                                                                             \
        const hipError_t status = (call);                                                                            \
        if (status != hipSuccess) {                                                                                  \
            std::printf("line %d: %s: %s\n", __LINE__, #call, hipGetErrorString(status));                            \
            std::exit(1);                                                                                            \
        }                                                                                                            \
    } while (false)

#define EXPECT(condition)                                                                                            \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            std::printf("line %d: %s does not hold\n", __LINE__, #condition);                                        \
            std::exit(1);                                                                                            \
        }                                                                                                            \
    } while (false)

__device__ int offset = 10;
__constant__ int weights[4] = {1, 2, 3, 4};

__global__ void saxpy(float a, const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

__global__ void block_sums(const int* in, int* out, int n) {
    extern __shared__ int partial[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? in[i] * weights[threadIdx.x % 4] + offset : 0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = partial[0];
}

__global__ void shape(int* out) {
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        out[0] = static_cast<int>(gridDim.x);
        out[1] = static_cast<int>(gridDim.y);
        out[2] = static_cast<int>(gridDim.z);
        out[3] = static_cast<int>(blockDim.x);
        out[4] = static_cast<int>(blockDim.y);
        out[5] = static_cast<int>(blockDim.z);
    }
    atomicAdd(out + 6, 1);
}

/// Every block sees what every other wrote before the grid synchronised.
__global__ void all_to_all(int* data, int* sums) {
    const auto grid = cooperative_groups::this_grid();
    if (threadIdx.x == 0)
        data[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
    grid.sync();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b)
            sum += data[b];
        sums[blockIdx.x] = sum;
    }
}

__managed__ int managed_counter = 5;

__global__ void count(int by) { managed_counter += by; }

extern "C" {
__device__ int factor = 2;
__global__ void scale(int* data, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * factor + add;
}
}

namespace {

void check_saxpy(int device) {
    CHECK(hipSetDevice(device));
    const int n = 1000;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i);
        y[i] = 1.0f;
    }
    float *dx = nullptr, *dy = nullptr;
    CHECK(hipMalloc(&dx, n * sizeof(float)));
    CHECK(hipMalloc(&dy, n * sizeof(float)));
    CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
    hipStream_t stream;
    hipEvent_t start, stop;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipEventRecord(start, stream));
    saxpy<<<(n + 255) / 256, 256, 0, stream>>>(2.0f, dx, dy, n);
    CHECK(hipGetLastError());
    CHECK(hipEventRecord(stop, stream));
    CHECK(hipEventSynchronize(stop));
    float ms = 0;
    CHECK(hipEventElapsedTime(&ms, start, stop));
    EXPECT(ms > 0);
    CHECK(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i)
        EXPECT(y[i] == 2.0f * static_cast<float>(i) + 1.0f);

    // The same launch, captured and replayed.
    hipGraph_t graph;
    hipGraphExec_t exec;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    saxpy<<<(n + 255) / 256, 256, 0, stream>>>(1.0f, dx, dy, n);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 3; ++i)
        CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipMemcpyAsync(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int i = 0; i < n; ++i)
        EXPECT(y[i] == 5.0f * static_cast<float>(i) + 1.0f);
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(stop));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipFree(dx));
    CHECK(hipFree(dy));
}

void check_symbols_and_lds() {
    CHECK(hipSetDevice(0));
    const int n = 512, blocks = 2;
    int *in = nullptr, *out = nullptr;
    CHECK(hipMallocManaged(&in, n * sizeof(int)));
    CHECK(hipMallocManaged(&out, blocks * sizeof(int)));
    for (int i = 0; i < n; ++i)
        in[i] = i;
    const int new_offset = 100, new_weights[4] = {4, 3, 2, 1};
    CHECK(hipMemcpyToSymbol(offset, &new_offset, sizeof new_offset));
    CHECK(hipMemcpyToSymbol(weights, new_weights, sizeof new_weights));
    int read = 0;
    CHECK(hipMemcpyFromSymbol(&read, offset, sizeof read));
    EXPECT(read == 100);
    block_sums<<<blocks, 256, 256 * sizeof(int)>>>(in, out, n);
    CHECK(hipDeviceSynchronize());
    for (int b = 0; b < blocks; ++b) {
        int sum = 0;
        for (int t = 0; t < 256; ++t)
            sum += (b * 256 + t) * new_weights[t % 4] + 100;
        EXPECT(out[b] == sum);
    }
    CHECK(hipFree(in));
    CHECK(hipFree(out));
}

void check_shape() {
    int* out = nullptr;
    CHECK(hipHostMalloc(&out, 7 * sizeof(int)));
    for (int i = 0; i < 7; ++i)
        out[i] = 0;
    shape<<<dim3(3, 2, 4), dim3(8, 4, 2)>>>(out);
    CHECK(hipDeviceSynchronize());
    const int expected[7] = {3, 2, 4, 8, 4, 2, 3 * 2 * 4 * 8 * 4 * 2};
    for (int i = 0; i < 7; ++i)
        EXPECT(out[i] == expected[i]);
    CHECK(hipHostFree(out));
    int blocks = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, saxpy, 256, 0));
    EXPECT(blocks >= 1);
}

void check_cooperative_and_managed() {
    const int blocks = 40;
    int *data = nullptr, *sums = nullptr;
    CHECK(hipMallocManaged(&data, blocks * sizeof(int)));
    CHECK(hipMallocManaged(&sums, blocks * sizeof(int)));
    void* arguments[] = {&data, &sums};
    for (int i = 0; i < 2; ++i) {
        for (int b = 0; b < blocks; ++b)
            data[b] = sums[b] = 0;
        CHECK(hipLaunchCooperativeKernel(all_to_all, dim3(blocks), dim3(128), arguments, 0, nullptr));
        CHECK(hipDeviceSynchronize());
        for (int b = 0; b < blocks; ++b)
            EXPECT(sums[b] == blocks * (blocks + 1) / 2);
    }
    CHECK(hipFree(data));
    CHECK(hipFree(sums));

    managed_counter += 1;
    count<<<1, 1>>>(10);
    CHECK(hipDeviceSynchronize());
    EXPECT(managed_counter == 16);
}

/// The same code object once more, by the module functions: from its file and from memory, with arguments as a list and
/// as a block, on two devices.
void check_modules(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    EXPECT(file != nullptr);
    std::vector<char> image(1 << 20);
    image.resize(std::fread(image.data(), 1, image.size(), file));
    std::fclose(file);
    for (int device = 0; device < 2; ++device) {
        CHECK(hipSetDevice(device));
        hipModule_t module;
        if (device == 0)
            CHECK(hipModuleLoad(&module, path));
        else
            CHECK(hipModuleLoadData(&module, image.data()));
        hipFunction_t function;
        CHECK(hipModuleGetFunction(&function, module, "scale"));
        EXPECT(hipModuleGetFunction(&function, module, "missing") == hipErrorNotFound);
        hipDeviceptr_t factor;
        std::size_t bytes = 0;
        CHECK(hipModuleGetGlobal(&factor, &bytes, module, "factor"));
        EXPECT(bytes == sizeof(int));
        const int seven = 7;
        CHECK(hipMemcpyHtoD(factor, const_cast<int*>(&seven), sizeof seven));

        int* data = nullptr;
        CHECK(hipMalloc(&data, 256 * sizeof(int)));
        std::vector<int> host(256, device + 1);
        CHECK(hipMemcpy(data, host.data(), 256 * sizeof(int), hipMemcpyHostToDevice));
        int add = 3;
        void* parameters[] = {&data, &add};
        CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
        struct {
            int* data;
            int add;
        } block{data, 5};
        std::size_t size = sizeof block;
        void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         HIP_LAUNCH_PARAM_END};
        CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
        CHECK(hipMemcpy(host.data(), data, 256 * sizeof(int), hipMemcpyDeviceToHost));
        for (const int value : host)
            EXPECT(value == ((device + 1) * 7 + 3) * 7 + 5);
        CHECK(hipFree(data));
        CHECK(hipModuleUnload(module));
    }
}

/// A stream of one device waits for an event of the other's; results travel by a peer copy.
void check_two_devices() {
    int *first = nullptr, *second = nullptr;
    hipStream_t streams[2];
    hipEvent_t done;
    CHECK(hipSetDevice(0));
    CHECK(hipMalloc(&first, 64 * sizeof(int)));
    CHECK(hipStreamCreateWithFlags(&streams[0], hipStreamNonBlocking));
    CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
    CHECK(hipMemsetAsync(first, 0, 64 * sizeof(int), streams[0]));
    for (int i = 0; i < 10; ++i)
        scale<<<1, 64, 0, streams[0]>>>(first, 1); // factor is 2: x becomes 2 x + 1
    CHECK(hipEventRecord(done, streams[0]));
    CHECK(hipSetDevice(1));
    CHECK(hipMalloc(&second, 64 * sizeof(int)));
    CHECK(hipStreamCreateWithFlags(&streams[1], hipStreamNonBlocking));
    CHECK(hipStreamWaitEvent(streams[1], done, 0));
    CHECK(hipMemcpyPeerAsync(second, 1, first, 0, 64 * sizeof(int), streams[1]));
    scale<<<1, 64, 0, streams[1]>>>(second, 1);
    std::vector<int> host(64);
    CHECK(hipMemcpyAsync(host.data(), second, 64 * sizeof(int), hipMemcpyDeviceToHost, streams[1]));
    CHECK(hipStreamSynchronize(streams[1]));
    for (const int value : host)
        EXPECT(value == 2047); // 2^11 - 1
    CHECK(hipFree(second));
    CHECK(hipStreamDestroy(streams[1]));
    CHECK(hipSetDevice(0));
    CHECK(hipEventDestroy(done));
    CHECK(hipStreamDestroy(streams[0]));
    CHECK(hipFree(first));
}

} // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2); // the file of this program's code object
    int devices = 0;
    CHECK(hipGetDeviceCount(&devices));
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    std::printf("%d x %s (%s)\n", devices, properties.name, properties.gcnArchName);
    EXPECT(devices == 2);
    for (int device = 0; device < devices; ++device)
        check_saxpy(device);
    check_symbols_and_lds();
    check_shape();
    check_cooperative_and_managed();
    check_modules(argv[1]);
    check_two_devices();
    std::printf("ok\n");
    return 0;
}
