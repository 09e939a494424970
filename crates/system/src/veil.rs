//! Removes the values of a project's secret files from the output of commands.

use crate::text::hexadecimal;
use crate::{Output, Process, SystemError, TerminalId, is_secret_name, is_secret_value, secrets_in};
use async_trait::async_trait;

/// Replaces a value.
const MARK: &str = "[secret]";

/// Returns the values in the text of a secret file: those of settings whose names or values
/// indicate a secret, and lines that are no settings.
pub(crate) fn secret_values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let setting = line.split_once('=').or_else(|| line.split_once(": "));
        let Some((name, value)) = setting.filter(|(name, _)| !name.contains("://")) else {
            if !line.starts_with(['#', '-', '[', '{', '}']) {
                values.push(line.to_owned());
            }
            continue;
        };
        let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
        match is_secret_name(name) {
            true => values.push(value.to_owned()),
            false => values.extend(secrets_in(value).into_iter().map(|range| value[range].to_owned())),
        }
    }
    values.retain(|value| is_secret_value(value));
    values
}

/// The spellings of secret values, the longest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Veil(Vec<String>);

impl Veil {
    /// Creates a veil over values, also in hexadecimal and base64, and as escaped in JSON and URLs.
    pub(crate) fn over(values: &[String]) -> Self {
        let mut spellings: Vec<_> = values
            .iter()
            .flat_map(|value| [value.clone(), hexadecimal(value), base64(value), json(value), percent(value)])
            .collect();
        spellings.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        spellings.dedup();
        Self(spellings)
    }

    /// Returns a text without the values.
    pub(crate) fn hide(&self, text: String) -> String {
        self.0.iter().fold(text, |text, value| match text.contains(value.as_str()) {
            true => text.replace(value.as_str(), MARK),
            false => text,
        })
    }

    /// Returns the number of bytes at the end of a text that may begin a value.
    fn pending(&self, text: &str) -> usize {
        let begins = |value: &String| {
            let most = (value.len() - 1).min(text.len());
            (1..=most).rev().find(|length| {
                text.is_char_boundary(text.len() - length) && value.starts_with(&text[text.len() - length..])
            })
        };
        self.0.iter().filter_map(begins).max().unwrap_or(0)
    }
}

/// Returns the characters in base64 that depend on the value alone.
fn base64(value: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |chunk: &[u8]| {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]))
    };
    value.as_bytes().chunks_exact(3).flat_map(digits).collect()
}

fn json(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

fn percent(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    value
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A process whose output is veiled.
pub(crate) struct VeiledProcess {
    inner: Box<dyn Process>,
    veil: Veil,
    /// Output that may be the beginning of a value.
    pending: String,
}

impl VeiledProcess {
    /// Veils a process; returns it as it is if there is nothing to hide.
    pub(crate) fn over(inner: Box<dyn Process>, veil: Veil) -> Box<dyn Process> {
        match veil.0.is_empty() {
            true => inner,
            false => Box::new(Self { inner, veil, pending: String::new() }),
        }
    }
}

#[async_trait]
impl Process for VeiledProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        self.inner.terminal()
    }

    async fn next_output(&mut self) -> Option<Output> {
        loop {
            match self.inner.next_output().await {
                Some(Output::Text(text)) => {
                    let text = self.veil.hide(std::mem::take(&mut self.pending) + &text);
                    let at = text.len() - self.veil.pending(&text);
                    self.pending = text[at..].to_owned();
                    if at > 0 {
                        return Some(Output::Text(text[..at].to_owned()));
                    }
                }
                Some(other) => return Some(other),
                None if self.pending.is_empty() => return None,
                None => return Some(Output::Text(std::mem::take(&mut self.pending))),
            }
        }
    }

    async fn write_input(&mut self, text: &str) -> Result<(), SystemError> {
        self.inner.write_input(text).await
    }

    async fn wait(&mut self) -> Result<crate::ExitStatus, SystemError> {
        self.inner.wait().await
    }

    async fn kill(&mut self) {
        self.inner.kill().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_settings_and_bare_lines_are_secret() {
        let text = "# a comment\nAPI_KEY=\"abc-123-def\"\nPORT=3000\nHOST=localhost\nexport DB_PASSWORD='pa ss wo rd 1'\nURL=postgres://me:hunter22@h/db\nAPI_URL=http://localhost:3000\ncanary0123\n\"token\": \"json-value-9\",\nMY_TOKEN=test\n";
        assert_eq!(
            secret_values(text),
            ["abc-123-def", "pa ss wo rd 1", "hunter22", "canary0123", "json-value-9"]
        );
    }

    #[test]
    fn values_are_hidden_in_each_spelling() {
        let veil = Veil::over(&["a\"b c-123".to_owned()]);
        for text in [
            "a\"b c-123",
            "6122622063 2d313233".replace(' ', "").as_str(),
            "YSJiIGMtMTIz",
            "a\\\"b c-123",
            "a%22b%20c-123",
        ] {
            assert_eq!(veil.hide(format!("x {text} y")), "x [secret] y", "{text}");
        }
        assert_eq!(veil.hide("a b".to_owned()), "a b");
    }

    struct Pieces(Vec<&'static str>);

    #[async_trait]
    impl Process for Pieces {
        fn terminal(&self) -> Option<&TerminalId> {
            None
        }
        async fn next_output(&mut self) -> Option<Output> {
            (!self.0.is_empty()).then(|| Output::Text(self.0.remove(0).to_owned()))
        }
        async fn write_input(&mut self, _: &str) -> Result<(), SystemError> {
            Err(SystemError::NoInput)
        }
        async fn wait(&mut self) -> Result<crate::ExitStatus, SystemError> {
            Ok(crate::ExitStatus::default())
        }
        async fn kill(&mut self) {}
    }

    #[tokio::test]
    async fn a_value_in_two_pieces_is_hidden() {
        let veil = Veil::over(&["secret-0123".to_owned()]);
        for (pieces, expected) in [
            (vec!["a secr", "et-0123 b"], "a [secret] b"),
            (vec!["sec", "r", "et-01", "23"], "[secret]"),
            (vec!["a secr", "etary"], "a secretary"),
            (vec!["a sec"], "a sec"),
        ] {
            let mut process = VeiledProcess::over(Box::new(Pieces(pieces.clone())), veil.clone());
            let mut said = String::new();
            while let Some(Output::Text(text)) = process.next_output().await {
                said.push_str(&text);
            }
            assert_eq!(said, expected, "{pieces:?}");
        }
    }
}
