#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs all tests. Arguments go to ctest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/build.sh"
"$root/scripts/python-env.sh" "$root/build/python-env"
ctest --test-dir "$root/build" --output-on-failure -j "$(nproc)" "$@"
