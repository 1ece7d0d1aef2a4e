# SPDX-License-Identifier: Apache-2.0
"""Both compat modules: signatures as published, every argument by position and by name: served, neutral or refused."""

import inspect

import pytest
import torch

import reference
import zyfa
from zyfa.compat import flash_attn as fa2
from zyfa.compat import flash_attn_3 as fa3

WINDOW = (-1, -1)
TAIL_2 = [("dropout_p", 0.0), ("softmax_scale", None), ("causal", False), ("window_size", WINDOW), ("softcap", 0.0),
          ("alibi_slopes", None), ("deterministic", False), ("return_attn_probs", False)]  # fmt: skip
DESCALES = [("q_descale", None), ("k_descale", None), ("v_descale", None)]
LENGTHS = ["cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k"]

# (module, function, required arguments, arguments with defaults), as FlashAttention 2.8.4 and FlashAttention 3
# (commit 0251105a2fb1 of its repository) publish them.
SIGNATURES = [
    (fa2, "flash_attn_func", ["q", "k", "v"], TAIL_2),
    (fa2, "flash_attn_kvpacked_func", ["q", "kv"], TAIL_2),
    (fa2, "flash_attn_qkvpacked_func", ["qkv"], TAIL_2),
    (fa2, "flash_attn_varlen_func", ["q", "k", "v", *LENGTHS], [*TAIL_2, ("block_table", None)]),
    (fa2, "flash_attn_varlen_kvpacked_func", ["q", "kv", *LENGTHS], TAIL_2),
    (fa2, "flash_attn_varlen_qkvpacked_func", ["qkv", "cu_seqlens", "max_seqlen"], TAIL_2),
    (fa2, "flash_attn_with_kvcache", ["q", "k_cache", "v_cache"],
     [("k", None), ("v", None), ("rotary_cos", None), ("rotary_sin", None), ("cache_seqlens", None),
      ("cache_batch_idx", None), ("cache_leftpad", None), ("block_table", None), ("softmax_scale", None),
      ("causal", False), ("window_size", WINDOW), ("softcap", 0.0), ("rotary_interleaved", True),
      ("alibi_slopes", None), ("num_splits", 0), ("return_softmax_lse", False)]),
    (fa3, "flash_attn_func", ["q", "k", "v"],
     [("softmax_scale", None), ("causal", False), ("qv", None), *DESCALES, ("window_size", WINDOW),
      ("attention_chunk", 0), ("softcap", 0.0), ("num_splits", 1), ("pack_gqa", None), ("deterministic", False),
      ("sm_margin", 0), ("return_attn_probs", False)]),
    (fa3, "flash_attn_qkvpacked_func", ["qkv"],
     [("softmax_scale", None), ("causal", False), *DESCALES, ("window_size", WINDOW), ("attention_chunk", 0),
      ("softcap", 0.0), ("deterministic", False), ("num_heads_q", None), ("sm_margin", 0),
      ("return_attn_probs", False)]),
    (fa3, "flash_attn_varlen_func", ["q", "k", "v", *LENGTHS],
     [("seqused_q", None), ("seqused_k", None), ("softmax_scale", None), ("causal", False), ("qv", None), *DESCALES,
      ("window_size", WINDOW), ("attention_chunk", 0), ("softcap", 0.0), ("num_splits", 1), ("pack_gqa", None),
      ("deterministic", False), ("sm_margin", 0), ("return_attn_probs", False)]),
    (fa3, "flash_attn_combine", ["out_partial", "lse_partial"], [("out", None), ("out_dtype", None)]),
    (fa3, "flash_attn_with_kvcache", ["q", "k_cache", "v_cache"],
     [("k", None), ("v", None), ("qv", None), ("rotary_cos", None), ("rotary_sin", None), ("cache_seqlens", None),
      ("cache_batch_idx", None), ("cache_leftpad", None), ("page_table", None), ("cu_seqlens_q", None),
      ("cu_seqlens_k_new", None), ("max_seqlen_q", None), ("rotary_seqlens", None), *DESCALES,
      ("softmax_scale", None), ("causal", False), ("window_size", WINDOW), ("attention_chunk", 0), ("softcap", 0.0),
      ("rotary_interleaved", True), ("scheduler_metadata", None), ("num_splits", 0), ("pack_gqa", None),
      ("sm_margin", 0), ("return_softmax_lse", False)]),
    (fa3, "get_scheduler_metadata",
     ["batch_size", "max_seqlen_q", "max_seqlen_k", "num_heads_q", "num_heads_kv", "headdim", "cache_seqlens"],
     [("qkv_dtype", torch.bfloat16), ("headdim_v", None), ("cu_seqlens_q", None), ("cu_seqlens_k_new", None),
      ("cache_leftpad", None), ("page_size", None), ("max_seqlen_k_new", 0), ("causal", False),
      ("window_size", WINDOW), ("attention_chunk", 0), ("has_softcap", False), ("num_splits", 0), ("pack_gqa", None),
      ("sm_margin", 0)]),
]  # fmt: skip
REFUSED = {"flash_attn_varlen_func", "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func",
           "flash_attn_combine", "get_scheduler_metadata"}  # fmt: skip

T = torch.ones(1, 2)
# Values other than the default: what they do. "same": no change of the result; "other": served, and it changes the
# result or its form; "refused": zyfa.Unsupported by that name.
VALUES = {
    "dropout_p": [(0.1, "refused")],
    "softmax_scale": [(128**-0.5, "same"), (0.2, "other")],
    "causal": [(True, "other")],
    "window_size": [((-1, 0), "other"), ((4096, -1), "same"), ((8, 8), "refused"), ((8, 0), "refused")],
    "softcap": [(30.0, "refused")],
    "alibi_slopes": [(T, "refused")],
    "deterministic": [(True, "same")],
    "return_attn_probs": [(True, "other")],
    "return_softmax_lse": [(True, "other")],
    "qv": [(T, "refused")],
    "q_descale": [(1.0, "refused-bf16"), (T, "refused-bf16")],
    "k_descale": [(1.0, "refused-bf16")],
    "v_descale": [(1.0, "refused-bf16")],
    "attention_chunk": [(64, "refused")],
    "num_splits": [(0, "same"), (1, "same"), (4, "refused")],
    "pack_gqa": [(True, "same"), (False, "same")],
    "sm_margin": [(8, "refused")],
    "num_heads_q": [(2, "packed heads")],
    "k": [(T, "refused")],
    "v": [(T, "refused")],
    "rotary_cos": [(T, "refused")],
    "rotary_sin": [(T, "refused")],
    "rotary_interleaved": [(False, "same")],
    "rotary_seqlens": [(T, "refused")],
    "cache_seqlens": [(64, "same"), (40, "other"), (torch.tensor([64]), "refused"), (65, "refused")],
    "cache_batch_idx": [(T, "refused")],
    "cache_leftpad": [(T, "refused")],
    "block_table": [(T, "refused")],
    "page_table": [(T, "refused")],
    "cu_seqlens_q": [(T, "refused")],
    "cu_seqlens_k_new": [(T, "refused")],
    "max_seqlen_q": [(64, "refused")],
    "scheduler_metadata": [(T, "refused")],
}


def required_values(names):
    q, k, v = reference.draw(1, 64, 64, 2, 2)
    values = {"q": q, "k": k, "v": v, "k_cache": k, "v_cache": v, "kv": torch.stack([k, v], 2),
              "qkv": torch.stack([q, k, v], 2)}  # fmt: skip
    return [values.get(name, T) for name in names]


def tensors_of(answer):
    return answer if isinstance(answer, tuple) else (answer,)


def equal(a, b):
    a, b = tensors_of(a), tensors_of(b)
    return len(a) == len(b) and all(x.shape == y.shape and torch.equal(x, y) for x, y in zip(a, b))


IDS = [f"{m.__name__.rsplit('.')[-1]}.{n}" for m, n, _, _ in SIGNATURES]


@pytest.mark.parametrize("module, name, required, defaults", SIGNATURES, ids=IDS)
def test_signatures_are_those_of_flash_attention(module, name, required, defaults):
    parameters = list(inspect.signature(getattr(module, name)).parameters.values())
    assert all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters)
    assert [p.name for p in parameters] == required + [n for n, _ in defaults]
    assert [p.default for p in parameters] == [inspect.Parameter.empty] * len(required) + [d for _, d in defaults]
    assert name in module.__all__


@pytest.mark.parametrize("module, name, required, defaults", SIGNATURES, ids=IDS)
def test_every_argument_by_position_and_by_name(module, name, required, defaults):
    function = getattr(module, name)
    values = required_values(required)
    if name in REFUSED:
        for arguments in (values, values + [d for _, d in defaults]):
            with pytest.raises(zyfa.Unsupported, match=name):
                function(*arguments)
        with pytest.raises(zyfa.Unsupported, match=name):
            function(**dict(zip(required, values)), **dict(defaults))
        return

    plain = function(*values)
    assert equal(function(*values, *[d for _, d in defaults]), plain), "all defaults by position"
    assert equal(function(**dict(zip(required, values)), **dict(defaults)), plain), "all of it by name"
    for index, (argument, _) in enumerate(defaults):
        for value, does in VALUES[argument]:
            by_position = lambda: function(*values, *[d for _, d in defaults[:index]], value)  # noqa: E731
            by_name = lambda: function(*values, **{argument: value})  # noqa: E731
            for call in (by_position, by_name):
                if does.startswith("refused"):
                    with pytest.raises(zyfa.Error) as caught:
                        call()
                    assert isinstance(caught.value, zyfa.Unsupported) or does == "refused-bf16"
                    assert caught.value.argument == argument and argument in str(caught.value)
                elif does == "packed heads":
                    with pytest.raises(zyfa.InvalidArgument, match="num_heads_q"):
                        call()  # the packed tensor of this test has five dimensions
                elif does == "same":
                    assert equal(call(), plain), f"{argument}={value!r}"
                else:
                    assert not equal(call(), plain), f"{argument}={value!r}"
            if not does.startswith("refused") and does != "packed heads":
                assert equal(by_position(), by_name())


@pytest.mark.parametrize("fa", [fa2, fa3])
def test_every_function_of_the_original_is_there(fa):
    listed = {n for m, n, _, _ in SIGNATURES if m is fa}
    assert listed == set(fa.__all__)


@pytest.mark.parametrize("causal", [False, True])
def test_results_of_version_2(causal):
    q, k, v = reference.draw(2, 100, 70, 4, 2)
    wanted, wanted_lse = reference.attention(q, k, v, causal)
    out, lse, dropped = fa2.flash_attn_func(q, k, v, 0.0, None, causal, return_attn_probs=True)
    assert reference.relative_rms(out, wanted) < 4e-3 and dropped.numel() == 0
    # FlashAttention 2 writes +inf where a row sees no key; version 3 writes -inf.
    unseen = wanted_lse.isneginf()
    assert unseen.any() == causal
    assert (lse[unseen] == float("inf")).all() and lse[~unseen].isfinite().all()
    out_3, lse_3 = fa3.flash_attn_func(q, k, v, None, causal, return_attn_probs=True)
    assert torch.equal(out, out_3) and (lse_3[unseen] == float("-inf")).all()
    assert torch.equal(fa2.flash_attn_kvpacked_func(q, torch.stack([k, v], 2), causal=causal), out)
    out_4, lse_4 = fa2.flash_attn_with_kvcache(q, k, v, causal=causal, return_softmax_lse=True)
    assert torch.equal(out, out_4) and torch.equal(lse, lse_4)


def test_packed_heads_of_version_3():
    q, k, v = reference.draw(2, 64, 64, 4, 2)
    packed = torch.cat([q, k, v], dim=2)
    out = fa3.flash_attn_qkvpacked_func(packed, causal=True, num_heads_q=4)
    assert torch.equal(out, fa3.flash_attn_func(q, k, v, causal=True))
    with pytest.raises(zyfa.InvalidArgument):
        fa3.flash_attn_qkvpacked_func(packed, num_heads_q=7)


def test_kvcache_of_one_length():
    q, k, v = reference.draw(2, 8, 128, 4, 2)
    out = fa3.flash_attn_with_kvcache(q, k, v, cache_seqlens=100, causal=True, return_softmax_lse=True)
    assert len(out) == 4 and out[2].numel() == out[3].numel() == 0
    wanted, wanted_lse = reference.attention(q, k[:, :100], v[:, :100], True)
    assert reference.relative_rms(out[0], wanted) < 4e-3 and (out[1].double() - wanted_lse).abs().max() < 1e-4


def test_rows_that_are_not_contiguous_are_copied_as_flash_attention_does():
    q, k, v = reference.draw(1, 64, 64, 2, 2)
    transposed = v.transpose(-1, -2).contiguous().transpose(-1, -2)
    assert torch.equal(fa2.flash_attn_func(q, k, transposed), fa2.flash_attn_func(q, k, v))


def test_gradients_are_refused_by_name():
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    for fa in (fa2, fa3):
        with pytest.raises(zyfa.Unsupported, match="k requires a gradient"):
            fa.flash_attn_func(q, k.clone().requires_grad_(), v)
