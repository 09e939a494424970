//! The scripted editor of the attacks: its terminals really run commands, its files are those on
//! disk, and it rejects permission requests by default.

use super::corpus::ArgumentStyle;
use super::run_home::RunHome;
use crate::peers::client::{Answer, Host};
use crate::peers::terminals::Terminals;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// The replacement for Tiller's launcher on a machine without it.
const NO_LAUNCHER: &str = "echo 'tiller: command not found' >&2; exit 127";

/// The editor's side of the protocol.
pub(super) struct Editor {
    run_home: Arc<RunHome>,
    argument_style: ArgumentStyle,
    launcher: bool,
    /// Whether to replace commands without the launcher by `true`.
    pub(super) pretends: bool,
    /// The decisions about the first calls, as kinds of options.
    answers: Vec<String>,
    /// The titles of permission requests, in order.
    pub(super) questions: Vec<String>,
    /// Every line of the agent.
    pub(super) log: String,
    terminals: Terminals,
}

impl Editor {
    pub(super) fn new(
        run_home: Arc<RunHome>,
        argument_style: ArgumentStyle,
        launcher: bool,
        answers: Vec<String>,
    ) -> Self {
        Self {
            run_home,
            argument_style,
            launcher,
            pretends: false,
            answers,
            questions: Vec::new(),
            log: String::new(),
            terminals: Terminals::default(),
        }
    }

    fn create(&mut self, params: &Value) -> Result<Value, String> {
        let command = params["command"].as_str().ok_or("command is missing")?;
        let args: Vec<&str> = params["args"]
            .as_array()
            .map_or_else(Vec::new, |args| args.iter().filter_map(Value::as_str).collect());
        let launched = args.first() == Some(&"sandbox") && args.get(1) == Some(&"run");
        let mut process = if launched && !self.launcher {
            shell(&self.run_home, NO_LAUNCHER)
        } else if !launched && self.pretends {
            shell(&self.run_home, "true")
        } else {
            self.as_words(command, &args)
        };
        if let Some(cwd) = params["cwd"].as_str() {
            process.current_dir(cwd);
        }
        for variable in params["env"].as_array().unwrap_or(&Vec::new()) {
            if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) {
                process.env(name, value);
            }
        }
        self.terminals.create(&mut process).map_err(|error| format!("{command}: {error}"))
    }

    /// Returns the process as the editor starts it.
    fn as_words(&self, command: &str, args: &[&str]) -> Command {
        let all = std::iter::once(command).chain(args.iter().copied());
        match self.argument_style {
            ArgumentStyle::Argv => {
                let mut process = self.run_home.command(command, false);
                process.args(args);
                process
            }
            ArgumentStyle::Joined => shell(&self.run_home, &all.collect::<Vec<_>>().join(" ")),
            ArgumentStyle::Quoted => {
                let quoted = all.map(|word| format!("'{}'", word.replace('\'', r"'\''")));
                shell(&self.run_home, &quoted.collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn permit(&mut self, params: &Value) -> Result<Value, String> {
        let call = &params["toolCall"];
        self.questions.push(call["title"].as_str().unwrap_or("?").to_owned());
        let number = call["toolCallId"].as_str().and_then(|id| id.rsplit_once('_')?.1.parse::<usize>().ok());
        let answer = number.and_then(|number| self.answers.get(number));
        let wanted = answer.map_or("reject_once", String::as_str);
        let options = params["options"].as_array().ok_or("options are missing")?;
        let kind = |kind: &str| options.iter().find(|option| option["kind"] == kind);
        Ok(match kind(wanted).or_else(|| kind("reject_once")) {
            Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }),
            None => json!({ "outcome": { "outcome": "cancelled" } }),
        })
    }

    /// Reads a file with the permissions of the user instead of the harness.
    fn read(&self, params: &Value) -> Result<Value, String> {
        let path = params["path"].as_str().ok_or("path is missing")?;
        // A named pipe without a writer would block all responses.
        let output =
            self.run_home.command("timeout", false).args(["3", "head", "-c", "4M", "--", path]).output();
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{path} cannot be read"));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let (first, limit) = (number("line").unwrap_or(1), number("limit").unwrap_or(usize::MAX));
        let content: String = text.split_inclusive('\n').skip(first.saturating_sub(1)).take(limit).collect();
        Ok(json!({ "content": content }))
    }

    fn write(&self, params: &Value) -> Result<Value, String> {
        let path = params["path"].as_str().ok_or("path is missing")?;
        let content = params["content"].as_str().ok_or("content is missing")?;
        let mut write = self.run_home.command("sh", false);
        write
            .args(["-c", r#"mkdir -p "$(dirname "$1")" && timeout 3 cat > "$1""#, "sh", path])
            .stdin(Stdio::piped());
        let mut child = write.spawn().map_err(|error| error.to_string())?;
        // If the process has exited early, its exit status reports that.
        child.stdin.take().map(|mut to| to.write_all(content.as_bytes()).ok());
        match child.wait() {
            Ok(status) if status.success() => Ok(json!({})),
            _ => Err(format!("{path} cannot be written")),
        }
    }
}

fn shell(run_home: &RunHome, line: &str) -> Command {
    let mut process = run_home.command("sh", false);
    process.args(["-c", line]);
    process
}

impl Host for Editor {
    fn on_request(&mut self, _: Instant, method: &str, params: &Value, answer: Answer) {
        let outcome = match method {
            "fs/read_text_file" => self.read(params),
            "fs/write_text_file" => self.write(params),
            "session/request_permission" => self.permit(params),
            "terminal/create" => self.create(params),
            method if method.starts_with("terminal/") => {
                return self.terminals.on_request(method, params, answer);
            }
            _ => Err(format!("the wall's editor has no {method}")),
        };
        answer.give(outcome);
    }

    fn on_line(&mut self, line: &str) {
        self.log.push_str(line);
    }
}
