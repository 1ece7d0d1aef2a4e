# SPDX-License-Identifier: Apache-2.0
"""FlashAttention 2's functions (``flash_attn`` 2.8) on zyfa: ``from zyfa.compat.flash_attn import flash_attn_func``.

Names, positions and defaults of arguments and the returned values are those of FlashAttention 2. An argument is served,
accepted at its neutral value, or refused by its name with ``zyfa.Unsupported``: dropout, softcap, ALiBi, sliding
windows, gradients, packed variable-length batches, and writing into or paging a KV cache are refused.
"""

from __future__ import annotations

from typing import Optional, Tuple, Union

from . import _neutral
from ._neutral import Out, Tensor

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
]


def _with_lse(
    q: Tensor, k: Tensor, v: Tensor, softmax_scale: Optional[float], causal: bool, window_size: Tuple[int, int]
) -> Tuple[Tensor, Tensor]:
    """(out, lse), where lse is FlashAttention 2's: +inf for a row that sees no key (zyfa and version 3: -inf)."""
    out, lse = _neutral.attention(q, k, v, softmax_scale, causal, window_size, True)
    if (causal or window_size[1] == 0) and q.shape[1] > k.shape[1]:
        lse.masked_fill_(lse == float("-inf"), float("inf"))
    return out, lse


def _attention(
    function: str, q: Tensor, k: Tensor, v: Tensor, dropout_p: float, softmax_scale: Optional[float], causal: bool,
    window_size: Tuple[int, int], softcap: float, alibi_slopes: Optional[Tensor], return_attn_probs: bool,
) -> Out:  # fmt: skip
    _neutral.zero(function, dropout_p=dropout_p)
    _neutral.no_softcap(function, softcap)
    _neutral.absent(function, alibi_slopes=alibi_slopes)
    if not return_attn_probs:
        return _neutral.attention(q, k, v, softmax_scale, causal, window_size, False)
    out, lse = _with_lse(q, k, v, softmax_scale, causal, window_size)
    return out, lse, q.new_empty(0)  # without dropout, FlashAttention 2 returns an empty S_dmask


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Out:
    """Attention of q [batch, seq_q, heads_q, head_dim] over k and v [batch, seq_kv, heads_kv, head_dim].

    ``deterministic`` may be either: zyfa's forward always is. With ``return_attn_probs`` it returns
    (out, softmax_lse [batch, heads_q, seq_q], S_dmask, which is empty without dropout), as FlashAttention 2 does.
    """
    return _attention(
        "flash_attn_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        return_attn_probs,
    )  # fmt: skip


def flash_attn_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Out:
    """As ``flash_attn_func``, with k and v in one tensor [batch, seq_kv, 2, heads_kv, head_dim]; nothing is copied."""
    k, v = _neutral.unpack("flash_attn_kvpacked_func", "kv", kv, 2)
    return _attention(
        "flash_attn_kvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        return_attn_probs,
    )  # fmt: skip


def flash_attn_qkvpacked_func(
    qkv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Out:
    """As ``flash_attn_func``, with q, k and v in one tensor [batch, seq, 3, heads, head_dim]; nothing is copied."""
    q, k, v = _neutral.unpack("flash_attn_qkvpacked_func", "qkv", qkv, 3)
    return _attention(
        "flash_attn_qkvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        return_attn_probs,
    )  # fmt: skip


_VARLEN = "packed variable-length batches are not there"
_VARLEN_INSTEAD = "flash_attn_func on sequences of one length, or one call per sequence"


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Optional[Tensor] = None,
) -> Out:
    """Refused."""
    _neutral.refuse_call("flash_attn_varlen_func", _VARLEN, _VARLEN_INSTEAD)


def flash_attn_varlen_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Out:
    """Refused."""
    _neutral.refuse_call("flash_attn_varlen_kvpacked_func", _VARLEN, _VARLEN_INSTEAD)


def flash_attn_varlen_qkvpacked_func(
    qkv: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Out:
    """Refused."""
    _neutral.refuse_call("flash_attn_varlen_qkvpacked_func", _VARLEN, _VARLEN_INSTEAD)


def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Optional[Tensor] = None,
    v: Optional[Tensor] = None,
    rotary_cos: Optional[Tensor] = None,
    rotary_sin: Optional[Tensor] = None,
    cache_seqlens: Union[int, Tensor, None] = None,
    cache_batch_idx: Optional[Tensor] = None,
    cache_leftpad: Optional[Tensor] = None,
    block_table: Optional[Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Optional[Tensor] = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
) -> Out:
    """Attention of q over the first ``cache_seqlens`` rows (an int; None: all) of the caches, read as they are.

    Refused: new keys to write into the cache (k, v), rotary embedding, lengths or rows per batch entry, paging.
    ``rotary_interleaved`` means nothing without rotary embedding.
    """
    function = "flash_attn_with_kvcache"
    _neutral.absent(
        function, k=k, v=v, rotary_cos=rotary_cos, rotary_sin=rotary_sin, cache_batch_idx=cache_batch_idx,
        cache_leftpad=cache_leftpad, block_table=block_table, alibi_slopes=alibi_slopes,
    )  # fmt: skip
    _neutral.no_softcap(function, softcap)
    _neutral.few_splits(function, num_splits)
    keys, values = _neutral.whole_cache(function, k_cache, v_cache, cache_seqlens)
    if not return_softmax_lse:
        return _neutral.attention(q, keys, values, softmax_scale, causal, window_size, False)
    return _with_lse(q, keys, values, softmax_scale, causal, window_size)
