//! The output of `-p`: a projection of the session's events, in one of three formats.

use crate::{
    answer::{Failure, failed},
    args::OutputFormat,
    exit::Exit,
    used_host::UsedHost,
};
use agent::{
    CommandOutcome, Compaction, CompactionStep, Content, Goal, Phase, Redactor, SessionEvent, StopReason,
    Task, ToolCallId, ToolCallUpdate, ToolContent, Usage,
};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    io::Write,
    mem::take,
};

/// Writes the projection of events. After a write error (such as a closed pipe) nothing more is
/// written; the turn continues.
pub(crate) struct Output<W> {
    format: OutputFormat,
    writer: W,
    broken: bool,
    /// Returns the milliseconds since the epoch.
    clock: Box<dyn Fn() -> u64 + Send>,
    /// The message whose text was printed last.
    current: Option<String>,
    texts: Vec<String>,
    calls: Vec<Call>,
    by_id: HashMap<ToolCallId, usize>,
    errors: Vec<String>,
    redactor: Option<Redactor>,
    /// The goal as last changed in this run.
    goal: Option<Goal>,
    files_changed: Vec<String>,
    /// The session and its model, once it is open.
    session: Option<(String, String)>,
    /// When the run began, by the clock.
    began: u64,
    /// Tokens and requests, from the events.
    spent: Spent,
    /// The calls that were denied.
    denied: HashSet<ToolCallId>,
    /// Whether the pieces of an answer are printed as they arrive.
    partial: bool,
    /// The first line, and the lines after it, which wait until the tools are known.
    waiting: Option<(Value, Vec<Value>)>,
}

/// Tokens and model requests of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    /// Tokens of the turns that have ended.
    earlier: Usage,
    /// Tokens of the running turn.
    turn: Usage,
    requests: u32,
}

/// The end of a turn, for the last line.
#[derive(Debug, Clone)]
pub(crate) struct RunEnd {
    pub(crate) stop_reason: StopReason,
    pub(crate) usage: Usage,
    pub(crate) requests: u32,
    pub(crate) exit: Exit,
    /// How the prompt ended if no model was asked.
    pub(crate) command: Option<CommandOutcome>,
    /// The answer as a JSON value, if a schema was given.
    pub(crate) output: Option<Value>,
}

/// What a run begins with, for the first line of stream-json.
#[derive(Debug, Clone)]
pub(crate) struct RunStart {
    pub(crate) session: String,
    pub(crate) model: String,
    pub(crate) mode: &'static str,
    pub(crate) permission_mode: &'static str,
    pub(crate) cwd: String,
    /// The tools that the model is offered, of a session that has begun.
    pub(crate) tools: Option<Vec<String>>,
}

struct Call {
    id: String,
    name: String,
    args: Value,
    output: String,
    success: bool,
    announced: bool,
    ended: bool,
}

fn goal_json(goal: &Goal) -> Value {
    json!({
        "objective": goal.objective,
        "status": goal.status.id(),
        "reason": goal.reason,
        "token_budget": goal.token_budget,
        "tokens_used": goal.tokens_used,
        "time_used_seconds": goal.seconds_used,
    })
}

impl<W: Write> Output<W> {
    /// Creates an output. `clock` returns milliseconds since the epoch.
    pub(crate) fn new(format: OutputFormat, writer: W, clock: impl Fn() -> u64 + Send + 'static) -> Self {
        Self {
            format,
            writer,
            broken: false,
            session: None,
            began: clock(),
            spent: Spent::default(),
            denied: HashSet::new(),
            clock: Box::new(clock),
            current: None,
            texts: Vec::new(),
            calls: Vec::new(),
            by_id: HashMap::new(),
            errors: Vec::new(),
            redactor: None,
            goal: None,
            files_changed: Vec::new(),
            partial: true,
            waiting: None,
        }
    }

    /// Removes secrets from the JSON formats.
    pub(crate) fn redacting(self, redactor: Redactor) -> Self {
        Self { redactor: Some(redactor), ..self }
    }

    /// Sets whether stream-json has the pieces of an answer as they arrive.
    pub(crate) fn with_partial(self, partial: bool) -> Self {
        Self { partial, ..self }
    }

    /// Takes note of the session that was opened, and of its model.
    pub(crate) fn opened(&mut self, session: &str, model: &str) {
        self.session = Some((session.to_owned(), model.to_owned()));
    }

    /// Returns whether tools were called, and each call was denied.
    pub(crate) fn all_denied(&self) -> bool {
        !self.by_id.is_empty() && self.by_id.keys().all(|id| self.denied.contains(id))
    }

    /// Prints the first line of stream-json. It has the tools that the model is offered, so in a
    /// new session it waits for the first request, and the lines after it wait too.
    pub(crate) fn begin(&mut self, start: &RunStart) {
        let line = json!({
            "type": "init",
            "timestamp": (self.clock)(),
            "v": 1,
            "session_id": start.session,
            "model": start.model,
            "mode": start.mode,
            "permission_mode": start.permission_mode,
            "cwd": start.cwd,
            "tools": start.tools,
        });
        match (self.format, &start.tools) {
            (OutputFormat::StreamJson, Some(_)) => self.json(line),
            (OutputFormat::StreamJson, None) => self.waiting = Some((line, Vec::new())),
            _ => {}
        }
    }

    /// Prints the lines that wait, the first one with these tools.
    fn release(&mut self, tools: Vec<String>) {
        if let Some((mut first, rest)) = self.waiting.take() {
            first["tools"] = json!(tools);
            std::iter::once(first).chain(rest).for_each(|line| self.json(line));
        }
    }

    /// The text of the last answer.
    pub(crate) fn last_text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }

    /// Processes an event.
    pub(crate) fn event(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::UserMessage { content, .. } => {
                let texts: Vec<_> = content.iter().filter_map(said).collect();
                self.line("user_message", json!({ "text": texts.join("\n") }));
            }
            SessionEvent::Phase(phase) => self.line("phase", json!({ "phase": phase_id(*phase) })),
            SessionEvent::MessageDelta { id, text }
                if self.partial || self.format != OutputFormat::StreamJson =>
            {
                self.text(id.as_str(), text);
            }
            SessionEvent::ThoughtDelta { .. } if !self.partial => {}
            SessionEvent::Prefix(prefix) => {
                self.release(prefix.tools.iter().map(|tool| tool.name.to_string()).collect());
            }
            SessionEvent::FileChanged(change) => {
                let path = change.path.as_str();
                if !self.files_changed.iter().any(|known| known == path) {
                    self.files_changed.push(path.to_owned());
                }
            }
            SessionEvent::ThoughtDelta { text, .. } => self.line("reasoning", json!({ "content": text })),
            SessionEvent::TurnStarted { .. } => self.spent.earlier += take(&mut self.spent.turn),
            SessionEvent::Usage(update) => self.spent.turn = update.turn,
            SessionEvent::ModelChanged(model) => {
                if let Some((_, now)) = &mut self.session {
                    now.clone_from(model);
                }
            }
            SessionEvent::PermissionResolved { id, outcome, .. } if !outcome.allows() => {
                self.denied.insert(id.clone());
            }
            SessionEvent::ModelResponse(response) => {
                self.spent.requests += u32::from(!response.model.is_empty());
                let text = response.text();
                if text.is_empty() {
                    return;
                }
                // The text of an answer that was not streamed is printed now.
                if self.current.as_deref() != Some(response.id.as_str()) {
                    self.text(response.id.as_str(), &text);
                }
                self.texts.push(text);
            }
            SessionEvent::ToolCall(update) => {
                // A command may do without a connection that was denied.
                if update.status == Some(agent::ToolStatus::Completed) {
                    self.denied.remove(&update.id);
                }
                self.call(update);
            }
            SessionEvent::Goal(goal) => {
                self.goal.clone_from(goal);
                self.line("goal", json!({ "goal": goal.as_ref().map(goal_json) }));
            }
            SessionEvent::NetworkUsed(used) => {
                let hosts: Vec<_> = used.hosts.iter().map(UsedHost::from).collect();
                self.line("network", json!({ "id": used.call.as_str(), "hosts": hosts }));
            }
            SessionEvent::Shell(shell) => {
                let status = if shell.end.is_some() { "ended" } else { "running" };
                let outcome = shell.outcome();
                let line = json!({
                    "id": shell.id, "command": shell.command, "status": status, "outcome": outcome,
                });
                self.line("shell", line);
            }
            SessionEvent::Tasks(tasks) => {
                let task = |task: &Task| {
                    json!({
                        "id": task.id,
                        "subject": task.subject,
                        "status": task.status.id(),
                        "parent_id": task.parent,
                    })
                };
                self.line("tasks", json!({ "tasks": tasks.iter().map(task).collect::<Vec<_>>() }));
            }
            SessionEvent::Compaction(Compaction { step: CompactionStep::Started, .. }) => {
                self.line("reasoning", json!({ "content": "Compacting context" }));
            }
            SessionEvent::Notice { severity: agent::Severity::Error, title, description } => {
                let text = description.as_ref().map_or(title.clone(), |more| format!("{title}: {more}"));
                self.error(&text);
            }
            SessionEvent::Notice { severity: agent::Severity::Warning, title, description } => {
                let more = description.as_ref().map(|more| format!(": {more}")).unwrap_or_default();
                tracing::warn!("{title}{more}");
            }
            _ => {}
        }
    }

    /// Returns the goal, if this run changed it.
    pub(crate) fn goal(&self) -> Option<&Goal> {
        self.goal.as_ref()
    }

    /// Reports an error that does not end the turn.
    pub(crate) fn error(&mut self, message: &str) {
        self.errors.push(message.to_owned());
        self.line("error", json!({ "message": message }));
    }

    /// Returns what every result has: of a run that succeeded and of one that failed.
    fn result(&self, exit: Exit, stop: Option<StopReason>, usage: Usage, requests: u32) -> Value {
        let (session, model) = self.session.as_ref().map(|(id, model)| (id, model)).unzip();
        let mut result = json!({
            "type": "result",
            "v": 1,
            "success": exit == Exit::Ok,
            "exit_code": exit.code(),
            "model": model,
            "files_changed": self.files_changed,
            "text": self.texts.join("\n\n"),
            "session_id": session,
            "stop_reason": stop.map(StopReason::id),
            "duration_ms": (self.clock)().saturating_sub(self.began),
            "turns": requests,
            "usage": {
                "tokens_in": usage.input,
                "tokens_out": usage.output,
                "cost_usd": usage.cost.map(agent::Cost::dollars),
            },
        });
        if let Some(goal) = &self.goal {
            result["goal"] = goal_json(goal);
        }
        if self.format == OutputFormat::Json {
            result["errors"] = json!(self.errors);
            result["tool_calls"] = self.calls.iter().map(Call::as_json).collect();
        }
        result
    }

    /// Prints the end of a turn.
    pub(crate) fn end(&mut self, ending: &RunEnd) {
        let mut result = self.result(ending.exit, Some(ending.stop_reason), ending.usage, ending.requests);
        if let Some(output) = &ending.output {
            result["output"] = output.clone();
        }
        if let Some(command) = ending.command {
            result["command"] = json!(command.id());
        }
        match self.format {
            OutputFormat::Text => self.end_line(),
            OutputFormat::Json => self.json(result),
            OutputFormat::StreamJson => {
                self.release(Vec::new());
                self.line("stream_end", json!({}));
                self.line("result", result);
            }
        }
    }

    /// Reports that the run failed: with what a run that succeeds has, as far as it came. The text
    /// format prints no message here: it goes to stderr.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        let Spent { earlier: mut usage, turn, requests } = self.spent;
        usage += turn;
        let mut error = self.result(failure.exit, None, usage, requests);
        if let (Value::Object(error), Value::Object(failed)) = (&mut error, failed(failure)) {
            error.extend(failed);
        }
        error["type"] = json!("error");
        match self.format {
            OutputFormat::Text => self.end_line(),
            OutputFormat::Json => self.json(error),
            OutputFormat::StreamJson => {
                self.release(Vec::new());
                error["message"] = json!(failure.to_string());
                self.line("error", error);
            }
        }
    }

    /// Ends the line of a text.
    fn end_line(&mut self) {
        if self.current.is_some() {
            self.write("\n");
        }
    }

    /// Returns the writer with everything that was printed.
    #[cfg(test)]
    fn into_writer(self) -> W {
        self.writer
    }

    fn text(&mut self, id: &str, text: &str) {
        if self.format == OutputFormat::Text {
            let gap = self.current.as_deref().is_some_and(|current| current != id);
            self.write(if gap { "\n\n" } else { "" });
            self.write(text);
        }
        self.current = Some(id.to_owned());
        self.line("text_delta", json!({ "delta": text }));
    }

    fn call(&mut self, update: &ToolCallUpdate) {
        let at = *self.by_id.entry(update.id.clone()).or_insert_with(|| {
            self.calls.push(Call::new(update.id.to_string(), update.name.clone()));
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if let Some(input) = &update.display.raw_input {
            call.args = input.clone();
        }
        let mut lines = Vec::new();
        if !call.announced && (update.display.raw_input.is_some() || update.status.is_some()) {
            call.announced = true;
            lines.push(("tool_call", json!({ "id": call.id, "name": call.name, "args": call.args })));
        }
        let ended = update.status.is_some_and(agent::ToolStatus::is_final);
        if let (None, false, Some(content)) = (&update.result, ended, &update.display.content) {
            let output: Vec<_> = content.iter().filter_map(shown_text).collect();
            if !output.is_empty() {
                lines.push(("tool_progress", json!({ "output": output.join("\n") })));
            }
        }
        if let Some(result) = &update.result {
            call.output.clone_from(&result.text);
        }
        if ended && !call.ended {
            call.ended = true;
            call.success = update.status == Some(agent::ToolStatus::Completed)
                && update.result.as_ref().is_none_or(|result| !result.is_error);
            lines.push((
                "tool_result",
                json!({ "id": call.id, "name": call.name, "output": call.output, "success": call.success }),
            ));
        }
        for (kind, body) in lines {
            self.line(kind, body);
        }
    }

    /// Prints one line of `stream-json`; nothing in the other formats.
    fn line(&mut self, kind: &str, body: Value) {
        if self.format == OutputFormat::StreamJson {
            let mut line = json!({ "type": kind, "timestamp": (self.clock)() });
            if let (Some(line), Value::Object(body)) = (line.as_object_mut(), body) {
                line.extend(body);
            }
            match &mut self.waiting {
                Some((_, rest)) => rest.push(line),
                None => self.json(line),
            }
        }
    }

    /// Prints one line of JSON.
    fn json(&mut self, value: Value) {
        let line = match &self.redactor {
            Some(redactor) => redactor.json_line(value),
            None => agent::escaped_json(&value.to_string()),
        };
        self.write(&(line + "\n"));
    }

    fn write(&mut self, text: &str) {
        if self.broken || text.is_empty() {
            return;
        }
        self.broken = self.writer.write_all(text.as_bytes()).is_err();
    }
}

impl Call {
    fn new(id: String, name: String) -> Self {
        Self {
            id,
            name,
            args: Value::Null,
            output: String::new(),
            success: false,
            announced: false,
            ended: false,
        }
    }

    fn as_json(&self) -> Value {
        json!({ "id": self.id, "name": self.name, "args": self.args, "output": self.output, "success": self.success })
    }
}

fn phase_id(phase: Phase) -> &'static str {
    match phase {
        Phase::Thinking => "thinking",
        Phase::Tools => "tools",
        Phase::Idle => "idle",
    }
}

/// Returns what the user wrote: text, or the name of something attached.
fn said(content: &Content) -> Option<&str> {
    match content {
        Content::Resource { uri, .. } if !content.is_added() => Some(uri),
        Content::Resource { .. } => None,
        content => text_of(content),
    }
}

fn text_of(content: &Content) -> Option<&str> {
    match content {
        Content::Text(text) | Content::Resource { text, .. } => Some(text),
        Content::ResourceLink { uri, .. } => Some(uri),
        Content::Image { .. } => None,
    }
}

fn shown_text(content: &ToolContent) -> Option<&str> {
    match content {
        ToolContent::Content(content) => text_of(content),
        ToolContent::Diff(_) | ToolContent::Terminal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Kind;
    use agent::{ModelResponse, Severity, ToolResult, ToolStatus};

    fn events() -> Vec<SessionEvent> {
        let call = |status| ToolCallUpdate::of("tool_0".into(), "file_read").status(status);
        let response = |id: &str, text: &str| {
            SessionEvent::ModelResponse(ModelResponse::from_text(id.into(), "t".into(), "m", text))
        };
        vec![
            SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text("hi")] },
            SessionEvent::Phase(Phase::Thinking),
            SessionEvent::ThoughtDelta { id: "t".into(), text: "hm".into() },
            SessionEvent::MessageDelta { id: "a".into(), text: "one ".into() },
            SessionEvent::MessageDelta { id: "a".into(), text: "two".into() },
            response("a", "one two"),
            SessionEvent::ToolCall(ToolCallUpdate {
                display: agent::ToolCallDisplay {
                    raw_input: Some(json!({ "path": "x" })),
                    ..agent::ToolCallDisplay::default()
                },
                ..call(ToolStatus::Pending)
            }),
            SessionEvent::ToolCall(call(ToolStatus::InProgress)),
            SessionEvent::ToolCall(
                ToolCallUpdate::of("tool_0".into(), "file_read")
                    .content(vec![ToolContent::Content(Content::text("half"))]),
            ),
            SessionEvent::ToolCall(ToolCallUpdate {
                result: Some(ToolResult::ok("1\tx")),
                ..call(ToolStatus::Completed)
            }),
            SessionEvent::Notice { severity: Severity::Error, title: "lost".into(), description: None },
            response("b", "done"),
        ]
    }

    fn printed(format: OutputFormat) -> String {
        printed_using(format, Usage { input: 5, output: 6, ..Usage::default() })
    }

    fn printed_using(format: OutputFormat, usage: Usage) -> String {
        let mut output = Output::new(format, Vec::new(), || 7);
        events().iter().for_each(|event| output.event(event));
        output.opened("s", "m");
        output.end(&RunEnd {
            stop_reason: StopReason::EndTurn,
            usage,
            requests: 2,
            exit: Exit::Ok,
            command: None,
            output: None,
        });
        String::from_utf8(output.into_writer()).unwrap()
    }

    fn lines(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_text_format_is_the_models_text() {
        assert_eq!(printed(OutputFormat::Text), "one two\n\ndone\n");
    }

    #[test]
    fn json_is_one_object() {
        let expected = json!({
            "type": "result", "v": 1, "success": true, "exit_code": 0, "model": "m", "files_changed": [], "text": "one two\n\ndone", "session_id": "s", "stop_reason": "end_turn",
            "duration_ms": 0, "turns": 2, "usage": { "tokens_in": 5, "tokens_out": 6, "cost_usd": null }, "errors": ["lost"],
            "tool_calls": [{ "id": "tool_0", "name": "file_read", "args": { "path": "x" }, "output": "1\tx", "success": true }],
        });
        assert_eq!(lines(&printed(OutputFormat::Json)), [expected]);
    }

    #[test]
    fn stream_json_is_one_object_a_line() {
        let expected = [
            json!({ "type": "user_message", "timestamp": 7, "text": "hi" }),
            json!({ "type": "phase", "timestamp": 7, "phase": "thinking" }),
            json!({ "type": "reasoning", "timestamp": 7, "content": "hm" }),
            json!({ "type": "text_delta", "timestamp": 7, "delta": "one " }),
            json!({ "type": "text_delta", "timestamp": 7, "delta": "two" }),
            json!({ "type": "tool_call", "timestamp": 7, "id": "tool_0", "name": "file_read", "args": { "path": "x" } }),
            json!({ "type": "tool_progress", "timestamp": 7, "output": "half" }),
            json!({ "type": "tool_result", "timestamp": 7, "id": "tool_0", "name": "file_read", "output": "1\tx", "success": true }),
            json!({ "type": "error", "timestamp": 7, "message": "lost" }),
            json!({ "type": "text_delta", "timestamp": 7, "delta": "done" }),
            json!({ "type": "stream_end", "timestamp": 7 }),
            json!({
                "type": "result", "v": 1, "success": true, "exit_code": 0, "model": "m", "files_changed": [], "timestamp": 7, "text": "one two\n\ndone", "session_id": "s", "stop_reason": "end_turn",
                "duration_ms": 0, "turns": 2, "usage": { "tokens_in": 5, "tokens_out": 6, "cost_usd": null },
            }),
        ];
        assert_eq!(lines(&printed(OutputFormat::StreamJson)), expected);
    }

    #[test]
    fn a_known_cost_is_reported_with_the_tokens() {
        let usage = Usage { input: 5, output: 6, cost: Some(agent::Cost(1_500_000)), ..Usage::default() };
        let expected = json!({ "tokens_in": 5, "tokens_out": 6, "cost_usd": 0.000_001_5 });
        for format in [OutputFormat::Json, OutputFormat::StreamJson] {
            let last = lines(&printed_using(format, usage)).pop();
            assert_eq!(last.map(|result| result["usage"].clone()), Some(expected.clone()));
        }
    }

    #[test]
    fn a_failure_is_an_object_too() {
        let failed = |format| {
            let mut output = Output::new(format, Vec::new(), || 7);
            output.opened("s", "m");
            events().iter().for_each(|event| output.event(event));
            output.event(&SessionEvent::Usage(agent::UsageUpdate {
                model: "m".to_owned(),
                context_used: 0,
                context_size: 0,
                total: Usage::default(),
                subagents: Usage::default(),
                turn: Usage { input: 5, ..Usage::default() },
                counted: None,
            }));
            output.failed(&Failure::new(Kind::Auth, "no").hint("sign in"));
            String::from_utf8(output.into_writer()).unwrap()
        };
        assert_eq!(failed(OutputFormat::Text), "one two\n\ndone\n");
        let failed =
            |format| lines(&failed(format)).split_off(if format == OutputFormat::Json { 0 } else { 10 });
        let mut object = json!({
            "type": "error", "v": 1, "success": false, "error": "no", "kind": "auth", "hint": "sign in",
            "next_commands": [], "exit_code": 1, "model": "m", "files_changed": [], "text": "one two\n\ndone",
            "session_id": "s", "stop_reason": null, "duration_ms": 0, "turns": 2,
            "usage": { "tokens_in": 5, "tokens_out": 0, "cost_usd": null },
        });
        let mut whole = object.clone();
        whole["errors"] = json!(["lost"]);
        whole["tool_calls"] = json!([
            { "id": "tool_0", "name": "file_read", "args": { "path": "x" }, "output": "1\tx", "success": true },
        ]);
        assert_eq!(failed(OutputFormat::Json), [whole]);
        object["timestamp"] = json!(7);
        object["message"] = json!("no");
        let line = object;
        assert_eq!(failed(OutputFormat::StreamJson), [line]);
    }

    #[test]
    fn a_closed_pipe_is_not_written_to_again() {
        struct Closed(u32);
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                self.0 += 1;
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut output = Output::new(OutputFormat::Text, Closed(0), || 7);
        events().iter().for_each(|event| output.event(event));
        assert_eq!(output.into_writer().0, 1);
    }
}
