#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A minute of libFuzzer on the readers of foreign bytes: libfuzzer_smoke.sh SOURCE_FOLDER BUILD_FOLDER CMAKE_ARGS...
# ZYFA_FUZZ_SECONDS (20) for each, two at a time. Exit code 77 where libFuzzer is not installed; the mutations of
# smoke_test.cpp run in any case.
set -eu
source_folder=$1 build=$2
shift 2
if ! command -v clang++-22 >/dev/null; then
  echo "libFuzzer cannot run here: clang++-22 is not installed"
  exit 77
fi
mkdir -p "$build"
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$build/try.cpp"
if ! clang++-22 -fsanitize=fuzzer,address "$build/try.cpp" -o "$build/try" 2>/dev/null; then
  echo "libFuzzer cannot run here: libclang-rt-22-dev is not installed"
  exit 77
fi
FUZZ_BUILD=$build FUZZ_JOBS=2 CMAKE_ARGS=$* exec "$source_folder/scripts/fuzz.sh" "${ZYFA_FUZZ_SECONDS:-20}" pack key \
  code_object bundle launch
