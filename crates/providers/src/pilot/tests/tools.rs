//! In-memory stand-ins for the tools that the pilot uses, with the real ones' result texts.

use super::super::{Reply, next, progress::Call};
use agent::{
    AnsweredCall, AssistantMessage, Content, Item, Message, ModelRequest, ToolResult, ToolSpec, Written,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Every tool that the pilot uses.
pub(super) const ALL: &[&str] =
    &["file_read", "file_write", "file_edit", "apply_patch", "glob", "grep", "bash", "update_plan"];

/// A project in memory, with tools that operate on it.
pub(super) struct FakeTools {
    pub(super) files: BTreeMap<String, String>,
    pub(super) read: BTreeSet<String>,
    pub(super) refuse: Option<&'static str>,
    pub(super) tools: Vec<&'static str>,
    pub(super) page: usize,
    pub(super) calls: Vec<Call>,
}

impl FakeTools {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let tools = ALL.to_vec();
        Self { files, read: BTreeSet::new(), refuse: None, tools, page: 2_000, calls: Vec::new() }
    }

    pub(super) fn request(&self, messages: Vec<Message>) -> ModelRequest {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: Value::Null,
        };
        ModelRequest { messages, tools: self.tools.iter().map(spec).collect(), ..ModelRequest::default() }
    }

    /// Plays a prompt to its end and returns all texts, the report last.
    pub(super) fn play(&mut self, contents: Vec<Content>) -> Vec<String> {
        let mut messages = vec![Message::User(contents)];
        let mut said = Vec::new();
        for _ in 0..100 {
            let Reply { text, calls } = next(&self.request(messages.clone()));
            said.push(text.clone());
            if calls.is_empty() {
                return said;
            }
            let mut answer = AssistantMessage::from_text("", text);
            answer.items.extend(calls.into_iter().map(|call| Item::Call(self.answer(call))));
            messages.push(Message::Assistant(answer));
        }
        panic!("the pilot never ends: {said:#?}");
    }

    fn answer(&mut self, call: Call) -> AnsweredCall {
        // The unlisted task tools can be called where the plan tool is listed.
        let listed = if call.name.starts_with("task_") { "update_plan" } else { call.name };
        assert!(self.tools.contains(&listed), "{} was not on offer", call.name);
        let result = match self.refuse {
            Some(tool) if tool == call.name => {
                Err(format!("User denied permission for '{tool}'. Try a different approach."))
            }
            _ => self.run(&call),
        };
        self.calls.push(call.clone());
        let result = match result {
            Ok(text) => ToolResult::ok(text),
            Err(text) => ToolResult::error(text),
        };
        let provider_id = format!("c{}", self.calls.len());
        AnsweredCall {
            provider_id,
            name: call.name.to_owned(),
            arguments: Ok(call.arguments),
            written: Written::default(),
            result,
        }
    }

    fn run(&mut self, call: &Call) -> Result<String, String> {
        let text = |key: &str| call.arguments[key].as_str().unwrap_or_default().to_owned();
        let path = text("path");
        match call.name {
            "file_read" => self.file_read(&path, &call.arguments),
            "file_write" => {
                assert!(
                    !self.files.contains_key(&path) || self.read.contains(&path),
                    "{path} overwritten unread"
                );
                let content = text("content");
                let lines = content.lines().count();
                self.files.insert(path.clone(), content);
                Ok(format!("Wrote {lines} lines to {path}"))
            }
            "file_edit" => self.file_edit(&path, &text("old_string"), &text("new_string"), &call.arguments),
            "apply_patch" => self.apply_patch(&text("patch")),
            "glob" => Ok(self.glob(&text("pattern"), &path)),
            "grep" => Ok(self.grep(&text("pattern"), &path)),
            "bash" => bash(&text("command")),
            "task_create" => Ok(format!("Created task {:08x}: {}", self.calls.len(), text("subject"))),
            "task_update" => Ok(format!("Updated task {}", text("id"))),
            other => Err(format!("Tool '{other}' not found.")),
        }
    }

    fn file_read(&mut self, path: &str, arguments: &Value) -> Result<String, String> {
        let text = self.files.get(path).ok_or_else(|| format!("File not found: {path}"))?;
        self.read.insert(path.to_owned());
        let number = |key: &str| arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let first = number("offset").unwrap_or(1);
        let limit = number("limit").unwrap_or(self.page);
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            return Ok(format!("{path} is empty."));
        }
        let rows = lines.iter().enumerate().skip(first - 1).take(limit);
        let mut page = rows.map(|(index, line)| format!("{}\t{line}\n", index + 1)).collect::<String>();
        if first - 1 + limit < lines.len() {
            page.push_str(&format!("... {} more lines", lines.len() - (first - 1 + limit)));
        }
        Ok(page)
    }

    fn file_edit(&mut self, path: &str, old: &str, new: &str, arguments: &Value) -> Result<String, String> {
        assert!(self.read.contains(path), "{path} was edited before it was read");
        assert!(!old.is_empty(), "an empty text to replace");
        let text = self.files.get_mut(path).ok_or_else(|| format!("File not found: {path}"))?;
        // Like the real tool: a file with Windows line ends is edited with its own line ends.
        let crlf = text.contains("\r\n");
        let plain = text.replace("\r\n", "\n");
        let changed = match plain.matches(old).count() {
            0 => {
                return Err(format!(
                    "old_string not found in {path}. Make sure it matches exactly including whitespace."
                ));
            }
            1 => plain.replace(old, new),
            _ if arguments["replace_all"] == Value::Bool(true) => plain.replace(old, new),
            _ => return Err(format!("old_string found multiple times in {path}. It must be unique.")),
        };
        *text = if crlf { changed.replace('\n', "\r\n") } else { changed };
        Ok(format!("Edited {path} (-1, +1 lines)"))
    }

    fn apply_patch(&mut self, patch: &str) -> Result<String, String> {
        let mut current = String::new();
        for line in patch.lines() {
            if let Some(path) = line.strip_prefix("*** Delete File: ") {
                assert!(self.read.contains(path), "{path} was deleted before it was read");
                self.files.remove(path).ok_or_else(|| format!("File not found: {path}"))?;
            } else if let Some(path) = line.strip_prefix("*** Add File: ") {
                current = path.to_owned();
                self.files.insert(current.clone(), String::new());
            } else if let Some(path) = line.strip_prefix("*** Update File: ") {
                current = path.to_owned();
            } else if let Some(path) = line.strip_prefix("*** Move to: ") {
                if self.files.contains_key(path) {
                    return Err(format!("{path} already exists"));
                }
                let text = self.files.remove(&current).ok_or_else(|| format!("File not found: {current}"))?;
                self.files.insert(path.to_owned(), text);
            } else if let (Some(added), Some(text)) = (line.strip_prefix('+'), self.files.get_mut(&current)) {
                text.push_str(added);
                text.push('\n');
            }
        }
        Ok("Patch applied: done".to_owned())
    }

    fn glob(&self, pattern: &str, path: &str) -> String {
        let name = pattern.rsplit('/').next().unwrap_or(pattern);
        let anywhere = pattern.starts_with("**/") || !pattern.contains('/');
        let fits = |file: &&String| {
            let inside =
                if path.is_empty() { Some(file.as_str()) } else { file.strip_prefix(&format!("{path}/")) };
            let Some(inside) = inside else { return false };
            let base = inside.rsplit('/').next().unwrap_or(inside);
            let is_name = match name.split_once('*') {
                Some((before, after)) => base.starts_with(before) && base.ends_with(after),
                None => base == name,
            };
            if anywhere { is_name } else { inside == pattern }
        };
        let found: Vec<&str> = self.files.keys().filter(fits).map(String::as_str).collect();
        if found.is_empty() { format!("No files matching '{pattern}' in {path}") } else { found.join("\n") }
    }

    fn grep(&self, pattern: &str, path: &str) -> String {
        let word = pattern.strip_prefix("\\b").and_then(|rest| rest.strip_suffix("\\b"));
        let plain = pattern.replace('\\', "");
        let hits = |line: &str| match word {
            Some(word) => line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word),
            None => line.contains(&plain),
        };
        let mut rows = Vec::new();
        for (file, text) in &self.files {
            if path.is_empty() || file == path || file.starts_with(&format!("{path}/")) {
                let found = text.lines().enumerate().filter(|(_, line)| hits(line));
                rows.extend(found.map(|(index, line)| format!("{file}:{}:{line}", index + 1)));
            }
        }
        // A search shows few lines, like the real one.
        rows.truncate(3);
        if rows.is_empty() { format!("No matches found for '{pattern}'") } else { rows.join("\n") }
    }
}

fn bash(command: &str) -> Result<String, String> {
    match command.strip_prefix("fail") {
        Some(_) => Err("boom\nExit code: 3".to_owned()),
        None => Ok(format!("ran {command}\nExit code: 0")),
    }
}
