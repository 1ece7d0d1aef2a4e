// SPDX-License-Identifier: Apache-2.0
// Host time of single matrix and vector operations of the simulator, per instruction set of the host.
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include <benchmark/benchmark.h>

#include "sim/math/mfma.hpp"
#include "sim/valu/valu.hpp"

namespace {

using namespace zyfa::sim;

const char* name_of(HostIsa isa) {
    return isa == HostIsa::scalar ? "scalar" : isa == HostIsa::avx2 ? "avx2" : "avx512";
}

template <std::size_t N>
void fill(std::array<std::uint32_t, N>& words, std::uint32_t mask) {
    std::mt19937 random(1);
    for (auto& w : words)
        w = static_cast<std::uint32_t>(random()) & mask;
}

void matrix(benchmark::State& state, HostIsa isa, const char* mnemonic) {
    set_host_isa(isa);
    const MfmaOp* op = find_mfma_op(mnemonic);
    alignas(64) static std::array<std::uint32_t, 64 * 8> a, b;
    alignas(64) static std::array<std::uint32_t, 64 * 32> c, d;
    alignas(64) static std::array<std::uint32_t, 64> scale;
    fill(a, 0xBFBFBFBF); // FP8 below NaN, BF16 of moderate size
    fill(b, 0xBFBFBFBF);
    scale.fill(127);
    MfmaCall call;
    call.d = d.data();
    call.a = a.data();
    call.b = b.data();
    call.c = c.data();
    call.scale_a = call.scale_b = call.index = scale.data();
    for (auto _ : state)
        op->function(call);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void vector(benchmark::State& state, HostIsa isa, const char* mnemonic) {
    set_host_isa(isa);
    const ValuOp* op = find_valu_op(mnemonic);
    alignas(64) static std::array<std::uint32_t, 64 * 2> s[3], d;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(0.01f, 4.0f);
    for (auto& source : s)
        for (auto& w : source) {
            const float x = uniform(random);
            std::memcpy(&w, &x, sizeof w);
        }
    const FloatMode mode;
    ValuCall call;
    call.d = d.data();
    for (int n = 0; n < 3; ++n)
        call.s[n] = s[n].data();
    call.mode = &mode;
    for (auto _ : state)
        op->function(call);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

[[maybe_unused]] const bool registered = [] {
    const HostIsa best = host_isa();
    for (const HostIsa isa : {HostIsa::scalar, HostIsa::avx2, HostIsa::avx512}) {
        if (isa > best)
            continue;
        for (const char* m :
             {"v_mfma_f32_32x32x16_bf16", "v_mfma_f32_16x16x32_bf16", "v_mfma_f32_32x32x64_f8f6f4",
              "v_mfma_scale_f32_32x32x64_f8f6f4", "v_mfma_f32_16x16x128_f8f6f4", "v_mfma_i32_16x16x32_i8",
              "v_smfmac_f32_16x16x128_fp8_fp8"})
            benchmark::RegisterBenchmark((std::string(m) + "/" + name_of(isa)).c_str(), matrix, isa, m);
        for (const char* m : {"v_mov_b32", "v_add_u32", "v_add_f32", "v_fma_f32", "v_exp_f32", "v_log_f32",
                              "v_rcp_f32", "v_max3_f32", "v_cvt_pk_bf16_f32", "v_cvt_pk_fp8_f32",
                              "v_cvt_pk_u8_f32", "v_pk_mul_f32", "v_pk_fma_f16", "v_cndmask_b32"})
            benchmark::RegisterBenchmark((std::string(m) + "/" + name_of(isa)).c_str(), vector, isa, m);
    }
    return true;
}();

} // namespace
