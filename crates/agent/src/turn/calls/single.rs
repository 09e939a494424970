//! The path of a single call: permission ruling, hooks, approval, execution, recording.

use super::{Calls, Candidate, span};
use crate::{
    Effect, HookEvent, NestedCalls, SessionEvent, Severity, StoreError, ToolContent, ToolContext, ToolError,
    ToolOutput, ToolResult, ToolStatus,
    checkpoint::Recorder,
    gate::{Answer, Ruling, SubmittedCall},
    input::images::check_result,
    limits::{CALL_WAIT, CANCEL_GRACE, FILES_WAIT, LOOK_WAIT, REVIEW_WAIT, SUBAGENT_END_WAIT},
    policy::{self, Resolved},
    text::panic::panic_text,
    tool::titles,
    tools::cap,
};
use futures::FutureExt as _;
use serde_json::json;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use system::SystemError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

impl Calls<'_> {
    /// Runs a single call through all checks. The flag is true if the user wants the turn to end.
    pub(super) async fn run_alone(
        &self,
        mut candidate: Candidate,
        ruling: Option<Ruling>,
        cancel: &CancellationToken,
    ) -> Result<(ToolResult, bool), StoreError> {
        let id = candidate.id().clone();
        let mut dismissed = false;
        // Decisions made without a prompt are recorded together with the result, which saves a
        // flush.
        let mut decided = Vec::new();
        let mut recorder = None;
        let (outcome, content) = 'outcome: {
            if let Some(reason) = candidate.problem() {
                break 'outcome (Err(ToolError::message(reason)), Vec::new());
            }
            let Some(ruling) = ruling else { break 'outcome (Err(ToolError::Cancelled(None)), Vec::new()) };
            decided.extend(ruling.record(&id));
            if let Some(reason) = ruling.denial() {
                let text = format!("{reason} Try a different approach.");
                break 'outcome (Err(ToolError::message(text)), Vec::new());
            }
            let asked = !ruling.allows();
            let mut cx = self.session.tool_context(&id, cancel, asked, &ruling);
            if candidate.effect() == Some(Effect::Writes) {
                let over = Recorder::new(cx.system.clone(), ruling.places());
                cx.system = over.clone();
                recorder = Some(over);
            }
            let content = match prepare(&mut candidate, &cx, cancel).await {
                Ok(content) => content,
                Err(error) => break 'outcome (Err(error), Vec::new()),
            };
            if asked {
                let submitted = candidate.submitted().expect("checked above");
                match self.session.gate().ask(&ruling, &submitted, content.clone(), cancel).await? {
                    Answer::Allowed => {
                        // The prompt may have been open for long: what was approved must still be
                        // what would happen.
                        let now = match self.fresh_ruling(&submitted, None, cancel).await {
                            Ok(now) => now,
                            Err(error) => break 'outcome (Err(error), content),
                        };
                        if let Some(reason) = now.denial() {
                            break 'outcome (Err(ToolError::message(reason)), content);
                        }
                        if !now.is_same_as(&ruling) {
                            let text = "The files of this call, or where it would run, changed while the user's approval was pending; nothing was done. Repeat the call.";
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
            started.display.place = ruling.command_place();
            if !content.is_empty() {
                started.display.locations = Some(titles::changed_lines(candidate.locations(), &content));
                started.display.content = Some(content.clone());
            }
            decided.push(SessionEvent::ToolCall(started));
            self.session.record(std::mem::take(&mut decided)).await?;
            let network = self.session.gate().network();
            let connecting = network.zip(ruling.connecting_command());
            let connecting =
                connecting.map(|(network, line)| network.begin(&id, candidate.name(), line, cancel));
            let mut outcome = self.execute(&mut candidate, cx, cancel).await?;
            drop(connecting);
            let moved = matches!(outcome, Err(ToolError::System(SystemError::OtherExecutor)));
            let unconfined = ruling.is_confined()
                && matches!(outcome, Err(ToolError::System(SystemError::NotConfined(_))));
            if (moved || unconfined)
                && let Some(Ok(now)) = self.rule_on(&mut candidate, cancel).await
                && (moved || !now.is_confined())
            {
                // Nothing has run yet. The call is ruled on again: for the executor that runs it,
                // or as an unconfined command.
                let ruling = now;
                return Box::pin(self.run_alone(candidate, Some(ruling), cancel)).await;
            }
            decided.extend(network.iter().flat_map(|network| network.used_by_servers()));
            if policy::runs_commands(candidate.name()) {
                if let Some(network) = network {
                    decided.extend(network.settle(&id, outcome.as_mut().ok()));
                }
                if let (Ok(output), Some(submitted)) = (&mut outcome, candidate.submitted()) {
                    let state = self.controls.state();
                    self.session.gate().settle_changes(&state, &submitted, output, cancel).await?;
                }
            }
            (self.run_result_hooks(&mut candidate, outcome, cancel).await, content)
        };
        // Changes to files are recorded with the end of the call, whatever its outcome.
        if let Some(recorder) = recorder {
            decided.extend(self.session.keep_changes(recorder.changes()).await?);
        }
        let (result, events) = candidate.ended(outcome, content, &self.session.settings().limits.tools);
        decided.extend(events);
        self.session.record(decided).await?;
        Ok((result, dismissed))
    }

    /// Returns the gate's ruling on a call; `None` if the call cannot run at all.
    pub(super) async fn rule_on(
        &self,
        candidate: &mut Candidate,
        cancel: &CancellationToken,
    ) -> Option<Result<Ruling, ToolError>> {
        let respelling = candidate.respell(self.session.gate().system().as_ref(), self.session.cwd());
        // A path that cannot be looked up in time stays as it is.
        let _ = tokio::time::timeout(LOOK_WAIT, respelling).await;
        let resolved = candidate.take_accesses();
        Some(self.fresh_ruling(&candidate.submitted()?, resolved, cancel).await)
    }

    /// Returns the gate's ruling on a call under the settings in force now. The file lookups that
    /// it needs have a timeout.
    async fn fresh_ruling(
        &self,
        submitted: &SubmittedCall<'_>,
        resolved: Option<Vec<Resolved>>,
        cancel: &CancellationToken,
    ) -> Result<Ruling, ToolError> {
        // The settings in force now decide, whichever client or file changed them last.
        self.controls.follow_settings().await;
        let state = self.controls.state();
        let ruling = async {
            let accesses = match resolved {
                Some(accesses) => accesses,
                None => self.session.gate().resolve_accesses(submitted, self.session.cwd()).await,
            };
            Ok(self.session.gate().decide(&state, submitted, accesses).await)
        };
        let ruling = guarded(ruling, cancel, Patience { wait: LOOK_WAIT, grace: CANCEL_GRACE }).await?;
        // The sandbox available on this machine is now known.
        if let Some(place) = ruling.place()
            && place != state.sandbox
        {
            self.controls.commands_run(place);
            if let Some(why) = ruling.shortcoming() {
                let (severity, description) = (Severity::Warning, Some(why.to_owned()));
                let title = "Commands are not fully confined".to_owned();
                self.session.notify(SessionEvent::Notice { severity, title, description });
            }
        }
        Ok(ruling)
    }

    /// Runs a call and serves its nested calls, in a span of its own.
    pub(super) async fn execute(
        &self,
        candidate: &mut Candidate,
        cx: ToolContext,
        cancel: &CancellationToken,
    ) -> Result<Result<ToolOutput, ToolError>, StoreError> {
        let span = span::begin(self.session.id(), candidate.name(), candidate.id(), || candidate.about());
        let outcome = self.execute_in_span(candidate, cx, cancel).instrument(span.clone()).await?;
        span::end(&span, &outcome);
        Ok(outcome)
    }

    async fn execute_in_span(
        &self,
        candidate: &mut Candidate,
        mut cx: ToolContext,
        cancel: &CancellationToken,
    ) -> Result<Result<ToolOutput, ToolError>, StoreError> {
        let _timer = CallTimer { tool: candidate.name().to_owned(), begun: Instant::now() };
        let (id, is_nested) = (candidate.id().clone(), candidate.is_nested());
        let is_foreign = policy::is_foreign(candidate.name());
        let (call, effect) = candidate.call();
        let system = Arc::clone(&cx.system);
        let veiled = |outcome: Result<ToolOutput, ToolError>| {
            outcome.map(|mut output| {
                output.result.text = system.veiled(output.result.text);
                output
            })
        };
        if effect != Effect::Reads {
            // Recording the start of the call has proved the lease, but that may be long ago.
            self.session.log().confirm_lease()?;
        }
        if is_nested {
            if is_foreign {
                cx.limits = cx.limits.uncut();
            }
            return Ok(veiled(guarded(call.run(&cx), cancel, Patience::of(effect)).await));
        }
        let (inner, requests) = NestedCalls::channel();
        cx.nested_calls = inner;
        let over = cancel.child_token();
        let mut serving = std::pin::pin!(self.serve(&id, requests, &over));
        let mut running = std::pin::pin!(guarded(call.run(&cx), cancel, Patience::of(effect)));
        let outcome = tokio::select! {
            biased;
            outcome = &mut running => outcome,
            served = &mut serving => {
                served?;
                // The turn was cancelled; the call is about to notice.
                return Ok(veiled(running.await));
            }
        };
        over.cancel();
        serving.await?;
        Ok(veiled(outcome))
    }

    /// Runs the BeforeTool hooks, which can only deny the call and add notes.
    pub(super) async fn ask_hooks(
        &self,
        candidate: &mut Candidate,
        ruling: Ruling,
        cancel: &CancellationToken,
    ) -> Ruling {
        let about = || candidate.about();
        let tool = Some(candidate.name());
        let hooks = self.session.settings().hooks.clone();
        let said = hooks.run(HookEvent::BeforeTool, &self.session.programs(), tool, about, cancel).await;
        candidate.add_notes(said.notes);
        match said.denial {
            None => ruling,
            Some(reason) => ruling.denied_by_hook(reason),
        }
    }

    /// Runs the AfterTool hooks with the result of the call.
    pub(super) async fn run_result_hooks(
        &self,
        candidate: &mut Candidate,
        outcome: Result<ToolOutput, ToolError>,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let mut output = outcome?;
        check_result(&mut output);
        let about = || {
            let mut about = candidate.about();
            let text = cap(output.result.text.clone(), &self.session.settings().limits.tools);
            about["result"] = json!({ "text": text, "is_error": output.result.is_error });
            about
        };
        let tool = Some(candidate.name());
        let hooks = self.session.reload_settings().await.hooks.clone();
        let said = hooks.run(HookEvent::AfterTool, &self.session.programs(), tool, about, cancel).await;
        output.result.is_error |= said.denial.is_some();
        candidate.add_notes(said.notes.into_iter().chain(said.denial));
        Ok(output)
    }
}

/// Measures how long a call runs, however it ends.
struct CallTimer {
    tool: String,
    begun: Instant,
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        let tool = std::mem::take(&mut self.tool);
        metrics::histogram!("tiller_tool_seconds", "tool" => tool).record(self.begun.elapsed());
    }
}

/// Runs the step of a call that precedes the approval prompt.
async fn prepare(
    candidate: &mut Candidate,
    cx: &ToolContext,
    cancel: &CancellationToken,
) -> Result<Vec<ToolContent>, ToolError> {
    let (call, effect) = candidate.call();
    guarded(call.prepare(cx), cancel, Patience::of(effect)).await
}

/// How long one step of a call may take.
struct Patience {
    /// Its timeout.
    wait: Duration,
    /// How long it may go on once it is cancelled.
    grace: Duration,
}

impl Patience {
    fn of(effect: Effect) -> Self {
        let wait = match effect {
            Effect::Reads => FILES_WAIT,
            Effect::Writes => REVIEW_WAIT,
            Effect::Session | Effect::Delegates | Effect::Executes => CALL_WAIT,
        };
        let grace = match effect {
            // The turn ends only after its subagents, and the call has their results.
            Effect::Delegates => SUBAGENT_END_WAIT + CANCEL_GRACE,
            _ => CANCEL_GRACE,
        };
        Self { wait, grace }
    }
}

/// Runs one step of a tool and shields the turn from a panic, from a tool that never ends, and from
/// one that ignores cancellation.
async fn guarded<T>(
    step: impl Future<Output = Result<T, ToolError>>,
    cancel: &CancellationToken,
    Patience { wait, grace }: Patience,
) -> Result<T, ToolError> {
    let abandoned = async {
        cancel.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        result = AssertUnwindSafe(step).catch_unwind() => result.unwrap_or_else(|panic| {
            Err(ToolError::message(format!("Error during tool execution: {}", panic_text(panic.as_ref()))))
        }),
        () = abandoned => Err(ToolError::Cancelled(None)),
        () = tokio::time::sleep(wait) => {
            let seconds = wait.as_secs();
            Err(ToolError::message(format!("There was no answer within {seconds} s. It may have had an effect or not; check before you repeat it.")))
        }
    }
}
