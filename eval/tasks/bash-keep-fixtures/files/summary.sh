#!/usr/bin/env bash
# What is in the fixtures.
set -euo pipefail
cd "$(dirname "$0")"

files=(fixtures/*)
echo "${#files[@]} files"
