//! A writer that removes secrets.

use agent::Redactor;
use std::io::{self, Write};

/// The most bytes that are held back while a line or a private key is incomplete.
const HELD: usize = 1024 * 1024;

/// Writes whole lines without their secrets, and without control sequences unless the output is
/// data.
///
/// Private keys span several lines: from a `BEGIN` marker on, text is held back until the `END`
/// marker, or until the writer is dropped.
pub(crate) struct RedactingWriter<W: Write> {
    out: W,
    redactor: Redactor,
    is_data: bool,
    held: Vec<u8>,
}

impl<W: Write> RedactingWriter<W> {
    pub(crate) fn new(out: W, redactor: Redactor) -> Self {
        Self { out, redactor, is_data: false, held: Vec::new() }
    }

    /// Creates a writer for data: lines without secrets are written as they are.
    pub(crate) fn data(out: W, redactor: Redactor) -> Self {
        Self { out, redactor, is_data: true, held: Vec::new() }
    }

    fn pass(&mut self, end: usize) -> io::Result<()> {
        let text: Vec<u8> = self.held.drain(..end).collect();
        let text = String::from_utf8_lossy(&text);
        let text = if self.is_data { self.redactor.written(&text) } else { self.redactor.shown(&text) };
        self.out.write_all(text.as_bytes())
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') else {
            if self.held.len() > HELD {
                self.pass(self.held.len())?;
            }
            return Ok(bytes.len());
        };
        let text = String::from_utf8_lossy(&self.held);
        let open = |mark: &str| text.rfind(mark);
        let in_key = open("-----BEGIN ") > open("-----END ");
        if !in_key || self.held.len() > HELD {
            self.pass(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for RedactingWriter<W> {
    fn drop(&mut self) {
        // A closed output leaves no way to report anything.
        let _ = self.pass(self.held.len());
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s26_a_secret_split_across_writes_is_redacted() {
        let redactor = Redactor::default();
        redactor.learn(["canary-value".to_owned()]);
        let text = "a canary-value\n-----BEGIN PRIVATE KEY-----\nMIIcanary\n-----END PRIVATE KEY-----\nlast canary-value";
        let mut out = Vec::new();
        {
            let mut writer = RedactingWriter::new(&mut out, redactor);
            text.as_bytes().chunks(3).for_each(|piece| writer.write_all(piece).unwrap());
        }
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("canary"), "{text}");
        assert!(
            text.starts_with("a [secret]\n-----BEGIN PRIVATE KEY-----") && text.ends_with("last [secret]"),
            "{text}"
        );
    }
}
