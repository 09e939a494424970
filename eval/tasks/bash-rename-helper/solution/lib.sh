# Functions for all scripts.

# Prints a line with a mark before it.
log_line() {
    printf '> %s\n' "$*"
}

fail() {
    log_line "failed: $*" >&2
    exit 1
}
