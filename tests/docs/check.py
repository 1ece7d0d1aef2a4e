#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documentation to the truth, with the standard library alone:

- every line of a fenced block marked sh is run, block after block of a page in one folder and with one cache, on the
  simulator; blocks without a mark hold no commands;
- what inline code calls of the tool (`zyfa COMMAND --flag`) exists in its --help;
- messages that docs/troubleshooting.md quotes are in the sources;
- relative links lead somewhere.

Usage: tests/docs/check.py BUILD_FOLDER
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1]).resolve()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# Lines that are run elsewhere, by their beginning, and where.
ELSEWHERE = {
    "scripts/test.sh": "this test is part of it",
    "scripts/quickstart.sh": "its two commands are tests of the tool (tests/cli/tool_test.cpp); it builds everything anew",
}
COMMAND = re.compile(r"(zyfa|scripts/|build/bin/|cmake|ctest|cpack|ninja|pip|python3?|c\+\+|g\+\+) ")

failures = []


def fail(page, line, what):
    failures.append(f"{page.relative_to(ROOT)}:{line}: {what}")


def blocks(page):
    """(language, line number of the first line, lines) of each fenced block, indented ones among them."""
    language, start, lines = None, 0, []
    for number, line in enumerate(page.read_text().split("\n"), 1):
        fence = re.match(r"\s*```(\w*)\s*$", line)
        if not fence:
            lines.append(line.strip())
        elif language is None:
            language, start, lines = fence.group(1), number + 1, []
        else:
            yield language, start, lines
            language, lines = None, []


def without_comment(line):
    return re.sub(r"(^|\s)#.*$", "", line).strip()


def last_winner(folder, environment):
    """The digest of the winner that was stored last."""
    done = subprocess.run(
        [BUILD / "bin" / "zyfa", "cache", "list", "--json"], cwd=folder, env=environment, capture_output=True, text=True
    )
    winners = json.loads(done.stdout)["winners"]
    return winners[-1]["digest"] if winners else "WINNER_KEY"


def run_commands(page):
    commands = []
    for language, start, lines in blocks(page):
        for offset, line in enumerate(lines):
            if language == "sh" and without_comment(line):
                commands.append((start + offset, without_comment(line)))
            elif language not in ("sh", "console", "cpp", "cmake", "python") and COMMAND.match(line + " "):
                fail(page, start + offset, f"a command in a block that is not marked sh: {line}")
    commands = [(n, c) for n, c in commands if not any(c.startswith(e) for e in ELSEWHERE)]
    if not commands:
        return
    with tempfile.TemporaryDirectory(prefix="zyfa-docs-") as folder:
        for name in ("data", "examples", "scripts"):
            os.symlink(ROOT / name, Path(folder) / name)
        os.symlink(BUILD, Path(folder) / "build")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ZYFA_")}
        environment.update(
            PATH=f"{BUILD / 'bin'}:{environment['PATH']}", HOME=folder, XDG_CACHE_HOME=folder, AMD_COMGR_CACHE="0"
        )
        public_key = ""
        for number, command in commands:
            command = command.replace("PUBLIC_KEY", public_key)
            if "WINNER_KEY" in command:
                command = command.replace("WINNER_KEY", last_winner(folder, environment))
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
            )
            if done.returncode != 0:
                fail(page, number, f"{command}\n  exit code {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
            key = re.search(r"\b[0-9a-f]{64}\b", done.stdout)
            public_key = key.group(0) if "keys generate" in command and key else public_key
            print(f"{page.relative_to(ROOT)}:{number}: {command}")


help_texts = {}


def help_of(*command):
    if command not in help_texts:
        done = subprocess.run([BUILD / "bin" / "zyfa", *command, "--help"], capture_output=True, text=True)
        help_texts[command] = done.stdout if done.returncode == 0 else None
    return help_texts[command]


def check_inline(page):
    for number, line in enumerate(page.read_text().split("\n"), 1):
        for code in re.findall(r"`([^`]+)`", line):
            if not code.startswith("zyfa ") or re.match(r"zyfa [A-Z]", code):
                continue
            words = shlex.split(code)[1:]
            command = [w for w in words[:2] if re.fullmatch(r"[a-z]+", w)]
            if len(command) == 2 and help_of(*command) is None:
                command = command[:1]
            text = help_of(*command)
            if not command or text is None:
                fail(page, number, f"`{code}`: no such command of the tool")
                continue
            for flag in (w for w in words if w.startswith("--")):
                if not re.search(re.escape(flag) + r"\b", text):
                    fail(page, number, f"`{code}`: {flag} is not in its --help")


def check_messages(page):
    sources = []
    for folder in ("attention", "core", "runtime", "jit", "templates", "cache", "python/zyfa", "python/src"):
        for file in sorted((ROOT / folder).rglob("*.[ch]pp")) + sorted((ROOT / folder).rglob("*.py")):
            sources.append(file.read_text())
    # Literals that the formatter broke are one text again; "is " + value + "; accepted" stays in parts.
    text = re.sub(r'"\s*\n\s*f?"', "", "\n".join(sources))
    for number, line in enumerate(page.read_text().split("\n"), 1):
        cell = re.match(r"\| (`[^|]*) \|", line)
        for quoted in re.findall(r"`([^`]+)`", cell.group(1)) if cell else ():
            if quoted not in text and not quoted.startswith(("zyfa ", "explain")):
                fail(page, number, f"no source says: {quoted}")


def check_links(page):
    for number, line in enumerate(page.read_text().split("\n"), 1):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
            if not (page.parent / target).exists():
                fail(page, number, f"a link to {target}, which is not there")


for page in PAGES:
    check_links(page)
    check_inline(page)
    run_commands(page)
check_messages(ROOT / "docs" / "troubleshooting.md")
for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(1 if failures else 0)
