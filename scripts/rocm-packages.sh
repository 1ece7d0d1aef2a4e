#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings AMD's comgr and HIP run time (libraries and headers) into a folder of the build tree, from Debian's own
# packages, without changing the system:
#
#   scripts/rocm-packages.sh [DIR]        default: build/rocm
#
# Nothing is fetched where ROCM_PATH, /opt/rocm or the system's packages have a comgr that lists gfx950.
# Otherwise: the newest libamd-comgr among Debian's experimental, sid, forky and trixie that lists gfx950, the newest
# HIP run time beside it, and of what they depend on that which the system lacks or has too old, down to the C
# library. Where that is brought, executables start with the loader beside it (cmake/ZyfaComponent.cmake). The mirror
# is the one that the machine's own apt sources name; signatures are checked as apt does.
# Where DIR is filled already, nothing is done; remove it to fetch anew.
set -euo pipefail
trap 'printf "rocm-packages: failed at line %s\n" "$LINENO" >&2' ERR

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${1:-$root/build/rocm}
suites=(experimental sid forky trixie)
processor=gfx950

say() { printf 'rocm-packages: %s\n' "$*"; }
fail() {
    printf 'rocm-packages: %s\n' "$*" >&2
    exit 1
}

knows_processor() { [ -e "$1" ] && grep -aqF "amdgcn-amd-amdhsa--$processor" "$1"; }

# ---- what is there already

if [ -s "$target/packages.txt" ]; then
    say "already in $target: $(paste -sd ',' "$target/packages.txt" | sed 's/,/, /g')"
    exit 0
fi
for prefix in ${ROCM_PATH:-} /opt/rocm /usr; do
    for library in "$prefix"/lib/libamd_comgr.so.3 "$prefix"/lib/*-linux-gnu/libamd_comgr.so.3; do
        if knows_processor "$library" && [ -e "$prefix/include/hip/hip_runtime_api.h" ]; then
            say "using $prefix: its comgr ($library) lists $processor"
            exit 0
        fi
    done
done
for tool in apt-get apt-cache apt-config dpkg dpkg-deb dpkg-query; do
    command -v "$tool" >/dev/null ||
        fail "no $tool, and no ROCm whose comgr lists $processor: install ROCm 7, or set ROCM_PATH"
done
if [ -n "$(ls -A "$target" 2>/dev/null)" ]; then
    fail "$target is not empty and was not filled by this script; name another folder, or remove it"
fi

mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$(cd "$(dirname "$target")" && pwd)/.rocm-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# ---- an apt of our own

# URI and Signed-By of the archive that this system itself is installed from, out of both formats of apt's sources.
debian_source() {
    local codename SOURCELIST SOURCEPARTS
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    eval "$(apt-config shell SOURCELIST Dir::Etc::sourcelist/f SOURCEPARTS Dir::Etc::sourceparts/d)"
    {
        cat "$SOURCEPARTS"/*.sources 2>/dev/null | awk -v codename="$codename" '
            function flush() {
                if (types ~ /(^| )deb( |$)/ && enabled != "no" && (" " suites " ") ~ (" " codename " ") &&
                    (" " components " ") ~ / main /) print uri, signed
                types = suites = components = uri = signed = enabled = ""
            }
            /^[ \t]*$/ { flush() }
            { key = tolower($1); value = $0; sub(/^[^:]*:[ \t]*/, "", value); gsub(/[ \t]+/, " ", value) }
            key == "types:" { types = value }
            key == "uris:" { uri = $2 }
            key == "suites:" { suites = value }
            key == "components:" { components = value }
            key == "signed-by:" && $2 ~ /^\// { signed = $2 }
            key == "enabled:" { enabled = $2 }
            END { flush() }'
        cat "$SOURCELIST" "$SOURCEPARTS"/*.list 2>/dev/null | awk -v codename="$codename" '
            $1 == "deb" {
                signed = ""
                if (match($0, /\[[^]]*\]/)) {
                    options = substr($0, RSTART + 1, RLENGTH - 2)
                    if (match(options, /signed-by=\/[^ ]*/)) signed = substr(options, RSTART + 10, RLENGTH - 10)
                    sub(/\[[^]]*\]/, "")
                }
                if ($3 == codename && (" " $0 " ") ~ / main /) print $2, signed
            }'
    } | sed -n 1p
}
read -r mirror keyring <<<"$(debian_source)" || true
[ -n "$mirror" ] || fail "this machine's apt sources name no archive of Debian ($(. /etc/os-release && echo "${PRETTY_NAME:-unknown system}")): install ROCm 7, or set ROCM_PATH"
for candidate in "$keyring" /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
    [ -r "$candidate" ] && keyring=$candidate && break
done

mkdir -p "$work"/apt/{sources.d,lists/partial,cache/archives/partial,log} "$work"/{debs,root,probe}
: >"$work/apt/status"
{
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$mirror" "${suites[*]}"
    [ ! -r "$keyring" ] || printf 'Signed-By: %s\n' "$keyring"
} >"$work/apt/sources.d/debian.sources"
# How this machine reaches its mirror (proxies, credentials), and nothing else of its configuration.
{
    apt-config dump Acquire
    cat <<CONFIG
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$work/apt/sources.d";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "$work/apt/lists";
Dir::State::Status "$work/apt/status";
Dir::Cache "$work/apt/cache";
Dir::Log "$work/apt/log";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Retries "3";
CONFIG
} >"$work/apt/apt.conf"
private() { APT_CONFIG="$work/apt/apt.conf" "$@"; }

say "reading the package lists of ${suites[*]}"
update() { private apt-get -q -o APT::Update::Error-Mode=any "$@" update >"$work/apt/update.log" 2>&1; }
if ! update; then
    # A frozen mirror, or a clock that is wrong: the signatures are still checked, only their age is not.
    if grep -qE 'is expired|not valid yet' "$work/apt/update.log"; then
        say "the mirror's lists are out of their validity period by this machine's clock; taking them as they are"
        update -o Acquire::Check-Valid-Until=false -o Acquire::Check-Date=false || true
    fi
fi
if grep -q '^E:' "$work/apt/update.log"; then
    cat "$work/apt/update.log" >&2
    if grep -qE 'NO_PUBKEY|not signed|signatures|Signature' "$work/apt/update.log"; then
        fail "the archive's signatures could not be checked with ${keyring:-the trusted keys}: install a newer debian-archive-keyring"
    fi
    fail "could not read the package lists: is the mirror reachable, and does it carry ${suites[*]}?"
fi

# ---- which packages

# "version<TAB>depends" of every version on offer of a package, newest first.
offers() {
    private apt-cache show --all-versions "$1" 2>/dev/null | awk '
        /^Version: / { version = $2; if (!(version in depends)) order[++n] = version; depends[version] = depends[version] }
        /^(Pre-)?Depends: / { line = $0; sub(/^[^ ]* /, "", line)
            if (!(version in done)) depends[version] = depends[version] (depends[version] ? ", " : "") line }
        /^$/ { done[version] = 1 }
        END { for (i = 1; i <= n; ++i) print order[i] "\t" depends[order[i]] }' | newest_first
}
newest_first() {
    local sorted=() line i
    while IFS= read -r line; do
        for ((i = 0; i < ${#sorted[@]}; ++i)); do
            dpkg --compare-versions "${line%%$'\t'*}" gt "${sorted[i]%%$'\t'*}" && break
        done
        sorted=("${sorted[@]:0:i}" "$line" "${sorted[@]:i}")
    done
    [ ${#sorted[@]} -eq 0 ] || printf '%s\n' "${sorted[@]}"
}
# Whether a version meets "op version" of a dependency (none: any does).
meets() { [ -z "${2:-}" ] || dpkg --compare-versions "$1" "${2/>>/gt-nl}" "$3"; }
installed_version() { dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii *//p'; }

declare -A taken=() # package -> version
download() {        # package version
    (cd "$work/debs" && private apt-get -q download "$1=$2" >"$work/apt/download.log" 2>&1) ||
        { cat "$work/apt/download.log" >&2; fail "could not download $1 $2"; }
}
take() { # package version depends
    [ "${taken[$1]:-}" = "$2" ] && return
    taken[$1]=$2
    download "$1" "$2"
    pending+=("$3")
}
pending=()

# Development files, data and tools are of no use to programs that load the libraries.
only_for_development='-(dev|common|extra|base|data|bin|doc)$'

resolve() {
    local clause alternative name operator version offer offered_depends choice
    while [ ${#pending[@]} -gt 0 ]; do
        local depends=${pending[0]}
        pending=("${pending[@]:1}")
        while IFS= read -r clause; do
            [ -n "$clause" ] || continue
            choice=
            while IFS= read -r alternative; do
                read -r name operator version <<<"$(tr -d '()' <<<"${alternative//(/ }")"
                name=${name%%:*}
                [[ $name =~ $only_for_development ]] && continue 2
                for have in "${taken[$name]:-}" "$(installed_version "$name")"; do
                    [ -n "$have" ] && meets "$have" "$operator" "$version" && continue 3
                done
                [ -n "$choice" ] && continue
                # The oldest that will do: it asks for the least in its turn.
                while IFS=$'\t' read -r offer offered_depends; do
                    [ -n "$offer" ] && meets "$offer" "$operator" "$version" && choice=$name$'\t'$offer$'\t'$offered_depends
                done <<<"$(offers "$name")"
            done <<<"$(tr '|' '\n' <<<"$clause")"
            [ -n "$choice" ] || fail "nothing on offer meets the dependency \"$clause\""
            IFS=$'\t' read -r name offer offered_depends <<<"$choice"
            take "$name" "$offer" "$offered_depends"
        done <<<"$(tr ',' '\n' <<<"$depends" | sed 's/^ *//; /^$/d')"
    done
}

comgr=
while IFS=$'\t' read -r version name depends; do
    download "$name" "$version"
    rm -rf "$work/probe" && mkdir "$work/probe"
    dpkg-deb -x "$work"/debs/"$name"_*.deb "$work/probe"
    for library in "$work"/probe/usr/lib/*/libamd_comgr.so.?; do
        knows_processor "$library" && comgr=$name
    done
    [ -n "$comgr" ] && break
    say "$name $version does not list $processor"
    rm -f "$work"/debs/"$name"_*.deb
done <<<"$(for name in $(private apt-cache pkgnames libamd-comgr | grep -E '^libamd-comgr[0-9]+$'); do
    offers "$name" | awk -F'\t' -v name="$name" '{ print $1 "\t" name "\t" $2 }'
done | newest_first)"
[ -n "$comgr" ] || fail "no libamd-comgr of ${suites[*]} lists $processor"
taken[$comgr]=$version
comgr_depends=$depends
pending+=("$depends")
download libamd-comgr-dev "$version"
taken[libamd-comgr-dev]=$version

newest() { # package: takes the newest version, dependencies included unless told not to
    local offer
    offer=$(offers "$1" | sed -n 1p)
    [ -n "$offer" ] || fail "no package $1 in ${suites[*]}"
    if [[ $1 == *-dev ]]; then
        taken[$1]=${offer%%$'\t'*}
        download "$1" "${taken[$1]}"
    else
        take "$1" "${offer%%$'\t'*}" "${offer#*$'\t'}"
    fi
    newest_depends=${offer#*$'\t'}
}
newest libamdhip64-dev
hip=$(grep -oE 'libamdhip64-[0-9]+ ' <<<"$newest_depends" | sed -n 1p)
newest "${hip% }"
newest libhsa-runtime64-1
llvm=$(grep -oE 'libllvm[0-9]+' <<<"$comgr_depends" | sed -n 1p)
device_libraries=rocm-device-libs-${llvm#libllvm} # bitcode, for compiling HIP programs with clang
[ -z "$(offers "$device_libraries")" ] || newest "$device_libraries"
resolve
# A C library without the C++ and unwinding libraries of its time invites mixtures that nobody has tested.
if [ -n "${taken[libc6]:-}" ]; then
    pending+=("libstdc++6 (>= ${taken[libstdc++6]:-13}), libgcc-s1 (>= 13)")
    resolve
fi

# ---- into the folder: libraries, headers, bitcode and licences

for package in "$work"/debs/*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
(
    cd "$work/root"
    for folder in lib lib64; do # packages from before the merge of /usr
        if [ -d "$folder" ] && [ ! -L "$folder" ]; then
            mkdir -p "usr/$folder" && cp -a "$folder/." "usr/$folder/" && rm -rf "$folder"
        fi
    done
    find . -mindepth 1 -maxdepth 1 ! -name usr -exec rm -rf {} +
    find usr -mindepth 1 -maxdepth 1 ! -name lib ! -name include ! -name share -exec rm -rf {} +
    # share/hip/version is how clang -x hip knows which HIP it compiles for
    find usr/share -mindepth 1 -maxdepth 1 ! -name doc ! -name hip -exec rm -rf {} +
    find usr/share/doc -type f ! -name copyright -delete
    find usr/lib/*-linux-gnu -mindepth 1 -type d -prune -exec rm -rf {} + # gconv, audit, cmake, pkgconfig
    find usr/lib/*-linux-gnu -type f ! -name '*.so' ! -name '*.so.*' -delete
    find . -xtype l -delete # links to what was not brought
    find . -type d -empty -delete
)
for name in "${!taken[@]}"; do
    printf '%s %s\n' "$name" "${taken[$name]}"
done | sort >"$work/root/packages.txt"
[ ! -d "$target" ] || rmdir "$target"
mv "$work/root" "$target"

say "took, into $target ($(du -sh "$target" | cut -f1)):"
sed 's/^/  /' "$target/packages.txt"
if [ -n "${taken[libc6]:-}" ]; then
    say "the system's C library ($(installed_version libc6)) is too old for them: executables will use the one in that folder"
fi
