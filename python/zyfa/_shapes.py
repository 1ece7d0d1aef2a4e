# SPDX-License-Identifier: Apache-2.0
"""prepare, explain, tune, cache_info: what runs for a shape, and what is stored."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Optional, Tuple, Union

import torch

from . import _core, _device, _ops
from ._attention import Descale, check_descale, refuse_shapes
from ._masks import causal_of

Tensor = torch.Tensor
Device = Union[torch.device, str, None]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What runs for a shape, and why (zyfa::Explanation)."""

    kernel: str
    schedule: str  #: canonical text, "bf16_fwd_d128{tau=0.5,...}"
    cache: str  #: "hit", "miss" or "off"
    layer: str  #: name of the cache layer that answered, or empty
    key: str  #: winner key, readable
    reason: str  #: one sentence
    evidence_json: str  #: of the winner, or empty
    binary_digest: str
    toolchain: str  #: which toolchain made the binary
    resident: bool  #: already loaded in this process
    pinned: bool  #: a person has pinned the schedule (``zyfa cache pin``)
    banned: List[str]  #: schedules that are banned for the key
    stages_ms: Dict[str, float]  #: wall clock of the preparation, if this process made it

    @property
    def evidence(self) -> Dict[str, Any]:
        """The winner's measurements and errors, as stored; empty if there are none."""
        return json.loads(self.evidence_json) if self.evidence_json else {}

    def __str__(self) -> str:
        return f"{self.schedule}, cache {self.cache}: {self.reason}"


@dataclasses.dataclass(frozen=True)
class CacheInfo:
    """What this process took from and put into the kernel cache, and the layers that it asks in this order."""

    counters: Dict[str, int]
    layers: List[Dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Described:
    """A call as zyfa._core takes it."""

    simulated: bool
    ordinal: int
    out: Tensor
    causal: bool
    descales: List[Optional[float]]


def describe(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, window_size: Tuple[int, int], descales: Tuple[Descale, ...],
    out: Optional[Tensor], device: Device,
) -> Described:  # fmt: skip
    """Checks what only Python's side knows of a call, and puts it in the library's words."""
    refuse_shapes(q, k, v)
    simulated, ordinal = _device.place(q.device if device is None else device)
    causal = causal_of(causal, window_size, q.shape[1], k.shape[1])
    if out is None:
        out = _ops.empty_output(q, v, device="meta")
    numbers: List[Optional[float]] = []
    for name, descale in zip(("q_descale", "k_descale", "v_descale"), descales):
        if isinstance(descale, Tensor):
            check_descale(name, descale, q, k)
            descale = _ops.entry(name, descale)
        numbers.append(descale)
    return Described(simulated, ordinal, out, causal, numbers)


def _about(
    question: _core.Ask, q: Tensor, k: Tensor, v: Tensor, softmax_scale: Optional[float], causal: bool,
    window_size: Tuple[int, int], q_descale: Descale, k_descale: Descale, v_descale: Descale, return_lse: bool,
    out: Optional[Tensor], device: Device, *, data: bool = False,
    budget_s: float = 0.0, retune: bool = False, fresh: bool = False, profile: str = "",
) -> Explanation:  # fmt: skip
    call = describe(q, k, v, causal, window_size, (q_descale, k_descale, v_descale), out, device)
    if data:
        q, k, v = _on_host(q), _on_host(k), _on_host(v)
    answer = _core.about(
        question, call.simulated, call.ordinal, q, k, v, call.out, return_lse, call.causal, softmax_scale,
        *call.descales, data, budget_s, retune, fresh, profile,
    )  # fmt: skip
    return Explanation(**answer)


def _on_host(tensor: Tensor) -> Tensor:
    """The tensor in host memory, with its strides."""
    tensor = tensor.detach()
    if tensor.device.type == "cpu":
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu").copy_(tensor)


def prepare(
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
    device: Device = None,
) -> Explanation:
    """Makes a call's shape resident ahead of the call: assembles or loads its kernel, and tunes it in mode tune.

    Arguments as of ``flash_attn_func``. Only dtypes, shapes and strides of the tensors count: tensors on the meta
    device do, with ``device`` (a GPU, or "sim" for the simulator) then saying where. Not legal while a stream of the
    device captures.
    """
    return _about(
        _core.Ask.prepare, q, k, v, softmax_scale, causal, window_size, q_descale, k_descale, v_descale, return_lse, out,
        device,
    )  # fmt: skip


def explain(
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
    device: Device = None,
) -> Explanation:
    """What would run for a call, without assembling, loading, tuning or storing anything. Arguments as of ``prepare``."""
    return _about(
        _core.Ask.explain, q, k, v, softmax_scale, causal, window_size, q_descale, k_descale, v_descale, return_lse, out,
        device,
    )  # fmt: skip


def tune(
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
    device: Device = None,
    budget_s: float = 60.0,
    retune: bool = True,
    fresh: bool = False,
    profile: str = "caller",
) -> Explanation:
    """Tunes a call's shape now and stores the winner with its evidence.

    The candidates are gated on accuracy against fp64 and timed on the values of q, k and v: pass tensors of the
    model's own activations (``zyfa.capture``). Tensors on the meta device tune on Gaussian numbers.

    Args:
        budget_s: wall clock for assembling, gate and timing; 0 means unlimited.
        retune: tune although a winner is known, and replace it.
        fresh: measure again what earlier tunings on the same values, device and driver have measured.
        profile: recorded with the winner as what it was tuned on.

    Other arguments as of ``prepare``. On the simulator, times and winners are simulated, and stored as that.
    """
    data = q.device.type != "meta"
    return _about(
        _core.Ask.tune, q, k, v, softmax_scale, causal, window_size, q_descale, k_descale, v_descale, return_lse, out,
        device, data=data, budget_s=budget_s, retune=retune, fresh=fresh, profile=profile,
    )  # fmt: skip


def cache_info(device: Device = None) -> CacheInfo:
    """Counters and layers of the kernel cache for a GPU's tensors, or for the simulator (``device="sim"``).

    Default: the simulator where ``use_simulator()`` or ``ZYFA_DEVICE=sim`` asked for it, else the GPU.
    """
    if device is None:
        simulated = _device.simulator_enabled()
    else:
        simulated, _ = _device.place(device, "device")
    return CacheInfo(_core.counters(simulated), _core.layers(simulated))
