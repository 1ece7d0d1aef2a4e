# SPDX-License-Identifier: Apache-2.0
"""What both versions share: arguments that have to be neutral, rows that have to be contiguous, packed tensors."""

from __future__ import annotations

from typing import Any, NoReturn, Optional, Tuple, Union

import torch

from .. import _attention
from .._errors import InvalidArgument, Unsupported

Tensor = torch.Tensor
Out = Union[Tensor, Tuple[Tensor, ...]]


def refuse(function: str, argument: str, value: Any, accepted: str) -> NoReturn:
    if isinstance(value, Tensor):
        value = f"a tensor {tuple(value.shape)}"
    raise Unsupported(f"{function}: {argument} is {value}; accepted: {accepted}", argument)


def refuse_call(function: str, what: str, instead: str) -> NoReturn:
    raise Unsupported(f"{function}: {what}; accepted: {instead}", "")


def absent(function: str, **arguments: Any) -> None:
    """Each of these must be None."""
    for name, value in arguments.items():
        if value is not None:
            refuse(function, name, value, "None")


def zero(function: str, **arguments: Any) -> None:
    """Each of these must be 0, its neutral value."""
    for name, value in arguments.items():
        if value != 0:
            refuse(function, name, value, "0")


def no_softcap(function: str, softcap: float) -> None:
    if softcap > 0:  # FlashAttention: 0 and less deactivate it
        refuse(function, "softcap", softcap, "0.0")


def few_splits(function: str, num_splits: int) -> None:
    if num_splits not in (0, 1):
        refuse(function, "num_splits", num_splits, "0, 1 (the schedule decides how keys are split)")


def contiguous_rows(tensor: Tensor) -> Tensor:
    """FlashAttention copies a tensor whose last stride is not 1."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def unpack(function: str, name: str, tensor: Tensor, parts: int) -> Tuple[Tensor, ...]:
    """Views of a packed tensor [batch, sequence, parts, heads, head_dim]."""
    if tensor.dim() != 5 or tensor.shape[2] != parts:
        raise InvalidArgument(
            f"{function}: {name} has shape {tuple(tensor.shape)}; accepted: (batch, sequence, {parts}, heads, head_dim)",
            name,
        )
    return tuple(tensor.unbind(2))


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    softmax_scale: Optional[float],
    causal: bool,
    window_size: Tuple[int, int],
    return_lse: bool,
    **descales: Any,
) -> Out:
    return _attention.flash_attn_func(
        contiguous_rows(q),
        contiguous_rows(k),
        contiguous_rows(v),
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=(window_size[0], window_size[1]),
        return_lse=return_lse,
        **descales,
    )


def whole_cache(function: str, k_cache: Tensor, v_cache: Tensor, cache_seqlens: Any) -> Tuple[Tensor, Tensor]:
    """The part of a KV cache that a call attends to, where that is one length for the batch."""
    if cache_seqlens is None:
        return k_cache, v_cache
    if isinstance(cache_seqlens, Tensor) or not isinstance(cache_seqlens, int):
        refuse(function, "cache_seqlens", cache_seqlens, "None or an int, one length for all of the batch")
    if not 0 < cache_seqlens <= k_cache.shape[1]:
        refuse(function, "cache_seqlens", cache_seqlens, f"1 to {k_cache.shape[1]}, the rows of the cache")
    return k_cache[:, :cache_seqlens], v_cache[:, :cache_seqlens]
