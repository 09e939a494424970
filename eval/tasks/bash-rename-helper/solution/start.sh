#!/usr/bin/env bash
. ./lib.sh
log_line "starting $1"
