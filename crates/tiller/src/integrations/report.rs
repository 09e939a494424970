//! The report of a command, as JSON for programs and as text for people.

use crate::exit::Exit;
use agent::Redactor;
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write as _;

pub(crate) struct Report {
    pub(crate) exit: Exit,
    json: Value,
    text: String,
}

impl Report {
    pub(crate) fn new(json: Value, text: impl Into<String>) -> Self {
        Self { exit: Exit::Ok, json, text: text.into() }
    }

    pub(crate) fn failed(self, failed: bool) -> Self {
        Self { exit: if failed { Exit::Error } else { Exit::Ok }, ..self }
    }

    /// Returns the report of an error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let json = json!({ "error": format!("{error:#}") });
        Self { exit: Exit::of(error), json, text: String::new() }
    }

    /// Prints the report to stdout and returns the exit code. The JSON form is one object that
    /// begins
    /// with `success`.
    pub(crate) fn print(self, json: bool, redactor: &Redactor) -> Result<Exit> {
        if json {
            let mut whole = json!({ "success": self.exit == Exit::Ok });
            if let (Value::Object(whole), Value::Object(fields)) = (&mut whole, self.json) {
                whole.extend(fields);
            }
            writeln!(crate::streams::stdout(), "{}", redactor.json_line(whole))?;
        } else {
            write!(crate::streams::stdout(), "{}", redactor.shown(&self.text))?;
        }
        Ok(self.exit)
    }
}
