# SPDX-License-Identifier: Apache-2.0
"""Where tensors of a device run: a GPU's on that GPU, the CPU's on the simulator if that was asked for."""

from __future__ import annotations

import torch

from . import _core
from ._errors import InvalidArgument, NoDevice

_simulator = False


def use_simulator(enabled: bool = True) -> None:
    """Run CPU tensors on the simulator of gfx950 from here on; ``ZYFA_DEVICE=sim`` does the same.

    Results have the bits that the kernel's instructions give on gfx950, and take some thousand times as long;
    times are simulated. Without it, CPU tensors are refused.
    """
    global _simulator
    _simulator = bool(enabled)


def simulator_enabled() -> bool:
    """Whether CPU tensors run on the simulator."""
    return _simulator or _core.environment_asks_for_simulator()


def require_simulator(name: str) -> None:
    """Raises NoDevice, unless CPU tensors run on the simulator."""
    if not _simulator and not _core.environment_asks_for_simulator():
        raise NoDevice(
            f"{name} is a CPU tensor; accepted: tensors of a gfx950 GPU, or CPU tensors after "
            "zyfa.use_simulator() or with ZYFA_DEVICE=sim, which run on the simulator",
            name,
        )


def require_rocm(name: str) -> None:
    """Raises NoDevice where this PyTorch's "cuda" devices are not AMD's."""
    if torch.version.hip is None:
        raise NoDevice(
            f"{name} is on a CUDA device of a PyTorch that was not built for ROCm; accepted: tensors of a gfx950 GPU",
            name,
        )


def place(device: torch.device | str, name: str = "q") -> tuple[bool, int]:
    """(whether the simulator runs it, device ordinal) for tensors of ``device``; "sim" means the simulator."""
    if device == "sim":
        return True, 0
    device = torch.device(device)
    if device.type == "cpu":
        require_simulator(name)
        return True, 0
    if device.type == "cuda":
        require_rocm(name)
        return False, torch.cuda.current_device() if device.index is None else device.index
    raise InvalidArgument(
        f'{name} is on device "{device}"; accepted: a gfx950 GPU, or the CPU with zyfa.use_simulator()', name
    )
