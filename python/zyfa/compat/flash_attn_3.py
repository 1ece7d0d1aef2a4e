# SPDX-License-Identifier: Apache-2.0
"""FlashAttention 3's functions (``flash_attn_interface``) on zyfa:
``from zyfa.compat.flash_attn_3 import flash_attn_func``.

Names, positions and defaults of arguments and the returned values are those of FlashAttention 3. An argument is served,
accepted at its neutral value, or refused by its name with ``zyfa.Unsupported``. ``deterministic`` and ``pack_gqa``
may be anything: they choose among ways to the same result, and zyfa's forward is deterministic.
"""

from __future__ import annotations

from typing import Optional, Tuple, Union

import torch

from .._errors import InvalidArgument
from . import _neutral
from ._neutral import Out, Tensor

__all__ = [
    "flash_attn_combine",
    "flash_attn_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_with_kvcache",
    "get_scheduler_metadata",
]


def _neutral_only(function: str, attention_chunk: int, softcap: float, sm_margin: int, num_splits: int = 0) -> None:
    _neutral.zero(function, attention_chunk=attention_chunk, sm_margin=sm_margin)
    _neutral.no_softcap(function, softcap)
    _neutral.few_splits(function, num_splits)


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    qv: Optional[Tensor] = None,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    window_size: Tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: Optional[bool] = None,
    deterministic: bool = False,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Out:
    """Attention of q [batch, seq_q, heads_q, head_dim] over k and v [batch, seq_kv, heads_kv, head_dim].

    Descales are (batch, heads_kv) tensors in FlashAttention 3; here their entries must be equal, and floats and one
    element are taken too. With ``return_attn_probs`` it returns (out, softmax_lse [batch, heads_q, seq_q]).
    """
    function = "flash_attn_func"
    _neutral.absent(function, qv=qv)
    _neutral_only(function, attention_chunk, softcap, sm_margin, num_splits)
    return _neutral.attention(
        q, k, v, softmax_scale, causal, window_size, return_attn_probs,
        q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
    )  # fmt: skip


def flash_attn_qkvpacked_func(
    qkv: Tensor,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    window_size: Tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    deterministic: bool = False,
    num_heads_q: Optional[int] = None,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Out:
    """As ``flash_attn_func``, on qkv [batch, seq, 3, heads, head_dim], or, with ``num_heads_q``, on
    [batch, seq, num_heads_q + 2 heads_kv, head_dim]; nothing is copied."""
    function = "flash_attn_qkvpacked_func"
    _neutral_only(function, attention_chunk, softcap, sm_margin)
    if num_heads_q is None:
        q, k, v = _neutral.unpack(function, "qkv", qkv, 3)
    else:
        rest = qkv.shape[2] - num_heads_q if qkv.dim() == 4 else 0
        if num_heads_q < 1 or rest < 2 or rest % 2 != 0:
            raise InvalidArgument(
                f"{function}: num_heads_q is {num_heads_q} and qkv has shape {tuple(qkv.shape)}; accepted: "
                "(batch, sequence, num_heads_q + 2 heads_kv, head_dim)",
                "num_heads_q",
            )
        q, k, v = qkv.split([num_heads_q, rest // 2, rest // 2], dim=2)
    return _neutral.attention(
        q, k, v, softmax_scale, causal, window_size, return_attn_probs,
        q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
    )  # fmt: skip


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    seqused_q: Optional[Tensor] = None,
    seqused_k: Optional[Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    qv: Optional[Tensor] = None,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    window_size: Tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: Optional[bool] = None,
    deterministic: bool = False,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Out:
    """Refused."""
    _neutral.refuse_call(
        "flash_attn_varlen_func",
        "packed variable-length batches are not there",
        "flash_attn_func on sequences of one length, or one call per sequence",
    )


def flash_attn_combine(
    out_partial: Tensor, lse_partial: Tensor, out: Optional[Tensor] = None, out_dtype: Optional[torch.dtype] = None
) -> Out:
    """Refused."""
    _neutral.refuse_call(
        "flash_attn_combine", "calls return whole results, so there is nothing to combine", "flash_attn_func"
    )


def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Optional[Tensor] = None,
    v: Optional[Tensor] = None,
    qv: Optional[Tensor] = None,
    rotary_cos: Optional[Tensor] = None,
    rotary_sin: Optional[Tensor] = None,
    cache_seqlens: Union[int, Tensor, None] = None,
    cache_batch_idx: Optional[Tensor] = None,
    cache_leftpad: Optional[Tensor] = None,
    page_table: Optional[Tensor] = None,
    cu_seqlens_q: Optional[Tensor] = None,
    cu_seqlens_k_new: Optional[Tensor] = None,
    max_seqlen_q: Optional[int] = None,
    rotary_seqlens: Optional[Tensor] = None,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    scheduler_metadata: Optional[Tensor] = None,
    num_splits: int = 0,
    pack_gqa: Optional[bool] = None,
    sm_margin: int = 0,
    return_softmax_lse: bool = False,
) -> Out:
    """Attention of q over the first ``cache_seqlens`` rows (an int; None: all) of the caches, read as they are.

    Refused: new keys to write into the cache (k, v), qv, rotary embedding, lengths or rows per batch entry, paging,
    packed queries. With ``return_softmax_lse`` it returns (out, softmax_lse, out_accum, softmax_lse_accum), the last
    two empty, as FlashAttention 3 does where it does not split.
    """
    function = "flash_attn_with_kvcache"
    _neutral.absent(
        function, k=k, v=v, qv=qv, rotary_cos=rotary_cos, rotary_sin=rotary_sin, cache_batch_idx=cache_batch_idx,
        cache_leftpad=cache_leftpad, page_table=page_table, cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k_new=cu_seqlens_k_new, max_seqlen_q=max_seqlen_q, rotary_seqlens=rotary_seqlens,
        scheduler_metadata=scheduler_metadata,
    )  # fmt: skip
    _neutral_only(function, attention_chunk, softcap, sm_margin, num_splits)
    keys, values = _neutral.whole_cache(function, k_cache, v_cache, cache_seqlens)
    answer = _neutral.attention(
        q, keys, values, softmax_scale, causal, window_size, return_softmax_lse,
        q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
    )  # fmt: skip
    if not return_softmax_lse:
        return answer
    out, lse = answer
    empty = q.new_empty(0, dtype=torch.float32)
    return out, lse, empty, empty.clone()


def get_scheduler_metadata(
    batch_size: int,
    max_seqlen_q: int,
    max_seqlen_k: int,
    num_heads_q: int,
    num_heads_kv: int,
    headdim: int,
    cache_seqlens: Tensor,
    qkv_dtype: torch.dtype = torch.bfloat16,
    headdim_v: Optional[int] = None,
    cu_seqlens_q: Optional[Tensor] = None,
    cu_seqlens_k_new: Optional[Tensor] = None,
    cache_leftpad: Optional[Tensor] = None,
    page_size: Optional[int] = None,
    max_seqlen_k_new: int = 0,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    has_softcap: bool = False,
    num_splits: int = 0,
    pack_gqa: Optional[bool] = None,
    sm_margin: int = 0,
) -> Tensor:
    """Refused."""
    _neutral.refuse_call(
        "get_scheduler_metadata", "there is no scheduler metadata", "calls with scheduler_metadata=None"
    )
