# SPDX-License-Identifier: Apache-2.0
"""flash_attn_func: attention on tensors [batch, sequence, heads, head_dim]."""

from __future__ import annotations

from typing import Callable, Literal, Optional, Tuple, Union, overload

import torch

from . import _ops
from ._errors import InvalidArgument, Unsupported
from ._masks import causal_of

Tensor = torch.Tensor
Descale = Union[float, Tensor, None]

# Set by zyfa.capture: called with q, k, v (FP8: the values, not the codes) and the softmax scale of each call.
observer: Optional[Callable[[Tensor, Tensor, Tensor, Optional[float]], None]] = None


def refuse_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises InvalidArgument, unless all of them have four dimensions."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 4:
            raise InvalidArgument(
                f"{name} has {tensor.dim()} dimensions; accepted: 4, [batch, sequence, heads, head_dim]", name
            )


def check_descale(name: str, descale: Tensor, q: Tensor, k: Tensor) -> None:
    """Raises InvalidArgument, unless the tensor has a shape that one descale may come in."""
    allowed = (q.shape[0], k.shape[2])
    if descale.numel() != 1 and tuple(descale.shape) != allowed:
        raise InvalidArgument(
            f"{name} has shape {tuple(descale.shape)}; accepted: a float, one element, or {allowed}, "
            "(batch, heads of k and v)",
            name,
        )


def _values(name: str, tensor: Tensor, descale: Descale) -> Tensor:
    """What the tensor stands for: code * descale."""
    if descale is None:
        return tensor
    return tensor.to(torch.float32) * (_ops.entry(name, descale) if isinstance(descale, Tensor) else descale)


@overload
def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    q_descale: Descale = None,
    k_descale: Descale = None,
    v_descale: Descale = None,
    return_lse: Literal[False] = False,
    out: Optional[Tensor] = None,
) -> Tensor: ...
@overload
def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    q_descale: Descale = None,
    k_descale: Descale = None,
    v_descale: Descale = None,
    return_lse: Literal[True],
    out: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]: ...
@overload
def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    q_descale: Descale = None,
    k_descale: Descale = None,
    v_descale: Descale = None,
    return_lse: bool,
    out: Optional[Tensor] = None,
) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    q_descale: Descale = None,
    k_descale: Descale = None,
    v_descale: Descale = None,
    return_lse: bool = False,
    out: Optional[Tensor] = None,
) -> Union[Tensor, Tuple[Tensor, Tensor]]:
    """softmax(softmax_scale * q k^T + mask) v, forward only.

    Args:
        q: [batch, seq_q, heads_q, head_dim]; bfloat16 or float8_e4m3fn. Any strides with contiguous rows that are
            multiples of 16 bytes: tensors [batch, heads, seq, head_dim] are passed as ``x.transpose(1, 2)``.
        k, v: [batch, seq_kv, heads_kv, head_dim], the dtype of q; heads_q is a multiple of heads_kv.
        softmax_scale: default 1/sqrt(head_dim of q).
        causal: key j is visible to row i if j <= i + seq_kv - seq_q (aligned at the bottom right).
        window_size: (left, right). Windows that limit nothing and (-1, 0), which is causal; others are refused.
        q_descale, k_descale, v_descale: float8_e4m3fn only; value = code * descale. A float, or a tensor of one
            element or of (batch, heads_kv) equal entries. A tensor on a GPU is read, which waits for the GPU;
            pass a float where that matters.
        return_lse: also return the natural log-sum-exp of each row, float32 [batch, heads_q, seq_q].
        out: memory for the result, bfloat16, the shape of the result.

    Returns:
        o, bfloat16 [batch, seq_q, heads_q, head_dim of v], or (o, lse). A row that sees no key gives 0 and -inf.

    On a ROCm tensor the kernel runs on the current stream of the tensor's device, without waiting for it; it may be
    captured in a graph once the shape is resident (``zyfa.prepare``). CPU tensors run on the simulator if
    ``zyfa.use_simulator()`` or ``ZYFA_DEVICE=sim`` asked for it.

    Raises:
        InvalidArgument, Unsupported: names the argument, its value, and what is accepted; before any launch.
        NoDevice, NotResident, CacheMiss, AssembleFailed, DeviceError: see their docstrings.
    """
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4:
        refuse_shapes(q, k, v)
    if window_size != (-1, -1):
        causal = causal_of(causal, window_size, q.shape[1], k.shape[1])
    q_tensor = k_tensor = v_tensor = None
    if q_descale is not None or k_descale is not None or v_descale is not None:
        if isinstance(q_descale, Tensor):
            check_descale("q_descale", q_descale, q, k)
            q_descale, q_tensor = None, q_descale
        if isinstance(k_descale, Tensor):
            check_descale("k_descale", k_descale, q, k)
            k_descale, k_tensor = None, k_descale
        if isinstance(v_descale, Tensor):
            check_descale("v_descale", v_descale, q, k)
            v_descale, v_tensor = None, v_descale
    if observer is not None:
        observer(
            _values("q_descale", q, q_descale if q_tensor is None else q_tensor),
            _values("k_descale", k, k_descale if k_tensor is None else k_tensor),
            _values("v_descale", v, v_descale if v_tensor is None else v_tensor),
            softmax_scale,
        )
    scales = (softmax_scale, causal, q_descale, k_descale, v_descale, q_tensor, k_tensor, v_tensor)
    if out is None:
        return _ops.attention_lse(q, k, v, *scales) if return_lse else _ops.attention(q, k, v, *scales)
    if out.dtype is not torch.bfloat16:
        raise Unsupported(f"out.dtype is {out.dtype}; accepted: torch.bfloat16", "out.dtype")
    if out.device != q.device:
        raise InvalidArgument(f"out is on {out.device}; accepted: {q.device}, the device of q", "out")
    lse = _ops.empty_lse(q) if return_lse else None
    _ops.attention_out(q, k, v, out, lse, *scales)
    return out if lse is None else (out, lse)
