#!/usr/bin/env bash
grep ERROR app.log
