# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of the documentation, those of a page one after another, and holds README's table of
operators and the signature in docs/python.md to the code."""

import inspect
import re
from pathlib import Path

import pytest

import zyfa

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert code
    names = {}
    for block in code:
        exec(compile(block, page, "exec"), names)


def test_the_signature_in_the_documentation_is_the_function_s():
    text = " ".join((ROOT / "docs/python.md").read_text().split())
    written = re.search(r"`zyfa\.flash_attn_func\((.*?)\)` is", text).group(1)
    parameters = inspect.signature(zyfa.flash_attn_func).parameters.values()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    assert written == str(inspect.Signature(bare))[1:-1]
