#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs libFuzzer on every reader of foreign bytes: scripts/fuzz.sh [SECONDS [TARGET...]], 600 s each by default.
# Builds with clang under build-fuzz/; needs clang-22 and libclang-rt-22-dev. CMAKE_ARGS is passed on, e.g.
# -DZYFA_ROCM_DIR=build/rocm. Crash inputs are left in
# build-fuzz/findings/; one that is mended belongs into tests/fuzz/inputs/TARGET/.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -gt 0 ] && shift
targets=${*:-"pack key code_object instructions bundle launch"}

mkdir -p build-fuzz
# shellcheck disable=SC2086 # CMAKE_ARGS holds several words
cmake -S . -B build-fuzz -G Ninja ${CMAKE_ARGS:-} -DZYFA_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22 \
  -DZYFA_SANITIZE=fuzzer-no-link,address,undefined -DZYFA_BUILD_BENCH=OFF >build-fuzz/configure.log 2>&1 || {
  cat build-fuzz/configure.log
  exit 1
}
failed=
for target in $targets; do
  ninja -C build-fuzz zyfa_fuzz_seeds "zyfa_fuzz_$target" >build-fuzz/build.log || {
    tail -40 build-fuzz/build.log
    exit 1
  }
  corpus=build-fuzz/corpus/$target
  mkdir -p "$corpus" build-fuzz/findings
  build-fuzz/bin/zyfa_fuzz_seeds "$target" "$corpus"
  build-fuzz/bin/zyfa_fuzz_"$target" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -timeout=10 \
    -rss_limit_mb=4096 -artifact_prefix="build-fuzz/findings/$target-" "$corpus" || failed="$failed $target"
done
[ -z "$failed" ] || {
  echo "findings in:$failed"
  exit 1
}
