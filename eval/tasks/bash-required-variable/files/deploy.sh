#!/usr/bin/env bash
# Copies the built pages to where they are served.
set -euo pipefail

region=${REGION:-north}
workers=${WORKERS:-4}
target=${PAGES_ROOT:?say where the pages go}

build() {
    mkdir -p out
    for page in pages/*.txt; do
        cp "$page" "out/$(basename "$page" .txt).html"
    done
}

build
echo "region $region, $workers workers"
cp -r out/. "$target/"
