# SPDX-License-Identifier: Apache-2.0
"""Per-tensor quantization to OCP FP8 E4M3 (paper, Sections V-D and V-E), on zyfa's kernels."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

import torch

from . import _core, _device, _ops
from ._errors import InvalidArgument, Unsupported

Tensor = torch.Tensor

_LARGEST = 448.0  # of e4m3fn
_DIMS = (64, 96, 128, 192, 256)
_SMOOTHING = {False: 0, True: 1}


class _Pair(NamedTuple):
    codes: Tensor
    descale: float


class Quantized(_Pair):
    """``codes`` in float8_e4m3fn; value = code * descale. Unpacks to these two.

    Attributes:
        clamped: finite values beyond 448 * descale, which got the code of +-448.
        non_finite: NaN and infinities, which got the code of NaN.
        mean: with smoothing, the mean key that was subtracted, float32 [batch, heads, head_dim].
    """

    clamped: int = 0
    non_finite: int = 0
    mean: Optional[Tensor] = None


def quantize(
    tensor: Tensor,
    *,
    descale: Optional[float] = None,
    rotate: bool = False,
    smooth: Union[bool, Tensor] = False,
    fold_scale: Optional[float] = None,
    count: bool = True,
) -> Quantized:
    """Rounds ``tensor`` to float8_e4m3fn, scaled by the largest power of two that keeps its largest finite magnitude
    at most 448. A power of two changes exponents only, so that applying the descale adds no rounding.

    Args:
        tensor: bfloat16 [batch, sequence, heads, head_dim] with head_dim 64, 96, 128, 192 or 256 runs on zyfa's kernel,
            on its GPU or on the simulator. Other floating-point tensors, and CPU tensors without the simulator, are
            quantized by PyTorch, without ``rotate``, ``smooth`` and ``fold_scale``.
        descale: a static scale: one pass. Values beyond 448 * descale are clamped and counted, never NaN.
        rotate: multiplies each row by a fixed rotation with random signs, which spreads outlier channels. Rotate q and
            k alike: q k^T stays the same. (``rotation_matrix``)
        smooth: for k: subtracts the mean key of each head over the sequence, or the given mean, float32 [batch, heads,
            head_dim]. The softmax cancels it; the log-sum-exp does not: see ``add_mean_score``.
        fold_scale: for q: softmax_scale * k_descale of the call to come. The descale is then the smallest that makes
            softmax_scale * q_descale * k_descale * log2(e) a power of two.
        count: False, with ``descale``, does not wait for the GPU and leaves the counts at 0.

    Strides are kept where they are dense. NaN and infinities become NaN, e4m3 having no infinity. Waits for the
    tensor's device, but for ``count=False``.
    """
    if not tensor.is_floating_point():
        raise InvalidArgument(f"tensor.dtype is {tensor.dtype}; accepted: a floating-point dtype", "tensor.dtype")
    if not count and descale is None:
        raise InvalidArgument("count is False without a descale, which the kernel would have to say", "count")
    tensor = tensor.detach()
    transformed = rotate or smooth is not False or fold_scale is not None
    if _on_kernel(tensor, transformed):
        return _by_kernel(tensor, descale, rotate, smooth, fold_scale, count)
    return _by_torch(tensor, descale)


def rotation_matrix(dim: int) -> Tensor:
    """R of ``quantize(rotate=True)``, float64 [dim, dim]: x R is the rotated row."""
    return torch.tensor(
        [[_core.rotation_element(dim, i, j) for j in range(dim)] for i in range(dim)], dtype=torch.float64
    )


def add_mean_score(lse: Tensor, q: Tensor, mean: Tensor, softmax_scale: Optional[float] = None) -> None:
    """Adds softmax_scale * q . mean to ``lse``, in place: the log-sum-exp of the keys as they were, from that of the
    smoothed ones.

    Args:
        lse: float32 [batch, heads_q, seq], contiguous.
        q: bfloat16 [batch, seq, heads_q, head_dim], not rotated.
        mean: ``quantize(k, smooth=True).mean``, float32 [batch, heads_kv, head_dim].
        softmax_scale: default 1/sqrt(head_dim).
    """
    if q.dim() != 4:
        raise InvalidArgument(f"q has {q.dim()} dimensions; accepted: 4, [batch, sequence, heads, head_dim]", "q")
    _check_floats("lse", lse, (q.shape[0], q.shape[2], q.shape[1]), q.device)
    _check_floats("mean", mean, (q.shape[0], None, q.shape[3]), q.device)
    simulated, _ = _device.place(q.device)
    _core.add_mean_score(simulated, _stream(q), q, mean, mean.shape[1], lse, softmax_scale)


def _stream(tensor: Tensor) -> int:
    return _ops.current_stream(tensor.get_device()) if tensor.is_cuda else 0


def _on_kernel(tensor: Tensor, transformed: bool) -> bool:
    fits = tensor.dtype is torch.bfloat16 and tensor.dim() == 4 and tensor.shape[-1] in _DIMS and tensor.numel() > 0
    if transformed:
        if not fits:
            raise Unsupported(
                f"tensor is {tensor.dtype} {tuple(tensor.shape)}; accepted with rotate, smooth and fold_scale: bfloat16 "
                f"[batch, sequence, heads, head_dim] with head_dim {', '.join(map(str, _DIMS))}",
                "tensor",
            )
        _device.place(tensor.device, "tensor")
        return True
    if tensor.device.type == "cpu":
        return fits and _device.simulator_enabled()
    return fits and tensor.device.type == "cuda" and torch.version.hip is not None


def _check_floats(name: str, tensor: Tensor, shape: tuple, device: torch.device) -> None:
    """Of a tensor that the kernel takes by its address. None in ``shape``: as many as k has heads."""
    fits = tensor.dim() == 3 and all(w is None or w == s for w, s in zip(shape, tensor.shape))
    if tensor.dtype is not torch.float32 or not fits or not tensor.is_contiguous() or tensor.device != device:
        wanted = f"({shape[0]}, {'heads of k' if shape[1] is None else shape[1]}, {shape[2]})"
        raise InvalidArgument(
            f"{name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}; accepted: contiguous float32 {wanted} "
            f"on {device}",
            name,
        )


def _by_kernel(
    tensor: Tensor,
    descale: Optional[float],
    rotate: bool,
    smooth: Union[bool, Tensor],
    fold_scale: Optional[float],
    count: bool,
) -> Quantized:
    batch, _, heads, dim = tensor.shape
    mean = None
    smoothing = 2
    if isinstance(smooth, Tensor):
        _check_floats("mean", smooth, (batch, heads, dim), tensor.device)
        mean = smooth
    else:
        smoothing = _SMOOTHING[bool(smooth)]
        if smooth:
            mean = tensor.new_empty((batch, heads, dim), dtype=torch.float32)
    codes = torch.empty_like(tensor, dtype=torch.float8_e4m3fn)
    found, clamped, non_finite = _core.quantize(
        tensor.device.type == "cpu", _stream(tensor), tensor, codes, descale, rotate, smoothing, mean, fold_scale, count
    )
    out = Quantized(codes, found)
    out.clamped, out.non_finite, out.mean = clamped, non_finite, mean
    return out


def _by_torch(tensor: Tensor, descale: Optional[float]) -> Quantized:
    values = tensor.to(torch.float32)
    finite = values.isfinite()
    if descale is None:
        largest = float(torch.where(finite, values.abs(), 0.0).max()) if values.numel() else 0.0
        exponent = 0
        if largest > 0:
            # frexp: largest = m * 2^e with 0.5 <= m < 1, and 448 = 0.875 * 2^9, exactly.
            mantissa, e = torch.frexp(torch.tensor(largest, dtype=torch.float64))
            exponent = 9 - int(e) - (1 if float(mantissa) > _LARGEST / 512.0 else 0)
            exponent = max(-120, min(120, exponent))
        descale = 2.0**-exponent
    elif not 0 < descale < float("inf"):
        raise InvalidArgument(f"descale is {descale}; accepted: finite and greater than 0", "descale")
    scaled = values * (1.0 / descale)
    codes = torch.where(finite, scaled.clamp(-_LARGEST, _LARGEST), float("nan")).to(torch.float8_e4m3fn)
    out = Quantized(codes, descale)
    out.clamped = int((finite & (scaled.abs() > _LARGEST)).sum())
    out.non_finite = int((~finite).sum())
    return out
