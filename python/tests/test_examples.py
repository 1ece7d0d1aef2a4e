# SPDX-License-Identifier: Apache-2.0
"""The examples in Python, and the capture helper that one of them uses."""

import json
import runpy
import struct
import sys
from pathlib import Path

import pytest
import torch

import reference
import zyfa

EXAMPLES = Path(__file__).parents[2] / "examples" / "pytorch"


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    sys.modules.pop("transformer", None)


def read_safetensors(path):
    raw = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "BF16"
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.bfloat16).reshape(entry["shape"])
    return tensors, metadata


def test_transformer_with_attention_swapped(examples):
    import transformer

    assert transformer.main() < 2e-2  # both in BF16: the other layers round too


def test_capture_and_tune(examples, tmp_path, capsys):
    runpy.run_path(str(EXAMPLES / "capture_and_tune.py"))["main"](str(tmp_path))
    assert "winner: bf16" in capsys.readouterr().out
    tensors, metadata = read_safetensors(tmp_path / "layers.1.attention.safetensors")
    assert tensors["q"].shape == (1, 4, 256, 128) and tensors["k"].shape == (1, 2, 256, 128)
    assert float(metadata["softmax_scale"]) == 128**-0.5 and metadata["layout"] == "bhsd"


def test_capture_of_fp8_has_values_not_codes(tmp_path):
    quantized = [zyfa.quantize(x.float()) for x in reference.draw(1, 64, 64, 2, 2)]

    class Calls(torch.nn.Module):
        def forward(self):
            descales = {f"{n}_descale": d for n, (_, d) in zip("qk", quantized)}
            return zyfa.flash_attn_func(
                *(codes for codes, _ in quantized), v_descale=torch.tensor(quantized[2].descale), **descales
            )

    model = torch.nn.ModuleDict({"fp8": Calls()})
    with zyfa.capture(model, folder=tmp_path):
        model["fp8"]()
    tensors, _ = read_safetensors(tmp_path / "fp8.safetensors")
    for name, (codes, descale) in zip("qkv", quantized):
        assert descale != 1.0 and torch.equal(tensors[name].float(), codes.float().transpose(1, 2) * descale)


def test_capture_sees_what_the_model_computed(tmp_path):
    q, k, v = reference.draw(1, 64, 64, 2, 2)

    class Calls(torch.nn.Module):
        def forward(self, q, k, v):
            return zyfa.flash_attn_func(q, k, v, softmax_scale=0.25)

    class Sdpa(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(
                *(t.transpose(1, 2) for t in (q, k, v)), is_causal=True
            )

    model = torch.nn.ModuleDict({"ours": Calls(), "theirs": Sdpa()})
    with zyfa.capture(model, folder=tmp_path) as captured:
        for _ in range(2):
            model["ours"](q, k, v)
            model["theirs"](q, k, v)
    model["ours"](q, k, v)
    assert [f.name for f in captured.files] == ["ours.safetensors", "theirs.safetensors"]
    for file, scale in zip(captured.files, (0.25, 128**-0.5)):
        tensors, metadata = read_safetensors(file)
        for name, tensor in zip("qkv", (q, k, v)):
            assert torch.equal(tensors[name], tensor.transpose(1, 2))
        assert float(metadata["softmax_scale"]) == scale
    with pytest.raises(zyfa.InvalidArgument, match='names "mine"'):
        zyfa.capture(model, ["mine"])
