#!/usr/bin/env bash
# Packs the data folder into an archive.
set -euo pipefail

source_folder=data
target=${1:-/srv/archive/nightly}
name="data-$(date +%F).tar.gz"

if [ ! -d "$source_folder" ]; then
    echo "there is no $source_folder" >&2
    exit 3
fi

mkdir -p "$target"
tar -czf "$target/$name" "$source_folder"
echo "$target/$name"
