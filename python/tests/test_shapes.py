# SPDX-License-Identifier: Apache-2.0
"""prepare, explain, tune, cache_info."""

import pytest
import torch

import reference
import zyfa


def test_prepare_makes_resident_and_explain_says_so():
    q, k, v = reference.draw(1, 450, 450, 3, 1)
    before = zyfa.explain(q, k, v, causal=True)
    assert before.schedule and before.reason and not before.pinned and before.banned == []
    made = zyfa.prepare(q, k, v, causal=True)
    assert made.resident and made.kernel and made.toolchain and made.stages_ms["load"] >= 0
    assert zyfa.explain(q, k, v, causal=True).resident
    assert made.schedule in str(made)
    assembled = zyfa.cache_info().counters["assembled"]
    zyfa.flash_attn_func(q, k, v, causal=True)
    assert zyfa.cache_info().counters["assembled"] == assembled


def test_prepare_from_shapes_alone():
    q = torch.empty(1, 64, 2, 128, dtype=torch.bfloat16, device="meta")
    made = zyfa.prepare(q, q, q, device="sim", return_lse=True)
    assert made.resident and "bf16" in made.schedule
    with pytest.raises(zyfa.InvalidArgument, match="meta"):
        zyfa.prepare(q, q, q)


def test_prepare_refuses_what_a_call_refuses():
    q, k, v = reference.draw(1, 64, 64, 2, 1)
    with pytest.raises(zyfa.InvalidArgument) as caught:
        zyfa.prepare(q, k, v[:, :32])
    assert caught.value.argument == "v.shape[1]"
    with pytest.raises(zyfa.Unsupported):
        zyfa.prepare(q[..., :40], k[..., :40], v[..., :40])


def test_tune_on_given_activations():
    q, k, v = reference.draw(1, 256, 256, 1, 1)
    winner = zyfa.tune(q, k, v, causal=True, budget_s=2, profile="drawn")
    assert winner.resident and winner.evidence
    found = zyfa.explain(q, k, v, causal=True)
    assert found.schedule == winner.schedule
    counters = zyfa.cache_info("sim").counters
    assert counters["timed"] >= 1 and counters["gated"] >= 1
    o = zyfa.flash_attn_func(q, k, v, causal=True)
    assert reference.relative_rms(o, reference.attention(q, k, v, True)[0]) < 4e-3


def test_fresh_measures_again():
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    zyfa.tune(q, k, v, causal=True, budget_s=1)
    assert "in earlier tunings" in zyfa.tune(q, k, v, causal=True, budget_s=1).reason
    assert "in earlier tunings" not in zyfa.tune(q, k, v, causal=True, budget_s=1, fresh=True).reason


def test_cache_info_lists_layers():
    info = zyfa.cache_info()
    assert info.counters["retuned"] == 0  # nothing has asked for background tuning
    assert info.layers and {"name", "path", "writable", "winners", "binaries"} <= info.layers[0].keys()
