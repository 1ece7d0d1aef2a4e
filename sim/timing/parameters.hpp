// SPDX-License-Identifier: Apache-2.0
// Every number of the compute-unit model, with where it comes from. "paper" is arXiv 2611.07496; "SQTT" are
// the gfx950 thread traces in tinygrad's repository (extra/sqtt/examples/gfx950), 4-cycle resolution;
// "Triton" is facebookexperimental/triton's AMDLatencyModel.h (gfx950 micro-benchmarks); "MI300X" are mt4g's
// sample results on CDNA3, used where nothing was published for gfx950. What is assumed says so.
#pragma once

#include <cstdint>

namespace zyfa::sim::timing {

struct Parameters {
    // Issue
    unsigned issue_interval = 4; ///< cycles between two instructions of one wave (paper III-A)
    unsigned taken_branch = 16;  ///< assumed: refill of the wave's instruction buffer
    /// Last arrival to first issue after s_barrier. Fitted on AITER's FP8 kernel (2051 cycles, paper Table
    /// IV), which has three barriers per block.
    unsigned barrier_release = 48;
    unsigned straddle = 4; ///< an instruction across a 32-byte fetch window (LLVM PR 203934, MI210/MI300)

    // Vector and matrix pipe
    unsigned alu_latency = 4;    ///< dependent v_add_f32 (SQTT)
    unsigned scalar_latency = 4; ///< dependent SALU; SALU and VALU often share a time stamp (SQTT)
    /// Cycles by which each MFMA holds back vector instructions of 8 cycles and more. One number reproduces
    /// the paper's three: beside MFMAs of 64, 32 and 16 cycles 8-cycle work takes 64/57 = 1.12, 32/25 = 1.28
    /// and 16/9 = 1.78 times as long (measured: 1.13 to 1.28; 57 to 70% of the throughput beside 16x16).
    /// Packed FP16, of 4 cycles, runs beside MFMAs at its own rate (paper III-A), so the faster classes are
    /// left alone.
    unsigned mfma_vector_cycles = 7;
    unsigned slow_vector = 8; ///< from so many cycles on

    // LDS
    /// Beyond the port time. ds_read_b128 to first use 28 to 60 (SQTT); a dependent ds_read_b32 with its
    /// address operation 69 (Triton); MI300X pointer chase 51 to 52 (mt4g).
    unsigned lds_latency = 50;
    unsigned lds_write_latency = 38;  ///< ds_write_b32 to lgkmcnt(0) 40 to 52 (SQTT), port time 8
    unsigned lds_transpose_extra = 0; ///< assumed: as ds_read_b64

    // Vector memory
    unsigned vmem_bytes_per_clock = 64;    ///< per CU; MI300X L1
    unsigned l2_latency = 276;             ///< MI300X chase 288, of which 12 issue, wait and address
    unsigned infinity_cache_latency = 520; ///< assumed, between L2 and HBM
    unsigned hbm_latency = 790;            ///< Triton: 360 ns at 2.2 GHz
    unsigned store_latency = 240;          ///< SQTT: store to end of program 184 to 240
    unsigned dma_extra = 24;               ///< assumed: LDS-DMA's write into LDS after the data has come

    // Scalar memory
    unsigned scalar_hit = 44;            ///< MI300X scalar L1 48, of which 4 are the wait
    unsigned scalar_miss = 740;          ///< SQTT: cold s_load 724 to 768
    unsigned scalar_cache_bytes = 16384; ///< shared by two compute units (CDNA3 white paper)
    unsigned scalar_cache_line = 64, scalar_cache_ways = 4; ///< LLVM AMDGPUUsage: 64-byte lines; ways assumed

    // L2 of one XCD (paper Table I: 4 MB; CDNA3 white paper: 128-byte lines, 16 ways)
    std::uint64_t l2_bytes = 4u << 20;
    unsigned l2_line = 128, l2_ways = 16;

    // Instruction cache. 64 KB for two compute units (CDNA3 white paper), yet a loop of 59 KB stalls on fetch
    // (FlyDSL PR 756), one of 32 KB does not. Kernels are launched again and again, so first touches hit.
    unsigned instruction_cache_bytes = 32768, instruction_line = 64, instruction_ways = 8;

    // Start
    unsigned wave_start = 600;        ///< SQTT: wave start to first instruction, cold, 540 to 720
    unsigned wave_start_spacing = 14; ///< SQTT: one new wave per shader engine every 12 to 16 cycles
};

} // namespace zyfa::sim::timing
