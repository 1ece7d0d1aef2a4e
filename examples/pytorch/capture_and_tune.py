# SPDX-License-Identifier: Apache-2.0
"""Tuning on a model's own activations: captures q, k and v of two layers, tunes on them, and shows what runs.

    python capture_and_tune.py FOLDER

The files can be read by the tool too: zyfa tune --input FOLDER/layers.0.attention.safetensors
"""

import sys

import torch

import zyfa
from transformer import Transformer


def main(folder="captured"):
    on_gpu = torch.version.hip is not None and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    if not on_gpu:
        zyfa.use_simulator()
    torch.manual_seed(0)
    model = Transformer().to(device, torch.bfloat16).eval()
    tokens = torch.randint(500, (1, 256), device=device)

    with torch.inference_mode(), zyfa.capture(model, ["layers.0.attention", "layers.1.attention"], folder) as captured:
        model(tokens)
    for file in captured.files:
        print(f"captured {file}")

    # The same tensors, straight from the projections of the first layer.
    attention = model.layers[0].attention
    with torch.inference_mode():
        x = model.layers[0].before(model.embedding(tokens))
        q = attention.q(x).view(1, 256, 4, 128)
        k, v = attention.kv(x).view(1, 256, 2, 2, 128).unbind(2)
        winner = zyfa.tune(q, k, v, causal=True, budget_s=5, profile="transformer.py, layer 0")
    print(f"winner: {winner}")
    with torch.inference_mode():
        model(tokens)
    print(f"counters: {zyfa.cache_info().counters}")


if __name__ == "__main__":
    main(*sys.argv[1:])
