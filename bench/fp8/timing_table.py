#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FP8 attention on the cycle model at one head: our schedules, AITER's kernel, and the page that says so.

usage: bench/fp8/timing_table.py --zyfa build/bin/zyfa [--seq 8192] [--aiter FOLDER] [--paper-order PROGRAM] [--traces FOLDER]

FOLDER of --aiter holds AITER's fwd_hd128_fp8_causal.co (hsa/gfx950/fmha_v3_fwd in ROCm/aiter at e4048607a535; not part
of this project). PROGRAM is build/bin/zyfa_fp8_paper_order. Traces are Perfetto files, one per row. Prints a Markdown
table; everything in it is simulated.

  phase   cycles between two barriers in the steady state (AITER: per 128-key block and wave pair, halved)
  steady  share of the cycles of 40 phases in the middle in which the matrix pipe is busy
  loop    the same from the first to the last matrix instruction, transitions between query tiles included
  useful  what the paper's formula (1) counts (no row sums, no masked products), of what the matrix pipes could do: in the
          steady state, and over all cycles of the workgroup
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import timing_validation


def run(command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def simulate(zyfa, code, launch, trace):
    report = json.loads(run([zyfa, "simulate", code, "--launch", launch, "--timing", "--json"]))
    if trace:
        run([zyfa, "simulate", code, "--launch", launch, "--trace", trace])
    return report["timing"]


def ours(options, name, flags, folder):
    code, launch = folder / "k.co", folder / "k.json"
    # One launch: at one head the default splits the keys.
    run([options.zyfa, "asm", "--dtype", "fp8", "--seq", options.seq, "--heads-q", 1, "--key-parts", 1, *flags, "--object",
         code, "--launch", launch])
    return simulate(options.zyfa, code, launch, options.traces / f"{name}.json" if options.traces else None)


def row(name, timing, useful, seq, dims, phase=None):
    steady, loop = (100 * timing["matrix_busy"][k] for k in ("steady", "whole_loop"))
    cycles = timing["workgroup"]["cycles"]
    clock = timing["activity"]["clock_ghz"]
    workgroups = (seq + 511) // 512  # pairs of query tiles of 256 rows, equal work each
    share = 100 * seq * seq * dims / workgroups / (4 * 2048 * cycles)  # 2048 FLOP per SIMD and cycle (Section V)
    print(f"| {name} | {phase or timing['phase_cycles']:.0f} | {steady:.1f}% | {loop:.1f}% | {steady * useful:.1f}% | "
          f"{share:.1f}% | {cycles} | {clock:.2f} GHz | {cycles / clock / 1e3:.1f} µs |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zyfa", required=True)
    parser.add_argument("--seq", type=int, default=8192)
    parser.add_argument("--aiter", type=pathlib.Path)
    parser.add_argument("--paper-order")
    parser.add_argument("--traces", type=pathlib.Path)
    options = parser.parse_args()
    if options.traces:
        options.traces.mkdir(parents=True, exist_ok=True)
    print("| kernel, schedule | phase | steady | loop | useful, steady | useful, all | cycles | clock | time |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.aiter:
            timing = simulate(options.zyfa, options.aiter / "fwd_hd128_fp8_causal.co",
                              timing_validation.aiter_launch(options.seq, folder),
                              options.traces / "aiter.json" if options.traces else None)
            timing_short = json.loads(run([options.zyfa, "simulate", options.aiter / "fwd_hd128_fp8_causal.co", "--launch",
                                           timing_validation.aiter_launch(options.seq // 2, folder), "--timing",
                                           "--json"]))["timing"]
            # One wave's block; both waves of a SIMD together take two.
            phase = (timing["workgroup"]["cycles"] - timing_short["workgroup"]["cycles"]) / (options.seq / 128)
            # Its row sums are not MFMAs; packed FP32, which blocks the matrix pipe, is not counted as busy.
            row("AITER, d = 128", timing, 1.0, options.seq, 256, phase)
        # Of one block's MFMA cycles (Section III-B): 1024 for the products and 64 for the row sums; 192/128: 1280.
        for dim, products in ((128, 1024), (192, 1280)):
            useful = products / (products + 64)
            matrix_first = ["--issue-order", "matrix_first"]
            vector_first = ["--matrix-work", "none", "--issue-order", "vector_first"]
            for label, flags in (("lean", []), ("lean, tiles stored in the next softmax phase", ["--epilogue", "next_softmax"]),
                                 ("lean, vector instructions first", vector_first),
                                 ("lean, maxima in the matrix phase", ["--matrix-work", "maximum"]),
                                 ("exact", ["--matrix-work", "none", *matrix_first]),
                                 ("exact, tiles stored in the next softmax phase",
                                  ["--matrix-work", "none", *matrix_first, "--epilogue", "next_softmax"]),
                                 ("exact, vector instructions first", vector_first),
                                 ("exact, maxima in the matrix phase", ["--matrix-work", "maximum", *matrix_first]),
                                 ("exact, fold", ["--matrix-work", "fold"]),
                                 ("exact, fold, the scale a power of two",
                                  ["--matrix-work", "fold", "--softmax-scale", 0.125 * math.log(2)])):
                if dim == 192 and "fold" in label:
                    continue
                for order in ("from_first", "from_diagonal"):
                    if order == "from_diagonal" and ("maxima" in label or "stored" in label):
                        continue
                    shown = f"d = {dim if dim == 128 else '192/128'}, {label}" + (", from the diagonal" if order != "from_first" else "")
                    timing = ours(options, shown.replace(" ", "_").replace("/", "_").replace(",", ""),
                                  ["--dim-qk", dim, "--probability", label.split(",")[0], "--key-order", order, *flags],
                                  folder)
                    row(shown, timing, useful, options.seq, dim + 128)
        if options.paper_order:
            print(run([options.paper_order]), end="")


if __name__ == "__main__":
    main()
