//! Names and paths in texts.

/// Whether a character can be part of an identifier.
pub(super) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns what stands before and after each place where a text has a name as a whole word.
pub(super) fn occurrences<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.match_indices(name)
        .map(move |(at, _)| (&text[..at], &text[at + name.len()..]))
        .filter(|(head, tail)| !head.ends_with(is_part) && !tail.starts_with(is_part))
}

/// Returns the last component of a path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
