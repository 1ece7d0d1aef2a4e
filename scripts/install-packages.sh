#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of scripts/packages.txt with apt-get; does nothing, and needs no network, where they are
# there already.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { printf 'install-packages: %s\n' "$*"; }
fail() {
    printf 'install-packages: %s\n' "$*" >&2
    exit 1
}

mapfile -t packages < <(sed 's/#.*//; /^[[:space:]]*$/d' "$here/packages.txt")
is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

command -v apt-get >/dev/null || fail "no apt-get on this system; install the equivalents of: ${packages[*]}"
missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    say "all ${#packages[@]} packages are installed"
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "not root, and no sudo here; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "installing ${missing[*]}"
apt update >"$log" 2>&1 || { cat "$log" >&2; fail "apt-get update failed"; }

unknown=()
for package in "${missing[@]}"; do
    [ -n "$(apt-cache madison "$package" 2>/dev/null)" ] || unknown+=("$package")
done
if [ ${#unknown[@]} -gt 0 ]; then
    fail "this system's apt sources do not offer: ${unknown[*]}. LLVM 22 is in the security suite of Debian 12 and 13 (bookworm-security, trixie-security): add it to the apt sources"
fi
apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "apt-get install failed"; }
say "installed ${#missing[@]} packages"
