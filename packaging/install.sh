#!/bin/sh
# Installs tiller for the current user: downloads the archive for this machine, checks its sum and
# puts the program into ~/.local/bin. `--help` lists the options.
#
# It leaves a receipt, so that `tiller update` knows where the program came from. It changes no
# profile of a shell unless --modify-path asks for it.
set -eu

VERSION='@VERSION@'
DOWNLOADS='@DOWNLOADS@'
LATEST='@LATEST@'
KEY='@KEY@'

# The line that --modify-path adds to a profile ends with this.
MARK='# added by the installer of tiller'

usage() {
    cat <<EOF
Installs tiller $VERSION.

usage: install.sh [OPTION]...
  --version VERSION  install this version instead of $VERSION
  --bin-dir DIR      put the program here [default: ~/.local/bin]
  --from DIR|URL     take the files from this directory instead of the release
  --modify-path      add the directory of the program to PATH in the profile of your shell
  --uninstall        remove the program, the receipt and the line in the profile
  --help             print this
EOF
}

say() {
    printf '%s\n' "$*" >&2
}

fail() {
    say "error: $*"
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# Prints the directory of tiller's own data, as the program itself finds it.
data_dir() {
    if [ -n "${TILLER_HOME:-}" ]; then
        printf '%s\n' "$TILLER_HOME/data"
    else
        printf '%s\n' "${XDG_DATA_HOME:-$HOME/.local/share}/tiller"
    fi
}

# Prints the targets whose programs run on this machine, the preferred one first.
targets() {
    system=$(uname -s)
    machine=$(uname -m)
    case "$system $machine" in
        'Linux x86_64' | 'Linux amd64')
            echo x86_64-unknown-linux-musl x86_64-unknown-linux-gnu ;;
        'Linux aarch64' | 'Linux arm64')
            echo aarch64-unknown-linux-musl aarch64-unknown-linux-gnu ;;
        'Darwin arm64')
            echo aarch64-apple-darwin ;;
        'Darwin x86_64')
            # A shell under Rosetta reports the other processor.
            if [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" = 1 ]; then
                echo aarch64-apple-darwin
            else
                echo x86_64-apple-darwin
            fi ;;
        *)
            fail "there is no build for $system on $machine; build from source with cargo" ;;
    esac
}

# Copies a file of the release ($1) to a path ($2).
fetch() {
    case $source in
        https://* | http://127.0.0.1:* | http://localhost:*)
            if has curl; then
                curl --fail --silent --show-error --location --output "$2" "$source/$1"
            elif has wget; then
                wget --quiet --output-document="$2" "$source/$1"
            else
                fail "neither curl nor wget is installed"
            fi ;;
        http://*)
            fail "$source is not encrypted; use https" ;;
        *)
            cp "$source/$1" "$2" ;;
    esac
}

# Prints the SHA-256 of a file.
sum_of() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 "$1" | sed 's/^.* //'
    else
        fail "no program computes SHA-256 (sha256sum, shasum, openssl)"
    fi
}

# Checks the signature of the sums in a directory ($1), if there is a key and minisign.
check_signature() {
    [ -n "$KEY" ] || return 0
    if ! has minisign; then
        say "note: the signature was not checked, because minisign is not installed; the sum was"
        return 0
    fi
    fetch SHA256SUMS.minisig "$1/SHA256SUMS.minisig" || fail "$source has no signature of the sums"
    minisign -Vqm "$1/SHA256SUMS" -P "$KEY" >&2 || fail "the signature of the sums is wrong"
}

# Refuses a path that could not be written into the receipt.
check_path() {
    case $1 in
        /*) ;;
        *) fail "$1 is not an absolute path" ;;
    esac
    case $1 in
        *[\"\\]* | *'
'*) fail "$1 has a quote, a backslash or a line break" ;;
    esac
}

# Prints the profiles that the user's shell reads.
profiles() {
    case ${SHELL:-} in
        */zsh) printf '%s\n' "${ZDOTDIR:-$HOME}/.zshrc" ;;
        */bash) printf '%s\n' "$HOME/.bashrc" "$HOME/.profile" ;;
        */fish) printf '%s\n' "${XDG_CONFIG_HOME:-$HOME/.config}/fish/conf.d/tiller.fish" ;;
        *) printf '%s\n' "$HOME/.profile" ;;
    esac
}

modify_path() {
    profiles | while IFS= read -r profile; do
        if [ -f "$profile" ] && grep -qF "$MARK" "$profile"; then
            continue
        fi
        mkdir -p "$(dirname "$profile")"
        case $profile in
            *.fish) line="fish_add_path \"$bin\" $MARK" ;;
            *) line="export PATH=\"$bin:\$PATH\" $MARK" ;;
        esac
        # A file without a final line break must not swallow the line.
        if [ -s "$profile" ] && [ -n "$(tail -c 1 "$profile")" ]; then
            printf '\n' >>"$profile"
        fi
        printf '%s\n' "$line" >>"$profile"
        say "added to $profile: $line"
    done
}

# Removes the marked line from each profile, and changes nothing else in it.
restore_profiles() {
    for profile in "${ZDOTDIR:-$HOME}/.zshrc" "$HOME/.bashrc" "$HOME/.profile" \
        "${XDG_CONFIG_HOME:-$HOME/.config}/fish/conf.d/tiller.fish"; do
        if [ -f "$profile" ] && grep -qF "$MARK" "$profile"; then
            kept=$(mktemp)
            grep -vF "$MARK" "$profile" >"$kept" || true
            # Written in place, so that links, owner and mode stay.
            cat "$kept" >"$profile"
            rm -f "$kept"
            say "removed the line of tiller from $profile"
        fi
    done
}

uninstall() {
    data=$(data_dir)
    receipt=$data/receipt.json
    [ -f "$receipt" ] || fail "there is no receipt at $receipt: this installer installed nothing here"
    binary=$(sed -n 's/^ *"binary": *"\(.*\)",\{0,1\}$/\1/p' "$receipt")
    check_path "$binary"
    rm -f "$binary" "$data/previous-tiller" "$receipt"
    restore_profiles
    say "removed $binary"
    say "settings and sessions are kept: ${XDG_CONFIG_HOME:-$HOME/.config}/tiller and $data"
}

install() {
    data=$(data_dir)
    check_path "$bin"
    check_path "$data"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    fetch SHA256SUMS "$work/SHA256SUMS" || fail "$source has no SHA256SUMS"
    check_signature "$work"
    possible=$(targets)
    target=
    for candidate in $possible; do
        archive=tiller-$version-$candidate.tar.gz
        expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
        if [ -n "$expected" ]; then
            target=$candidate
            break
        fi
    done
    [ -n "$target" ] || fail "$source has no archive of tiller $version for $possible"

    fetch "$archive" "$work/$archive" || fail "$archive could not be downloaded from $source"
    found=$(sum_of "$work/$archive")
    [ "$found" = "$expected" ] ||
        fail "$archive has the sum $found, but $expected was published; nothing was installed"
    tar -xzf "$work/$archive" -C "$work"
    program=$work/tiller-$version-$target/tiller
    "$program" --version >/dev/null || fail "the program does not run on this machine"

    mkdir -p "$bin" "$data"
    # A rename replaces a program that runs, and never leaves half of one.
    cp "$program" "$bin/.tiller.new.$$"
    chmod 755 "$bin/.tiller.new.$$"
    mv -f "$bin/.tiller.new.$$" "$bin/tiller"

    key=null
    [ -z "$KEY" ] || key="\"$KEY\""
    cat >"$data/.receipt.new.$$" <<EOF
{
  "v": 1,
  "version": "$version",
  "target": "$target",
  "binary": "$bin/tiller",
  "source": "$LATEST",
  "key": $key,
  "previous": null
}
EOF
    mv -f "$data/.receipt.new.$$" "$data/receipt.json"
    say "installed tiller $version as $bin/tiller"
    if [ "$modify" = yes ]; then
        modify_path
    else
        case :$PATH: in
            *:"$bin":*) ;;
            *) say "$bin is not in your PATH: add it, or run this again with --modify-path" ;;
        esac
    fi
    say "next: tiller setup"
}

main() {
    [ -n "${HOME:-}" ] || fail "HOME is not set"
    version=$VERSION
    bin=$HOME/.local/bin
    source=
    modify=no
    action=install
    while [ $# -gt 0 ]; do
        case $1 in
            --version | --bin-dir | --from)
                [ $# -gt 1 ] || fail "$1 needs a value"
                case $1 in
                    --version) version=${2#v} ;;
                    --bin-dir) bin=$2 ;;
                    --from) source=$2 ;;
                esac
                shift ;;
            --modify-path) modify=yes ;;
            --uninstall) action=uninstall ;;
            --help | -h) usage; exit 0 ;;
            *) usage >&2; fail "no such option: $1" ;;
        esac
        shift
    done
    case $version in
        *[!0-9A-Za-z.+-]*) fail "$version is not a version" ;;
    esac
    [ -n "$source" ] || source=$(printf '%s\n' "$DOWNLOADS" | sed "s/{version}/$version/")
    "$action"
}

# Last, so that a download that breaks off runs nothing.
main "$@"
