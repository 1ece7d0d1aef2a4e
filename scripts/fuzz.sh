#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs libFuzzer on every reader of foreign bytes: scripts/fuzz.sh [SECONDS [TARGET...]], 600 s each by default, as many
# targets side by side as FUZZ_JOBS says (1). Builds with clang in FUZZ_BUILD (build-fuzz); needs clang-22 and
# libclang-rt-22-dev. CMAKE_ARGS is passed on, e.g. -DZYFA_ROCM_DIR=build/rocm. Crash inputs are left in
# FUZZ_BUILD/findings/; one that is mended belongs into tests/fuzz/inputs/TARGET/.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -gt 0 ] && shift
targets=${*:-"pack key code_object instructions bundle launch"}
build=${FUZZ_BUILD:-build-fuzz}

parts= # the simulator and the tool take long to build
case " $targets " in
*" code_object "* | *" instructions "* | *" bundle "* | *" launch "*) ;;
*) parts="-DZYFA_BUILD_SIM=OFF -DZYFA_BUILD_CLI=OFF" ;;
esac
command -v ccache >/dev/null && parts="$parts -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache"

mkdir -p "$build"
# shellcheck disable=SC2086 # each holds several words
cmake -S . -B "$build" -G Ninja $parts ${CMAKE_ARGS:-} -DZYFA_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_C_COMPILER=clang-22 -DZYFA_SANITIZE=fuzzer-no-link,address,undefined -DZYFA_BUILD_BENCH=OFF \
  >"$build/configure.log" 2>&1 || {
  cat "$build/configure.log"
  exit 1
}
executables=
for target in $targets; do
  executables="$executables zyfa_fuzz_$target"
done
# shellcheck disable=SC2086
ninja -C "$build" zyfa_fuzz_seeds $executables >"$build/build.log" || {
  tail -40 "$build/build.log"
  exit 1
}

mkdir -p "$build/findings"
rm -f "$build"/findings/*.failed
fuzz() { # as one condition: without seeds nothing is searched, and that is no success
  corpus=$build/corpus/$1
  {
    mkdir -p "$corpus" && "$build/bin/zyfa_fuzz_seeds" "$1" "$corpus" &&
      "$build/bin/zyfa_fuzz_$1" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -timeout=25 \
        -rss_limit_mb=4096 -artifact_prefix="$build/findings/$1-" "$corpus"
  } >"$build/$1.log" 2>&1 || touch "$build/findings/$1.failed"
  sed "s/^/$1: /" "$build/$1.log"
}
running=0
for target in $targets; do
  fuzz "$target" &
  running=$((running + 1))
  [ $((running % ${FUZZ_JOBS:-1})) -ne 0 ] || wait
done
wait
for failed in "$build"/findings/*.failed; do
  [ ! -e "$failed" ] || {
    echo "findings: $failed"
    exit 1
  }
done
