# SPDX-License-Identifier: Apache-2.0
"""zyfa.capture: q, k and v of a model's attention calls, as files that ``zyfa attention --input`` and ``zyfa tune
--input`` read."""

from __future__ import annotations

import ctypes
import json
import os
import struct
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Union

import torch
from torch.overrides import TorchFunctionMode

from . import _attention
from ._errors import InvalidArgument

Tensor = torch.Tensor


def write_safetensors(path: Union[str, os.PathLike[str]], tensors: Dict[str, Tensor], metadata: Dict[str, str]) -> None:
    """Writes bfloat16 tensors as a safetensors file: 8 bytes of header length, a JSON header, the tensors' bytes."""
    header: Dict[str, object] = {"__metadata__": metadata}
    blobs: List[bytes] = []
    offset = 0
    for name, tensor in sorted(tensors.items()):
        tensor = tensor.detach().to("cpu", torch.bfloat16).contiguous()
        blob = ctypes.string_at(tensor.data_ptr(), 2 * tensor.numel())
        header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for blob in blobs:
            file.write(blob)


class _WatchSdpa(TorchFunctionMode):
    """Sees calls of torch.nn.functional.scaled_dot_product_attention, whose tensors are [B, H, S, D]."""

    def __init__(self, saw: Callable[[Tensor, Tensor, Tensor, Optional[float]], None]) -> None:
        super().__init__()
        self._saw = saw

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention:
            named = dict(zip(("query", "key", "value"), args), **kwargs)
            self._saw(named["query"], named["key"], named["value"], named.get("scale"))
        return func(*args, **kwargs)


class capture:
    """Writes q, k and v of chosen layers of a PyTorch model, one file per layer::

        with zyfa.capture(model, ["layers.3.attention", "layers.7.attention"], "captured") as captured:
            model(batch)
        print(captured.files)      # captured/layers.3.attention.safetensors ...

    Seen are calls of ``zyfa.flash_attn_func``, of ``zyfa.compat``, and of PyTorch's
    ``scaled_dot_product_attention``, made eagerly by the named modules or modules inside them. The first call of each
    layer is kept: BF16 (of FP8 calls the values, code * descale), [batch, heads, sequence, head_dim], with its softmax
    scale.

    Args:
        model: the module whose layers are named as in ``model.named_modules()``.
        layers: names of modules; None takes each module that calls attention, under the name of the innermost one.
        folder: where the files go; made if it is not there.
    """

    def __init__(
        self, model: torch.nn.Module, layers: Optional[Sequence[str]] = None, folder: Union[str, os.PathLike[str]] = "."
    ) -> None:
        modules = dict(model.named_modules())
        for name in layers or ():
            if name not in modules:
                some = ", ".join(list(modules)[1:9])
                raise InvalidArgument(f'layers names "{name}"; accepted: modules of the model, such as {some}', "layers")
        self.files: List[Path] = []
        self._folder = Path(folder)
        self._modules = {n: m for n, m in modules.items() if (n in layers if layers is not None else True)}
        self._stack: List[str] = []
        self._hooks: List[Any] = []
        self._taken: Set[str] = set()
        self._mode = _WatchSdpa(self._saw)

    def __enter__(self) -> "capture":
        if _attention.observer is not None:
            raise InvalidArgument("a capture is open already; accepted: one at a time", "")
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, module in self._modules.items():
            self._hooks.append(module.register_forward_pre_hook(lambda m, a, name=name: self._stack.append(name)))
            self._hooks.append(
                module.register_forward_hook(lambda m, a, o: self._leave(), always_call=True)
            )
        _attention.observer = self._saw_bshd
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._mode.__exit__(*exception)
        _attention.observer = None
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._stack.clear()

    def __iter__(self) -> Iterator[Path]:
        return iter(self.files)

    def _leave(self) -> None:
        self._stack.pop()

    def _saw_bshd(self, q: Tensor, k: Tensor, v: Tensor, scale: Optional[float]) -> None:
        self._saw(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), scale)

    def _saw(self, q: Tensor, k: Tensor, v: Tensor, scale: Optional[float]) -> None:
        if not self._stack or self._stack[-1] in self._taken:
            return
        layer = self._stack[-1]
        self._taken.add(layer)
        path = self._folder / f"{layer or 'model'}.safetensors"
        scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
        metadata = {"softmax_scale": repr(scale), "layout": "bhsd", "layer": layer}
        write_safetensors(path, {"q": q, "k": k, "v": v}, metadata)
        self.files.append(path)
