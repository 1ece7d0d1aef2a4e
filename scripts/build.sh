#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings what is missing (packages, comgr and HIP) and builds everything in build/. Arguments go to cmake's configuration.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/install-packages.sh"
"$root/scripts/rocm-packages.sh" "$root/build/rocm"

say() { printf 'build: %s\n' "$*"; }
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
say "configuring $root/build"
cmake -S "$root" -B "$root/build" -G Ninja "${launcher[@]}" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" \
    "$@" >"$root/build/configure.log" 2>&1 || {
    tail -n 30 "$root/build/configure.log" >&2
    exit 1
}

# A compiler process on the larger files takes 1 to 2 GB.
jobs=$(nproc)
memory_jobs=$(($(awk '/MemAvailable/ { print $2 }' /proc/meminfo) / 1500000 + 1))
[ "$jobs" -le "$memory_jobs" ] || jobs=$memory_jobs
say "building with $jobs jobs"
if [ -t 1 ]; then
    ninja -C "$root/build" -j "$jobs"
else
    ninja -C "$root/build" -j "$jobs" >"$root/build/build.log" 2>&1 || {
        grep -E -A12 'FAILED|error' "$root/build/build.log" | head -n 80 >&2
        say "failed; all of it is in build/build.log" >&2
        exit 1
    }
fi
say "done"
