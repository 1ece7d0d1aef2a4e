#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the simulator's times with published measurements and rewrites the tables of docs/timing.md.

    bench/timing_validation.py --zyfa build/bin/zyfa --page docs/timing.md [--aiter FILE] [--activations FOLDER]
                               [--traces TINYGRAD] [--grid 32768]

FILE is AITER's fwd_hd128_fp8_causal.co (hsa/gfx950/fmha_v3_fwd in ROCm/aiter at tag v0.1.19, the paper's version; not
part of this project), FOLDER holds captured activations. Rows that need what is missing are left out and named.
Published numbers: arXiv 2611.07496 ("paper") unless a row says otherwise.
"""
import argparse
import array
import collections
import json
import math
import pathlib
import re
import resource
import struct
import subprocess
import tempfile
import textwrap

import probability_loops
import thread_traces

AITER_KERNEL = "_ZN5aiter31fmha_fwd_hd128_fp8_causal_gfx950E"
WHOLE = ("--key-parts", "1")  # one launch: with few heads the default divides the keys among more


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
            low, high = f"{r['low']:.4g}", f"{r['high']:.4g}"
            published = low if low == high else f"{low} to {high}"
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
                              ("FP8 MFMA 32x32, random bits", (1.91, 1.97), held), ("VALU only", 2.39, fitted),
                              ("LDS reads only", 2.40, fitted)]:
        rows.append((clock, name, value, cases["clock", name], role, "GHz", "paper Table V, III-C"))
    # One wave's 128-key block per phase on each of 1024 SIMDs.
    operations = 2 * 2 * 32 * 128 * 128
    pflops = (operations * 1024 / cases["attention loop", "cycles per phase"] *
              cases["attention loop", "clock"] * 1e9 / 1e15)
    rows.append((clock, "FP8 attention loop (synthetic)", 3.03, pflops, fitted, "PFLOP/s", "paper Table V"))


def simulate(zyfa, code, launch, *flags):
    return json.loads(run([zyfa, "simulate", code, "--launch", launch, "--json", *flags]))


def aiter_launch(length, folder, source=None):
    """LAUNCH.json for AITER's kernel at one head (its argument block: csrc/include/mha_fwd.h). `source`: q, k and v
    (a file and a head) in place of Gaussian values."""
    arguments = [{"offset": o, "buffer": b} for o, b in
                 [(0, "o"), (16, "q"), (32, "k"), (48, "v"), (64, "lse"), (512, "dq"), (528, "dk"), (544, "dv")]]
    arguments.append({"offset": 80, "type": "f32", "value": 0.08838834764})
    head = length * 128
    words = {96: length, 112: 128, 128: 256 * 128, 144: head, 160: head, 176: 1, 192: 128, 208: head, 224: head,
             256: 1, 272: length, 288: 128, 304: 128, 320: 1, 336: 128, 352: head, 368: head, 384: 256,
             400: 2 * head, 416: 2 * head, 464: 4 * length, 652: 0}
    arguments += [{"offset": o, "type": "u32", "value": v} for o, v in words.items()]
    buffers = tensors(length, source)
    buffers |= {"o": {"size": 2 * head, "fill": 0}, "lse": {"size": 4 * length, "fill": 0}}
    for name in "qkv":
        buffers["d" + name] = ({"size": 16, "descale_of": name} if source else
                               {"size": 16, "generator": {"kind": "constant", "type": "f32", "value": 1.0}})
        if source:
            buffers["d" + name]["size"] = 4
    tiles = (length + 255) // 256
    path = pathlib.Path(folder) / f"aiter{length}.json"
    path.write_text(json.dumps({"kernel": AITER_KERNEL, "grid": [(tiles + 1) // 2, 1, 1], "block": [512, 1, 1],
                                "kernargs": arguments, "buffers": buffers, "outputs": []}))
    return path


def tensors(length, source, sd=1.0):
    """One head's q, k and v in e4m3: Gaussian, or cut out of captured activations with 4 query heads per key head."""
    head = length * 128
    if source is None:
        return {n: {"size": head, "generator": {"kind": "gaussian", "type": "e4m3", "seed": s, "sd": sd}}
                for s, n in enumerate("qkv", 1)}
    file, query_head = source
    cut = lambda h: [[0, 1], [h, h + 1], [0, length], [0, 128]]
    return {n: {"size": head, "safetensors": str(file), "tensor": n, "as": "e4m3", "scale": "auto",
                "cut": cut(query_head if n == "q" else query_head // 4)} for n in "qkv"}


# Vector instructions of the classes whose cost the paper's Section III-A gives.
PRICED = re.compile(r"v_(pk_)?(add|sub|mul|fma|max|max3)_f(16|32)|v_exp_|v_cvt_|v_cmp_|v_perm")


def priced_vector_cycles(report):
    """Vector cycles of SIMD 0 (the four do the same) of those instructions."""
    return sum(i["busy"] for i in report["instructions"] if PRICED.match(i["text"])) / 4


def aiter(zyfa, code, version, rows):
    """Pipe cycles per wave and 128-key block of the whole kernel at S = 32K, as Table IV counts them. A workgroup's
    counts and cycles are linear in its key blocks, so they follow from 4K and 8K."""
    with tempfile.TemporaryDirectory() as folder:
        reports = [simulate(zyfa, code, aiter_launch(s, folder), "--timing", "--grid", "--instructions")["timing"]
                   for s in (4096, 8192)]
    blocks = lambda length: 2 * (length // 128 + 2)  # of the two waves of a SIMD, over a workgroup's pair of tiles
    slope = lambda pick: (pick(reports[1]) - pick(reports[0])) / (blocks(8192) - blocks(4096))
    whole = lambda pick: slope(pick) + (pick(reports[1]) - slope(pick) * blocks(8192)) / blocks(32768)
    pipe = lambda name: lambda r: r["pipes"][name]
    group = f"AITER's FP8 kernel ({version}), d = 128, causal: cycles per SIMD for one wave's 128-key block"
    table = "paper Table IV"
    rows.append((group, "matrix pipe", 1156, whole(pipe("matrix")), "held out", "cycles", table))
    rows.append((group, "of which packed FP32", 132, whole(pipe("packed")), "held out", "cycles", table))
    rows.append((group, "vector pipe", 1303, whole(pipe("vector")), "held out", "cycles", table))
    rows.append((group, "the same, only what Section III-A gives a cost of", 1303, whole(priced_vector_cycles), "held out",
                 "cycles", table))
    # A wave issues every 4 cycles, and two waves of a SIMD issue side by side.
    rows.append((group, "instruction issue", 891, whole(pipe("issue")) / 2, "held out", "cycles", table))
    rows.append((group, "LDS", 516, whole(pipe("lds")) / 2, "held out", "cycles", table))  # two ports
    rows.append((group, "achieved", 2051, whole(lambda r: r["workgroup"]["cycles"]), "fitted (barrier)", "cycles", table))
    rows.append((group, "matrix pipe idle beside softmax and barrier", 31.7,
                 100 * reports[1]["idle_beside_softmax"], "beside the fit (barrier)", "% of cycles", "paper III-B"))
    loop = ", ".join(f"{name} {slope(pipe(name)) / share:.0f}" for name, share in
                     [("matrix", 1), ("vector", 1), ("issue", 2), ("lds", 2)])
    counts = []
    for report in reports:
        counts.append(collections.Counter())
        for i in report["instructions"]:
            counts[-1][i["text"].split()[0]] += i["count"] / 4  # of a SIMD
    loop_counts = {name: (counts[1][name] - counts[0][name]) / (blocks(8192) - blocks(4096)) for name in counts[1]}
    unpriced = {name: count for name, count in loop_counts.items()
                if name.startswith("v_") and not name.startswith("v_mfma") and not PRICED.match(name) and count > 0.1}
    listed = ", ".join(f"{count:.4g} `{name}`" for name, count in sorted(unpriced.items(), key=lambda item: -item[1]))
    return (f"Of the key loop alone, without what a tile costs once: {loop}, "
            f"achieved {slope(lambda r: r['workgroup']['cycles']):.0f} cycles. Of its {sum(loop_counts.values()):.2f} "
            f"instructions per wave and block, {sum(unpriced.values()):.4g} are vector instructions whose cost nothing public "
            f"gives, each charged 4 cycles: {listed}.")


def own_fp8(zyfa, folder, length, probability, source=None, scale=None, schedule=()):
    """Report of one workgroup of our FP8 kernel at one head."""
    code, launch = pathlib.Path(folder) / "own.co", pathlib.Path(folder) / "own.json"
    run([zyfa, "asm", "--dtype", "fp8", "--seq", str(length), "--heads-q", "1", "--probability", probability,
         *WHOLE, *schedule, "--object", code, "--launch", launch])
    described = json.loads(launch.read_text())
    described["buffers"] |= tensors(length, source, 0.1)
    if source:  # the factor of the scores, with the descales of q and k
        for argument in described["kernargs"]:
            if argument.get("type") == "f32" and abs(argument["value"] - 128 ** -0.5 * math.log2(math.e)) < 1e-3:
                argument["value"] = scale * math.log2(math.e) * descale(*source, "q") * descale(*source, "k")
    described["outputs"] = []
    described.pop("attention", None)
    launch.write_text(json.dumps(described))
    return simulate(zyfa, code, launch, "--timing", "--grid", "--instructions")["timing"]


def rescaled(report, length):
    """Share of a causal workgroup's blocks (one wave, 128 keys) in which lean P's kernel rescales its accumulator: only
    then, and at the first block of each of its two tiles, it takes exponentials."""
    exponentials = sum(i["count"] for i in report["instructions"] if i["text"].startswith("v_exp_f32"))
    blocks = 8 * (length + 256) // 128
    return (exponentials - 16) / (blocks - 16)


def safetensors_header(file):
    with open(file, "rb") as stream:
        size = struct.unpack("<Q", stream.read(8))[0]
        return size + 8, json.loads(stream.read(size))


def descale(file, query_head, name):
    """What `zyfa simulate` divides by for "scale": "auto": the largest power of two that keeps the magnitude at most
    448."""
    begin, header = safetensors_header(file)
    tensor = header[name]
    head = query_head if name == "q" else query_head // 4
    rows, width = tensor["shape"][2:]
    values = array.array("H")
    with open(file, "rb") as stream:
        stream.seek(begin + tensor["data_offsets"][0] + head * rows * width * 2)
        values.frombytes(stream.read(rows * width * 2))
    largest = struct.unpack("<f", struct.pack("<I", max(v & 0x7FFF for v in values) << 16))[0]
    return 1 / 2.0 ** math.floor(math.log2(448 / largest))


def lean_and_exact(zyfa, rows):
    with tempfile.TemporaryDirectory() as folder:
        lean, exact = (own_fp8(zyfa, folder, 8192, p) for p in ("lean", "exact"))
    group = "Exact over lean P in our FP8 kernel, d = 128, S = 8K"
    cycles = exact["workgroup"]["cycles"] / lean["workgroup"]["cycles"]
    rows.append((group, "cycles of the kernel", 1.2, cycles, "held out", "times", "paper VI-A, captured Mistral layer, 16K"))
    rows.append((group, "cycles of a phase", 1810 / 1261, exact["phase_cycles"] / lean["phase_cycles"], "held out", "times",
                 "paper Figure 6; exact P of an earlier build"))
    rows.append((group, "clock", (1 / 0.95, 1 / 0.94),
                 exact["activity"]["clock_ghz"] / lean["activity"]["clock_ghz"], "held out", "times",
                 "paper VI-A, captured Mistral layer, 16K"))
    return (f"A phase takes {lean['phase_cycles']:.0f} cycles with lean P ({100 * lean['matrix_busy']['steady']:.1f}% matrix "
            f"busy in steady state) and {exact['phase_cycles']:.0f} with exact P "
            f"({100 * exact['matrix_busy']['steady']:.1f}%); the paper's traces say 1261 (86%) and 1810 (60%).")


# From the diagonal on, layers without a sink on key 0 rescale as rarely as the paper's layers do from key 0 on.
RARELY = ("--key-order", "from_diagonal", "--tau", "1")
RARE = 0.05  # the paper: 4% of tiles in most layers, 38 to 53% in the layers that it calls the exception (Appendix A)


def clocks_of_kernels(zyfa, activations, code, notes, rows):
    """Clocks of whole kernels: on Gaussian inputs (standard deviation 0.1, as the paper's) at the paper's 16K, and on
    captured activations over Gaussian ones at 4K, where the captured tensors end; of one workgroup. Beside the ratio stands
    the one that the operands alone would make: at the pipes' shares of the Gaussian run."""
    captured_length, heads, layers = 4096, (1, 6), (0, 3, 6)
    file = lambda layer: activations / f"gqa_layer{layer}_s{captured_length}.safetensors"
    clock = lambda report: report["activity"]["clock_ghz"]
    toggles = lambda report: report["activity"]["toggles"]["fp8_32x32"]
    busy = lambda report: report["activity"]["matrix"]
    mean = lambda values: sum(values) / len(values)

    def span(pick, reports, digits):
        low, high = (f"{end(map(pick, reports)):.{digits}f}" for end in (min, max))
        return low if low == high else f"{low} to {high}"

    def compare(name, published, gaussian, captured):
        """Adds both ratios; text: what they consist of."""
        load = gaussian["activity"]["load"]
        per_busy = lambda report: report["activity"]["load"]["matrix"] / busy(report)
        operands = [sum(load.values()) / (sum(load.values()) - load["matrix"] + per_busy(r) * busy(gaussian))
                    for r in captured]
        rows.append((group, name, published, mean([clock(r) / clock(gaussian) for r in captured]), "held out", "times", table))
        rows.append((group, f"{name}; by its operands alone", published, mean(operands), "held out", "times", table))
        text = (f"{name}: {clock(gaussian):.3f} GHz on Gaussian inputs, with {toggles(gaussian):.2f} bits toggled per product and "
                f"the matrix pipe busy for {busy(gaussian):.2f} of the cycles; {span(clock, captured, 3)} GHz on captured ones, "
                f"with {span(toggles, captured, 2)} bits and {span(busy, captured, 2)} of the cycles")
        if "instructions" in gaussian:
            share = lambda report: 100 * rescaled(report, captured_length)
            text += f", {span(share, captured, 0)}% of the blocks rescaled (Gaussian: {share(gaussian):.0f}%)"
        return text + "."

    def aiter_gaussian(length, folder):
        launch = aiter_launch(length, folder)
        described = json.loads(launch.read_text())
        described["buffers"] |= tensors(length, None, 0.1)
        launch.write_text(json.dumps(described))
        return simulate(zyfa, code, launch, "--timing", "--grid")["timing"]

    with tempfile.TemporaryDirectory() as folder:
        group = "Clock on Gaussian inputs, FP8, d = 128, S = 16K"

        def at(report, matrix, vector, lds):
            """The clock formula at other shares of the pipes; MFMAs alone count as matrix."""
            load, activity = report["activity"]["load"], report["activity"]
            per = lambda pipe: load[pipe] / activity[pipe]
            return 2.4 / max(1, load["base"] + per("matrix") * matrix + per("vector") * vector + per("lds") * lds)

        report = own_fp8(zyfa, folder, 16384, "lean")
        add = lambda name, published, model, source: rows.append((group, name, published, model, "held out", "GHz", source))
        add("ours, lean P", (1.686, 1.687), clock(report), "paper Table X")
        # Its LDS cycles per matrix cycle are taken to be ours.
        add("the same at the paper's pipe shares (Figure 6)", (1.686, 1.687),
            at(report, 0.78, 626 / 1261 * 0.78 / 0.86, report["activity"]["lds"] * 0.78 / busy(report)), "paper Table X")
        text = (f"At 16K the pipes of our kernel are busy for {busy(report):.2f} (matrix) and {report['activity']['vector']:.2f} "
                f"(vector) of the cycles; the paper's for 0.78 and 0.45.")
        if code:
            report = aiter_gaussian(16384, folder)
            add("AITER's kernel", (1.991, 1.993), clock(report), "paper Table X")
            add("the same at Table IV's pipe shares", 1.95, at(report, (1156 - 132) / 2051, 1303 / 2051, 516 / 2051),
                "paper Table IV, S = 32K")
        notes.append((group, text))

        group = "Clock on captured activations over clock on Gaussian inputs, FP8, d = 128"
        table = "paper Table X: Mistral-7B, Qwen3-8B at 16K; here other layers at 4K"
        cases = [(layer, head) for layer in layers for head in heads]
        scale = {layer: float(safetensors_header(file(layer))[1].get("__metadata__", {}).get("softmax_scale", 128 ** -0.5))
                 for layer in layers}
        published = (1628 / 1686, 1629 / 1687)
        own = lambda schedule: (
            own_fp8(zyfa, folder, captured_length, "lean", schedule=schedule),
            [own_fp8(zyfa, folder, captured_length, "lean", (file(layer), head), scale[layer], schedule)
             for layer, head in cases])
        gaussian, captured = own(RARELY)
        rare = [r for r in captured if rescaled(r, captured_length) <= RARE]
        texts = [compare(f"ours where it rarely rescales ({len(rare)} of {len(captured)} heads, from the diagonal, tau 1)",
                         published, gaussian, rare),
                 compare("ours from key 0", published, *own(()))]
        if code:
            captured = [simulate(zyfa, code, aiter_launch(captured_length, folder, (file(layer), head)), "--timing",
                                 "--grid")["timing"] for layer, head in cases]
            texts.append(compare("AITER's kernel", (2048 / 1993, 2108 / 1991), aiter_gaussian(captured_length, folder),
                                 captured))
    return " ".join(text[0].upper() + text[1:] for text in texts)


def seconds_of(command):
    """CPU time of a command, the least of five."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def speed(zyfa):
    """Host time of timing a workgroup over that of running it, at 8K keys; start-up by a launch with 128 keys."""
    with tempfile.TemporaryDirectory() as folder:
        times = {}
        for keys, timed in ((128, 0), (8192, 0), (8192, 2)):
            code, launch = (pathlib.Path(folder) / f"speed{end}" for end in (".co", ".json"))
            run([zyfa, "asm", "--dtype", "fp8", "--no-causal", "--seq", "512", "--seq-kv", str(keys), "--heads-q", "1",
                 *WHOLE, "--object", code, "--launch", launch])
            described = json.loads(launch.read_text())
            described["outputs"] = []
            described.pop("attention", None)
            launch.write_text(json.dumps(described))
            times[keys, timed] = seconds_of([zyfa, "simulate", code, "--launch", launch, "--sim-option",
                                             f"timed_workgroups={timed}", "--json"])
    plain, timed = times[8192, 0] - times[128, 0], times[8192, 2] - times[128, 0]
    return (f"Host time: two workgroups of our FP8 kernel at 8K keys take {plain:.2f} s of CPU when run and {timed:.2f} s "
            f"when timed too, {timed / plain:.1f} times as long.")


def chiplet_map(zyfa, rows, longest):
    """The gain of the chiplet map by the grid model, at Figure 3's shapes; a table of its own, since the figure's curves
    cannot be read off to better than about 0.01."""
    table = ["| S | H | BF16: gain | L2 hits without, with | FP8: gain | L2 hits without, with | seconds of one core |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    group = "Chiplet map: time without over time with"
    with tempfile.TemporaryDirectory() as folder:
        length = 2048
        while length <= longest:
            heads = max(32, 262144 // length)
            line, seconds = f"| {length} | {heads} |", []
            for dtype in ("bf16", "fp8"):
                grids = []
                for name in ("none", "runs"):
                    code, launch = (pathlib.Path(folder) / f"grid{end}" for end in (".co", ".json"))
                    run([zyfa, "asm", "--dtype", dtype, "--seq", str(length), "--heads-q", str(heads), "--chiplet-map",
                         name, *WHOLE, "--object", code, "--launch", launch])
                    described = json.loads(launch.read_text())
                    for buffer in described["buffers"].values():  # addresses do not depend on the data
                        for source in ("generator", "file", "safetensors", "tensor", "as", "scale"):
                            buffer.pop(source, None)
                        buffer["fill"] = 0
                    described["outputs"] = []
                    described.pop("attention", None)
                    launch.write_text(json.dumps(described))
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    grids.append(simulate(zyfa, code, launch, "--grid")["grid"])
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                gain = grids[0]["cycles"] / grids[1]["cycles"]
                line += (f" {gain:.3f} | {100 * grids[0]['l2_hit_share']:.0f}%, {100 * grids[1]['l2_hit_share']:.0f}% |")
                published = {2048: 1.04, 32768: (1.00, 1.02)}.get(length)
                if published:
                    rows.append((group, f"{dtype.upper()}, S = {length}, H = {heads}", published, gain, "held out", "times",
                                 "paper Figure 3 (read off)"))
            table.append(line + f" {min(seconds):.0f} to {max(seconds):.0f} |")
            length *= 2
    return "\n".join(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zyfa", required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--aiter", type=pathlib.Path, help="AITER's fwd_hd128_fp8_causal.co")
    parser.add_argument("--aiter-version", default="v0.1.19", help="how the page names that file's version")
    parser.add_argument("--activations", type=pathlib.Path, help="folder with gqa_layer{0,3,6}_s4096.safetensors")
    parser.add_argument("--traces", type=pathlib.Path, help="a checkout of tinygrad, for its recordings of gfx950")
    parser.add_argument("--grid", type=int, metavar="S", help="the chiplet map too, up to this length (32768: minutes)")
    options = parser.parse_args()
    found, missing, notes = [], [], collections.defaultdict(list)

    more = []  # notes of groups other than a part's last

    def measure(part, *arguments):
        """Runs a part; what it says stands under its last table."""
        text = part(options.zyfa, *arguments, found)
        if text:
            notes[found[-1][0]].append(text)

    microbenchmarks(options.zyfa, found)
    if options.aiter:
        measure(aiter, options.aiter, options.aiter_version)
    else:
        missing.append("AITER's kernel")
    measure(lean_and_exact)
    if options.activations:
        measure(probability_loops.compare, options.activations)
        measure(clocks_of_kernels, options.activations, options.aiter, more)
    else:
        missing.append("captured activations")
    if options.traces:
        measure(thread_traces.compare, options.traces)
    else:
        missing.append("thread traces")
    if options.grid:
        text = chiplet_map(options.zyfa, found, options.grid)
        notes["Chiplet map: time without over time with"].append(text)
    else:
        missing.append("the chiplet map")
    for group, text in more:
        notes[group].append(text)
    rows = Rows()
    for row in found:
        rows.add(*row)
    text = []
    for group in rows.groups():
        text += [f"### {group}", "", *rows.table(group), "", f"WMAPE {rows.wmape(group):.1f}% ({rows.roles(group)}).", ""]
        for note in notes[group]:
            text += [*(note.splitlines() if note.startswith("|") else textwrap.wrap(note, 118)), ""]
    text += [*textwrap.wrap(speed(options.zyfa), 118), ""]
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
