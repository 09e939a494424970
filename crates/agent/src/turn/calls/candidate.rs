//! One call in progress: the request, its parsed form, and its updates for clients.

use crate::{
    AnyCall, AnyTool, Colours, Content, Description, Effect, Location, SessionEvent, ToolCallDisplay,
    ToolCallId, ToolCallRequest, ToolCallUpdate, ToolContent, ToolError, ToolKind, ToolLimits, ToolOutput,
    ToolResult, ToolStatus,
    gate::SubmittedCall,
    policy::Resolved,
    repair::{self, BatchedReads, Known, Refusal},
    tools::{call_tool, cap, respell::respell},
};
use serde_json::{Value, json};
use system::{AbsPath, Route, System};

/// A call of an answer, parsed as far as possible.
pub(in crate::turn) struct Candidate {
    request: ToolCallRequest,
    description: Description,
    arguments: Value,
    parsed: Result<Parsed, String>,
    /// Accesses resolved while the answer was stored. Valid for one ruling, and only if no other
    /// call has run since.
    resolved: Option<Vec<Resolved>>,
    /// Notes of hooks, for the model.
    notes: Vec<String>,
    /// Whether another call made it.
    nested: bool,
    /// Whether the user typed it.
    by_user: bool,
}

struct Parsed {
    effect: Effect,
    executor: Option<Route>,
    call: Box<dyn AnyCall>,
}

impl Parsed {
    fn new(tool: &dyn AnyTool, arguments: &Value) -> Result<Self, String> {
        Self::several(tool, std::slice::from_ref(arguments))
    }

    /// Parses one call, or several that are run as one if there are several argument sets.
    fn several(tool: &dyn AnyTool, arguments: &[Value]) -> Result<Self, String> {
        let parse = |arguments: &Value| tool.parse(arguments.clone()).map_err(|error| error.to_string());
        let mut calls = arguments.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let call = match calls.len() {
            1 => calls.remove(0),
            _ => Box::new(BatchedReads(calls)),
        };
        Ok(Self { effect: tool.effect(), executor: tool.executor(), call })
    }
}

impl Candidate {
    /// Replaces the request by its repaired form; the request also keeps what the model wrote.
    pub(super) fn new(
        cwd: &AbsPath,
        known: Known<'_>,
        request: &mut ToolCallRequest,
        cut_at: Option<u64>,
    ) -> Self {
        if let Err(why) = call_tool::unwrap(request) {
            let arguments = request.arguments.clone().unwrap_or_default();
            return Self::of(cwd, request, arguments, Err(why));
        }
        let came = || match &request.arguments {
            Ok(arguments) => arguments.clone(),
            Err(malformed) => Value::String(malformed.raw.clone()),
        };
        match repair::read(known, &request.name, &request.arguments, cut_at) {
            Ok(reading) => {
                let parsed = Parsed::several(reading.tool.as_ref(), &reading.arguments)
                    .map_err(|error| repair::unfit(reading.tool.as_ref(), &reading.arguments, &error));
                let arguments = match <[Value; 1]>::try_from(reading.arguments) {
                    Ok([only]) => only,
                    Err(several) => Value::Array(several),
                };
                request.name = reading.tool.name().into_owned();
                if arguments.is_object() {
                    request.arguments = Ok(arguments.clone());
                }
                let mut candidate = Self::of(cwd, request, arguments, parsed);
                candidate.notes.extend(reading.note);
                candidate
            }
            Err(Refusal { tool, text }) => {
                let name = tool.unwrap_or_else(|| request.name.clone());
                Self::of(cwd, &ToolCallRequest { name, ..request.clone() }, came(), Err(text))
            }
        }
    }

    /// Creates a call made by another call.
    pub(super) fn nested(cwd: &AbsPath, request: &ToolCallRequest, tool: &dyn AnyTool) -> Self {
        let arguments = request.arguments.clone().unwrap_or_default();
        let parsed = Parsed::new(tool, &arguments);
        Self { nested: true, ..Self::of(cwd, request, arguments, parsed) }
    }

    fn of(
        cwd: &AbsPath,
        request: &ToolCallRequest,
        arguments: Value,
        parsed: Result<Parsed, String>,
    ) -> Self {
        let description = match &parsed {
            Ok(parsed) => parsed.call.describe(cwd),
            Err(_) => Description {
                title: request.name.clone(),
                kind: ToolKind::Other,
                locations: Vec::<Location>::new(),
            },
        };
        Self {
            request: request.clone(),
            description,
            arguments,
            parsed,
            resolved: None,
            notes: Vec::new(),
            nested: false,
            by_user: false,
        }
    }

    /// Returns the update that announces the call, before anything is done.
    pub(super) fn announcement(&self) -> ToolCallUpdate {
        let mut update = self.update(ToolStatus::Pending);
        update.display = ToolCallDisplay {
            title: Some(self.description.title.clone()),
            kind: Some(self.description.kind),
            locations: Some(self.description.locations.clone()),
            raw_input: Some(self.arguments.clone()),
            content: None,
            place: None,
        };
        update
    }

    /// Adds a note that the model gets with the result.
    pub(in crate::turn) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Returns why it cannot run at all, if so.
    pub(super) fn problem(&self) -> Option<String> {
        self.parsed.as_ref().err().cloned()
    }

    /// Adds notes of hooks, for the model.
    pub(super) fn add_notes(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes.extend(notes);
    }

    /// Prevents the call from running; `why` is the result for the model.
    pub(super) fn refuse(&mut self, why: String) {
        self.parsed = Err(why);
    }

    pub(super) fn id(&self) -> &ToolCallId {
        &self.request.id
    }

    pub(super) fn name(&self) -> &str {
        &self.request.name
    }

    /// Whether another call made it.
    pub(super) fn is_nested(&self) -> bool {
        self.nested
    }

    /// Returns the effect of its tool; `None` if it cannot run at all.
    pub(super) fn effect(&self) -> Option<Effect> {
        Some(self.parsed.as_ref().ok()?.effect)
    }

    /// Returns the call and the effect of its tool.
    pub(super) fn call(&mut self) -> (&mut dyn AnyCall, Effect) {
        let parsed = self.parsed.as_mut().expect("only parsed calls are prepared and run");
        (parsed.call.as_mut(), parsed.effect)
    }

    /// Returns the files that it works on.
    pub(super) fn locations(&self) -> &[Location] {
        &self.description.locations
    }

    /// Spells its paths as the disk does.
    pub(super) async fn respell(&mut self, system: &dyn System, cwd: &AbsPath) {
        let Ok(parsed) = &mut self.parsed else { return };
        if respell(parsed.call.as_mut(), system, cwd).await {
            self.description = parsed.call.describe(cwd);
            self.resolved = None;
        }
    }

    /// Keeps accesses resolved for its ruling. Valid for one ruling, and only if no other call has
    /// run since.
    pub(super) fn set_accesses(&mut self, accesses: Option<Vec<Resolved>>) {
        self.resolved = accesses;
    }

    /// Marks a call that is a command line of the user's.
    pub(in crate::turn) fn made_by_user(&mut self) {
        self.by_user = true;
    }

    /// Takes the accesses resolved for its ruling.
    pub(super) fn take_accesses(&mut self) -> Option<Vec<Resolved>> {
        self.resolved.take()
    }

    /// Returns the call as the gate's input; `None` if it cannot run at all.
    pub(super) fn submitted(&self) -> Option<SubmittedCall<'_>> {
        let parsed = self.parsed.as_ref().ok()?;
        Some(SubmittedCall {
            id: &self.request.id,
            tool: &self.request.name,
            effect: parsed.effect,
            executor: parsed.executor,
            call: parsed.call.as_ref(),
            description: &self.description,
            arguments: &self.arguments,
            by_user: self.by_user,
        })
    }

    pub(super) fn update(&self, status: ToolStatus) -> ToolCallUpdate {
        ToolCallUpdate::of(self.request.id.clone(), self.request.name.clone()).status(status)
    }

    /// Returns the description of the call for hooks.
    pub(super) fn about(&self) -> Value {
        json!({ "tool": self.request.name, "call": self.request.id.to_string(), "arguments": self.arguments })
    }

    /// Returns the result for the model or for the outer call, and the events that end the call.
    /// The events keep within the limits: a script may get a longer result than is shown and
    /// stored.
    pub(super) fn ended(
        &self,
        outcome: Result<ToolOutput, ToolError>,
        content: Vec<ToolContent>,
        limits: &ToolLimits,
    ) -> (ToolResult, Vec<SessionEvent>) {
        let mut colours = Colours::default();
        let mut places = None;
        let (status, mut result, shown, title, events) = match outcome {
            Ok(ToolOutput { result, colours: painted, shown, locations, title, events }) => {
                (colours, places) = (painted, locations);
                let status = if result.is_error { ToolStatus::Failed } else { ToolStatus::Completed };
                (status, result, shown, title, events)
            }
            Err(ToolError::CutShort(output)) => {
                let ToolOutput { result, shown, locations, events, .. } = *output;
                places = locations;
                let text = format!("The call was cancelled. Until then:\n{}", result.text);
                (ToolStatus::Cancelled, ToolResult::error(text), shown, None, events)
            }
            Err(ToolError::Cancelled(partial)) => {
                let text = match partial {
                    Some(partial) => format!("The call was cancelled. Until then:\n{partial}"),
                    None => "The call was cancelled.".to_owned(),
                };
                (ToolStatus::Cancelled, ToolResult::error(text), None, None, Vec::new())
            }
            Err(error) => {
                // The diff that was going to be written stays visible beside the error.
                let text = error.to_string();
                let (mut shown, rest): (Vec<_>, Vec<_>) =
                    content.into_iter().partition(|content| matches!(content, ToolContent::Diff(_)));
                shown.push(ToolContent::Content(Content::text(text.clone())));
                shown.extend(rest);
                (ToolStatus::Failed, ToolResult::error(text), Some(shown), None, Vec::new())
            }
        };
        for note in &self.notes {
            result.text.push_str("\n\n");
            result.text.push_str(note);
        }
        let mut recorded = result.clone();
        let mut shown = shown;
        if self.nested {
            recorded.text = cap(recorded.text, limits);
            colours = colours.replaced(&result.text, &recorded.text);
            shown.iter_mut().flatten().for_each(|content| keep_within(content, limits));
        }
        let text = || vec![ToolContent::Content(Content::text(recorded.text.clone()))];
        let mut update = self.update(status).content(shown.unwrap_or_else(text));
        // The title of a call with subagents showed their progress; the recorded one replaces it.
        let shows_progress = self.effect() == Some(Effect::Delegates);
        update.display.title = title.or_else(|| shows_progress.then(|| self.description.title.clone()));
        update.display.locations = places;
        (update.result, update.colours) = (Some(recorded), colours);
        (result, std::iter::once(SessionEvent::ToolCall(update)).chain(events).collect())
    }
}

/// Caps what is shown of a nested call.
fn keep_within(content: &mut ToolContent, limits: &ToolLimits) {
    if let ToolContent::Content(Content::Text(text)) = content {
        *text = cap(std::mem::take(text), limits);
    }
}
