//! Words as they are indexed: without case and accents, as in the SQLite store.

use crate::limits::{WORD_BYTES, WORDS_INDEXED};
use icu_normalizer::DecomposingNormalizerBorrowed;
use std::{collections::BTreeMap, fmt::Write as _};

/// The highest position that the server stores, and the most positions of a word.
const POSITION_MAX: usize = 16_383;
const POSITIONS_MAX: usize = 255;

/// Returns the words of texts in the form of a `tsvector`, each text with its weight. It has
/// letters and digits only, so nothing in it is syntax.
pub(super) fn vector(texts: &[(&str, char)]) -> String {
    let mut words: BTreeMap<String, Vec<(usize, char)>> = BTreeMap::new();
    let mut position = 0;
    for (text, weight) in texts {
        for word in folded(text) {
            position = POSITION_MAX.min(position + 1);
            let is_full = words.len() >= WORDS_INDEXED;
            match words.get_mut(&word) {
                Some(positions) if positions.len() < POSITIONS_MAX => positions.push((position, *weight)),
                None if !is_full => {
                    words.insert(word, vec![(position, *weight)]);
                }
                _ => {}
            }
        }
    }
    let mut vector = String::new();
    for (word, positions) in words {
        let positions: Vec<_> =
            positions.iter().map(|(position, weight)| format!("{position}{weight}")).collect();
        let _ = write!(vector, "'{word}':{} ", positions.join(","));
    }
    vector
}

/// Returns a query for words or their beginnings; `None` without any word.
pub(super) fn query(words: &[String], any: bool) -> Option<String> {
    let words: Vec<_> =
        words.iter().flat_map(|word| folded(word)).map(|word| format!("'{word}':*")).collect();
    (!words.is_empty()).then(|| words.join(if any { " | " } else { " & " }))
}

/// Splits a text into folded words.
fn folded(text: &str) -> Vec<String> {
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars());
    let plain: String =
        decomposed.filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).flat_map(char::to_lowercase).collect();
    // The lower case of a letter may have a mark again.
    let plain: String = plain.chars().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).collect();
    plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word[..agent::floor_char_boundary(word, WORD_BYTES)].to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_have_no_syntax() {
        for (text, expected) in [
            ("Größe, e\u{301}té", "'ete':2D 'große':1D "),
            ("a-b 'c' \\ a", "'a':1D,4D 'b':2D 'c':3D "),
            ("İ", "'i':1D "),
            ("", ""),
            ("…!", ""),
        ] {
            assert_eq!(vector(&[(text, 'D')]), expected, "{text}");
        }
        assert_eq!(vector(&[("a", 'A'), ("a b", 'D')]), "'a':1A,2D 'b':3D ");
        assert_eq!(query(&["größe".to_owned(), "x".to_owned()], false).unwrap(), "'große':* & 'x':*");
        assert_eq!(query(&[], true), None);
        let long = "x".repeat(5_000);
        assert_eq!(vector(&[(&long, 'D')]).len(), WORD_BYTES + "'':1D ".len());
        let many: String = (0..50_000).map(|n| format!("w{n} w0 ")).collect();
        assert!(vector(&[(&many, 'D')]).len() < 1024 * 1024);
    }
}
