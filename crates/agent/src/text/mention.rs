//! Finds mentions in a text: words that begin with `@`.

/// Returns what stands behind each `@` at the beginning of a word, up to the end of the text.
pub(crate) fn after_at(text: &str) -> impl Iterator<Item = &str> {
    let begins_word = |at: usize| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "([{\"'`,;".contains(c))
    };
    text.match_indices('@').filter(move |(at, _)| begins_word(*at)).map(|(at, _)| &text[at + 1..])
}

/// Returns the word at the beginning of a text, without punctuation at its end.
pub(crate) fn word(text: &str) -> &str {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    word.trim_end_matches(|c| ".,;:!?)]}\"'`".contains(c))
}
