# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class per error code of the library (include/zyfa/error.hpp)."""

from __future__ import annotations

from typing import ClassVar


class Error(RuntimeError):
    """What zyfa refuses or could not do; raised before any launch.

    Attributes:
        code: short stable name, e.g. ``"invalid_argument"``.
        argument: name of the argument at fault (``"q.stride(3)"``), or empty.
    """

    code: ClassVar[str] = "internal"

    # Without an __init__ of its own, so that torch.compile can trace a raise.

    @property
    def argument(self) -> str:
        return self.args[1] if len(self.args) > 1 else ""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidArgument(Error, ValueError):
    """An argument is malformed: a wrong stride, sizes that disagree."""

    code = "invalid_argument"


class Unsupported(Error, NotImplementedError):
    """Well-formed, but nothing here computes it."""

    code = "unsupported"


class NoDevice(Error):
    """No usable device or HIP library; the message says how to run on the simulator."""

    code = "no_device"


class NotResident(Error):
    """A stream is capturing and the shape was not prepared: call ``zyfa.prepare`` first."""

    code = "not_resident"


class CacheMiss(Error):
    """Mode ``must_hit``, and no cache layer has the key; the message names it."""

    code = "cache_miss"


class AssembleFailed(Error):
    """The toolchain refused generated assembly, or there is none."""

    code = "assemble_failed"


class DeviceError(Error):
    """HIP reported an error, or the simulator found a fault."""

    code = "device_error"


class IoError(Error):
    """A file could not be read or written."""

    code = "io_error"


class InternalError(Error):
    """A defect of zyfa."""

    code = "internal"


_CLASSES = {c.code: c for c in Error.__subclasses__()}


def make(code: str, argument: str, message: str) -> Error:
    """The exception of an error of the library; called by the extension module."""
    return _CLASSES.get(code, InternalError)(message, argument)
