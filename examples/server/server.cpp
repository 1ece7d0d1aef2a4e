// SPDX-License-Identifier: Apache-2.0
// A server-like loop: shapes are prepared at start, requests of several lengths then run on several streams,
// and nothing is assembled, loaded or tuned on their way. Mode must_hit shows what happens to a shape that
// nobody prepared a winner for.
//
// It uses HIP as any program does. On a ROCm machine:
//   c++ -std=c++20 server.cpp $(pkg-config --cflags --libs zyfa) -D__HIP_PLATFORM_AMD__ -I/opt/rocm/include
//       -L/opt/rocm/lib -lamdhip64 -o server
// In this repository's build, the simulator's libamdhip64 takes HIP's place.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <hip/hip_runtime_api.h>
#include <zyfa/context.hpp>

namespace {

void check(hipError_t status, const char* what) {
    if (status == hipSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
    std::exit(1);
}

/// q, k, v and o of the longest request, reused by every request of one stream.
struct Lane {
    static constexpr std::int64_t heads_q = 4, heads_kv = 1, dim = 128;
    hipStream_t stream = nullptr;
    void *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr;

    explicit Lane(std::int64_t longest) {
        check(hipStreamCreate(&stream), "hipStreamCreate");
        const auto allocate = [&](void** pointer, std::int64_t heads) {
            const auto bytes = static_cast<std::size_t>(heads * longest * dim * 2);
            check(hipMalloc(pointer, bytes), "hipMalloc");
            check(hipMemset(*pointer, 0, bytes), "hipMemset");
        };
        allocate(&q, heads_q);
        allocate(&k, heads_kv);
        allocate(&v, heads_kv);
        allocate(&o, heads_q);
    }
    ~Lane() {
        for (void* pointer : {q, k, v, o})
            check(hipFree(pointer), "hipFree");
        check(hipStreamDestroy(stream), "hipStreamDestroy");
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    zyfa::AttentionArgs arguments(std::int64_t length) const {
        const auto view = [&](void* data, std::int64_t heads) {
            return zyfa::TensorView{.data = data,
                                    .sizes = {1, heads, length, dim},
                                    .strides = {heads * length * dim, length * dim, dim, 1}};
        };
        zyfa::AttentionArgs args;
        args.q = view(q, heads_q);
        args.k = view(k, heads_kv);
        args.v = view(v, heads_kv);
        args.o = view(o, heads_q);
        args.stream = stream;
        return args;
    }
};

int serve() {
    const std::vector<std::int64_t> lengths{128, 200, 384};
    zyfa::Context& context = zyfa::Context::global(); // as ZYFA_DEVICE, ZYFA_MODE, ZYFA_CACHE_DIR ... say

    for (const std::int64_t length : lengths) {
        const auto problem = zyfa::Problem::contiguous(
            zyfa::DType::bf16, 1, Lane::heads_q, Lane::heads_kv, length, length, Lane::dim, Lane::dim,
            zyfa::Mask::causal, zyfa::Problem::Layout::bhsd, false);
        const zyfa::Explanation explanation = context.prepare(problem);
        std::printf("prepared %s: cache %s, %s\n", zyfa::to_string(problem).c_str(),
                    to_string(explanation.cache), explanation.reason.c_str());
    }

    const std::uint64_t assembled = context.counters().assembled;
    const Lane lanes[]{Lane(384), Lane(384)};
    for (std::size_t request = 0; request < 12; ++request)
        context.attention(lanes[request % 2].arguments(lengths[request % lengths.size()]));
    for (const Lane& lane : lanes)
        check(hipStreamSynchronize(lane.stream), "hipStreamSynchronize");
    std::printf("served 12 requests on 2 streams, assembled %llu kernels on the way\n",
                static_cast<unsigned long long>(context.counters().assembled - assembled));

    // In mode must_hit a call runs a stored winner or is refused: no surprises on a production machine.
    zyfa::AttentionArgs strict = lanes[0].arguments(320);
    strict.mode = zyfa::Mode::must_hit;
    try {
        context.attention(strict);
        std::printf("must_hit: a winner was stored\n");
    } catch (const zyfa::Error& error) {
        std::printf("must_hit: %s: %s\n", to_string(error.code()), error.what());
    }
    return context.counters().assembled == assembled ? 0 : 1;
}

} // namespace

int main() {
    try {
        return serve();
    } catch (const zyfa::Error& error) {
        std::fprintf(stderr, "%s: %s\n", to_string(error.code()), error.what());
        return 1;
    }
}
