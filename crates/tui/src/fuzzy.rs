//! Fuzzy search in lists: which items contain the characters of a query in order, the best first.

use crate::limits::QUERY_CHARS;
use frizbee::{Config, Matcher, Pattern, PatternConfig};

/// Returns the indices of the items that match a query, the best first; of equal ones the earlier.
///
/// An item matches if it contains the characters of each word of the query in order. Lowercase
/// letters of the query match capitals too. An empty query matches everything.
pub fn ranked<S: AsRef<str>>(query: &str, items: &[S]) -> Vec<usize> {
    match matcher(query) {
        None => (0..items.len()).collect(),
        Some(mut matcher) => {
            let found = matcher.match_list(items).into_iter();
            found.filter_map(|found| usize::try_from(found.index).ok()).collect()
        }
    }
}

/// Returns which characters of an item match a query: their byte offsets, in ascending order.
pub fn matched(query: &str, item: &str) -> Vec<usize> {
    let Some(mut matcher) = matcher(query) else { return Vec::new() };
    let Some(found) = matcher.match_one_indices(item, 0) else { return Vec::new() };
    let bytes = found.indices.into_iter().filter_map(|index| usize::try_from(index).ok());
    // The matcher works on bytes: of a longer character it reports each.
    let mut at: Vec<_> = bytes.filter(|byte| item.is_char_boundary(*byte) && *byte < item.len()).collect();
    at.sort_unstable();
    at.dedup();
    at
}

fn matcher(query: &str) -> Option<Matcher> {
    let cut: String = query.chars().take(QUERY_CHARS).collect();
    let patterns: Vec<_> =
        cut.split_whitespace().map(|word| Pattern::new(word, PatternConfig::default())).collect();
    (!patterns.is_empty()).then(|| Matcher::from_patterns(&patterns, &Config::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_with_the_characters_in_order_match_and_the_best_comes_first() {
        let items = ["src/main.rs", "docs/map.md", "src/page.rs", "README.md", "SRC/Other"];
        for (query, expected) in [
            ("", vec![0, 1, 2, 3, 4]),
            ("  ", vec![0, 1, 2, 3, 4]),
            ("page", vec![2]),
            ("srcpg", vec![2]),
            ("src page", vec![2]),
            ("page src", vec![2]),
            ("README", vec![3]),
            ("readme", vec![3]),
            ("SRC", vec![4]),
            ("!page", vec![]),
            ("zzz", vec![]),
        ] {
            assert_eq!(ranked(query, &items), expected, "{query:?}");
        }
        assert_eq!(ranked("same", &["same", "same"]), [0, 1], "equal ones keep their order");
        assert_eq!(matched("mn", "src/main.rs"), [4, 7]);
        assert_eq!(matched("ü", "grün"), [2]);
        assert_eq!(matched("n", "grün"), [4]);
        assert_eq!(matched("日n", "x日本n"), [1, 7]);
    }

    proptest! {
        #[test]
        fn no_query_panics_and_every_match_is_an_item(query in ".{0,40}", items in proptest::collection::vec(".{0,20}", 0..8)) {
            let found = ranked(&query, &items);
            prop_assert!(found.iter().all(|at| *at < items.len()));
            for item in &items {
                prop_assert!(matched(&query, item).iter().all(|at| item[*at..].chars().next().is_some()));
            }
        }
    }
}
