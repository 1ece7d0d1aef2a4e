#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs zyfa::attention on an excerpt of real activations twice: a cold run that
# assembles, gates, tunes and stores, and a second process that finds the result in the cache. On a machine without an
# MI355X both run on the simulator, whose times are simulated.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/build.sh"

cache=$root/build/quickstart-cache
rm -rf "$cache"
export ZYFA_CACHE_DIR=$cache
export AMD_COMGR_CACHE=0 # comgr's own cache would hide what a cold start costs
cd "$root"
run=(zyfa attention --input data/gqa_excerpt.safetensors --dtype bf16 --mode tune)

printf '\n== cold run: %s\n' "${run[*]}"
"build/bin/${run[@]}"
printf '\n== second process, same cache\n'
"build/bin/${run[@]}"
printf '\nNext: build/bin/zyfa --help, build/bin/zyfa doctor, scripts/test.sh\n'
