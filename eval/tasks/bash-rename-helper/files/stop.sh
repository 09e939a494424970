#!/usr/bin/env bash
. ./lib.sh
[ $# -gt 0 ] || fail "name what to stop"
for name in "$@"; do
    say "stopping $name"
done
say "I say that all is done"
