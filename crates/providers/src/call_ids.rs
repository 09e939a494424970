//! Call ids that any provider accepts.

use crate::limits::MAX_CALL_ID;
use std::collections::HashSet;

/// Hands out the ids of one request. A conversation may come from several models: ids of one vendor may not please another, and
/// small servers give every call the same id.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    seen: HashSet<String>,
}

impl CallIds {
    /// The id to send for the next call of the conversation: the provider's own where it can be.
    pub(crate) fn next(&mut self, provider_id: &str) -> String {
        let allowed =
            |char: char| if char.is_ascii_alphanumeric() || char == '_' || char == '-' { char } else { '_' };
        let mut base: String = provider_id.chars().map(allowed).take(MAX_CALL_ID).collect();
        if base.is_empty() {
            base.push_str("call");
        }
        let mut id = base.clone();
        let mut count = 1;
        while !self.seen.insert(id.clone()) {
            count += 1;
            let suffix = format!("_{count}");
            id = format!("{}{suffix}", &base[..base.len().min(MAX_CALL_ID - suffix.len())]);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_plain() {
        let mut ids = CallIds::default();
        let long = "x".repeat(100);
        let got: Vec<_> =
            ["a", "a", "functions.f:0", "", "", "a", &long, &long].map(|id| ids.next(id)).into();
        assert_eq!(got[..6], ["a", "a_2", "functions_f_0", "call", "call_2", "a_3"]);
        assert_eq!(got[6].len(), MAX_CALL_ID);
        assert_eq!(got[7], format!("{}_2", &long[..MAX_CALL_ID - 2]));
    }
}
