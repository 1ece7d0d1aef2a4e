#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the C++ tests with clang and sanitizers in build-<sanitizers>/ and runs them, one area after another; a finding
# fails its area.
#   scripts/sanitize.sh                            address,undefined on all areas
#   scripts/sanitize.sh thread attention cache     the named ones
# Works on what scripts/build.sh has brought (packages, comgr and HIP in build/rocm, or ZYFA_ROCM_DIR).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sanitizers=${1:-address,undefined}
shift || true
areas=("$@")
[ ${#areas[@]} -gt 0 ] || areas=(core jit runtime sim sim_hip templates tuner cache attention sweep cli)
build="$root/build-${sanitizers//,/-}"
compiler=$(compgen -c clang++- | sort -t- -k2 -n | tail -n 1)

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$root" -B "$build" -G Ninja "${launcher[@]}" -DCMAKE_CXX_COMPILER="$compiler" -DZYFA_SANITIZE="$sanitizers" \
    -DZYFA_ROCM_DIR="${ZYFA_ROCM_DIR:-$root/build/rocm}" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG" \
    >"$build.log" 2>&1 || { tail -n 30 "$build.log" >&2; exit 1; }

export TSAN_OPTIONS="suppressions=$root/scripts/tsan-suppressions.txt:${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}"
failed=()
for area in "${areas[@]}"; do
    ninja -C "$build" -j "${ZYFA_JOBS:-$(nproc)}" "zyfa_${area}_tests" >>"$build.log" 2>&1 || {
        grep -E -A12 'FAILED|error' "$build.log" | head -n 40 >&2
        exit 1
    }
    echo "== $area, $sanitizers"
    settings=(AMD_COMGR_CACHE=0) # as ctest's
    [ "$area" != sim_hip ] || settings+=(ZYFA_SIM_DEVICES=2)
    env "${settings[@]}" "$build/bin/zyfa_${area}_tests" >"$build/$area.log" 2>&1 || failed+=("$area")
    grep -aE 'SUMMARY: [A-Z]|runtime error:|^\[doctest\] (test cases|assertions)' "$build/$area.log" | sort | uniq -c | head -n 40
done
[ ${#failed[@]} -eq 0 ] || { echo "sanitize: findings or failures in: ${failed[*]}" >&2; exit 1; }
