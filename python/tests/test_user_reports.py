# SPDX-License-Identifier: Apache-2.0
"""Rows of docs/user-reports.md that are out of scope: what a call cannot ask for is refused by its name, before any launch."""

import pytest

import reference
import zyfa

OUT_OF_SCOPE = {
    "attn_mask": "pytorch#147460: additive masks",
    "softcap": "vllm#56578",
    "block_table": "ROCm/aiter#4455, #2517, CK#3722: paged caches",
    "cu_seqlens_q": "ROCm/aiter#4126, #5364, cudnn-frontend#984, TransformerEngine#2892: packed batches",
    "descale_q": "Dao-AILab/flash-attention#1710: the keyword is q_descale",
}


@pytest.mark.parametrize("name", OUT_OF_SCOPE)
def test_an_unknown_argument_is_refused_by_name(name):
    q, k, v = reference.draw(1, 64, 64, 1, 1)
    launched = zyfa.cache_info().counters["assembled"]
    with pytest.raises(TypeError, match=name):
        zyfa.flash_attn_func(q, k, v, **{name: None})
    assert zyfa.cache_info().counters["assembled"] == launched
