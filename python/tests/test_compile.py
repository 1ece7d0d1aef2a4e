# SPDX-License-Identifier: Apache-2.0
"""torch.compile in one graph, dynamic lengths, opcheck."""

import pytest
import torch

import reference
import zyfa

NO_SCALES = (None, True, None, None, None, None, None, None)


def block(q, k, v):
    out, lse = zyfa.flash_attn_func(q * 0.5, k, v, causal=True, return_lse=True)
    return out.float() + 1, lse


def attention_alone(q, k, v):
    return zyfa.flash_attn_func(q, k, v, causal=True, return_lse=True)


# With arithmetic beside attention, the inductor compiles C++ on a CPU, which takes half a minute: not here.
@pytest.mark.parametrize("backend, function", [("aot_eager", block), ("inductor", attention_alone)])
def test_compiles_into_one_graph(backend, function):
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend=backend)
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    with torch.no_grad():
        for got, wanted in zip(compiled(q, k, v), function(q, k, v)):
            assert torch.equal(got, wanted)


def test_lengths_are_dynamic():
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=counter)
    with torch.no_grad():
        for length in (64, 80, 97):
            q, k, v = reference.draw(1, length, length, 2, 1)
            for got, wanted in zip(compiled(q, k, v), block(q, k, v)):
                assert torch.equal(got, wanted)
    assert counter.frame_count == 1, "one graph for all lengths"


def test_descale_tensors_and_out_do_not_break_the_graph():
    torch._dynamo.reset()

    def into(q, k, v, out):
        zyfa.flash_attn_func(q, k, v, out=out)
        return out * 2

    q, k, v = reference.draw(1, 64, 64, 1, 1)
    with torch.no_grad():
        got = torch.compile(into, fullgraph=True, backend="aot_eager")(q, k, v, torch.empty_like(q))
        assert torch.equal(got, zyfa.flash_attn_func(q, k, v) * 2)

        codes = [zyfa.quantize(t).codes for t in (q, k, v)]
        graph = torch.compile(
            lambda q, k, v, d: zyfa.flash_attn_func(q, k, v, k_descale=d), fullgraph=True, backend="eager"
        )
        eager = zyfa.flash_attn_func(*codes, k_descale=torch.tensor([0.5]))
        assert torch.equal(graph(*codes, torch.tensor([0.5])), eager)
        assert torch.equal(zyfa.flash_attn_func(*codes, k_descale=0.5), eager)


def test_opcheck():
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    with torch.no_grad():
        checks = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
        torch.library.opcheck(torch.ops.zyfa.attention.default, (q, k, v, *NO_SCALES), test_utils=checks)
        torch.library.opcheck(torch.ops.zyfa.attention_lse.default, (q, k, v, *NO_SCALES), test_utils=checks)
        out, lse = torch.empty_like(q), torch.empty(1, 2, 64)
        torch.library.opcheck(torch.ops.zyfa.attention_out.default, (q, k, v, out, lse, *NO_SCALES), test_utils=checks)


def test_gradients_are_refused_while_tracing():
    torch._dynamo.reset()
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    with pytest.raises(Exception, match="no backward"):
        torch.compile(block, fullgraph=True, backend="aot_eager")(q.requires_grad_(), k, v)


def test_refusals_while_tracing_keep_their_words():
    torch._dynamo.reset()
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    windowed = lambda q, k, v: zyfa.flash_attn_func(q, k, v, window_size=(4, 4))  # noqa: E731
    with torch.no_grad(), pytest.raises(Exception, match="sliding window"):
        torch.compile(windowed, fullgraph=True, backend="aot_eager")(q, k, v)
