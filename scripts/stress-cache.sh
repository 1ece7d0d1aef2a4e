#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The cache's process tests at full length, outside of the suite: kill -9 at 1,000 random points, 2,000 bit
# flips, two processes that make the file 500 times, 64 processes on one cold key 100 times (assembling for real). Needs a build in
# build/ (scripts/build.sh); some minutes.
set -eu
cd "$(dirname "$0")/.."
export ZYFA_STRESS=1
build/bin/zyfa_cache_tests --test-case='two processes make*,kill -9*,64 processes*,bit flips*' --duration=true
build/bin/zyfa_attention_tests --test-case='processes that replay*' --duration=true
