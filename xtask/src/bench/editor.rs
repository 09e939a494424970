//! The editor's responses to the agent: files from its buffers, and commands that finish
//! immediately.

use crate::peers::client::{Answer, Host};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The editor's buffers, and a count of requests by method.
#[derive(Default)]
pub(super) struct Editor {
    buffers: HashMap<String, String>,
    request_counts: HashMap<String, usize>,
    /// When each request arrived, and how long the response took: from reading its line to writing
    /// the other.
    spent: Vec<(Instant, Duration)>,
}

impl Host for Editor {
    fn on_request(&mut self, at: Instant, method: &str, params: &Value, answer: Answer) {
        answer.give(self.answer(method, params));
        self.spent.push((at, at.elapsed()));
    }
}

impl Editor {
    /// Returns the times and durations of requests since the last call.
    pub(super) fn times(&mut self) -> Vec<(Instant, Duration)> {
        std::mem::take(&mut self.spent)
    }

    /// Returns how often a method was requested.
    pub(super) fn count(&self, method: &str) -> usize {
        self.request_counts.get(method).copied().unwrap_or_default()
    }

    /// Returns the result of a request, or an error message.
    pub(super) fn answer(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let count = self.request_counts.entry(method.to_owned()).or_default();
        *count += 1;
        match method {
            "fs/read_text_file" => self.read(params),
            "fs/write_text_file" => {
                let content = params["content"].as_str().ok_or("content is missing")?.to_owned();
                self.buffers.insert(path(params)?.to_owned(), content);
                Ok(json!({}))
            }
            "terminal/create" => Ok(json!({ "terminalId": format!("terminal-{count}") })),
            "terminal/output" => Ok(
                json!({ "output": "done\n", "truncated": false, "exitStatus": { "exitCode": 0, "signal": null } }),
            ),
            "terminal/wait_for_exit" => Ok(json!({ "exitCode": 0, "signal": null })),
            "terminal/kill" | "terminal/release" => Ok(json!({})),
            "session/request_permission" => permit(params),
            _ => Err(format!("the bench's editor has no {method}")),
        }
    }

    fn read(&self, params: &Value) -> Result<Value, String> {
        let path = path(params)?;
        let text = match self.buffers.get(path) {
            Some(text) => text.clone(),
            None => std::fs::read_to_string(Path::new(path)).map_err(|error| format!("{path}: {error}"))?,
        };
        let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let (first, limit) = (number("line").unwrap_or(1), number("limit").unwrap_or(usize::MAX));
        let content: String = text.split_inclusive('\n').skip(first.saturating_sub(1)).take(limit).collect();
        Ok(json!({ "content": content }))
    }
}

fn path(params: &Value) -> Result<&str, String> {
    params["path"].as_str().ok_or_else(|| "path is missing".to_owned())
}

fn permit(params: &Value) -> Result<Value, String> {
    let options = params["options"].as_array().ok_or("options are missing")?;
    let allow =
        options.iter().find(|option| option["kind"] == "allow_once").ok_or("nothing allows it once")?;
    Ok(json!({ "outcome": { "outcome": "selected", "optionId": allow["optionId"] } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_buffer_is_read_by_range() {
        let mut editor = Editor::default();
        editor.answer("fs/write_text_file", &json!({ "path": "/p/a", "content": "1\n2\n3\n" })).unwrap();
        let read =
            editor.answer("fs/read_text_file", &json!({ "path": "/p/a", "line": 2, "limit": 1 })).unwrap();
        assert_eq!(read, json!({ "content": "2\n" }));
        assert_eq!(editor.count("fs/read_text_file"), 1);
        assert_eq!(editor.count("terminal/create"), 0);
    }

    #[test]
    fn terminal_commands_finish_at_once() {
        let mut editor = Editor::default();
        assert_eq!(editor.answer("terminal/create", &json!({})).unwrap()["terminalId"], "terminal-1");
        assert_eq!(editor.answer("terminal/wait_for_exit", &json!({})).unwrap()["exitCode"], 0);
    }

    #[test]
    fn unknown_requests_are_errors() {
        let mut editor = Editor::default();
        assert!(editor.answer("fs/read_text_file", &json!({ "path": "/nonexistent/file" })).is_err());
        assert!(editor.answer("fs/delete_file", &json!({})).unwrap_err().contains("fs/delete_file"));
    }

    #[test]
    fn permission_is_given_once() {
        let options =
            json!([{ "optionId": "no", "kind": "reject_once" }, { "optionId": "yes", "kind": "allow_once" }]);
        let answer =
            Editor::default().answer("session/request_permission", &json!({ "options": options })).unwrap();
        assert_eq!(answer["outcome"]["optionId"], "yes");
    }
}
