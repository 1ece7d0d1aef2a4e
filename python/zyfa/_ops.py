# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.zyfa.*: schema, kernels for CPU (simulator) and ROCm tensors, fake kernels.

Tensors are [batch, sequence, heads, head_dim] through any strides that the library takes. There is no backward: a
call that would need one is refused.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch

from . import _core, _device
from ._errors import InvalidArgument, Unsupported

Tensor = torch.Tensor

_core.register_torch(
    torch.bfloat16,
    torch.float8_e4m3fn,
    getattr(torch, "float8_e4m3fnuz", None),
    getattr(torch.Tensor, "__dlpack_c_exchange_api__", None),
)

_SCALES = (
    "float? softmax_scale, bool causal, float? q_descale, float? k_descale, float? v_descale, "
    "Tensor? q_descale_tensor, Tensor? k_descale_tensor, Tensor? v_descale_tensor"
)
_SCHEMAS = {
    "attention": f"(Tensor q, Tensor k, Tensor v, {_SCALES}) -> Tensor",
    "attention_lse": f"(Tensor q, Tensor k, Tensor v, {_SCALES}) -> (Tensor, Tensor)",
    "attention_out": f"(Tensor q, Tensor k, Tensor v, Tensor(a!) out, Tensor(b!)? lse, {_SCALES}) -> ()",
}


def empty_output(q: Tensor, v: Tensor, device: Optional[str] = None) -> Tensor:
    """Memory for O: BF16, with q's strides where they fit."""
    if q.size(-1) != v.size(-1):
        return q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=torch.bfloat16, device=device)
    return torch.empty_like(q, dtype=torch.bfloat16, device=device)


def empty_lse(q: Tensor) -> Tensor:
    """Memory for the log-sum-exp: FP32 [batch, heads, sequence]."""
    return q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)


def refuse_gradients(q: Tensor, k: Tensor, v: Tensor) -> None:
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        name = "q" if q.requires_grad else "k" if k.requires_grad else "v"
        raise Unsupported(
            f"{name} requires a gradient, and zyfa has no backward; accepted: calls under torch.no_grad() or "
            "torch.inference_mode(), or detached tensors",
            name,
        )


def entry(name: str, descale: Tensor) -> float:
    """The one value of a descale tensor. Waits for the tensor's device."""
    if descale.is_cuda and torch.cuda.is_current_stream_capturing():
        raise InvalidArgument(
            f"{name} is a GPU tensor, which cannot be read while its stream captures; accepted: a Python float", name
        )
    values = descale.detach().reshape(-1).to("cpu", torch.float32)
    if values.numel() == 0:
        raise InvalidArgument(f"{name} is an empty tensor; accepted: one value, or (batch, heads_kv) equal values", name)
    if values.numel() > 1 and not bool((values == values[0]).all()):
        raise Unsupported(
            f"{name} has entries that differ, {float(values.min()):g} to {float(values.max()):g}; accepted: one "
            "descale per tensor, as a float or a tensor of equal entries",
            name,
        )
    return float(values[0])


def _launch(
    simulated: bool, stream: int, q: Tensor, k: Tensor, v: Tensor, out: Optional[Tensor], lse: Optional[Tensor],
    scale: Optional[float], causal: bool, qd: Optional[float], kd: Optional[float], vd: Optional[float],
    qd_t: Optional[Tensor], kd_t: Optional[Tensor], vd_t: Optional[Tensor],
) -> None:  # fmt: skip
    if torch.is_grad_enabled():
        refuse_gradients(q, k, v)
    if qd_t is not None:
        qd = entry("q_descale", qd_t)
    if kd_t is not None:
        kd = entry("k_descale", kd_t)
    if vd_t is not None:
        vd = entry("v_descale", vd_t)
    _core.attention(simulated, stream, q, k, v, out, lse, causal, scale, qd, kd, vd)


def _on_simulator(q: Tensor, k: Tensor, v: Tensor, out: Optional[Tensor], lse: Optional[Tensor], *scales: Any) -> None:
    _device.require_simulator("q")
    _launch(True, 0, q, k, v, out, lse, *scales)


current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream
)


def _on_gpu(q: Tensor, k: Tensor, v: Tensor, out: Optional[Tensor], lse: Optional[Tensor], *scales: Any) -> None:
    _device.require_rocm("q")
    _launch(False, current_stream(q.get_device()), q, k, v, out, lse, *scales)


def _kernels(run: Callable[..., None]) -> Dict[str, Callable[..., Any]]:
    """The three operators' kernels on top of ``run(q, k, v, out, lse, *scales)``."""

    def attention(q: Tensor, k: Tensor, v: Tensor, *scales: Any) -> Tensor:
        out = empty_output(q, v)
        run(q, k, v, out, None, *scales)
        return out

    def attention_lse(q: Tensor, k: Tensor, v: Tensor, *scales: Any) -> Tuple[Tensor, Tensor]:
        out, lse = empty_output(q, v), empty_lse(q)
        run(q, k, v, out, lse, *scales)
        return out, lse

    return {"attention": attention, "attention_lse": attention_lse, "attention_out": run}


def _fake(q: Tensor, k: Tensor, v: Tensor, out: Optional[Tensor], lse: Optional[Tensor], *scales: Any) -> None:
    refuse_gradients(q, k, v)


def _tags() -> Tuple[torch.Tag, ...]:
    # The compiler may not change the strides of inputs: rows must stay contiguous.
    for name in ("needs_exact_strides", "needs_fixed_stride_order"):
        if hasattr(torch.Tag, name):
            return (torch.Tag.pt2_compliant_tag, getattr(torch.Tag, name))
    return (torch.Tag.pt2_compliant_tag,)


library = torch.library.Library("zyfa", "DEF")
for _name, _schema in _SCHEMAS.items():
    library.define(_name + _schema, tags=_tags())
for _key, _kernel in (("CPU", _on_simulator), ("CUDA", _on_gpu)):
    for _name, _function in _kernels(_kernel).items():
        library.impl(_name, _function, _key)
for _name, _function in _kernels(_fake).items():
    torch.library.register_fake("zyfa::" + _name, _function, lib=library)

attention = torch.ops.zyfa.attention.default
attention_lse = torch.ops.zyfa.attention_lse.default
attention_out = torch.ops.zyfa.attention_out.default
