//! The result of a command, and the JSON object around it.

use crate::{
    exit::Exit,
    failure::{Failure, Kind},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The version of the JSON objects. Within a version fields are added, never renamed.
const VERSION: u32 = 1;

/// The result of a command: a body for programs, a text for people.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Value,
    pub(super) text: String,
    failure: Option<Failure>,
}

/// The object of a failed command. A command that checks something adds what it found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failed {
    /// The version of this format.
    v: u32,
    /// Always false.
    success: bool,
    /// What happened, to what, and what to do.
    error: String,
    /// The kind of the failure.
    kind: Kind,
    /// How to avoid it.
    hint: Option<String>,
    /// Command lines to try next.
    next_commands: Vec<String>,
    /// The exit code of the process.
    exit_code: u8,
}

impl Answer {
    /// Creates the answer of a command that succeeded. The body must serialise to an object, whose
    /// fields follow `v` and `success`.
    pub(crate) fn new(body: impl Serialize, text: impl Into<String>) -> Self {
        let body = serde_json::to_value(body).expect("a body has string keys only");
        Self { body, text: text.into(), failure: None }
    }

    /// Returns the text for people.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Turns it into the answer of a check that found `what`, if `failed`. People read what it
    /// found in the text.
    pub(crate) fn failed_if(self, failed: bool, what: &str) -> Self {
        if failed { self.failed(Failure::new(Kind::Config, what)) } else { self }
    }

    /// Turns it into the answer of a command that failed and has a result all the same.
    pub(crate) fn failed(self, failure: Failure) -> Self {
        Self { failure: Some(failure), ..self }
    }

    /// The exit code of the command.
    pub(super) fn exit(&self) -> Exit {
        self.failure.as_ref().map_or(Exit::Ok, |failure| failure.exit)
    }

    /// Returns the whole object.
    pub(super) fn into_json(self) -> Value {
        let mut whole = match &self.failure {
            None => json!({ "v": VERSION, "success": true }),
            Some(failure) => failed(failure),
        };
        if let (Value::Object(whole), Value::Object(body)) = (&mut whole, self.body) {
            whole.extend(body);
        }
        whole
    }
}

/// Returns the object of a failure.
pub(crate) fn failed(failure: &Failure) -> Value {
    let object = Failed {
        v: VERSION,
        success: false,
        error: failure.to_string(),
        kind: failure.kind,
        hint: failure.hint.clone(),
        next_commands: failure.next.clone(),
        exit_code: failure.exit.code(),
    };
    serde_json::to_value(object).unwrap_or_else(|_| Value::Object(Map::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_a_result_begins_with_its_version() {
        let answer = Answer::new(json!({ "things": [1] }), "");
        assert_eq!(answer.into_json().to_string(), r#"{"v":1,"success":true,"things":[1]}"#);
    }

    #[test]
    fn a_failed_check_has_what_it_found_and_why_it_failed() {
        let answer = Answer::new(json!({ "problems": ["x"] }), "").failed_if(true, "one problem");
        assert_eq!(answer.exit(), Exit::Error);
        assert_eq!(
            answer.into_json(),
            json!({
                "v": 1, "success": false, "error": "one problem", "kind": "config", "hint": null,
                "next_commands": [], "exit_code": 1, "problems": ["x"],
            })
        );
    }
}
