#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/performance.md and docs/performance.svg from what zyfa_shape_table and aiter_table.py print.

usage: build/bin/zyfa_shape_table > table.csv && bench/aiter_table.py FOLDER > aiter.csv &&
       bench/performance_page.py table.csv aiter.csv

Our figures are simulated; the paper's (arXiv 2611.07496) were measured by its authors on one MI355X.
"""

import csv
import pathlib
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
BEGIN, END = "<!-- begin: written by bench/performance_page.py -->", "<!-- end -->"
NAMES = {"bf16_128": "BF16 d = 128", "bf16_192": "BF16 192/128", "fp8_128": "FP8 d = 128", "fp8_192": "FP8 192/128",
         "fp8_192_lean": "FP8 192/128, lean P"}
COLOURS = {"bf16_128": "#1f5fa8", "bf16_192": "#c2571a", "fp8_128": "#2a8a4a", "fp8_192": "#8a3a9a",
           "fp8_192_lean": "#b89000"}

# TFLOP/s of ZYFA and AITER where the authors give them (Gaussian inputs, S = 32K).
MEASURED = {
    ("fp8_128", "MHA", 32768): (2672, 1944),
    ("fp8_128", "GQA", 32768): (2563, 2027),
    ("fp8_192", "MHA", 32768): (2464, 1237),
    ("fp8_192", "GQA", 32768): (2374, 1262),
    ("bf16_128", "MHA", 32768): (1265, None),
}
# ZYFA over AITER, Table VIII: MHA at 2K, 16K, 32K, GQA at the same lengths.
RATIOS = {
    "bf16_128": (1.05, 1.03, 1.02, 1.07, 1.02, 1.02),
    "bf16_192": (1.04, 1.01, 1.00, 1.07, 1.00, 1.00),
    "fp8_128": (1.44, 1.34, 1.37, 1.42, 1.28, 1.26),
    "fp8_192": (2.02, 1.89, 1.99, 1.94, 1.82, 1.88),
}
AITER = {"bf16_128": "aiter_bf16_128", "bf16_192": "aiter_bf16_192", "fp8_128": "aiter_fp8_128"}
GOAL = 0.90  # matrix-busy over the whole loop, from 8K on


def length(s):
    return f"{s // 1024}K"


def ratio(kernel, heads, s):
    if s not in (2048, 16384, 32768) or kernel not in RATIOS:
        return None
    return RATIOS[kernel][(0 if heads == "MHA" else 3) + (2048, 16384, 32768).index(s)]


def table(rows, aiters):
    """AITER's kernels do the same work in grouped heads, so that a row of theirs stands beside both of ours."""
    lines = [
        "| kernel | heads | S | steady | whole loop | useful | clock, GHz | TFLOP/s | AITER: steady | AITER: whole loop "
        "| AITER: TFLOP/s | ours / AITER | paper: ZYFA | paper: AITER | paper: ZYFA / AITER |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in rows:
        key = (r["kernel"], r["heads"], r["S"])
        zyfa, aiter = MEASURED.get(key, (None, None))
        theirs = aiters.get((AITER.get(r["kernel"]), r["S"]))
        cells = [
            NAMES[r["kernel"]], r["heads"], length(r["S"]),
            f"{100 * r['matrix_busy_steady']:.1f}%" if r["matrix_busy_steady"] else "",
            f"{100 * r['matrix_busy_whole']:.1f}%", f"{100 * r['useful_share']:.1f}%",
            f"{r['clock_ghz']:.2f}", f"{r['tflops']:.0f}",
            *([f"{100 * theirs['matrix_busy_steady']:.1f}%", f"{100 * theirs['matrix_busy_whole']:.1f}%",
               f"{theirs['tflops']:.0f}", f"{r['tflops'] / theirs['tflops']:.2f}"] if theirs else [""] * 4),
            str(zyfa or ""), str(aiter or ""), f"{ratio(*key):.2f}" if ratio(*key) else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def summary(rows):
    find = {(r["kernel"], r["heads"], r["S"]): r for r in rows}
    lines = [""]
    long = [r for r in rows if r["S"] >= 8192]
    below = [r for r in long if r["matrix_busy_whole"] < GOAL]
    if long:
        text = f"From S = 8K on, {len(long) - len(below)} of {len(long)} rows keep the matrix pipe busy for 90% or more of the whole loop."
        if below:
            text += " Below it: " + ", ".join(
                f"{NAMES[r['kernel']]} {r['heads']} {length(r['S'])} ({100 * r['matrix_busy_whole']:.1f}%)" for r in below) + "."
        lines.append(text)
    for heads, paper in (("MHA", f"{2672 / 1265:.2f}"), ("GQA", None)):
        fp8, bf16 = find.get(("fp8_128", heads, 32768)), find.get(("bf16_128", heads, 32768))
        if fp8 and bf16:
            lines.append(f"FP8 over BF16 at d = 128, {heads}, S = 32K: {fp8['tflops'] / bf16['tflops']:.2f}" +
                         (f" (the paper's figures: {paper})." if paper else "."))
    return lines


def plot(rows, aiters):
    lengths = sorted({r["S"] for r in rows})
    low, high = 800, 100 * (int(max(r["tflops"] for r in rows)) // 100 + 2)
    low = min(low, 100 * (int(min(r["tflops"] for r in rows)) // 100))

    def x(s):
        return 60 + 530 * lengths.index(s) / max(1, len(lengths) - 1)

    def y(value):
        return 330 - 300 * (value - low) / (high - low)

    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 380" font-family="sans-serif" font-size="12">',
        '<rect width="800" height="380" fill="white"/>',
        '<text x="60" y="18" font-size="14">Forward, causal, TFLOP/s on the timing model (simulated)</text>',
    ]
    for value in range(low, high + 1, 200):
        out.append(f'<line x1="60" x2="590" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
                   f'<text x="52" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for s in lengths:
        out.append(f'<text x="{x(s):.1f}" y="348" text-anchor="middle">{length(s)}</text>')
    out.append('<text x="325" y="368" text-anchor="middle">S, with H = max(32, 262144 / S)</text>')
    place = 60
    for kernel, colour in COLOURS.items():
        for heads, dash in (("MHA", ""), ("GQA", "5 4")):
            points = [(x(r["S"]), y(r["tflops"])) for r in rows if r["kernel"] == kernel and r["heads"] == heads]
            if not points:
                continue
            style = f'stroke="{colour}" stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")
            out.append(f'<polyline fill="none" {style} points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
            out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
            out.append(f'<line x1="610" x2="645" y1="{place}" y2="{place}" {style}/>'
                       f'<text x="652" y="{place + 4}">{NAMES[kernel]}, {heads}</text>')
            place += 22
    for kernel, name in AITER.items():
        points = [(x(s), y(aiters[name, s]["tflops"])) for s in lengths if (name, s) in aiters]
        if points:
            style = f'stroke="{COLOURS[kernel]}" stroke-width="1.5" stroke-dasharray="1 3"'
            out.append(f'<polyline fill="none" {style} points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
            out.append(f'<line x1="610" x2="645" y1="{place}" y2="{place}" {style}/>'
                       f'<text x="652" y="{place + 4}">AITER, {NAMES[kernel]}</text>')
            place += 22
    for (kernel, heads, s), (zyfa, aiter) in MEASURED.items():
        if s in lengths and aiter:
            out.append(f'<circle cx="{x(s):.1f}" cy="{y(aiter):.1f}" r="4" fill="none" stroke="{COLOURS[kernel]}"/>')
        if s in lengths:
            out.append(f'<path d="M{x(s) - 5:.1f} {y(zyfa):.1f}h10M{x(s):.1f} {y(zyfa) - 5:.1f}v10" '
                       f'stroke="{COLOURS[kernel]}" stroke-width="1.5"/>')
    out.append(f'<text x="610" y="{place + 14}">+ ZYFA, o AITER on an MI355X (paper)</text>')
    return out + ["</svg>"]


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for r in rows:
        r["S"] = int(r["S"])
        for name in ("matrix_busy_steady", "matrix_busy_whole", "useful_share", "clock_ghz", "tflops"):
            r[name] = float(r[name])
    return rows


def main():
    rows = read(sys.argv[1])
    aiters = {(r["kernel"], r["S"]): r for r in read(sys.argv[2])}
    page = DOCS / "performance.md"
    text = page.read_text()
    begin, end = text.index(BEGIN), text.index(END)
    page.write_text(text[:begin] + "\n".join([BEGIN, "", *table(rows, aiters), *summary(rows), ""]) + "\n" + text[end:])
    (DOCS / "performance.svg").write_text("\n".join(plot(rows, aiters)) + "\n")


if __name__ == "__main__":
    main()
