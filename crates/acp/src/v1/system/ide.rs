//! `ide_terminal`, `ide_read_file`, `ide_write_file`, `ide_edit`: tools for the editor's machine
//! when the agent runs on a different one.
//!
//! They use the same requests as a session's workspace, but never fall back to the agent's machine.
//! As with the agent's own tools, a file that the model has not seen is not overwritten.

use super::{AcpSystem, RESOURCE_NOT_FOUND, call::CallError, file_form, terminal_command::quoted};
use crate::ClientTools;
use agent::{
    Access, AnyCall, AnyTool, Description, Diff, Effect, FileTracker, Freshness, Location, ToolContent,
    ToolContext, ToolError, ToolKind, ToolOutput, ToolSpec,
    tools::{self, ReadBack},
};
use async_trait::async_trait;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};
use system::{AbsPath, Command, Route, SystemError, TextRange};

/// Returns the tools of a session. Each is offered only while it is enabled and the client supports
/// it.
pub(crate) fn ide_tools(system: &Arc<AcpSystem>) -> Vec<Arc<dyn AnyTool>> {
    let seen = Arc::new(FileTracker::default());
    let tool = |operation| IdeTool { operation, system: system.clone(), seen: seen.clone() };
    let verbs = [IdeOperation::Terminal, IdeOperation::Read, IdeOperation::Write, IdeOperation::Edit];
    verbs.map(|operation| Arc::new(tool(operation)) as Arc<dyn AnyTool>).to_vec()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdeOperation {
    Terminal,
    Read,
    Write,
    Edit,
}

#[derive(Clone)]
struct IdeTool {
    operation: IdeOperation,
    system: Arc<AcpSystem>,
    /// Which files on the editor's machine the model has seen.
    seen: Arc<FileTracker>,
}

impl IdeOperation {
    fn name(self) -> &'static str {
        match self {
            Self::Terminal => "ide_terminal",
            Self::Read => "ide_read_file",
            Self::Write => "ide_write_file",
            Self::Edit => "ide_edit",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Terminal => {
                "Executes a command in the user's IDE terminal. The command runs ON THE USER'S MACHINE, in the IDE's terminal panel, where the user \
                 sees live output. Use it for the user's project: its tests, builds, git. With `args` the command is an executable; without, it is a \
                 line for `sh -c`. Returns JSON: output, exit_code, truncated. Do NOT use it for the agent's internal operations: use 'bash' instead."
            }
            Self::Read => {
                "Reads a text file from the user's IDE, ON THE USER'S MACHINE. IMPORTANT: it returns the unsaved buffer of the editor if the file is \
                 open! Page long files with `line` and `limit`. Use it for the user's project; for the agent's own files use 'file_read'."
            }
            Self::Write => {
                "Writes a text file in the user's IDE, ON THE USER'S MACHINE: creates it, or replaces all of it (read it with ide_read_file first). The \
                 editor tracks the change. To change a part use ide_edit; for the agent's own files use 'file_write'."
            }
            Self::Edit => {
                "Replaces text in a file of the user's IDE, ON THE USER'S MACHINE, unsaved changes included. The editor tracks the change. `old_string` \
                 must match exactly, including whitespace and indentation, and must occur once unless `replace_all` is true. For the agent's own files \
                 use 'file_edit'."
            }
        }
    }

    /// Returns the error for an unsupported operation.
    fn unavailable(self) -> &'static str {
        match self {
            Self::Terminal => "IDE does not support terminal capability. Use 'bash' tool instead.",
            Self::Read => "IDE does not support file reading.",
            Self::Write | Self::Edit => "IDE does not support file writing.",
        }
    }

    fn parameters(self) -> Value {
        let path =
            json!({"type": "string", "description": "File, absolute or relative to the project folder"});
        let (properties, required) = match self {
            Self::Terminal => (
                json!({
                    "command": {"type": "string", "description": "An executable, if args are given; else a shell line"},
                    "args": {"type": "array", "items": {"type": "string"}, "description": "The executable's arguments"},
                    "cwd": {"type": "string", "description": "Where it runs (default: the project folder)"},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables to add"},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": 7200, "description": "Seconds it may run (default 120)"}
                }),
                json!(["command"]),
            ),
            Self::Read => (
                json!({
                    "path": path,
                    "line": {"type": "integer", "minimum": 1, "description": "First line, from 1 (default 1)"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most lines (default: all)"}
                }),
                json!(["path"]),
            ),
            Self::Write => (
                json!({"path": path, "content": {"type": "string", "description": "The whole text of the file"}}),
                json!(["path", "content"]),
            ),
            Self::Edit => (
                json!({
                    "path": path,
                    "old_string": {"type": "string", "description": "The text to replace"},
                    "new_string": {"type": "string", "description": "The text to put in its place"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"}
                }),
                json!(["path", "old_string", "new_string"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required})
    }
}

impl IdeTool {
    /// Returns whether the client supports the tool and the settings enable it.
    fn is_available(&self) -> bool {
        let capabilities = self.system.capabilities();
        let can = match self.operation {
            IdeOperation::Terminal => capabilities.runs(),
            IdeOperation::Read => capabilities.reads(),
            IdeOperation::Write => capabilities.writes(),
            IdeOperation::Edit => capabilities.reads() && capabilities.writes(),
        };
        can && capabilities.tools.get() == ClientTools::Ide
    }

    fn check_available(&self) -> Result<(), ToolError> {
        match self.is_available() {
            true => Ok(()),
            false => Err(ToolError::message(self.operation.unavailable())),
        }
    }

    /// Converts an error to a message for the model, and stops using an unsupported capability.
    fn failed(&self, doing: &'static str, about: &str, error: CallError) -> ToolError {
        match error {
            CallError::Unsupported => {
                let withdrawn = &self.system.capabilities().withdrawn;
                match self.operation {
                    IdeOperation::Terminal if self.system.capabilities().runs() => {
                        withdrawn.terminal(self.operation.name())
                    }
                    IdeOperation::Terminal => {}
                    IdeOperation::Read => withdrawn.read(self.operation.name()),
                    // For an edit, this also covers an unsupported read.
                    IdeOperation::Write | IdeOperation::Edit => withdrawn.write(self.operation.name()),
                }
                ToolError::message(self.operation.unavailable())
            }
            error => ToolError::System(self.system.caller.failure(doing, about, error)),
        }
    }

    fn call<T: DeserializeOwned>(&self, arguments: Value) -> Result<T, ToolError> {
        let name = self.operation.name();
        serde_json::from_value(arguments)
            .map_err(|error| ToolError::message(format!("Invalid arguments for '{name}': {error}")))
    }
}

impl AnyTool for IdeTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.operation.name().to_owned(),
            description: self.operation.description().to_owned(),
            parameters: self.operation.parameters(),
        }
    }

    // Cheaper than `spec`, which builds the schema: this is called for every tool in every request.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.operation.name())
    }

    fn effect(&self) -> Effect {
        match self.operation {
            IdeOperation::Terminal => Effect::Executes,
            IdeOperation::Read => Effect::Reads,
            IdeOperation::Write | IdeOperation::Edit => Effect::Writes,
        }
    }

    fn executor(&self) -> Option<Route> {
        Some(Route::Client)
    }

    fn is_offered(&self) -> bool {
        self.is_available()
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        let tool = self.clone();
        Ok(match self.operation {
            IdeOperation::Terminal => Box::new(Terminal { run: self.call(arguments)?, tool }),
            IdeOperation::Read => Box::new(ReadFile { read: self.call(arguments)?, tool }),
            IdeOperation::Write => Box::new(WriteFile { write: self.call(arguments)?, tool, before: None }),
            IdeOperation::Edit => Box::new(EditFile { edit: self.call(arguments)?, tool, decided: None }),
        })
    }
}

struct Terminal {
    run: Run,
    tool: IdeTool,
}

#[derive(Deserialize)]
struct Run {
    command: String,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout: Option<u64>,
}

impl Terminal {
    fn cwd(&self, session: &AbsPath) -> AbsPath {
        self.run.cwd.as_deref().map_or_else(|| session.clone(), |cwd| session.join(cwd))
    }

    /// Returns the command with its variables as one shell line, for the policy and for display.
    fn line(&self) -> String {
        let env = self.run.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let command = match self.run.args.as_deref() {
            None | Some([]) => vec![self.run.command.clone()],
            Some(args) => std::iter::once(&self.run.command).chain(args).map(|word| quoted(word)).collect(),
        };
        env.chain(command).collect::<Vec<_>>().join(" ")
    }

    fn command(&self, cx: &ToolContext) -> Command {
        let (cwd, limit) = (self.cwd(&cx.cwd), cx.limits.command_output_bytes);
        let mut command = Command::shell(&self.run.command, cwd, limit);
        if let Some(args) = self.run.args.clone().filter(|args| !args.is_empty()) {
            (command.program, command.args) = (self.run.command.clone(), args);
        }
        command.env = self.run.env.clone().into_iter().collect();
        command
    }
}

#[async_trait]
impl AnyCall for Terminal {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let line = self.line().split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = line.chars().take(TITLE_CHARS).collect();
        Description {
            title: format!("Run in the editor: {title}"),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        let (command, cwd) = (self.line(), self.cwd(cwd));
        vec![Access::Execute { command, cwd, unconfined: false, reason: None }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        if self.run.command.trim().is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        Ok(agent::command_block(&self.line()))
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let command = self.command(cx);
        let started = cx.cancel.run_until_cancelled(self.tool.system.spawn_at_client(&command)).await;
        let process = started
            .ok_or(ToolError::Cancelled(None))?
            .map_err(|error| self.tool.failed("running", &command.program, error))?;
        let limit = tools::command::limit(cx, self.run.timeout);
        let ran = tools::command::follow(cx, IdeOperation::Terminal.name(), Box::new(process), limit).await?;
        let mut result = json!({
            "output": ran.said,
            "exit_code": ran.exit.as_ref().and_then(|exit| exit.code),
            "truncated": ran.truncated,
        });
        match &ran.exit {
            None => result["error"] = json!(tools::command::timed_out(limit)),
            Some(exit) if exit.signal.is_some() => result["signal"] = json!(exit.signal),
            Some(_) => {}
        }
        let output = ToolOutput::shown(result.to_string(), ran.terminal.into_iter().collect());
        let success = ran.exit.is_some_and(|exit| exit.success());
        Ok(if success { output } else { output.failed() })
    }
}

struct ReadFile {
    read: Read,
    tool: IdeTool,
}

#[derive(Deserialize)]
struct Read {
    path: String,
    line: Option<usize>,
    limit: Option<usize>,
}

#[async_trait]
impl AnyCall for ReadFile {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Read {} in the editor", self.read.path),
            kind: ToolKind::Read,
            locations: vec![Location { path: cwd.join(&self.read.path), line: self.read.line }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Read(cwd.join(&self.read.path))]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let path = cx.cwd.join(&self.read.path);
        let range = (self.read.line.is_some() || self.read.limit.is_some()).then(|| TextRange {
            line: self.read.line.unwrap_or(1).max(1),
            limit: self.read.limit.unwrap_or(ALL_LINES),
        });
        let read = cx.cancel.run_until_cancelled(self.tool.system.read_from_client(&path, range)).await;
        let text = read
            .ok_or(ToolError::Cancelled(None))?
            .map_err(|error| self.tool.failed("reading", path.as_str(), error))?;
        if text.contains('\0') {
            let size = text.len();
            return Err(ToolError::message(format!(
                "{} is not readable as text: about {size} bytes of binary data. Look at it with ide_terminal.",
                self.read.path
            )));
        }
        let shown = tools::cap(text.clone(), &cx.limits);
        match range {
            None if shown == text => self.tool.seen.saw(&path, &text),
            Some(range) if shown == text => {
                let limit = text.lines().count().min(range.limit);
                self.tool.seen.saw_part(&path, TextRange { limit, ..range }, &text);
            }
            _ => {}
        }
        Ok(ToolOutput::text(if shown.is_empty() { format!("{} is empty.", self.read.path) } else { shown }))
    }
}

struct WriteFile {
    write: Write,
    tool: IdeTool,
    /// The text to replace, once read; the inner `None` if the file does not exist or cannot be
    /// read.
    before: Option<Option<String>>,
}

#[derive(Deserialize)]
struct Write {
    path: String,
    content: String,
}

impl WriteFile {
    /// Reads the text that would be replaced. Fails if the model has not seen it.
    async fn read_old_text(&self, cx: &ToolContext) -> Result<Option<String>, ToolError> {
        let (name, path) = (&self.write.path, cx.cwd.join(&self.write.path));
        if !self.tool.system.capabilities().reads() {
            return Ok(None);
        }
        let read = cx.cancel.run_until_cancelled(self.tool.system.read_from_client(&path, None)).await;
        let before = match read.ok_or(ToolError::Cancelled(None))? {
            Ok(text) if is_damaged(&text) => return Err(not_decodable(name)),
            Ok(text) => text,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => {
                let reason = self.tool.system.caller.failure("reading", path.as_str(), error);
                let text = format!("{reason}, so {name} was not replaced. Nothing was written.");
                return Err(ToolError::message(text));
            }
        };
        let known = self.tool.seen.freshness(&path, Some(&before));
        if known == Freshness::Fresh || before.is_empty() || before == self.write.content {
            return Ok(Some(before));
        }
        let why = match known {
            Freshness::Changed => "has changed since you last read it",
            Freshness::Partial => "has been read in part only",
            Freshness::Fresh | Freshness::Unseen => "exists, and you have not read it",
        };
        Err(ToolError::message(format!(
            "{name} {why}. Read it with ide_read_file first, then write it. Nothing was written."
        )))
    }
}

/// Returns a change for display.
fn diff(cwd: &AbsPath, name: &str, old_text: Option<String>, new_text: String) -> ToolContent {
    ToolContent::Diff(Diff { path: cwd.join(name), old_text, new_text: Some(new_text) })
}

#[async_trait]
impl AnyCall for WriteFile {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Write {} in the editor", self.write.path),
            kind: ToolKind::Edit,
            locations: vec![Location { path: cwd.join(&self.write.path), line: None }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Write(cwd.join(&self.write.path))]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        let before = self.read_old_text(cx).await?;
        self.before = Some(before.clone());
        Ok(vec![diff(&cx.cwd, &self.write.path, before, self.write.content.clone())])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let name = &self.write.path;
        let before = match self.before.take() {
            Some(before) if !cx.call.asked => before,
            prepared => {
                let now = self.read_old_text(cx).await?;
                if prepared.is_some_and(|prepared| prepared != now) {
                    return Err(ToolError::message(format!(
                        "{name} changed while the user's approval was pending; nothing was written. Read it again with ide_read_file."
                    )));
                }
                now
            }
        };
        let path = cx.cwd.join(name);
        let written = self.tool.write(cx, name, before.as_deref(), &self.write.content).await?;
        self.tool.seen.saw(&path, &written.text);
        let lines = self.write.content.lines().count();
        let text = format!("Wrote {lines} lines to {name}{}", written.note);
        Ok(ToolOutput::shown(text, vec![diff(&cx.cwd, name, before, written.text)]))
    }
}

struct EditFile {
    edit: Edit,
    tool: IdeTool,
    decided: Option<PlannedEdit>,
}

#[derive(Deserialize)]
struct Edit {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// An edit, and the text on which it was decided.
#[derive(PartialEq)]
struct PlannedEdit {
    before: String,
    after: String,
    removed: usize,
    added: usize,
    /// How the old text was matched, if not exactly.
    note: String,
    known: Freshness,
}

impl EditFile {
    async fn plan_edit(&self, cx: &ToolContext) -> Result<PlannedEdit, ToolError> {
        let name = &self.edit.path;
        let path = cx.cwd.join(name);
        let read = cx.cancel.run_until_cancelled(self.tool.system.read_from_client(&path, None)).await;
        let before = match read.ok_or(ToolError::Cancelled(None))? {
            Ok(text) if is_damaged(&text) => return Err(not_decodable(name)),
            Ok(text) => text,
            Err(error) if is_missing(&error) => {
                return Err(ToolError::message(format!("File not found on the user's machine: {name}")));
            }
            Err(error) => return Err(self.tool.failed("reading", path.as_str(), error)),
        };
        let Edit { old_string, new_string, replace_all, .. } = &self.edit;
        let replaced = tools::edited(name, &before, old_string, new_string, *replace_all)?;
        let known = self.tool.seen.freshness(&path, Some(&before));
        let tools::Replaced { text: after, removed, added, note } = replaced;
        Ok(PlannedEdit { before, after, removed, added, note, known })
    }
}

#[async_trait]
impl AnyCall for EditFile {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Edit {} in the editor", self.edit.path),
            kind: ToolKind::Edit,
            locations: vec![Location { path: cwd.join(&self.edit.path), line: None }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Write(cwd.join(&self.edit.path))]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        let decided = self.plan_edit(cx).await?;
        let shown = diff(&cx.cwd, &self.edit.path, Some(decided.before.clone()), decided.after.clone());
        self.decided = Some(decided);
        Ok(vec![shown])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let name = &self.edit.path;
        let decided = match self.decided.take() {
            Some(decided) if !cx.call.asked => decided,
            prepared => {
                let now = self.plan_edit(cx).await?;
                if prepared.is_some_and(|prepared| prepared.before != now.before) {
                    return Err(ToolError::message(format!(
                        "{name} changed while the user's approval was pending; nothing was written. Read it again with ide_read_file."
                    )));
                }
                now
            }
        };
        let written = self.tool.write(cx, name, Some(&decided.before), &decided.after).await?;
        let path = cx.cwd.join(name);
        let changed = match decided.known {
            Freshness::Fresh => {
                self.tool.seen.saw(&path, &written.text);
                ""
            }
            known => {
                self.tool.seen.touched(&path);
                match known {
                    Freshness::Changed => {
                        "\nThe file had changed since you last read it; the edit was made in its current text. Read it again with ide_read_file before you \
                         rely on the rest of it."
                    }
                    _ => "",
                }
            }
        };
        let PlannedEdit { removed, added, note, .. } = &decided;
        let text = format!("Edited {name} (-{removed}, +{added} lines){note}{changed}{}", written.note);
        Ok(ToolOutput::shown(text, vec![diff(&cx.cwd, name, Some(decided.before), written.text)]))
    }
}

/// The result of a write.
struct WriteResult {
    /// The file's text after the write, as far as it is known.
    text: String,
    /// A note for the model; empty, or starts with a newline.
    note: String,
}

impl IdeTool {
    /// Writes a text, and if possible reads it back to verify that the editor accepted it.
    async fn write(
        &self,
        cx: &ToolContext,
        name: &str,
        before: Option<&str>,
        text: &str,
    ) -> Result<WriteResult, ToolError> {
        let path = cx.cwd.join(name);
        match cx.cancel.run_until_cancelled(self.system.write_to_client(&path, text)).await {
            Some(written) => written.map_err(|error| self.failed("writing", path.as_str(), error))?,
            None => return Err(ToolError::Cancelled(Some(format!("the write of {name} had begun")))),
        }
        if !self.system.capabilities().reads() {
            return Ok(WriteResult { text: text.to_owned(), note: String::new() });
        }
        let read = async || match self.system.read_from_client(&path, None).await {
            Ok(text) => Ok(text),
            Err(error) if is_missing(&error) => Err(SystemError::NotFound(path.clone())),
            Err(error) => Err(self.system.caller.failure("reading", path.as_str(), error)),
        };
        let unread =
            |why: &str| format!("\nThe editor accepted the text, but it could not be read back: {why}");
        match tools::read_back(cx, before, text, read).await {
            Ok(ReadBack::Holds(now)) if tools::same_text(&now, text) => {
                Ok(WriteResult { text: now, note: String::new() })
            }
            Ok(ReadBack::Holds(now)) => {
                let note = "\nThe editor changed the text when it wrote it (formatting on save, for example). Read it again with ide_read_file.";
                Ok(WriteResult { text: now, note: note.to_owned() })
            }
            Ok(ReadBack::Unknown(why)) => Ok(WriteResult { text: text.to_owned(), note: unread(&why) }),
            Ok(ReadBack::Unchanged) => Err(ToolError::message(format!(
                "The editor did not apply the change of {name}: it reported that it wrote the file, but it still shows the old text. Read {name} again \
                 with ide_read_file before you repeat the change; it may still be applied."
            ))),
            Err(_) => Ok(WriteResult { text: text.to_owned(), note: unread("cancelled") }),
        }
    }
}

/// Returns whether a text was decoded from invalid UTF-8: writing it back would damage the file.
/// The disk, which would show it for certain, is on another machine.
fn is_damaged(text: &str) -> bool {
    file_form::is_suspicious(text)
}

fn not_decodable(name: &str) -> ToolError {
    ToolError::message(format!(
        "{name} holds characters that the editor could not decode, so it is not a text file of UTF-8; nothing was written. Change it with ide_terminal."
    ))
}

/// Characters of a command shown in a title.
const TITLE_CHARS: usize = 80;
/// The limit sent for a range without one.
const ALL_LINES: usize = 1_000_000;

/// Returns whether a read failed because the file does not exist. Some clients report that only in
/// the message.
fn is_missing(error: &CallError) -> bool {
    let says = |message: &str| {
        let message = message.to_lowercase();
        ["not found", "no such file", "enoent", "does not exist"].iter().any(|words| message.contains(words))
    };
    matches!(error, CallError::Refused { code, message } if *code == RESOURCE_NOT_FOUND || says(message))
}
