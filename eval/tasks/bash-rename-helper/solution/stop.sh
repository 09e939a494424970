#!/usr/bin/env bash
. ./lib.sh
[ $# -gt 0 ] || fail "name what to stop"
for name in "$@"; do
    log_line "stopping $name"
done
log_line "I say that all is done"
