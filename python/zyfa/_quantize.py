# SPDX-License-Identifier: Apache-2.0
"""Per-tensor quantization to OCP FP8 E4M3 with a power-of-two scale (paper, Section V-D)."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ._errors import InvalidArgument

_LARGEST = 448.0  # of e4m3fn


class Quantized(NamedTuple):
    """``codes`` in float8_e4m3fn; value = code * descale, and descale is a power of two."""

    codes: torch.Tensor
    descale: float


def quantize(tensor: torch.Tensor) -> Quantized:
    """Rounds ``tensor`` to float8_e4m3fn, scaled by the largest power of two that keeps its largest finite magnitude
    at most 448. A power of two changes exponents only, so that applying the descale adds no rounding.

    Strides are kept where they are dense. Reads the largest magnitude, which waits for the tensor's device.
    """
    if not tensor.is_floating_point():
        raise InvalidArgument(f"tensor.dtype is {tensor.dtype}; accepted: a floating-point dtype", "tensor.dtype")
    values = tensor.detach().to(torch.float32)
    magnitudes = values.abs()
    largest = float(torch.where(magnitudes.isfinite(), magnitudes, 0.0).max()) if values.numel() else 0.0
    exponent = 0
    if largest > 0:
        # frexp: largest = m * 2^e with 0.5 <= m < 1, and 448 = 0.875 * 2^9, exactly.
        mantissa, e = torch.frexp(torch.tensor(largest, dtype=torch.float64))
        exponent = 9 - int(e) - (1 if float(mantissa) > _LARGEST / 512.0 else 0)
        exponent = max(-120, min(120, exponent))
    scale = 2.0**exponent
    return Quantized((values * scale).to(torch.float8_e4m3fn), 1.0 / scale)
