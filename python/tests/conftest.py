# SPDX-License-Identifier: Apache-2.0
"""All tests run on the simulator, with a cache of their own."""

import os
import tempfile

_cache = tempfile.TemporaryDirectory(prefix="zyfa-tests-")
os.environ["ZYFA_CACHE_DIR"] = _cache.name
os.environ.setdefault("AMD_COMGR_CACHE", "0")
for _name in ("ZYFA_DEVICE", "ZYFA_MODE", "ZYFA_CACHE_LAYERS"):
    os.environ.pop(_name, None)

import pytest  # noqa: E402
import torch  # noqa: E402

import zyfa  # noqa: E402


@pytest.fixture(autouse=True)
def on_the_simulator():
    torch.manual_seed(0)
    zyfa.use_simulator()
    yield
    zyfa.use_simulator(False)
