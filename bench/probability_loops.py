# SPDX-License-Identifier: Apache-2.0
"""An FP8 MFMA loop that multiplies V by the probabilities of captured attention, over the same loop on those of Gaussian
inputs (paper arXiv 2611.07496, Section VI-A): `zyfa microbench --operands` on codes computed here."""
import array
import bisect
import json
import math
import operator
import pathlib
import random
import struct
import subprocess
import tempfile

QUERIES, BLOCK, DIM = 32, 64, 128
MAGNITUDES = [(c & 7) / 8 * 2.0 ** -6 if c < 8 else (1 + (c & 7) / 8) * 2.0 ** ((c >> 3) - 7) for c in range(127)]
MIDDLES = [(low + high) / 2 for low, high in zip(MAGNITUDES, MAGNITUDES[1:])]


def e4m3(value):
    return bisect.bisect(MIDDLES, abs(value)) | (0x80 if value < 0 else 0)


def captured(file, query_head):
    """q, k, v of one head, 4 query heads to a key head, as rows of floats."""
    with open(file, "rb") as stream:
        size = struct.unpack("<Q", stream.read(8))[0]
        header = json.loads(stream.read(size))

        def rows(name, head):
            count, width = header[name]["shape"][2:]
            stream.seek(8 + size + header[name]["data_offsets"][0] + head * count * width * 2)
            halves = array.array("H", stream.read(count * width * 2))
            values = memoryview(array.array("I", (h << 16 for h in halves))).cast("B").cast("f").tolist()
            return [values[n * width:(n + 1) * width] for n in range(count)]

        return rows("q", query_head), rows("k", query_head // 4), rows("v", query_head // 4)


def gaussian(length, sd=0.1):
    draw = random.Random(1)
    return tuple([[draw.gauss(0, sd) for _ in range(DIM)] for _ in range(length)] for _ in "qkv")


def scaled_codes(x, sigma=6, bias=0.35):
    """Lean P of a block of 64 base-2 scores relative to the row's maximum, scaled up by the block's power of two."""
    up = -math.floor(max(x))
    return [min(126, max(0, round(8 * (t + up + sigma + 7) - bias))) for t in x]


def plain_codes(x):
    return [e4m3(2.0 ** t) for t in x]


def operand_file(q, k, v, codes):
    """Four pairs of operands: P of the last 32 queries against 64 keys, and V's first 32 columns of these. A lane holds
    row or column lane % 32 and 32 of the keys."""
    length = len(k)
    scale = DIM ** -0.5 * math.log2(math.e)
    scores = [[scale * sum(map(operator.mul, row, key)) for key in k] for row in q[-QUERIES:]]
    largest = max(abs(x) for row in v for x in row)
    factor = 2.0 ** math.floor(math.log2(448 / largest))
    blocks = [(2 * n + 1) * length // 8 // BLOCK * BLOCK for n in range(4)]
    # The last queries see all keys of these blocks, but not quite all keys.
    highest = [max(row[:length - QUERIES + n + 1]) for n, row in enumerate(scores)]
    sets = []
    for first in blocks:
        p = [codes([t - high for t in row[first:first + BLOCK]]) for row, high in zip(scores, highest)]
        columns = [[e4m3(factor * v[first + key][n]) for key in range(BLOCK)] for n in range(32)]
        sets += [p, columns]
    return b"".join(bytes(of[lane % 32][lane // 32 * 32:lane // 32 * 32 + 32]) for lane in range(64) for of in sets)


def clock(zyfa, operands):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "operands"
        file.write_bytes(operands)
        name = "FP8 MFMA 32x32"
        done = subprocess.run([zyfa, "microbench", "--json", "--only", f"clock: {name}", "--operands", file], check=True,
                              capture_output=True, text=True)
    return next(c["value"] for c in json.loads(done.stdout)["cases"] if c["name"] == name)


def compare(zyfa, activations, rows):
    group = "FP8 MFMA loop on captured probabilities: clock over that on Gaussian ones"
    source = "paper VI-A, Mistral-7B layer 20, 16K; here other layers at 4K"
    heads = [captured(activations / f"gqa_layer{layer}_s4096.safetensors", head) for layer in (3, 6) for head in (1, 6)]
    drawn = gaussian(len(heads[0][1]))
    texts = []
    for name, codes, published in (("P as our kernel writes it, scaled by block", scaled_codes, 1 - 0.085),
                                   ("P without block scales, as AITER's", plain_codes, 1.13)):
        base = clock(zyfa, operand_file(*drawn, codes))
        ratios = [clock(zyfa, operand_file(*head, codes)) / base for head in heads]
        rows.append((group, name, published, sum(ratios) / len(ratios), "held out", "times", source))
        texts.append(f"{min(ratios):.3f} to {max(ratios):.3f}")
    return f"By head, of layers 3 and 6: {texts[0]} with block scales, {texts[1]} without."
