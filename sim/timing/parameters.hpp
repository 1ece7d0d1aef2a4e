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
    unsigned issue_interval = 4;   ///< cycles between two instructions of one wave (paper III-A)
    unsigned taken_branch = 16;    ///< assumed: refill of the wave's instruction buffer
    unsigned barrier_release = 16; ///< assumed: last arrival to first issue after s_barrier
    unsigned straddle = 4; ///< an instruction across a 32-byte fetch window (LLVM PR 203934, MI210/MI300)

    // Vector and matrix pipe
    unsigned alu_latency = 4;    ///< dependent v_add_f32 (SQTT)
    unsigned scalar_latency = 4; ///< dependent SALU; SALU and VALU often share a time stamp (SQTT)
    /// Vector-pipe cycles that an MFMA takes at its issue. One number reproduces the paper's three: 8-cycle
    /// vector work beside MFMAs of 64, 32 and 16 cycles takes 64/57 = 1.12, 32/25 = 1.28 and 16/9 = 1.78
    /// times as long (measured: 1.13 to 1.28; 57 to 70% of the throughput beside 16x16).
    unsigned mfma_vector_cycles = 7;

    // LDS
    unsigned lds_latency = 44; ///< beyond the port time; ds_read_b128 to first use 28 to 60 (SQTT), 69 for a
                               ///< dependent gather with its address operation (Triton)
    unsigned lds_transpose_extra = 0; ///< assumed: as ds_read_b64

    // Vector memory
    unsigned vmem_bytes_per_clock = 64;    ///< per CU; MI300X L1
    unsigned l2_latency = 300;             ///< MI300X: 288
    unsigned infinity_cache_latency = 520; ///< assumed, between L2 and HBM
    unsigned hbm_latency = 790;            ///< Triton: 360 ns at 2.2 GHz
    unsigned store_latency = 240;          ///< SQTT: store to end of program 184 to 240
    unsigned dma_extra = 24;               ///< assumed: LDS-DMA's write into LDS after the data has come

    // Scalar memory
    unsigned scalar_hit = 48;   ///< MI300X scalar L1
    unsigned scalar_miss = 740; ///< SQTT: cold s_load 724 to 768

    // Start
    unsigned wave_start = 600;        ///< SQTT: wave start to first instruction, cold, 540 to 720
    unsigned wave_start_spacing = 14; ///< SQTT: one new wave per shader engine every 12 to 16 cycles
};

} // namespace zyfa::sim::timing
