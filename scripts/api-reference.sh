#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The API reference as HTML: scripts/api-reference.sh [FOLDER], default build/docs. C and C++ by Doxygen from the comments
# of the installed headers; Python by pydoc from the docstrings, where scripts/python-tests.sh has installed the package.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/docs}
command -v doxygen >/dev/null || {
    echo "api-reference: no doxygen here (package doxygen)" >&2
    exit 77
}
mkdir -p "$folder/python"
folder=$(cd "$folder" && pwd)
cd "$root"
{
    cat docs/Doxyfile
    printf 'OUTPUT_DIRECTORY = %s\nHTML_OUTPUT = api\nPROJECT_NUMBER = %s\n' "$folder" \
        "$(sed -n 's/^project(zyfa VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
} | doxygen -
printf 'api-reference: %s\n' "$folder/api/index.html"

python=$root/build/python-env/bin/python
if "$python" -W ignore -c 'import zyfa' 2>/dev/null; then
    cd "$folder/python"
    "$python" -W ignore -m pydoc -w zyfa zyfa.compat.flash_attn zyfa.compat.flash_attn_3 zyfa.capturing >/dev/null
    printf 'api-reference: %s\n' "$folder/python/zyfa.html"
fi
