//! Secrets taken out of what leaves: logs and exports.

use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};
use system::{SECRET_CHARS, secrets_in};

/// What stands in place of a secret.
const MARK: &str = "[secret]";

/// Takes secrets out of texts: those it was told of by their value, and those that look like one. Clones share what they are told.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Arc<RwLock<Vec<String>>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// Tells it of secrets. Values that are too short to be one are left: they would be found everywhere.
    pub fn learn(&self, values: impl IntoIterator<Item = String>) {
        let mut known = self.values.write().unwrap_or_else(PoisonError::into_inner);
        for value in values {
            let value = value.trim();
            // Many are told again and again.
            if value.chars().count() >= SECRET_CHARS && !known.iter().any(|known| known == value) {
                known.push(value.to_owned());
            }
        }
        // The longest first: one may be a part of another.
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// Every secret that it was told of.
    pub fn values(&self) -> Vec<String> {
        self.values.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A text without its secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for value in self.values.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if out.contains(value.as_str()) {
                out = out.replace(value.as_str(), MARK);
            }
        }
        for range in secrets_in(&out).into_iter().rev() {
            out.replace_range(range, MARK);
        }
        out
    }

    /// A value without the secrets in its texts.
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(map) => {
                let each = map.into_iter().map(|(key, value)| (key, self.redact_value(value)));
                Value::Object(each.collect())
            }
            plain => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s26_secrets_go_by_value_and_by_looks() {
        let redactor = Redactor::default();
        redactor.clone().learn(["correct horse", "correct horse battery", "short", ""].map(str::to_owned));
        redactor.learn(["another horse", "correct horse"].map(str::to_owned));
        assert_eq!(redactor.values().len(), 3, "nothing is known twice");
        for (text, expected) in [
            ("a correct horse battery b correct horse c", "a [secret] b [secret] c"),
            ("short", "short"),
            ("url http://u:correct horse@h ", "url http://u:[secret]@h "),
            ("x sk-0123456789abcdefghijkl y", "x [secret] y"),
            ("p://u:sk-0123456789abcdefghijkl@h", "p://u:[secret]@h"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }
}
