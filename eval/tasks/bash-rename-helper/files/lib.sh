# Functions for all scripts.

# Prints a line with a mark before it.
say() {
    printf '> %s\n' "$*"
}

fail() {
    say "failed: $*" >&2
    exit 1
}
