# SPDX-License-Identifier: Apache-2.0
"""agree: one schedule for all ranks of a job."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Optional, Tuple

import torch

from . import _core
from ._attention import Descale
from ._errors import InvalidArgument
from ._shapes import Device, Explanation, Tensor, describe

#: broadcast(data, root): collective; gives the data of rank root, on every rank
Broadcast = Callable[[bytes, int], bytes]


def agree(
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
    group: Any = None,
    rank: Optional[int] = None,
    world_size: Optional[int] = None,
    broadcast: Optional[Broadcast] = None,
) -> Explanation:
    """Makes rank 0's selection for a call's shape resident on every rank (zyfa::agree).

    Ranks whose caches differ may otherwise run different schedules, whose results differ in the last bits. Every rank
    calls it once per shape, with the same arguments, while no stream captures. Rank 0 prepares the shape in its
    context's mode and sends schedule and binary; the others load them, whatever their caches hold. All ranks take it,
    or every rank raises ``zyfa.Error`` with the reason and goes on with what it had.

    Args:
        group: a ``torch.distributed`` process group; default: the job's.
        rank, world_size, broadcast: a job's own means instead of ``torch.distributed``, all three of them.
            ``broadcast(data, root)`` is collective and returns the bytes of rank ``root``; what it raises is passed on.

    Other arguments as of ``prepare``.
    """
    if broadcast is None:
        rank, world_size, broadcast = _of_group(group, rank, world_size)
    elif rank is None or world_size is None or group is not None:
        raise InvalidArgument(
            "broadcast is given without rank and world_size, or beside group; accepted: all three, no group", "broadcast"
        )
    call = describe(q, k, v, causal, window_size, (q_descale, k_descale, v_descale), out, device)
    answer = _core.agree(
        call.simulated, call.ordinal, q, k, v, call.out, return_lse, call.causal, softmax_scale, *call.descales, rank,
        world_size, broadcast,
    )  # fmt: skip
    return Explanation(**answer)


def _of_group(group: Any, rank: Optional[int], world_size: Optional[int]) -> Tuple[int, int, Broadcast]:
    distributed = torch.distributed
    if rank is not None or world_size is not None:
        raise InvalidArgument("rank or world_size is given without broadcast; accepted: all three or none", "rank")
    if not distributed.is_available() or not distributed.is_initialized():
        raise InvalidArgument(
            "torch.distributed has no process group; accepted: after init_process_group, or rank, world_size, broadcast",
            "group",
        )

    # As plain tensors: broadcast_object_list needs NumPy, and would unpickle what another process sent.
    host = any(name in distributed.get_backend(group) for name in ("gloo", "mpi"))
    place = torch.device("cpu") if host else torch.device("cuda", torch.cuda.current_device())

    def send(numbers: Tensor, root: int) -> Tensor:
        numbers = numbers.to(place)
        distributed.broadcast(numbers, root if group is None else distributed.get_global_rank(group, root), group=group)
        return numbers.cpu()

    def broadcast(data: bytes, root: int) -> bytes:
        size = int(send(torch.tensor([len(data)], dtype=torch.int64), root))
        if size == 0:
            return b""
        content = torch.zeros(size, dtype=torch.uint8)
        if distributed.get_rank(group) == root:
            content.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        content = send(content, root)
        return ctypes.string_at(content.data_ptr(), size)

    return distributed.get_rank(group), distributed.get_world_size(group), broadcast
