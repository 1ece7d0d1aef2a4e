#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""paths.py LAUNCH.json FOLDER: launches of the same attention kernel that reach its rare paths, for zyfa_mutants.

LAUNCH.json is that of `zyfa asm --launch`. Written to FOLDER, with the raw tensors they read:
  special.json  NaN (BF16: and infinity) in V, on keys that some rows of a tile see and others do not
  large.json    scores far outside the range of a plain drawing, their maxima growing from key to key
  nan.json      NaN in Q and in K, so that whole rows of scores are NaN
  plain.json    LAUNCH.json itself
"""
import copy
import json
import pathlib
import random
import struct
import sys

# Codes of 1-byte e4m3 and 2-byte BF16 elements (OCP 8-bit floating point specification; BF16: upper half of FP32).
NAN = {1: b"\x7f", 2: b"\xc0\x7f"}
INFINITY = {1: b"\x7f", 2: b"\x80\xff"}  # e4m3 has none: NaN again


def element_bytes(buffer):
    return {"e4m3": 1, "bf16": 2}[buffer["generator"]["type"]]


def drawn(buffer, generator, sd):
    """Raw bytes of normal elements of about this deviation: a random sign, exponent and fraction."""
    size = element_bytes(buffer)
    raw = bytearray()
    for _ in range(buffer["size"] // size):
        value = generator.gauss(0.0, sd)
        raw += encode(value, size)
    return raw


def encode(value, size):
    """Towards zero; the rounding does not matter here."""
    if size == 2:
        return struct.pack("<f", value)[2:]
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    sign, exponent, fraction = bits >> 31, (bits >> 23 & 0xFF) - 127 + 7, bits >> 20 & 7
    if exponent < 1:
        return bytes([sign << 7])
    if exponent > 15 or (exponent == 15 and fraction == 7):
        exponent, fraction = 15, 6
    return bytes([sign << 7 | exponent << 3 | fraction])


def plant(raw, size, code, every, generator):
    for element in range(0, len(raw) // size, every):
        at = size * (element + generator.randrange(every))
        if at + size <= len(raw):
            raw[at : at + size] = code


def main(launch_file, folder):
    launch = json.loads(pathlib.Path(launch_file).read_text())
    launch.pop("attention", None)
    launch.pop("outputs", None)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    buffers = launch["buffers"]
    size = element_bytes(buffers["v"])

    def write(name, replaced):
        variant = copy.deepcopy(launch)
        for buffer, raw in replaced.items():
            file = folder / f"{name}.{buffer}.bin"
            file.write_bytes(raw)
            variant["buffers"][buffer] = {"size": buffers[buffer]["size"], "file": str(file.resolve())}
        (folder / f"{name}.json").write_text(json.dumps(variant, indent=1))

    generator = random.Random(7)
    write("plain", {})
    v = drawn(buffers["v"], generator, 0.5)
    plant(v, size, NAN[size], 4099, generator)
    plant(v, size, INFINITY[size], 8209, generator)
    write("special", {"v": v})
    large = bytearray()
    count = buffers["k"]["size"] // size
    for element in range(count):  # later keys are larger: the maximum grows again and again
        large += encode(generator.gauss(0.0, 1.0 + 300.0 * element / count), size)
    write("large", {"q": drawn(buffers["q"], generator, 300.0), "k": large})
    q, k = drawn(buffers["q"], generator, 1.0), drawn(buffers["k"], generator, 1.0)
    plant(q, size, NAN[size], 16411, generator)
    plant(k, size, NAN[size], 16411, generator)
    write("nan", {"q": q, "k": k})


if __name__ == "__main__":
    main(*sys.argv[1:])
