//! The editor of the evaluation: it allows each request once, offers the configured files and
//! terminals, and records the agent's messages and calls.

use super::run_directory::own_group;
use crate::peers::client::{Answer, Host};
use crate::peers::terminals::Terminals;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The capabilities that the editor offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Capabilities {
    /// None: the agent works on the disk and starts commands itself.
    #[default]
    None,
    /// Files.
    Files,
    /// Files and terminals.
    All,
}

impl Capabilities {
    pub(super) fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "none" => Self::None,
            "fs" => Self::Files,
            "all" => Self::All,
            other => bail!("--capabilities is none, fs or all, not {other}"),
        })
    }

    /// Returns the client capabilities for `initialize`.
    pub(super) fn to_json(self) -> Value {
        let files = self != Self::None;
        let fs = json!({ "readTextFile": files, "writeTextFile": files });
        json!({ "fs": fs, "terminal": self == Self::All })
    }
}

/// A tool call as the agent reports it.
#[derive(Clone, Debug)]
pub(super) struct ShownCall {
    id: String,
    /// When it was first reported.
    pub(super) at: Instant,
    kind: String,
    pub(super) status: String,
}

impl ShownCall {
    pub(super) fn is_edit(&self) -> bool {
        self.kind == "edit"
    }

    pub(super) fn is_over(&self) -> bool {
        self.status == "completed" || self.status == "failed"
    }
}

/// The editor's side of one session.
#[derive(Default)]
pub(super) struct Editor {
    terminals: Terminals,
    /// The environment of commands in terminals.
    env: Vec<(String, String)>,
    /// The agent's text since its last call, and the text before that.
    text: String,
    previous_text: String,
    pub(super) calls: Vec<ShownCall>,
    /// Every line from the agent, for `--logs`.
    pub(super) log: String,
}

impl Editor {
    /// Creates an editor whose terminals inherit this command's environment.
    pub(super) fn new(command: &Command) -> Self {
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let env = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
        Self { env, ..Self::default() }
    }

    /// Discards the text so far, which is not the answer.
    pub(super) fn discard_text(&mut self) {
        self.text.clear();
        self.previous_text.clear();
    }

    /// Returns the agent's last text: after its last call, or else the text before it.
    pub(super) fn answer(&self) -> &str {
        if self.text.trim().is_empty() { &self.previous_text } else { &self.text }
    }

    pub(super) fn kill_terminals(&self) {
        self.terminals.kill_all();
    }

    fn update(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                self.text += update["content"]["text"].as_str().unwrap_or_default();
            }
            Some("tool_call" | "tool_call_update") => {
                let Some(id) = update["toolCallId"].as_str() else { return };
                let known = self.calls.iter().position(|call| call.id == id);
                let place = known.unwrap_or_else(|| {
                    if !self.text.trim().is_empty() {
                        self.previous_text = std::mem::take(&mut self.text);
                    }
                    let (kind, status) = ("other".to_owned(), "pending".to_owned());
                    self.calls.push(ShownCall { id: id.to_owned(), at: Instant::now(), kind, status });
                    self.calls.len() - 1
                });
                let call = &mut self.calls[place];
                if let Some(kind) = update["kind"].as_str() {
                    kind.clone_into(&mut call.kind);
                }
                if let Some(status) = update["status"].as_str() {
                    status.clone_into(&mut call.status);
                }
            }
            _ => {}
        }
    }

    fn create(&mut self, params: &Value) -> Result<Value, String> {
        let program = params["command"].as_str().ok_or("command is missing")?;
        let args = params["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let args: Vec<&str> = args.collect();
        // Some agents send a whole command line.
        let mut command = if args.is_empty() && program.contains(' ') {
            let mut shell = Command::new("bash");
            shell.args(["-c", program]);
            shell
        } else {
            let mut command = Command::new(program);
            command.args(args);
            command
        };
        command.env_clear().envs(self.env.iter().cloned()).stdin(Stdio::null());
        own_group(&mut command);
        if let Some(cwd) = params["cwd"].as_str() {
            command.current_dir(cwd);
        }
        for variable in params["env"].as_array().into_iter().flatten() {
            if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) {
                command.env(name, value);
            }
        }
        self.terminals.create(&mut command).map_err(|error| format!("{program}: {error}"))
    }
}

/// Allows a request, once if that is offered.
fn permit(params: &Value) -> Value {
    let options = params["options"].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |kind: &str| options.iter().find(|option| option["kind"] == kind);
    match of_kind("allow_once").or_else(|| of_kind("allow_always")) {
        Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

fn read(params: &Value) -> Result<Value, String> {
    let path = params["path"].as_str().ok_or("path is missing")?;
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (first, limit) = (number("line").unwrap_or(1), number("limit").unwrap_or(usize::MAX));
    let content: String = text.split_inclusive('\n').skip(first.saturating_sub(1)).take(limit).collect();
    Ok(json!({ "content": content }))
}

fn write(params: &Value) -> Result<Value, String> {
    let path = params["path"].as_str().ok_or("path is missing")?;
    let content = params["content"].as_str().ok_or("content is missing")?;
    let directory = Path::new(path).parent().ok_or("a path without a directory")?;
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(path, content))
        .map_err(|error| format!("{path}: {error}"))?;
    Ok(json!({}))
}

impl Host for Editor {
    fn on_request(&mut self, _: Instant, method: &str, params: &Value, answer: Answer) {
        let outcome = match method {
            "session/request_permission" => Ok(permit(params)),
            "fs/read_text_file" => read(params),
            "fs/write_text_file" => write(params),
            "terminal/create" => self.create(params),
            method if method.starts_with("terminal/") => {
                return self.terminals.on_request(method, params, answer);
            }
            other => Err(format!("no {other}")),
        };
        answer.give(outcome);
    }

    fn on_line(&mut self, line: &str) {
        self.log += line;
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        if message["method"] == "session/update" {
            self.update(&message["params"]["update"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_text_after_the_last_call() {
        let mut editor = Editor::default();
        let text = |text: &str| json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
        for update in [
            text("I look. "),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "a", "kind": "edit", "status": "pending" }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed" }),
            text("It is "),
            text("seven."),
        ] {
            editor.update(&update);
        }
        assert_eq!(editor.answer(), "It is seven.");
        assert_eq!(editor.calls.len(), 1);
        assert!(editor.calls[0].is_edit() && editor.calls[0].is_over());
        editor.update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "b" }));
        assert_eq!(editor.answer(), "It is seven.", "nothing was said behind the last call");
    }

    #[test]
    fn requests_are_allowed_once() {
        let option = |id: &str, kind: &str| json!({ "optionId": id, "kind": kind });
        let params = json!({ "options": [option("a", "allow_always"), option("b", "allow_once")] });
        assert_eq!(permit(&params)["outcome"]["optionId"], "b");
        assert_eq!(
            permit(&json!({ "options": [option("c", "reject_once")] }))["outcome"]["outcome"],
            "cancelled"
        );
    }

    #[test]
    fn capabilities_are_serialized() {
        let capabilities = Capabilities::parse("fs").unwrap().to_json();
        assert_eq!(
            (&capabilities["fs"]["readTextFile"], &capabilities["terminal"]),
            (&json!(true), &json!(false))
        );
        assert!(Capabilities::parse("some").is_err());
    }
}
