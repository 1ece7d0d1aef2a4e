#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AITER's causal gfx950 kernels on the simulator's timing model, in the shapes and columns of zyfa_shape_table.

usage: bench/aiter_table.py FOLDER [--zyfa build/bin/zyfa] > aiter.csv

FOLDER holds AITER's code objects (hsa/gfx950/fmha_v3_fwd in ROCm/aiter; not part of this project); those that are missing
are left out and named. One workgroup, which computes a pair of query tiles, runs; a launch has as many as there are pairs,
one at a time on each of 256 compute units (their LDS allows no second one), all with the same work. MHA only: in these
kernels grouped heads change addresses and nothing else. All of it is simulated. The argument block is that of
csrc/include/mha_fwd.h, grid and option those of csrc/cpp_itfs/mha_fwd.cu.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

UNITS = 256
SD = 0.1  # of Gaussian inputs (paper Section V-B)
CODE_SD = 102.4  # of e4m3 codes: 448 is 4.4 of it
KERNELS = {  # name: file, kernel, query-key dimension, bytes per element, rows of a tile, threads, FLOP per cycle and SIMD
    "aiter_bf16_128": ("fwd_hd128_bf16_causal.co", "_ZN5aiter26fmha_fwd_hd128_bf16_causalE", 128, 2, 256, 512, 1024),
    "aiter_bf16_192": ("fwd_hd192_hd128_bf16_causal.co", "_ZN5aiter32fmha_fwd_hd192_hd128_bf16_causalE", 192, 2, 128, 256,
                       1024),
    "aiter_fp8_128": ("fwd_hd128_fp8_causal.co", "_ZN5aiter31fmha_fwd_hd128_fp8_causal_gfx950E", 128, 1, 256, 512, 2048),
}


def launch(kernel, length):
    """One head; workgroup 0 of the grid."""
    _, symbol, dim, width, rows, threads, _ = KERNELS[kernel]
    q_row, v_row = dim * width, 128 * width
    words = {96: length, 112: q_row, 128: rows * q_row, 144: length * q_row, 160: length * q_row, 176: 1,
             192: q_row, 208: length * q_row, 224: length * q_row, 240: 3 if length > 16384 else 5, 256: 1, 272: length,
             288: dim, 304: 128, 320: 1, 336: v_row, 352: length * v_row, 368: length * v_row, 384: 256,
             400: 256 * length, 416: 256 * length, 464: 4 * length, 652: 0}
    pointers = {0: "o", 16: "q", 32: "k", 48: "v", 64: "lse", 512: "scale", 528: "scale", 544: "scale"}
    arguments = [{"offset": at, "buffer": name} for at, name in pointers.items()]
    arguments.append({"offset": 80, "type": "f32", "value": dim ** -0.5})
    arguments += [{"offset": at, "type": "u32", "value": value} for at, value in words.items()]
    element, sd = ("bf16", SD) if width == 2 else ("e4m3", CODE_SD)
    buffers = {name: {"size": length * row, "generator": {"kind": "gaussian", "type": element, "seed": seed, "sd": sd}}
               for seed, (name, row) in enumerate((("q", q_row), ("k", q_row), ("v", v_row)), 1)}
    buffers |= {"o": {"size": 256 * length, "fill": 0}, "lse": {"size": 4 * length, "fill": 0},
                "scale": {"size": 16, "generator": {"kind": "constant", "type": "f32", "value": SD / CODE_SD}}}
    return {"kernel": symbol, "grid": [1, 1, 1], "block": [threads, 1, 1], "kernargs": arguments, "buffers": buffers,
            "outputs": []}


def row(zyfa, folder, kernel, length):
    file, _, dim, _, rows, _, rate = KERNELS[kernel]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as described:
        json.dump(launch(kernel, length), described)
        described.flush()
        done = subprocess.run([zyfa, "simulate", str(folder / file), "--launch", described.name, "--timing", "--json"],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{kernel}, S = {length}: {done.stdout}{done.stderr}")
    timing = json.loads(done.stdout)["timing"]
    heads = max(32, 262144 // length)
    operations = heads * length * length * (dim + 128)  # the paper's formula (1)
    pairs = length // (2 * rows) * heads
    cycles = timing["cycles"] * pairs / UNITS
    useful = operations / pairs / (rate * 4 * timing["pipes"]["matrix"])
    clock = timing["activity"]["clock_ghz"]
    return (f"{kernel},MHA,{length},{cycles:.0f},{timing['matrix_busy']['steady']:.3f},"
            f"{timing['matrix_busy']['whole_loop']:.3f},{useful:.3f},{clock:.2f},{operations / (cycles / clock) * 1e-3:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--zyfa", default="build/bin/zyfa")
    parser.add_argument("--longest", type=int, default=32768)
    options = parser.parse_args()
    print("kernel,heads,S,cycles,matrix_busy_steady,matrix_busy_whole,useful_share,clock_ghz,tflops")
    for kernel, (file, *_) in KERNELS.items():
        if not (options.folder / file).exists():
            print(f"{kernel}: no {file} in {options.folder}", file=sys.stderr)
            continue
        length = 1024
        while length <= options.longest:
            print(row(options.zyfa, options.folder, kernel, length), flush=True)
            length *= 2


if __name__ == "__main__":
    main()
