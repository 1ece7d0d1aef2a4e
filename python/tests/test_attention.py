# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest
import torch

import reference
import zyfa

# As the accuracy suites of the library: full and ragged tiles, MHA, GQA and MQA, prefixes, rows that see no key.
SHAPES = [
    # batch, seq_q, seq_kv, heads_q, heads_kv
    (1, 256, 256, 2, 1),
    (2, 100, 100, 4, 2),
    (1, 1, 300, 2, 1),
    (1, 65, 129, 3, 3),
    (2, 130, 70, 2, 1),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_sdpa_in_fp64(shape, causal):
    q, k, v = reference.draw(*shape)
    o, lse = zyfa.flash_attn_func(q, k, v, causal=causal, return_lse=True)
    wanted, wanted_lse = reference.attention(q, k, v, causal)
    assert o.shape == q.shape and o.dtype == torch.bfloat16
    assert lse.shape == (shape[0], shape[3], shape[1]) and lse.dtype == torch.float32
    assert reference.relative_rms(o, wanted) < 4e-3
    seen = wanted_lse.isfinite()
    assert torch.equal(lse.isneginf(), ~seen)
    assert (lse.double() - wanted_lse)[seen].abs().max() < 1e-4
    assert torch.equal(zyfa.flash_attn_func(q, k, v, causal=causal), o)


def test_latent_attention_s_head_dimensions():
    q, k, _ = reference.draw(1, 100, 100, 4, 4, dim=192)
    v = torch.randn(1, 100, 4, 128).bfloat16()
    o, lse = zyfa.flash_attn_func(q, k, v, causal=True, return_lse=True)
    wanted, wanted_lse = reference.attention(q, k, v, True)
    assert o.shape == v.shape and reference.relative_rms(o, wanted) < 4e-3
    assert (lse.double() - wanted_lse).abs().max() < 1e-4


def test_softmax_scale():
    q, k, v = reference.draw(1, 80, 80, 2, 2)
    o = zyfa.flash_attn_func(q, k, v, softmax_scale=0.3)
    assert reference.relative_rms(o, reference.attention(q, k, v, scale=0.3)[0]) < 5e-3


def test_strided_tensors():
    q, k, v = reference.draw(2, 96, 96, 2, 2)
    contiguous = zyfa.flash_attn_func(q, k, v, causal=True)
    bhsd = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
    strided = zyfa.flash_attn_func(*bhsd, causal=True)
    assert strided.stride() == bhsd[0].stride(), "the output lies as q does"
    assert torch.equal(strided, contiguous)
    packed = torch.stack([q, k, v], dim=2)
    assert torch.equal(zyfa.flash_attn_func(*packed.unbind(2), causal=True), contiguous)


def test_output_memory_of_the_caller():
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    wanted = zyfa.flash_attn_func(q, k, v)
    memory = torch.full((1, 64, 4, 128), 7.0, dtype=torch.bfloat16)
    out = memory[:, :, ::2]
    result, lse = zyfa.flash_attn_func(q, k, v, out=out, return_lse=True)
    assert result is out and torch.equal(out, wanted) and lse.shape == (1, 2, 64)
    assert (memory[:, :, 1::2] == 7).all(), "what lies between is not written"


@pytest.mark.parametrize(
    "window, causal, same_as",
    [((-1, -1), True, True), ((-1, 0), False, True), ((63, -1), False, False), ((1000, 63), False, False)],
)
def test_windows_that_are_plain_or_causal(window, causal, same_as):
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    o = zyfa.flash_attn_func(q, k, v, causal=causal, window_size=window)
    assert torch.equal(o, zyfa.flash_attn_func(q, k, v, causal=same_as))


def test_capture_free_refusals():
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    cases = [
        (dict(q=q.half()), zyfa.Unsupported, "q.dtype", "torch.bfloat16"),
        (dict(k=k.float()), zyfa.Unsupported, "k.dtype", "torch.float8_e4m3fn"),
        (dict(q=q[0]), zyfa.InvalidArgument, "q", "4, [batch"),
        (dict(k=k[:, :, :, :64]), zyfa.InvalidArgument, "k.shape[3]", "128"),
        (dict(v=v[:, :32]), zyfa.InvalidArgument, "v.shape[1]", "64, the length of k"),
        (dict(q=q[:, :, :1].expand(1, 64, 3, 128), k=k.repeat(1, 1, 2, 1), v=v.repeat(1, 1, 2, 1)),
         zyfa.InvalidArgument, "q.shape[2]", "a multiple of k.shape[2]"),
        (dict(q=torch.zeros(1, 64, 128, 2, dtype=torch.bfloat16).transpose(2, 3)),
         zyfa.Unsupported, "q.stride(3)", "contiguous"),
        (dict(window_size=(16, 0)), zyfa.Unsupported, "window_size", "sliding window"),
        (dict(window_size=(16, 16)), zyfa.Unsupported, "window_size", "(16, 16)"),
        (dict(softmax_scale=-1.0), zyfa.InvalidArgument, "softmax_scale", "greater than 0"),
        (dict(q_descale=2.0), zyfa.InvalidArgument, "q_descale", "bf16"),
        (dict(out=torch.empty(1, 64, 2, 128)), zyfa.Unsupported, "out.dtype", "torch.bfloat16"),
        (dict(q=q.clone().requires_grad_()), zyfa.Unsupported, "q", "torch.no_grad()"),
        (dict(v=v.clone().requires_grad_()), zyfa.Unsupported, "v", "no backward"),
    ]  # fmt: skip
    for changes, kind, argument, words in cases:
        arguments = dict(dict(q=q, k=k, v=v), **changes)
        with pytest.raises(kind) as caught:
            zyfa.flash_attn_func(arguments.pop("q"), arguments.pop("k"), arguments.pop("v"), **arguments)
        assert caught.value.argument == argument, caught.value
        assert words in str(caught.value)
        assert isinstance(caught.value, zyfa.Error)


def test_gradients_are_refused_by_the_operator_too():
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    with pytest.raises(zyfa.Unsupported, match="no backward"):
        torch.ops.zyfa.attention(q.requires_grad_(), k, v, None, False, None, None, None, None, None, None)
    with torch.no_grad():
        zyfa.flash_attn_func(q, k, v)


def test_cpu_tensors_without_the_simulator():
    zyfa.use_simulator(False)
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    for call in (zyfa.flash_attn_func, zyfa.prepare, zyfa.explain):
        with pytest.raises(zyfa.NoDevice, match="zyfa.use_simulator"):
            call(q, k, v)


def test_environment_asks_for_the_simulator():
    program = (
        "import torch, zyfa; x = torch.zeros(1, 64, 1, 128, dtype=torch.bfloat16);"
        "print(zyfa.flash_attn_func(x, x, x).abs().sum().item())"
    )
    import os

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env={**os.environ, "ZYFA_DEVICE": "sim"}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "0.0", done.stderr


def test_threads_run_side_by_side():
    import threading

    q, k, v = reference.draw(1, 128, 128, 1, 1)
    wanted = zyfa.flash_attn_func(q, k, v)
    results = []
    threads = [threading.Thread(target=lambda: results.append(zyfa.flash_attn_func(q, k, v))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(torch.equal(r, wanted) for r in results)


def test_tensors_are_read_without_dlpack_too():
    from zyfa import _core, _ops

    q, k, v = reference.draw(2, 70, 90, 4, 2)
    packed = torch.stack([k, v], dim=2)
    wanted = zyfa.flash_attn_func(q, packed[:, :, 0], packed[:, :, 1], causal=True, return_lse=True)
    dtypes = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e4m3fnuz)
    _core.register_torch(*dtypes, None)
    try:
        got = zyfa.flash_attn_func(q, packed[:, :, 0], packed[:, :, 1], causal=True, return_lse=True)
        with pytest.raises(zyfa.Unsupported, match="torch.float16"):
            zyfa.flash_attn_func(q.half(), k, v)
    finally:
        _core.register_torch(*dtypes, getattr(torch.Tensor, "__dlpack_c_exchange_api__", None))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))
