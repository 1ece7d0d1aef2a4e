/* SPDX-License-Identifier: Apache-2.0 */
/* What zyfa's simulator exports beside HIP. Look the functions up with dlsym in the loaded libamdhip64: they
 * are absent from AMD's library, and zyfaSimVersion is how a program knows that it runs on the simulator. */
#ifndef ZYFA_SIM_H
#define ZYFA_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "zyfa-sim 0.1.0". */
const char* zyfaSimVersion(void);

/* Number of devices, 0 to 64; before the first call that needs one. 0 if it took effect, else 1. The
 * environment variable ZYFA_SIM_DEVICES does the same. */
int zyfaSimSetDeviceCount(int count);

/* clang-format off */
/* Sets an option of a device from text; it holds from the next launch on. Returns null, or what is wrong
 * (valid until the thread's next call). Options:
 *   seed                order of streams, workgroups and waves, and under the sanitizer the landing of memory;
 *                       0 (default) is the order of enqueueing
 *   clock_factor        of all shader clocks: the maximum, 2.4 GHz, and what the clock model makes of it
 *   clock_drift         x: under sustained load the clock changes by so large a share of itself per second
 *   clock_swing         x: and swings by so large a share, up and down once a second; both by zyfaSimClockUnderLoad
 *   chip_spread         x: a kernel's time is scaled by a factor between 1 - x and 1 + x that is drawn from
 *                       seed and code, as chips of one kind differ; 0 by default
 *   threads             host threads of the engine; 0 (default): all
 *   compute_units xcds  256 and 8 by default
 *   memory              nominal bytes
 *   launch_overhead_us  fixed part of a kernel's simulated time
 *   timed_workgroups    how many workgroups of a launch run on the cycle model; the others' time is scaled by
 *                       theirs. "auto" (default): two, once a timing event was recorded on the device
 *   grid                1: time whole grids by the addresses of all workgroups; outputs hold no results
 *   events              1: keep every instruction of those, for zyfaSimLastTrace
 *   sanitize            1: run every launch under the sanitizer
 *   wave_quantum        instructions of a wave before the next of its workgroup gets its turn, 16 by default
 *   instruction_limit   instructions of a wave after which a kernel is taken to hang
 *   name                marketing name
 *   driver, firmware    version strings
 * The environment variable ZYFA_SIM_OPTIONS takes a comma-separated list of option=value, each for all devices
 * or, as N.option=value, for device N. ZYFA_SIM_HIP_VERSION sets the version that HIP reports, as HIP_VERSION
 * is coded. */
/* clang-format on */
const char* zyfaSimSetDevice(int device, const char* option, const char* value);

/* Text of a device's option "name", "driver" or "firmware"; null for another one or another device. Valid
 * until the thread's next call. */
const char* zyfaSimDeviceText(int device, const char* option);

/* What stopped the last kernel that faulted: kernel, PC, disassembly, wave, lane, allocation. Empty if none
 * did. Valid until the thread's next call. */
const char* zyfaSimLastFault(void);

/* Makes a faulted device usable again without a reset: its memory and modules stay. 0 if done. */
int zyfaSimClearFault(int device);

/* Ends the kernel that runs on a device, where one does, and waits for it: one that hangs cannot be got rid
 * of otherwise, and a GPU's cannot at all. The device has then faulted with hipErrorLaunchTimeOut, and what
 * was enqueued behind the kernel is dropped. 0 if done. */
int zyfaSimStopKernels(int device);

/* The clock after so many seconds of load over what the clock model says, by the options clock_drift and
 * clock_swing. A launch takes the time of the model; who takes it for a series of launches asks here. */
double zyfaSimClockUnderLoad(int device, double seconds);

typedef struct zyfaSimLaunch {
    uint64_t instructions; /* wave instructions executed; an MFMA counts once */
    double cycles;         /* modelled shader cycles, without the launch's overhead */
    double seconds;        /* cycles / clock; see zyfaSimReadTelemetry */
} zyfaSimLaunch;

/* Of the last kernel that ended on the device. 0 if there was one. */
int zyfaSimLastLaunch(int device, zyfaSimLaunch* launch);

/* What the device's sensors would show while the last kernel was launched again and again: the shader clock
 * that the clock model settles at, and the share of the current limit that the load would take at the maximum
 * clock (0 where no workgroup was on the cycle model; the clock is then the maximum). `repeated`: 1 if
 * the last launch changed nothing, code, arguments and data being those of an earlier one, and so did not
 * run. */
typedef struct zyfaSimTelemetry {
    double shader_clock_ghz, maximum_clock_ghz;
    double current_load;
    int repeated;
} zyfaSimTelemetry;

/* 0 if a kernel has ended on the device. */
int zyfaSimReadTelemetry(int device, zyfaSimTelemetry* telemetry);

/* Timing reports of the last kernel's timed workgroups as a JSON array: cycles, matrix_busy, phase_cycles,
 * pipes, stalls, and with `instructions` not 0 every instruction with its disassembly. Null if none was
 * timed. Valid until the thread's next call. */
const char* zyfaSimLastTiming(int device, int instructions);

/* The grid model's figures of the last kernel as JSON: cycles, compute_cycles, workgroups, lines,
 * l2_hit_share, infinity_cache_hits, hbm_bytes, memory_wait_cycles; null without the option grid. Valid until
 * the thread's next call. */
const char* zyfaSimLastGrid(int device);

/* Trace of the last kernel's first timed workgroup in the JSON form that Perfetto reads; needs the option
 * events. Null if none was timed. Valid until the thread's next call. */
const char* zyfaSimLastTrace(int device);

/* SVG of the same workgroup's SIMD 0: its waves, matrix and vector pipe and LDS from cycle `begin` on (below
 * 0: from the barrier in the middle of the run); needs the option events. As above. */
const char* zyfaSimLastPicture(int device, long long begin, unsigned long long cycles);

/* Its code as text: executions, cycles waited and why, disassembly. As above. */
const char* zyfaSimLastListing(int device);

/* What the sanitizer has found in this process's launches since the last clear: text that ends in "ERROR
 * SUMMARY: n", or JSON. `strict`: notes count as errors. Null if no launch ran under it (device option
 * sanitize=1, or ZYFA_SANITIZE=1 in the environment). Valid until the thread's next call. */
const char* zyfaSimSanitizerReport(int json, int strict);
/* The number of errors in that report. */
uint64_t zyfaSimSanitizerErrors(int strict);
void zyfaSimSanitizerClear(void);

#ifdef __cplusplus
}
#endif

#endif
