#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the simulator's times with published measurements and rewrites the tables of docs/timing.md.

    bench/timing_validation.py --zyfa build/bin/zyfa --page docs/timing.md [--aiter FOLDER] [--grid]

FOLDER holds AITER's fwd_hd128_fp8_causal.co (hsa/gfx950/fmha_v3_fwd in ROCm/aiter at e4048607a535; not part of
this project). Rows that need what is missing are left out and named. Published numbers: arXiv 2611.07496 ("paper")
unless a row says otherwise.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

AITER_KERNEL = "_ZN5aiter31fmha_fwd_hd128_fp8_causal_gfx950E"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Rows:
    """One line per published number."""

    def __init__(self):
        self.rows = []

    def add(self, group, name, published, model, role, unit="cycles", source=""):
        low, high = published if isinstance(published, (tuple, list)) else (published, published)
        error = 0.0 if low <= model <= high else (model - low) / low if model < low else (model - high) / high
        self.rows.append(dict(group=group, name=name, low=low, high=high, model=model, role=role, unit=unit,
                              source=source, error=error))

    def groups(self):
        return list(dict.fromkeys(row["group"] for row in self.rows))

    def table(self, group):
        lines = ["| what | published | model | error | role | source |", "|---|---:|---:|---:|---|---|"]
        for r in self.rows:
            if r["group"] != group:
                continue
            published = f"{r['low']:g}" if r["low"] == r["high"] else f"{r['low']:g} to {r['high']:g}"
            lines.append(f"| {r['name']} | {published} {r['unit']} | {r['model']:.4g} | {100 * r['error']:+.1f}% | "
                         f"{r['role']} | {r['source']} |")
        return lines

    def wmape(self, group):
        """Sum of absolute errors over the sum of published values, in percent; a range's error is to its edge."""
        rows = [r for r in self.rows if r["group"] == group]
        off = sum(abs(r["error"]) * (r["low"] if r["error"] < 0 else r["high"]) for r in rows)
        return 100 * off / sum((r["low"] + r["high"]) / 2 for r in rows)

    def roles(self, group):
        counts = collections.Counter(r["role"] for r in self.rows if r["group"] == group)
        return ", ".join(f"{count} {role}" for role, count in counts.items())


def microbenchmarks(zyfa, rows):
    cases = {(c["group"], c["name"]): c["value"] for c in json.loads(run([zyfa, "microbench", "--json"]))["cases"]}
    given = "input"
    section = "paper III-A"
    for name, cycles in [("v_add_f32", 2), ("v_mul_f32", 2), ("v_fma_f32", 2), ("v_max_f32", 4), ("v_max3_f32", 4),
                         ("v_cmp_lt_f32", 4), ("v_perm_b32", 4), ("v_cvt_pk_u8_f32", 4), ("v_pk_fma_f32", 4),
                         ("v_pk_mul_f16", 4), ("v_cvt_pk_bf16_f32", 4), ("v_exp_f32", 8), ("v_exp_f16", 8),
                         ("v_cvt_pk_fp8_f32", 8)]:
        rows.append(("Vector pipe", name, cycles, cases["vector pipe", name], given, "cycles", section))
    for name, cycles in [("fp8 32x32x64", 64), ("fp8 16x16x128", 32), ("bf16 32x32x16", 32), ("bf16 16x16x32", 16),
                         ("fp4 16x16x128", 16)]:
        rows.append(("Matrix pipe", name, cycles, cases["matrix pipe", name], given, "cycles", "paper V, peak rates"))
    fitted, held = "fitted", "held out"
    beside = "Two waves on one SIMD"
    for name, value, role in [("v_exp_f32 beside fp8 32x32", (1.13, 1.28), fitted),
                              ("v_cvt_pk_fp8_f32 beside fp8 32x32", (1.13, 1.28), fitted),
                              ("v_exp_f32 beside bf16 32x32", (1.13, 1.28), fitted),
                              ("v_exp_f32 beside bf16 16x16", (1 / 0.70, 1 / 0.57), fitted),
                              ("v_pk_fma_f32 beside fp8 32x32", (3.8, 4.0), given),
                              ("v_pk_mul_f16 beside fp8 32x32", (1.0, 1.0), held),
                              ("fp8 32x32 beside v_exp_f32", (1.0, 1.05), held),
                              ("bf16 32x32 beside v_exp_f32", (1.0, 1.05), held)]:
        rows.append((beside, name, value, cases["two waves", name], role, "times", section))
    for name, value, role, source in [
            ("v_add_f32, dependent", 4, given, "thread trace, tinygrad"),
            ("ds_read_b32 and its address", 69, held, "facebookexperimental/triton"),
            ("ds_write_b32 to lgkmcnt(0)", (40, 52), fitted, "thread trace, tinygrad"),
            ("s_load_dword, cached", 48, given, "MI300X, mt4g"),
            ("global_load_dword, in L2", 288, given, "MI300X, mt4g")]:
        rows.append(("Latencies", name, value, cases["latency", name], role, "cycles", source))
    port = "LDS port (AMD rocRoller's cost model for gfx950; conflicts: HipKittens' counters)"
    for name, value in [("ds_read_b32, lanes 4 bytes apart", 4), ("ds_read_b64, lanes 8 bytes apart", 4),
                        ("ds_read_b96, lanes 16 bytes apart", 16), ("ds_read_b128, lanes 16 bytes apart", 8),
                        ("ds_read_b128, lanes 144 bytes apart", 8), ("ds_write_b32, lanes 4 bytes apart", 8),
                        ("ds_write_b64, lanes 8 bytes apart", 12), ("ds_write_b128, lanes 16 bytes apart", 20)]:
        rows.append((port, name, value, cases["LDS port", name], given, "cycles", "rocRoller LDSBankModel"))
    clock = "Sustained clock"
    for name, value, role in [("BF16 MFMA 32x32", 1.71, fitted), ("BF16 MFMA 16x16", 1.92, fitted),
                              ("FP8 MFMA 32x32", 2.07, fitted), ("FP8 MFMA 16x16", 2.20, fitted),
                              ("FP4 MFMA 16x16", 1.91, fitted), ("FP8 MFMA 32x32, constant operands", 2.34, fitted),
                              ("FP8 MFMA 32x32, random bits", (1.91, 1.97), fitted), ("VALU only", 2.39, fitted),
                              ("LDS reads only", 2.40, fitted)]:
        rows.append((clock, name, value, cases["clock", name], role, "GHz", "paper Table V, III-C"))
    # One wave's 128-key block per phase on each of 1024 SIMDs.
    operations = 2 * 2 * 32 * 128 * 128
    pflops = (operations * 1024 / cases["attention loop", "cycles per phase"] *
              cases["attention loop", "clock"] * 1e9 / 1e15)
    rows.append((clock, "FP8 attention loop (synthetic)", 3.03, pflops, fitted, "PFLOP/s", "paper Table V"))


def aiter_launch(length, folder):
    """LAUNCH.json for AITER's kernel at one head (its argument block: csrc/include/mha_fwd.h)."""
    arguments = [{"offset": o, "buffer": b} for o, b in
                 [(0, "o"), (16, "q"), (32, "k"), (48, "v"), (64, "lse"), (512, "d"), (528, "d"), (544, "d")]]
    arguments.append({"offset": 80, "type": "f32", "value": 0.08838834764})
    head = length * 128
    words = {96: length, 112: 128, 128: 256 * 128, 144: head, 160: head, 176: 1, 192: 128, 208: head, 224: head,
             256: 1, 272: length, 288: 128, 304: 128, 320: 1, 336: 128, 352: head, 368: head, 384: 256,
             400: 2 * head, 416: 2 * head, 464: 4 * length, 652: 0}
    arguments += [{"offset": o, "type": "u32", "value": v} for o, v in words.items()]
    buffers = {n: {"size": head, "generator": {"kind": "gaussian", "type": "e4m3", "seed": s, "sd": 1.0}}
               for s, n in enumerate("qkv", 1)}
    buffers |= {"o": {"size": 2 * head, "fill": 0}, "lse": {"size": 4 * length, "fill": 0},
                "d": {"size": 16, "generator": {"kind": "constant", "type": "f32", "value": 1.0}}}
    tiles = (length + 255) // 256
    path = pathlib.Path(folder) / f"aiter{length}.json"
    path.write_text(json.dumps({"kernel": AITER_KERNEL, "grid": [(tiles + 1) // 2, 1, 1], "block": [512, 1, 1],
                                "kernargs": arguments, "buffers": buffers, "outputs": []}))
    return path


def aiter(zyfa, code, rows):
    """Pipe cycles per wave and 128-key block: the difference between two lengths, so that prologue, masked blocks
    and the change of tiles drop out."""
    with tempfile.TemporaryDirectory() as folder:
        reports = [json.loads(run([zyfa, "simulate", code, "--launch", aiter_launch(s, folder), "--timing", "--json"]))
                   ["timing"] for s in (4096, 8192)]
    blocks = 2 * 4096 // 128  # of the two waves of a SIMD
    per = lambda pick: (pick(reports[1]) - pick(reports[0])) / blocks
    pipes = lambda name: per(lambda r: r["pipes"][name])
    group = "AITER's FP8 kernel, d = 128, causal (cycles per SIMD for one wave's 128-key block)"
    table = "paper Table IV"
    rows.append((group, "matrix pipe", 1156, pipes("matrix"), "held out", "cycles", table))
    rows.append((group, "of which packed FP32", 132, pipes("packed"), "held out", "cycles", table))
    rows.append((group, "vector pipe", 1303, pipes("vector"), "held out", "cycles", table))
    # A wave issues every 4 cycles, and two waves of a SIMD issue side by side.
    rows.append((group, "instruction issue", 891, pipes("issue") / 2, "held out", "cycles", table))
    rows.append((group, "LDS", 516, pipes("lds") / 2, "held out", "cycles", table))  # two ports
    rows.append((group, "achieved", 2051, per(lambda r: r["workgroup"]["cycles"]), "fitted (barrier)", "cycles", table))
    rows.append((group, "matrix pipe idle beside softmax and barrier", 31.7,
                 100 * reports[1]["idle_beside_softmax"], "beside the fit (barrier)", "% of cycles", "paper III-B"))


def chiplet_map(zyfa, rows):
    """The gain of the chiplet map in our BF16 kernel, by the grid model, at Figure 3's shapes."""
    with tempfile.TemporaryDirectory() as folder:
        for length, published in [(2048, (1.00, 1.06)), (4096, (1.00, 1.05)), (8192, (1.00, 1.03))]:
            heads = max(32, 262144 // length)
            cycles = {}
            for name in ("none", "head_first"):
                code, launch = (pathlib.Path(folder) / f"{length}{name}{end}" for end in (".co", ".json"))
                run([zyfa, "asm", "--seq", str(length), "--heads-q", str(heads), "--chiplet-map", name,
                     "--object", code, "--launch", launch])
                described = json.loads(launch.read_text())
                for buffer in described["buffers"].values():  # addresses do not depend on the data
                    for source in ("generator", "file", "safetensors", "tensor", "as", "scale"):
                        buffer.pop(source, None)
                    buffer["fill"] = 0
                described["outputs"] = []
                launch.write_text(json.dumps(described))
                cycles[name] = json.loads(run([zyfa, "simulate", code, "--launch", launch, "--grid", "--json"]))["grid"]["cycles"]
            rows.append(("Chiplet map, BF16, time without over time with", f"S = {length}, H = {heads}", published,
                         cycles["none"] / cycles["head_first"], "held out", "times", "paper Figure 3 (read off)"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zyfa", required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--aiter", type=pathlib.Path)
    parser.add_argument("--grid", action="store_true", help="the chiplet map too (up to S = 8K; no longer grid was run to its end)")
    options = parser.parse_args()
    found, missing = [], []
    microbenchmarks(options.zyfa, found)
    if options.aiter:
        aiter(options.zyfa, options.aiter / "fwd_hd128_fp8_causal.co", found)
    else:
        missing.append("AITER's kernel")
    if options.grid:
        chiplet_map(options.zyfa, found)
    else:
        missing.append("the chiplet map")
    rows = Rows()
    for row in found:
        rows.add(*row)
    text = []
    for group in rows.groups():
        text += [f"### {group}", "", *rows.table(group), "", f"WMAPE {rows.wmape(group):.1f}% ({rows.roles(group)}).", ""]
    if missing:
        text += ["Not measured in this run: " + ", ".join(missing) + ".", ""]
    begin, end = "<!-- begin: written by bench/timing_validation.py -->", "<!-- end -->"
    page = options.page.read_text()
    before, rest = page.split(begin, 1)
    after = rest.split(end, 1)[1]
    options.page.write_text(before + begin + "\n\n" + "\n".join(text) + end + after)
    print("\n".join(text))


if __name__ == "__main__":
    main()
