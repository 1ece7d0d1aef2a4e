#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts a q, k, v safetensors file to its first rows and to the first groups of heads; the GQA ratio stays.

usage: cut-activations.py IN.safetensors OUT.safetensors --seq ROWS --kv-heads N

The tensors are [batch, heads, sequence, dim]. Metadata is kept, and `cut_from` says what was kept of what.
Needs nothing beyond Python's standard library. The output is the same for the same input, byte by byte.
"""
import argparse
import json
import struct

ELEMENT_BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1}


def read(path):
    with open(path, "rb") as file:
        raw = file.read()
    (header_bytes,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + header_bytes])
    return header, memoryview(raw)[8 + header_bytes :]


def cut(entry, data, heads, rows):
    """The first `rows` rows of the first `heads` heads of every batch, contiguous."""
    batch, all_heads, all_rows, dim = entry["shape"]
    if heads > all_heads or rows > all_rows:
        raise SystemExit(f"asked for {heads} heads x {rows} rows, the file has {all_heads} x {all_rows}")
    row_bytes = dim * ELEMENT_BYTES[entry["dtype"]]
    start = entry["data_offsets"][0]
    pieces = []
    for b in range(batch):
        for h in range(heads):
            first = start + (b * all_heads + h) * all_rows * row_bytes
            pieces.append(bytes(data[first : first + rows * row_bytes]))
    return [batch, heads, rows, dim], b"".join(pieces)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--seq", type=int, required=True, help="rows of q, k and v to keep")
    parser.add_argument("--kv-heads", type=int, required=True, help="key-value heads to keep, with all their query heads")
    arguments = parser.parse_args()

    header, data = read(arguments.input)
    group, rest = divmod(header["q"]["shape"][1], header["k"]["shape"][1])
    if rest:
        raise SystemExit("the number of query heads is not a multiple of the number of key-value heads")

    metadata = dict(header.get("__metadata__", {}))
    metadata["cut_from"] = ", ".join(f"{name} {header[name]['shape']}" for name in "qkv")
    out, payload = {"__metadata__": dict(sorted(metadata.items()))}, b""
    for name in "qkv":
        heads = arguments.kv_heads * (group if name == "q" else 1)
        shape, content = cut(header[name], data, heads, arguments.seq)
        out[name] = {
            "dtype": header[name]["dtype"],
            "shape": shape,
            "data_offsets": [len(payload), len(payload) + len(content)],
        }
        payload += content
    text = json.dumps(out, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the format aligns the data to 8 bytes
    with open(arguments.output, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + payload)
    print(f"{arguments.output}: {8 + len(text) + len(payload)} bytes")


if __name__ == "__main__":
    main()
