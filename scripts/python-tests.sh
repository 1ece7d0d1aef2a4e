#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Python package into the environment of scripts/python-env.sh, against the libraries of a build, and runs
# its tests: scripts/python-tests.sh BUILD_FOLDER [pytest's arguments]. Exit code 77 where the environment was not made.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
shift
environment=$build/python-env
if [ ! -e "$environment/ready" ]; then
    printf 'SKIPPED: %s\n' "$(cat "$environment/skipped" 2>/dev/null || echo "no $environment (scripts/python-env.sh makes it)")"
    exit 77
fi

prefix=$build/python-prefix
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" --component library >/dev/null
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$environment/bin/python" -m pip --disable-pip-version-check install --no-build-isolation --no-deps --no-index \
    --force-reinstall "$root" -C cmake.define.ZYFA_PYTHON_FROM="$prefix" -C build-dir="$build/python-wheel" \
    >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    exit 1
}
cd "$root"
exec "$environment/bin/python" -W ignore::UserWarning -m pytest -q -p no:cacheprovider "$@"
