#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a virtual environment for the Python package's tests: scripts/python-env.sh FOLDER. It holds a CPU build of
# PyTorch, pytest and what builds the package. Nothing is done, and no network needed, where it is there already.
#
# Where pip offers no CPU build of PyTorch for this Python, the tests are skipped, and FOLDER/skipped says why: a CUDA
# build would bring gigabytes. ZYFA_TORCH names another requirement, taken as it is ("torch==2.13.0"); a PyTorch that
# the system's Python has is used, ROCm builds among them.
set -euo pipefail

[ $# -eq 1 ] || {
    echo "usage: scripts/python-env.sh FOLDER" >&2
    exit 2
}
folder=$1
torch=${ZYFA_TORCH:-torch==2.13.0}
tools="nanobind==3.1.0 scikit-build-core==1.1.2 pytest==9.2.0"
say() { printf 'python-env: %s\n' "$*"; }
skip() {
    say "the Python tests will be skipped: $*"
    mkdir -p "$folder"
    printf '%s\n' "$*" >"$folder/skipped"
    exit 0
}

if [ "$(cat "$folder/ready" 2>/dev/null)" = "$torch $tools" ]; then
    say "$folder is ready"
    exit 0
fi
rm -rf "$folder"

# The first Python that has its headers and venv.
python=
for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, sysconfig, os, venv, ensurepip
ok = sys.version_info >= (3, 10) and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
sys.exit(0 if ok else 1)' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || skip "no Python 3.10 or newer with its headers and venv (packages python3-dev and python3-venv)"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Compiling all of PyTorch's Python files takes longer than importing what the tests import.
pip() { "$folder/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }
if [ -z "${ZYFA_TORCH:-}" ] && "$python" -c 'import sys, torch
sys.exit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4))' 2>/dev/null; then
    say "using the PyTorch that $python has"
    "$python" -m venv --system-site-packages "$folder"
else
    "$python" -m venv "$folder"
    if [ -z "${ZYFA_TORCH:-}" ]; then
        version=$(pip install -q --dry-run --no-deps --report - "$torch" 2>"$log" | "$folder/bin/python" -c \
            'import json, sys; print(json.load(sys.stdin)["install"][0]["metadata"]["version"])' 2>/dev/null) || version=
        [ -n "$version" ] || skip "pip finds no $torch for $("$python" --version): $(grep -m1 -i error "$log" || true)"
        case $version in
        *+cpu) ;;
        *) skip "pip offers torch $version for $("$python" --version), which is not a CPU build (ZYFA_TORCH=$torch takes it; Debian 13 has python3-torch)" ;;
        esac
    fi
    say "installing $torch"
    pip install -q --no-compile "$torch" >"$log" 2>&1 || { tail -n 20 "$log" >&2; skip "pip could not install $torch"; }
fi
# shellcheck disable=SC2086
pip install -q --no-compile $tools >"$log" 2>&1 || { tail -n 20 "$log" >&2; skip "pip could not install $tools"; }
printf '%s %s\n' "$torch" "$tools" >"$folder/ready"
say "made $folder: $("$folder/bin/python" --version), torch $("$folder/bin/python" -W ignore -c 'import torch; print(torch.__version__)')"
