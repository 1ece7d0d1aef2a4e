# SPDX-License-Identifier: Apache-2.0
"""Sliding windows: which of them are plain or causal attention, the only masks that zyfa computes."""

from __future__ import annotations

from typing import Sequence

from ._errors import InvalidArgument, Unsupported


def causal_of(causal: bool, window_size: Sequence[int], seq_q: int, seq_kv: int) -> bool:
    """Whether the mask of (causal, window_size) is the causal one; Unsupported if it is neither that nor none.

    Row i sees keys i + seq_kv - seq_q - left to i + seq_kv - seq_q + right; a negative side is unlimited, and causal
    sets right to 0. Served: windows that are unlimited, that reach over all keys at these lengths, and (-1, 0), which
    is causal.
    """
    if len(window_size) != 2:
        raise InvalidArgument(f"window_size is {window_size!r}; accepted: (left, right)", "window_size")
    left, right = window_size
    if left < 0 and right < 0:
        return causal
    if left < 0 or left >= seq_kv - 1:
        if causal or right == 0:
            return True
        if right < 0 or right >= seq_q - 1:
            return False
    raise Unsupported(
        f"window_size is {tuple(window_size)}, a sliding window; accepted: (-1, -1), or (-1, 0), which is causal",
        "window_size",
    )
