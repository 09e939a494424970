#!/usr/bin/env bash
. ./lib.sh
say "starting $1"
