//! What a command has to say: for programs and for people.

use crate::exit;
use agent::Redactor;
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write as _;

pub(super) struct Report {
    pub(super) success: bool,
    json: Value,
    text: String,
}

impl Report {
    pub(super) fn new(json: Value, text: impl Into<String>) -> Self {
        Self { success: true, json, text: text.into() }
    }

    pub(super) fn failed(self, failed: bool) -> Self {
        Self { success: !failed, ..self }
    }

    /// Prints it: one JSON object that begins with `success`, or the text, to stderr where it is about a failure. Returns the exit code.
    pub(super) fn print(self, json: bool, redactor: &Redactor) -> Result<u8> {
        if json {
            let mut whole = json!({ "success": self.success });
            if let (Value::Object(whole), Value::Object(said)) = (&mut whole, self.json) {
                whole.extend(said);
            }
            writeln!(std::io::stdout().lock(), "{}", redactor.json_line(whole))?;
        } else {
            write!(std::io::stdout().lock(), "{}", redactor.shown(&self.text))?;
        }
        Ok(if self.success { exit::OK } else { exit::ERROR })
    }
}
