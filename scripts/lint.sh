#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks all tracked sources: format, licence line, no path of somebody's machine, shell syntax.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=0
complain() {
    printf 'lint: %s\n' "$*" >&2
    failed=1
}

mapfile -t sources < <(git ls-files '*.cpp' '*.hpp' '*.h' '*.c')
formatter=$(command -v clang-format-22 || command -v clang-format || true)
if [ -n "$formatter" ]; then
    "$formatter" --dry-run -Werror "${sources[@]}" || complain "some files are not formatted (clang-format -i)"
else
    printf 'lint: no clang-format here (package clang-format-22): format not checked\n'
fi

while IFS= read -r file; do
    [ -s "$file" ] || continue
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file: no SPDX line"
done < <(git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.sh' '*.py' '*.cmake' '*CMakeLists.txt')

if git grep -nIE '(^|[^A-Za-z0-9_.])/(home|Users|work|root)/[A-Za-z0-9_.]' -- ':!scripts/lint.sh' ':!tests/*' ':!*.md'; then
    complain "a path of one machine is in a tracked file"
fi

while IFS= read -r file; do
    bash -n "$file" || complain "$file: not valid shell"
done < <(git ls-files '*.sh')
exit "$failed"
