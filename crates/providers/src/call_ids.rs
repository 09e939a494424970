//! Call ids that every provider accepts.

use crate::limits::MAX_CALL_ID;
use std::collections::HashSet;

/// Assigns the call ids of one request. A conversation may come from several models: one vendor may
/// reject the ids of another, and small servers give every call the same id.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    seen: HashSet<String>,
}

impl CallIds {
    /// Returns the id for the next call, when the request goes to the model that made the call: the
    /// provider's id unchanged if no earlier call has it and the vendor accepts its characters.
    pub(crate) fn own(&mut self, provider_id: &str, takes: fn(char) -> bool) -> String {
        if provider_id.is_empty() || !provider_id.chars().all(takes) || self.seen.contains(provider_id) {
            return self.next(provider_id);
        }
        self.seen.insert(provider_id.to_owned());
        provider_id.to_owned()
    }

    /// Returns the id for the next call of the conversation: the provider's id, with characters
    /// replaced, shortened or numbered where necessary.
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
    fn a_models_own_call_ids_are_sent_back_unchanged() {
        let mut ids = CallIds::default();
        let long = "x".repeat(100);
        assert_eq!(ids.own("functions.f:0", |_| true), "functions.f:0");
        assert_eq!(ids.own(&long, |_| true), long);
        assert_eq!(ids.own("functions.f:0", |_| true), "functions_f_0");
        assert_eq!(ids.own("a:1", char::is_alphanumeric), "a_1");
        assert_eq!(ids.next("a_1"), "a_1_2");
    }

    #[test]
    fn call_ids_are_unique_and_valid() {
        let mut ids = CallIds::default();
        let long = "x".repeat(100);
        let got: Vec<_> =
            ["a", "a", "functions.f:0", "", "", "a", &long, &long].map(|id| ids.next(id)).into();
        assert_eq!(got[..6], ["a", "a_2", "functions_f_0", "call", "call_2", "a_3"]);
        assert_eq!(got[6].len(), MAX_CALL_ID);
        assert_eq!(got[7], format!("{}_2", &long[..MAX_CALL_ID - 2]));
    }
}
