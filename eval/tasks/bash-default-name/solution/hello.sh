#!/usr/bin/env bash
# Greets whoever is named.
set -u

name=${1:-friend}
count=${2:-1}

for _ in $(seq "$count"); do
    echo "Hello, $name."
done
