#!/usr/bin/env bash
# How many lines the log has.
wc -l < app.log
