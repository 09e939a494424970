//! Removes secrets from text that leaves the process: logs and exports.

use crate::text::sanitise::{escaped_json, sanitise};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};
use system::{is_secret_value, secrets_in};

/// Replaces a secret.
const MARK: &str = "[secret]";

/// Removes secrets from texts: registered values, and text that looks like a secret. Clones share
/// the registered values.
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
    /// Registers secrets. Values that are not secrets to search for ([`is_secret_value`]) are
    /// ignored: they would match everywhere.
    pub fn learn(&self, values: impl IntoIterator<Item = String>) {
        let mut known = self.values.write().unwrap_or_else(PoisonError::into_inner);
        for value in values {
            let value = value.trim();
            if !is_secret_value(value) {
                continue;
            }
            // Both the plain value and its spelling inside a JSON string. Callers register the same
            // values repeatedly, so known ones are skipped.
            let json = Value::from(value).to_string();
            for spelling in [value, &json[1..json.len() - 1]] {
                if !known.iter().any(|known| known == spelling) {
                    known.push(spelling.to_owned());
                }
            }
        }
        // The longest first: one secret may be part of another.
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// Returns a text without its secrets.
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

    /// Returns a text for display: escape sequences and hidden characters are removed first,
    /// because they could split a secret; then the secrets are removed.
    pub fn shown(&self, text: &str) -> String {
        self.redact(&sanitise(text))
    }

    /// Returns a text as data: each line without a secret is unchanged, and the others are as in
    /// [`Redactor::shown`].
    pub fn written(&self, text: &str) -> String {
        let (plain, redacted) = (sanitise(text), self.shown(text));
        if plain == redacted {
            return text.to_owned();
        }
        // A private key spans several lines, so lines are compared only if their number is the
        // same.
        if redacted.matches('\n').count() != text.matches('\n').count() {
            return redacted;
        }
        let lines = text.split('\n').zip(plain.split('\n').zip(redacted.split('\n')));
        let lines = lines.map(|(line, (plain, redacted))| if plain == redacted { line } else { redacted });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Renders a value as one line of JSON for display: secrets are removed, and characters that
    /// would repaint or hide are written as JSON escapes. Secrets are searched before the text is
    /// encoded, because an escape would join the characters next to it.
    pub fn json_line(&self, value: Value) -> String {
        escaped_json(&self.redact_value(value).to_string())
    }

    /// Returns a value without the secrets in its strings and keys.
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(map) => {
                let each = map.into_iter().map(|(key, value)| (self.redact(&key), self.redact_value(value)));
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
        let known = redactor.values.read().unwrap().len();
        assert_eq!(known, 3, "nothing is known twice");
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

    #[test]
    fn p12_a_key_after_a_line_break_is_taken_out_of_json() {
        let redactor = Redactor::default();
        redactor.learn(["ab\"cd\\ef\tgh".to_owned()]);
        let key = "sk-0123456789abcdefghijkl";
        for text in
            [format!("\n{key}\n"), format!("\t{key}"), format!("a\u{1}{key}"), "x ab\"cd\\ef\tgh".to_owned()]
        {
            let value = serde_json::json!({ "deep": [{ "text": text }] });
            for line in [redactor.json_line(value.clone()), redactor.redact(&value.to_string())] {
                assert!(
                    line.contains("[secret]") && !line.contains("0123456789") && !line.contains("ef"),
                    "{line}"
                );
                serde_json::from_str::<Value>(&line).unwrap();
            }
        }
        assert_eq!(redactor.shown(&format!("sk-0123\u{200b}456789abcdefghijkl {key}")), "[secret] [secret]");
        let two = format!("a\u{200b}b\nsk-0123\u{200b}456789abcdefghijkl {key}\u{200b}c\n");
        assert_eq!(redactor.written(&two), "a\u{200b}b\n[secret] [secret]\n");
    }

    #[test]
    fn p12_a_line_of_json_hides_and_repaints_nothing_and_means_the_same() {
        let value =
            serde_json::json!({ "t": "\u{1b}]52;c;eA==\u{7}\u{202e}\u{9b}2J\u{e0041}\u{200b}\u{7f}é漢🙂\n" });
        let line = Redactor::default().json_line(value.clone());
        assert_eq!(sanitise(&line), line);
        assert!(line.contains("é漢🙂"));
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn p14_a_placeholder_garbles_no_message() {
        let redactor = Redactor::default();
        redactor.learn(["x", "local", "sk-no-key-required"].map(str::to_owned));
        let text = "the context of localhost: sk-no-key-required";
        assert_eq!(redactor.redact(text), text);
    }
}
