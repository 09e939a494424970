//! The tool calls of one answer: announced, passed through the gate, run, recorded.
//!
//! Reads that need no question run side by side; writes and commands run one after the other, in the order the model gave them. A call is
//! recorded as started before it runs and as ended after it, each before the next side effect.

use crate::{
    AnyCall, AnyTool, Description, Effect, HookEvent, InnerCalls, Item, Location, ModelResponse,
    SessionEvent, Severity, StoreError, ToolCallRequest, ToolCallUpdate, ToolContent, ToolContext, ToolError,
    ToolKind, ToolLimits, ToolOutput, ToolResult, ToolSpec, ToolStatus,
    checkpoint::Recorder,
    gate::{Answer, Applicant, Ruling},
    limits::{CALL_WAIT, CANCEL_GRACE, FILES_WAIT, LOOK_WAIT, REVIEW_WAIT},
    policy::{self, Resolved},
    repair::{self, Known, Refusal, Several},
    session::{Session, controls::Controls},
    tool::titles,
    tools::{call_tool, cap},
    turn::nested,
};
use futures::FutureExt as _;
use serde_json::{Value, json};
use std::{panic::AssertUnwindSafe, time::Duration};
use system::{Route, SystemError};
use tokio_util::sync::CancellationToken;

/// A call of an answer, parsed as far as it could be.
pub(crate) struct Candidate {
    request: ToolCallRequest,
    description: Description,
    arguments: Value,
    parsed: Result<Parsed, String>,
    /// What it is about, looked at while the answer was stored. Good for one decision, and only while nothing else has run since.
    looked: Option<Vec<Resolved>>,
    /// What hooks had to say, for the model.
    notes: Vec<String>,
    /// Whether another call makes it.
    inner: bool,
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

    /// A call that stands for several, where there are several arguments.
    fn several(tool: &dyn AnyTool, arguments: &[Value]) -> Result<Self, String> {
        let parse = |arguments: &Value| tool.parse(arguments.clone()).map_err(|error| error.to_string());
        let mut calls = arguments.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let call = match calls.len() {
            1 => calls.remove(0),
            _ => Box::new(Several(calls)),
        };
        Ok(Self { effect: tool.effect(), executor: tool.executor(), call })
    }
}

/// Parses the calls of an answer. The events announce them; they are recorded together with the answer. `offered`: the
/// tools that the model was told of. `cut_at`: the answer ended at this many tokens, which was its limit.
pub(crate) fn announce(
    session: &Session,
    response: &mut ModelResponse,
    offered: &[ToolSpec],
    cut_at: Option<u64>,
) -> (Vec<Candidate>, Vec<SessionEvent>) {
    let offered: Vec<&str> = offered.iter().map(|spec| spec.name.as_str()).collect();
    let known = Known { tools: &session.tools, offered: &offered };
    let count = response.calls().count();
    let limit = session.settings().limits.calls_per_response;
    let requests = response.items.iter_mut().filter_map(|item| match item {
        Item::Call(request) => Some(request),
        _ => None,
    });
    let candidates: Vec<_> = requests
        .enumerate()
        .map(|(index, request)| {
            let cut_at = cut_at.filter(|_| index + 1 == count);
            let mut candidate = Candidate::new(session, known, request, cut_at);
            if index >= limit {
                candidate.parsed = Err(format!(
                    "Too many tool calls in one answer ({limit} are allowed). Call this one again."
                ));
            }
            candidate
        })
        .collect();
    let events =
        candidates.iter().map(|candidate| SessionEvent::ToolCall(candidate.announcement())).collect();
    (candidates, events)
}

/// Stores the answer that made the calls, and looks meanwhile at what the first of them is about: nothing can change that before it runs but what
/// could change it afterwards as well. A look that takes longer is left for the decision.
pub(crate) async fn record_and_look(
    session: &Session,
    candidates: &mut [Candidate],
    events: Vec<SessionEvent>,
) -> Result<(), StoreError> {
    let Some((first, parsed)) =
        candidates.first().and_then(|first| Some((first, first.parsed.as_ref().ok()?)))
    else {
        return session.log.record(events).await;
    };
    let applicant = first.applicant(parsed);
    let mut looked = None;
    let stored = {
        let mut recording = std::pin::pin!(session.log.record(events));
        let looking = AssertUnwindSafe(session.gate.look(&applicant, &session.cwd)).catch_unwind();
        let mut looking = std::pin::pin!(looking);
        loop {
            tokio::select! {
                biased;
                stored = &mut recording => break stored,
                found = &mut looking, if looked.is_none() => looked = Some(found),
            }
        }
    };
    // A look that panicked does it again where that is reported.
    candidates[0].looked = looked.and_then(Result::ok);
    stored
}

/// Runs the calls. Every call gets a result, whatever happens, and it is recorded. Returns whether
/// the turn is to end: it was cancelled, or the user dismissed a question.
pub(crate) async fn run(
    session: &Session,
    controls: &Controls,
    candidates: Vec<Candidate>,
    cancel: &CancellationToken,
) -> Result<bool, StoreError> {
    let mut dismissed = false;
    let mut batch: Vec<(Candidate, Ruling)> = Vec::new();
    for mut candidate in candidates {
        session.room(cancel).await;
        let ruling = match dismissed || cancel.is_cancelled() {
            true => None,
            false => candidate.rule(session, controls, cancel).await,
        };
        let ruling = match ruling {
            Some(Err(error)) if !cancel.is_cancelled() => {
                candidate.parsed = Err(error.to_string());
                None
            }
            ruling => ruling.and_then(Result::ok),
        };
        let ruling = match ruling {
            Some(ruling) if ruling.denial().is_none() => {
                Some(candidate.ask_hooks(session, ruling, cancel).await)
            }
            ruling => ruling,
        };
        let parallel = matches!(&candidate.parsed, Ok(parsed) if parsed.effect == Effect::Reads);
        match ruling {
            Some(ruling) if parallel && ruling.allows() => batch.push((candidate, ruling)),
            ruling => {
                run_batch(session, controls, std::mem::take(&mut batch), cancel).await?;
                let (_, dismiss) = run_alone(session, controls, candidate, ruling, cancel).await?;
                dismissed |= dismiss;
            }
        }
    }
    run_batch(session, controls, batch, cancel).await?;
    Ok(dismissed || cancel.is_cancelled())
}

async fn run_batch(
    session: &Session,
    controls: &Controls,
    batch: Vec<(Candidate, Ruling)>,
    cancel: &CancellationToken,
) -> Result<(), StoreError> {
    if batch.is_empty() {
        return Ok(());
    }
    let started = batch.iter().flat_map(|(candidate, ruling)| {
        let started = SessionEvent::ToolCall(candidate.update(ToolStatus::InProgress));
        ruling.record(&candidate.request.id).into_iter().chain([started])
    });
    session.log.record(started.collect()).await?;
    let ended = futures::future::join_all(batch.into_iter().map(async |(mut candidate, ruling)| {
        let cx = session.tool_context(&candidate.request.id, cancel, false, &ruling);
        let outcome = candidate.execute(session, controls, cx, cancel).await?;
        let outcome = candidate.tell_hooks(session, outcome, cancel).await;
        let (_, events) = candidate.ended(outcome, Vec::new(), &session.settings().limits.tools);
        Ok(events)
    }))
    .await;
    let ended = ended.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    session.log.record(ended.into_iter().flatten().collect()).await
}

/// One call by itself, with all that may stand in its way. The flag says that the user wants the turn to end.
pub(crate) async fn run_alone(
    session: &Session,
    controls: &Controls,
    mut candidate: Candidate,
    ruling: Option<Ruling>,
    cancel: &CancellationToken,
) -> Result<(ToolResult, bool), StoreError> {
    let id = candidate.request.id.clone();
    let mut dismissed = false;
    // What was decided without a question is recorded with what comes of it: one wait for the disk less.
    let mut decided = Vec::new();
    let mut recorder = None;
    let (outcome, content) = 'outcome: {
        if let Err(reason) = &candidate.parsed {
            break 'outcome (Err(ToolError::message(reason.clone())), Vec::new());
        }
        let Some(ruling) = ruling else { break 'outcome (Err(ToolError::Cancelled(None)), Vec::new()) };
        decided.extend(ruling.record(&id));
        if let Some(reason) = ruling.denial() {
            let text = format!("{reason} Try a different approach.");
            break 'outcome (Err(ToolError::message(text)), Vec::new());
        }
        let asked = !ruling.allows();
        let mut cx = session.tool_context(&id, cancel, asked, &ruling);
        if matches!(&candidate.parsed, Ok(parsed) if parsed.effect == Effect::Writes) {
            let over = Recorder::new(cx.system.clone(), ruling.places());
            cx.system = over.clone();
            recorder = Some(over);
        }
        let content = match candidate.prepare(&cx, cancel).await {
            Ok(content) => content,
            Err(error) => break 'outcome (Err(error), Vec::new()),
        };
        if asked {
            let parsed = candidate.parsed.as_ref().expect("checked above");
            match session.gate.ask(&ruling, &candidate.applicant(parsed), content.clone(), cancel).await? {
                Answer::Allowed => {
                    // A question may stay open for long: what was approved must still be what would happen.
                    let now = match rule(session, controls, &candidate.applicant(parsed), None, cancel).await
                    {
                        Ok(now) => now,
                        Err(error) => break 'outcome (Err(error), content),
                    };
                    if let Some(reason) = now.denial() {
                        break 'outcome (Err(ToolError::message(reason)), content);
                    }
                    if !now.is_same_as(&ruling) {
                        let text = "What this call touches, or where it would run, changed while the user was asked; nothing was done. Call it again.";
                        break 'outcome (Err(ToolError::message(text)), content);
                    }
                }
                Answer::Refused(reason) => break 'outcome (Err(ToolError::message(reason)), content),
                Answer::Cancelled => {
                    dismissed = true;
                    break 'outcome (Err(ToolError::Cancelled(None)), content);
                }
            }
        }
        let mut started = candidate.update(ToolStatus::InProgress);
        if !content.is_empty() {
            started.locations = Some(titles::changed_lines(&candidate.description.locations, &content));
            started.content = Some(content.clone());
        }
        decided.push(SessionEvent::ToolCall(started));
        session.log.record(std::mem::take(&mut decided)).await?;
        let outcome = candidate.execute(session, controls, cx, cancel).await?;
        if let Err(ToolError::System(SystemError::NotConfined(_))) = outcome
            && ruling.is_confined()
            && let Some(Ok(ruling)) = candidate.rule(session, controls, cancel).await
            && !ruling.is_confined()
        {
            // Nothing has run. It is decided again, as a command that nothing confines.
            return Box::pin(run_alone(session, controls, candidate, Some(ruling), cancel)).await;
        }
        (candidate.tell_hooks(session, outcome, cancel).await, content)
    };
    // Whatever came of the call: what it did to files is recorded with its end.
    decided.extend(recorder.iter().flat_map(|recorder| recorder.events()));
    let (result, events) = candidate.ended(outcome, content, &session.settings().limits.tools);
    decided.extend(events);
    session.log.record(decided).await?;
    Ok((result, dismissed))
}

impl Candidate {
    /// The request becomes what was meant by it; what the model wrote stays in it beside that.
    fn new(session: &Session, known: Known<'_>, request: &mut ToolCallRequest, cut_at: Option<u64>) -> Self {
        if let Err(why) = call_tool::unwrap(request) {
            let arguments = request.arguments.clone().unwrap_or_default();
            return Self::of(session, request, arguments, Err(why));
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
                let mut candidate = Self::of(session, request, arguments, parsed);
                candidate.notes.extend(reading.note);
                candidate
            }
            Err(Refusal { tool, text }) => {
                let name = tool.unwrap_or_else(|| request.name.clone());
                Self::of(session, &ToolCallRequest { name, ..request.clone() }, came(), Err(text))
            }
        }
    }

    /// A call that another call makes.
    pub(crate) fn inner(session: &Session, request: &ToolCallRequest, tool: &dyn AnyTool) -> Self {
        let arguments = request.arguments.clone().unwrap_or_default();
        let parsed = Parsed::new(tool, &arguments);
        Self { inner: true, ..Self::of(session, request, arguments, parsed) }
    }

    fn of(
        session: &Session,
        request: &ToolCallRequest,
        arguments: Value,
        parsed: Result<Parsed, String>,
    ) -> Self {
        let description = match &parsed {
            Ok(parsed) => parsed.call.describe(&session.cwd),
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
            looked: None,
            notes: Vec::new(),
            inner: false,
        }
    }

    /// What tells of it before anything is done about it.
    pub(crate) fn announcement(&self) -> ToolCallUpdate {
        let mut update = self.update(ToolStatus::Pending);
        update.title = Some(self.description.title.clone());
        update.kind = Some(self.description.kind);
        update.locations = Some(self.description.locations.clone());
        update.raw_input = Some(self.arguments.clone());
        update
    }

    /// Adds something that the model is told with the result.
    pub(crate) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Why it cannot run at all, if it cannot.
    pub(crate) fn problem(&self) -> Option<String> {
        self.parsed.as_ref().err().cloned()
    }

    /// What the gate says of it; nothing, if it cannot run at all.
    pub(crate) async fn rule(
        &mut self,
        session: &Session,
        controls: &Controls,
        cancel: &CancellationToken,
    ) -> Option<Result<Ruling, ToolError>> {
        let looked = self.looked.take();
        let parsed = self.parsed.as_ref().ok()?;
        Some(rule(session, controls, &self.applicant(parsed), looked, cancel).await)
    }

    fn applicant<'a>(&'a self, parsed: &'a Parsed) -> Applicant<'a> {
        Applicant {
            id: &self.request.id,
            tool: &self.request.name,
            effect: parsed.effect,
            executor: parsed.executor,
            call: parsed.call.as_ref(),
            description: &self.description,
            arguments: &self.arguments,
        }
    }

    fn update(&self, status: ToolStatus) -> ToolCallUpdate {
        ToolCallUpdate::of(self.request.id.clone(), self.request.name.clone()).status(status)
    }

    async fn prepare(
        &mut self,
        cx: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<Vec<ToolContent>, ToolError> {
        let parsed = self.parsed.as_mut().expect("only parsed calls are prepared");
        guarded(parsed.call.prepare(cx), cancel, wait(parsed.effect)).await
    }

    /// Runs it, and what it calls in turn.
    async fn execute(
        &mut self,
        session: &Session,
        controls: &Controls,
        mut cx: ToolContext,
        cancel: &CancellationToken,
    ) -> Result<Result<ToolOutput, ToolError>, StoreError> {
        let parsed = self.parsed.as_mut().expect("only parsed calls are run");
        let wait = wait(parsed.effect);
        if self.inner {
            if policy::is_foreign(&self.request.name) {
                cx.limits = cx.limits.uncut();
            }
            return Ok(guarded(parsed.call.run(&cx), cancel, wait).await);
        }
        let (inner, wishes) = InnerCalls::channel();
        cx.inner = inner;
        let over = cancel.child_token();
        let mut serving = std::pin::pin!(nested::serve(session, controls, &self.request.id, wishes, &over));
        let mut running = std::pin::pin!(guarded(parsed.call.run(&cx), cancel, wait));
        let outcome = tokio::select! {
            biased;
            outcome = &mut running => outcome,
            served = &mut serving => {
                served?;
                // The turn was cancelled; the call is about to see it.
                return Ok(running.await);
            }
        };
        over.cancel();
        serving.await?;
        Ok(outcome)
    }

    /// Asks the hooks that run before calls; they can only deny, and add notes.
    pub(crate) async fn ask_hooks(
        &mut self,
        session: &Session,
        ruling: Ruling,
        cancel: &CancellationToken,
    ) -> Ruling {
        let about = || self.about();
        let tool = Some(self.request.name.as_str());
        let hooks = session.settings().hooks.clone();
        let said = hooks.run(HookEvent::BeforeTool, &session.cwd, tool, about, cancel).await;
        self.notes.extend(said.notes);
        match said.denial {
            None => ruling,
            Some(reason) => ruling.denied_by_hook(reason),
        }
    }

    /// Tells the hooks that run after calls what came of it.
    async fn tell_hooks(
        &mut self,
        session: &Session,
        outcome: Result<ToolOutput, ToolError>,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let mut output = outcome?;
        let about = || {
            let mut about = self.about();
            let text = cap(output.result.text.clone(), &session.settings().limits.tools);
            about["result"] = json!({ "text": text, "is_error": output.result.is_error });
            about
        };
        let tool = Some(self.request.name.as_str());
        let hooks = session.look_at_settings().await.hooks.clone();
        let said = hooks.run(HookEvent::AfterTool, &session.cwd, tool, about, cancel).await;
        output.result.is_error |= said.denial.is_some();
        self.notes.extend(said.notes.into_iter().chain(said.denial));
        Ok(output)
    }

    fn about(&self) -> Value {
        json!({ "tool": self.request.name, "call": self.request.id.to_string(), "arguments": self.arguments })
    }

    /// The result for the model, or for the call that made this one, and the events that end the call. Those keep within the limits: what a script
    /// gets may be longer than what people are shown and what is stored.
    fn ended(
        &self,
        outcome: Result<ToolOutput, ToolError>,
        content: Vec<ToolContent>,
        limits: &ToolLimits,
    ) -> (ToolResult, Vec<SessionEvent>) {
        let (status, mut result, shown, events) = match outcome {
            Ok(ToolOutput { result, shown, events }) => {
                let status = if result.is_error { ToolStatus::Failed } else { ToolStatus::Completed };
                (status, result, shown, events)
            }
            Err(ToolError::Cancelled(partial)) => {
                let text = match partial {
                    Some(partial) => format!("The call was cancelled. Until then:\n{partial}"),
                    None => "The call was cancelled.".to_owned(),
                };
                (ToolStatus::Cancelled, ToolResult::error(text), None, Vec::new())
            }
            Err(error) => {
                // What was going to be written stays in sight beside the reason why it was not.
                let text = error.to_string();
                let (mut shown, rest): (Vec<_>, Vec<_>) =
                    content.into_iter().partition(|content| matches!(content, ToolContent::Diff(_)));
                shown.push(ToolContent::Content(crate::Content::text(text.clone())));
                shown.extend(rest);
                (ToolStatus::Failed, ToolResult::error(text), Some(shown), Vec::new())
            }
        };
        for note in &self.notes {
            result.text.push_str("\n\n");
            result.text.push_str(note);
        }
        let mut recorded = result.clone();
        let mut shown = shown;
        if self.inner {
            recorded.text = cap(recorded.text, limits);
            shown.iter_mut().flatten().for_each(|content| keep_within(content, limits));
        }
        let text = || vec![ToolContent::Content(crate::Content::text(recorded.text.clone()))];
        let mut update = self.update(status).content(shown.unwrap_or_else(text));
        update.result = Some(recorded);
        (result, std::iter::once(SessionEvent::ToolCall(update)).chain(events).collect())
    }
}

/// What is shown of a call that another one made.
fn keep_within(content: &mut ToolContent, limits: &ToolLimits) {
    if let ToolContent::Content(crate::Content::Text(text)) = content {
        *text = cap(std::mem::take(text), limits);
    }
}

/// How long a step of a call may take.
fn wait(effect: Effect) -> Duration {
    match effect {
        Effect::Reads => FILES_WAIT,
        Effect::Writes => REVIEW_WAIT,
        Effect::Session | Effect::Executes => CALL_WAIT,
    }
}

/// What the gate says of a call; the looks at files that it takes have an end.
async fn rule(
    session: &Session,
    controls: &Controls,
    applicant: &Applicant<'_>,
    looked: Option<Vec<Resolved>>,
    cancel: &CancellationToken,
) -> Result<Ruling, ToolError> {
    // What holds at this moment decides, whoever changed it last.
    controls.heed_settings().await;
    let state = controls.state();
    let ruling = async {
        let accesses = match looked {
            Some(accesses) => accesses,
            None => session.gate.look(applicant, &session.cwd).await,
        };
        Ok(session.gate.rule(&state, applicant, accesses).await)
    };
    let ruling = guarded(ruling, cancel, LOOK_WAIT).await?;
    // What this machine gives is known now.
    if let Some(place) = ruling.place()
        && place != state.sandbox
    {
        controls.update(|state| state.sandbox = place);
        if let Some(why) = ruling.shortcoming() {
            let (severity, description) = (Severity::Warning, Some(why.to_owned()));
            let title = "Commands are not fully confined".to_owned();
            session.log.tell(SessionEvent::Notice { severity, title, description });
        }
    }
    Ok(ruling)
}

/// Runs a step of a tool so that neither a panic nor a tool that never ends or ignores the cancellation reaches the turn.
async fn guarded<T>(
    step: impl Future<Output = Result<T, ToolError>>,
    cancel: &CancellationToken,
    wait: Duration,
) -> Result<T, ToolError> {
    let abandoned = async {
        cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        result = AssertUnwindSafe(step).catch_unwind() => result.unwrap_or_else(|panic| {
            Err(ToolError::message(format!("Error during tool execution: {}", crate::text::panic::panic_text(panic.as_ref()))))
        }),
        () = abandoned => Err(ToolError::Cancelled(None)),
        () = tokio::time::sleep(wait) => {
            let seconds = wait.as_secs();
            Err(ToolError::message(format!("There was no answer within {seconds} s. It may have had an effect or not; check before you repeat it.")))
        }
    }
}
