//! Sizes of the terminal.
