# SPDX-License-Identifier: Apache-2.0
"""zyfa: attention kernels for AMD's gfx950 (MI355X), written as assembly at run time, tuned and cached.

    import torch, zyfa
    o = zyfa.flash_attn_func(q, k, v, causal=True)          # [batch, sequence, heads, 128], bfloat16

Without a GPU, ``zyfa.use_simulator()`` runs CPU tensors on a simulator of gfx950. ``zyfa.compat.flash_attn`` and
``zyfa.compat.flash_attn_3`` have the functions of FlashAttention 2 and 3.
"""

from ._agree import agree
from ._attention import flash_attn_func
from ._core import version as __version__
from ._device import use_simulator
from ._errors import (
    AssembleFailed,
    CacheMiss,
    DeviceError,
    Error,
    InternalError,
    InvalidArgument,
    IoError,
    NoDevice,
    NotResident,
    Unsupported,
)
from ._quantize import Quantized, add_mean_score, quantize, rotation_matrix
from ._shapes import CacheInfo, Explanation, cache_info, explain, prepare, tune
from .capturing import capture

__all__ = [
    "AssembleFailed",
    "CacheInfo",
    "CacheMiss",
    "DeviceError",
    "Error",
    "Explanation",
    "InternalError",
    "InvalidArgument",
    "IoError",
    "NoDevice",
    "NotResident",
    "Quantized",
    "Unsupported",
    "__version__",
    "add_mean_score",
    "agree",
    "cache_info",
    "capture",
    "explain",
    "flash_attn_func",
    "prepare",
    "quantize",
    "rotation_matrix",
    "tune",
    "use_simulator",
]
