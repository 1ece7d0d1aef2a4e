# SPDX-License-Identifier: Apache-2.0
"""quantize, descales, and FP8 calls: served as far as the library has a kernel, else refused in its words."""

import pytest
import torch

import reference
import zyfa


def fp8_is_there():
    q = torch.empty(1, 256, 1, 128, dtype=torch.float8_e4m3fn, device="meta")
    try:
        zyfa.explain(q, q, q, causal=True, device="sim")
    except zyfa.Unsupported:
        return False
    return True


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
    if not fp8_is_there():
        with pytest.raises(zyfa.Unsupported, match="e4m3"):
            zyfa.flash_attn_func(*codes, causal=True, **descales)
        pytest.skip("the library has no FP8 kernel yet: the call is refused in its words")
    o = zyfa.flash_attn_func(*codes, causal=True, **descales)
    wanted, _ = reference.attention(*codes, causal=True, descales=[t.descale for t in quantized])
    assert reference.relative_rms(o, wanted) < 3e-2  # P in e4m3 too: paper, Table XI


def test_descales_that_are_refused():
    q, k, v = (t.to(torch.float8_e4m3fn) for t in reference.draw(2, 256, 256, 2, 2))
    with pytest.raises(zyfa.Unsupported, match="entries that differ") as caught:
        zyfa.flash_attn_func(q, k, v, k_descale=torch.tensor([[1.0, 1.0], [1.0, 2.0]]))
    assert caught.value.argument == "k_descale"
    with pytest.raises(zyfa.InvalidArgument, match=r"\(2, 2\), \(batch, heads of k and v\)") as caught:
        zyfa.flash_attn_func(q, k, v, v_descale=torch.ones(4))
    assert caught.value.argument == "v_descale"


def test_fnuz_is_refused_by_name():
    q, k, v = (t.to(torch.float8_e4m3fnuz) for t in reference.draw(1, 64, 64, 1, 1))
    with pytest.raises(zyfa.Unsupported, match="e4m3fnuz"):
        zyfa.flash_attn_func(q, k, v)
    with pytest.raises(zyfa.Unsupported, match="float8_e5m2"):
        zyfa.flash_attn_func(*(t.to(torch.float8_e5m2) for t in reference.draw(1, 64, 64, 1, 1)))
