# SPDX-License-Identifier: Apache-2.0
"""quantize, descales, and FP8 calls against fp64 on the quantized inputs."""

import pytest
import torch

import reference
import zyfa


SHAPES = [
    # batch, seq_q, seq_kv, heads_q, heads_kv, head_dim of q and k
    (1, 256, 256, 2, 1, 128),
    (2, 100, 100, 4, 2, 128),
    (1, 1, 300, 2, 1, 128),
    (2, 130, 70, 2, 1, 128),
    (1, 130, 130, 2, 2, 192),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_sdpa_in_fp64_on_the_quantized_inputs(shape, causal):
    q, k, _ = reference.draw(*shape)
    v = torch.randn(*k.shape[:3], 128)
    quantized = [zyfa.quantize(t) for t in (q, k, v)]
    codes = [t.codes for t in quantized]
    descales = {f"{n}_descale": t.descale for n, t in zip("qkv", quantized)}
    o, lse = zyfa.flash_attn_func(*codes, causal=causal, return_lse=True, **descales)
    wanted, wanted_lse = reference.attention(*codes, causal=causal, descales=[t.descale for t in quantized])
    assert o.dtype == torch.bfloat16 and lse.dtype == torch.float32
    # Probabilities are rounded to e4m3 too, and the log-sum-exp is that of the rounded ones (docs/numerics.md). A
    # single row has few of them to average over.
    assert reference.relative_rms(o, wanted) < (6e-2 if shape[1] == 1 else 3.5e-2)
    seen = wanted_lse.isfinite()
    assert torch.equal(lse.isneginf(), ~seen)
    assert (lse.double() - wanted_lse)[seen].abs().max() < 6e-2


def test_quantize_takes_the_largest_power_of_two():
    for largest in (448.0, 449.0, 1.0, 0.0117, 3.5, 7.0, 7.001):
        x = torch.tensor([largest, -largest / 3, 0.0])
        codes, descale = zyfa.quantize(x)
        assert codes.dtype == torch.float8_e4m3fn
        assert torch.frexp(torch.tensor(descale)).mantissa == 0.5, "a power of two"
        assert largest / descale <= 448 < 2 * largest / descale
        assert torch.equal(codes.float(), (x / descale).to(torch.float8_e4m3fn).float())
    assert zyfa.quantize(torch.zeros(4)).descale == 1.0
    assert zyfa.quantize(torch.tensor([1.0, float("inf")])).descale == 1 / 256
    with pytest.raises(zyfa.InvalidArgument):
        zyfa.quantize(torch.zeros(3, dtype=torch.int32))


@pytest.mark.parametrize("form", ["float", "0-d", "1-element", "(B, Hkv)"])
def test_forms_of_descales(form):
    q, k, v = reference.draw(2, 256, 256, 2, 2)
    quantized = [zyfa.quantize(t) for t in (q, k, v)]

    def formed(value):
        return {
            "float": value,
            "0-d": torch.tensor(value),
            "1-element": torch.tensor([value]),
            "(B, Hkv)": torch.full((2, 2), value),
        }[form]

    codes = [t.codes for t in quantized]
    descales = {f"{n}_descale": formed(t.descale) for n, t in zip("qkv", quantized)}
    o = zyfa.flash_attn_func(*codes, causal=True, **descales)
    wanted, _ = reference.attention(*codes, causal=True, descales=[t.descale for t in quantized])
    assert reference.relative_rms(o, wanted) < 3.5e-2


def test_descales_that_are_refused():
    q, k, v = (t.to(torch.float8_e4m3fn) for t in reference.draw(2, 256, 256, 2, 2))
    with pytest.raises(zyfa.Unsupported, match="entries that differ") as caught:
        zyfa.flash_attn_func(q, k, v, k_descale=torch.tensor([[1.0, 1.0], [1.0, 2.0]]))
    assert caught.value.argument == "k_descale"
    with pytest.raises(zyfa.InvalidArgument, match=r"\(2, 2\), \(batch, heads of k and v\)") as caught:
        zyfa.flash_attn_func(q, k, v, v_descale=torch.ones(4))
    assert caught.value.argument == "v_descale"
    with pytest.raises(zyfa.InvalidArgument, match=r"\(2, 2\), \(batch, heads of k and v\)"):
        zyfa.prepare(q, k, v, v_descale=torch.ones(4))


def test_fnuz_is_refused_by_name():
    q, k, v = (t.to(torch.float8_e4m3fnuz) for t in reference.draw(1, 64, 64, 1, 1))
    with pytest.raises(zyfa.Unsupported, match="e4m3fnuz"):
        zyfa.flash_attn_func(q, k, v)
    with pytest.raises(zyfa.Unsupported, match="float8_e5m2"):
        zyfa.flash_attn_func(*(t.to(torch.float8_e5m2) for t in reference.draw(1, 64, 64, 1, 1)))


def test_tune_on_quantized_activations():
    quantized = [zyfa.quantize(t) for t in reference.draw(1, 256, 256, 1, 1)]
    descales = {f"{n}_descale": torch.tensor(t.descale) for n, t in zip("qkv", quantized)}
    winner = zyfa.tune(*(t.codes for t in quantized), causal=True, budget_s=3, **descales)
    assert winner.resident and winner.evidence and winner.schedule.startswith("fp8")


@pytest.mark.parametrize("dim", [64, 128, 192])
def test_the_kernel_gives_the_codes_that_pytorch_gives(dim):
    x = torch.randn(2, 37, 3, dim).to(torch.bfloat16)
    found = zyfa.quantize(x)
    wanted = zyfa.quantize(x.float())  # PyTorch's way
    assert found.descale == wanted.descale
    assert torch.equal(found.codes.view(torch.uint8), wanted.codes.view(torch.uint8))
    strided = zyfa.quantize(x.transpose(1, 2).contiguous().transpose(1, 2))
    assert strided.codes.stride() == x.transpose(1, 2).contiguous().transpose(1, 2).stride()
    assert torch.equal(strided.codes.view(torch.uint8), wanted.codes.view(torch.uint8))


def test_a_static_scale_clamps_and_counts():
    x = torch.randn(1, 50, 2, 128).to(torch.bfloat16)
    x[0, 3, 1, 5] = float("nan")
    x[0, 4, 1, 5] = float("-inf")
    for tensor in (x, x.float()):
        found = zyfa.quantize(tensor, descale=1 / 256)
        large = (x.float().abs() > 448 / 256) & x.isfinite()
        assert (found.descale, found.clamped, found.non_finite) == (1 / 256, int(large.sum()), 2)
        assert torch.equal(found.codes.float().isnan(), ~x.isfinite())
        assert bool((found.codes.float()[large].abs() == 448).all())
    with pytest.raises(zyfa.InvalidArgument, match="descale"):
        zyfa.quantize(x, descale=0.0)
    with pytest.raises(zyfa.InvalidArgument, match="count"):
        zyfa.quantize(x, count=False)
    with pytest.raises(zyfa.Unsupported, match="rotate"):
        zyfa.quantize(x.float(), rotate=True)


@pytest.mark.parametrize("dim", [128, 192])
def test_rotation_and_smoothing_leave_attention_where_it_was(dim):
    q, k, _ = reference.draw(1, 200, 200, 4, 2, dim)
    k = (k + 3 * torch.randn(1, 1, 2, dim)).to(torch.bfloat16)  # a mean that costs precision
    v = torch.randn(*k.shape[:3], 128).to(torch.bfloat16)
    scale = dim**-0.5
    ks, vs = zyfa.quantize(k, rotate=True, smooth=True), zyfa.quantize(v)
    qs = zyfa.quantize(q, rotate=True, fold_scale=scale * ks.descale)
    assert torch.frexp(torch.tensor(scale * qs.descale * ks.descale * 1.4426950408889634)).mantissa == 0.5
    assert torch.allclose(ks.mean, k.float().mean(1), atol=1e-5)
    o, lse = zyfa.flash_attn_func(
        qs.codes, ks.codes, vs.codes, causal=True, return_lse=True,
        q_descale=qs.descale, k_descale=ks.descale, v_descale=vs.descale,
    )  # fmt: skip
    wanted, wanted_lse = reference.attention(q, k, v, causal=True)
    assert reference.relative_rms(o, wanted) < 8e-2
    zyfa.add_mean_score(lse, q, ks.mean)
    assert (lse.double() - wanted_lse).abs().max() < 0.2
    again = zyfa.quantize(k, rotate=True, smooth=ks.mean, descale=ks.descale)
    assert torch.equal(again.codes.view(torch.uint8), ks.codes.view(torch.uint8))
    rotation = zyfa.rotation_matrix(dim)
    assert torch.allclose(rotation @ rotation.T, torch.eye(dim, dtype=torch.float64), atol=1e-12)
    with pytest.raises(zyfa.InvalidArgument, match="mean"):
        zyfa.quantize(k, smooth=ks.mean[:, :1])
    with pytest.raises(zyfa.InvalidArgument, match="lse"):
        zyfa.add_mean_score(lse.double(), q, ks.mean)
    with pytest.raises(zyfa.InvalidArgument, match="lse is .* on meta; accepted: .* on cpu"):
        zyfa.add_mean_score(lse.to("meta"), q, ks.mean)  # its address would be written to
    with pytest.raises(zyfa.InvalidArgument, match="q has 3 dimensions"):
        zyfa.add_mean_score(lse, q[0], ks.mean)
