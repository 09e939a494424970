//! A list to choose from.
