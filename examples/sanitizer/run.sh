#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sanitizing a hand-written kernel: assembles double.s without and with its wait, and runs both under the sanitizer.
# Needs `zyfa` in the PATH (build/bin) and clang 22 or ROCm's clang.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clang=$(command -v clang-22 || command -v amdclang || command -v /opt/rocm/llvm/bin/clang || command -v clang)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/launch.json" "$work"
assemble() { # OUTPUT [flags]
    "$clang" -x assembler -target amdgcn-amd-amdhsa -mcpu=gfx950 "${@:2}" -nostdlib "$here/double.s" -o "$work/$1"
}

assemble broken.co
printf '== without the wait\n'
if zyfa simulate "$work/broken.co" --launch "$work/launch.json" --sanitize; then
    echo "the sanitizer found nothing" >&2
    exit 1
fi
assemble fixed.co -Wa,-defsym,FIXED=1
printf '\n== with s_waitcnt vmcnt(0)\n'
zyfa simulate "$work/fixed.co" --launch "$work/launch.json" --sanitize
