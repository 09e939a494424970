//! `tiller -p PROMPT`: runs one prompt on the same runtime, without a user who could answer.

pub(crate) mod client;
pub(crate) mod given;
pub(crate) mod output;
mod progress;
pub(crate) mod prompt;

use crate::{
    answer::{Failure, Kind, failure_of},
    args::OutputFormat,
    exit::Exit,
    limits,
    opening::{Opening, OpeningError, SessionChoice},
    signals, streams,
};
use agent::{
    CommandOutcome, Content, Goal, GoalStatus, PromptOutcome, Runtime, SessionEvent, SessionHandle,
    StopReason, Surface,
};
use anyhow::{Context, Result};
use client::{HeadlessClient, SharedOutput, with};
use given::AnswerSchema;
use output::{Output, RunEnd, RunStart};
use progress::Progress;
use std::{
    sync::{Arc, Mutex},
    time::{Instant, SystemTime},
};
use system::{AbsPath, System};

/// The addition to the system prompt, so that the model can pass on how to get past a denial.
pub(crate) const NO_USER: &str = "Nobody watches this run, so nobody can answer a permission request: what would have to be asked is denied. When that keeps \
                                 you from finishing, say so, and that the user can allow it with the flag that the denial names: \
                                 --allow RULE, or --permission-mode prometheus (or --yolo).";

/// The options of a run.
pub(crate) struct Run {
    pub(crate) cwd: AbsPath,
    pub(crate) ask: Ask,
    pub(crate) session: Opening,
    pub(crate) output: RunOutput,
    /// The time limit in seconds, and the moment when it ends.
    pub(crate) timeout: Option<u64>,
    pub(crate) deadline: Option<Instant>,
}

/// What a run asks of which models.
pub(crate) struct Ask {
    pub(crate) prompt: String,
    /// Images that follow the prompt.
    pub(crate) images: Vec<Content>,
    /// What the last answer must look like.
    pub(crate) schema: Option<AnswerSchema>,
}

/// What a run prints.
pub(crate) struct RunOutput {
    pub(crate) format: OutputFormat,
    /// Whether pieces of answers are printed as they come.
    pub(crate) partial: bool,
    /// How the progress is shown on standard error: over itself, as lines, or not at all.
    pub(crate) progress: Option<ProgressKind>,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressKind {
    /// One line that is drawn over itself, on a terminal.
    Live,
    /// A line for each call.
    Lines,
}

/// Runs a prompt, prints the result to stdout and returns the exit code.
pub(crate) async fn run(runtime: &Arc<Runtime>, system: Arc<dyn System>, run: Run) -> Result<Exit> {
    let output = Output::new(run.output.format, Box::new(crate::screen::stdout()) as Box<_>, now)
        .with_partial(run.output.partial);
    let output: SharedOutput = Arc::new(Mutex::new(output));
    signals::end_in_order();
    if let Some(deadline) = run.deadline {
        streams::wait_until(deadline);
    }
    let mut client = HeadlessClient::new(Arc::clone(&output));
    let progress = run.output.progress.map(|kind| Arc::new(Progress::new(kind == ProgressKind::Live)));
    if let Some(progress) = &progress {
        client = client.with_progress(Arc::clone(progress));
    }
    let client = Arc::new(client);
    let begun = tokio::select! {
        begun = open_session(runtime, &run, Surface { client, system }) => begun.map(Ok),
        exit = asked_to_end(run.deadline) => Ok(Err(exit)),
    };
    let code = match begun {
        Ok(Ok(session)) => {
            with(&output, |output| output.opened(session.id().as_str(), &session.state().model));
            begin(runtime, &session, &run, &output).await;
            let turn = tokio::select! {
                turn = turn(&session, &run, &output) => turn,
                () = drawn(progress.as_deref()) => unreachable!("the line is drawn until the run ends"),
            };
            if let Some(progress) = &progress {
                progress.erase();
            }
            turn.with_context(|| format!("session {}", session.id()))
        }
        Ok(Err(exit)) => Ok(unfinished(&output, exit, "the turn had not started")),
        Err(error) => Err(error),
    };
    if tokio::time::timeout(limits::SETTLE, runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    code.or_else(|error| {
        let failure = failure_of(&error);
        let exit = failure.exit;
        with(&output, |output| output.failed(&failure));
        // The other formats have reported the error on stdout.
        if run.output.format == OutputFormat::Text { Err(error) } else { Ok(exit) }
    })
}

async fn open_session(runtime: &Arc<Runtime>, run: &Run, surface: Surface) -> Result<SessionHandle> {
    let stored = run.session.find(runtime, &run.cwd).await?;
    let opened = run.session.open(runtime, &run.cwd, stored, surface).await;
    opened.map_err(OpeningError::into_failure)
}

/// Prints the first line of stream-json.
async fn begin(runtime: &Runtime, session: &SessionHandle, run: &Run, output: &SharedOutput) {
    if run.output.format != OutputFormat::StreamJson {
        return;
    }
    let state = session.state();
    let mut tools = None;
    // A session that continues has its tools already; without them the first request brings them.
    if run.session.choice != SessionChoice::New {
        let mut found = |event: &SessionEvent| {
            if let SessionEvent::Prefix(prefix) = event
                && prefix.model == state.model
            {
                tools = Some(prefix.tools.iter().map(|tool| tool.name.to_string()).collect());
            }
        };
        if let Err(error) = runtime.replay(session.id(), &mut found).await {
            tracing::warn!("the tools of the session are not known: {error}");
        }
    }
    let start = RunStart {
        session: session.id().to_string(),
        model: state.model,
        mode: state.mode.id(),
        permission_mode: state.permission_mode.id(),
        cwd: session.cwd().to_string(),
        tools,
    };
    with(output, |output| output.begin(&start));
}

/// Draws the line about the progress, for as long as it is polled.
async fn drawn(progress: Option<&Progress>) {
    let Some(progress) = progress else { return std::future::pending().await };
    loop {
        progress.draw();
        tokio::time::sleep(limits::PROGRESS_INTERVAL).await;
    }
}

async fn turn(session: &SessionHandle, run: &Run, output: &SharedOutput) -> Result<Exit> {
    let mut prompt = vec![Content::text(run.ask.prompt.clone())];
    prompt.extend(run.ask.images.iter().cloned());
    let (mut outcome, mut ended_by) = match run_prompt(session, run, prompt).await? {
        PromptResult::Outcome(outcome, ended_by) => (outcome, ended_by),
        PromptResult::Unsettled(exit) => return Ok(unsettled(output, exit)),
    };
    let mut value = None;
    if let (Some(schema), None, StopReason::EndTurn) = (&run.ask.schema, ended_by, outcome.stop_reason) {
        let checked = with(output, |output| schema.parse(output.last_text()));
        let checked = match checked {
            Ok(value) => Ok(value),
            Err(why) => {
                let again = format!(
                    "Your last message could not be used: {why}. Send the corrected JSON value and nothing else."
                );
                match run_prompt(session, run, vec![Content::text(again)]).await? {
                    PromptResult::Unsettled(exit) => return Ok(unsettled(output, exit)),
                    PromptResult::Outcome(second, by) => {
                        (outcome.stop_reason, ended_by) = (second.stop_reason, by);
                        outcome.usage += second.usage;
                        outcome.requests += second.requests;
                        with(output, |output| schema.parse(output.last_text()))
                    }
                }
            }
        };
        match checked {
            Ok(checked) => value = Some(checked),
            Err(why) if ended_by.is_none() => return Err(AnswerSchema::failure(&why).into()),
            Err(_) => {}
        }
    }
    let goal = with(output, |output| output.goal().cloned());
    let is_refused = matches!(outcome.command, Some(CommandOutcome::Refused | CommandOutcome::Unknown));
    let all_denied = with(output, |output| output.all_denied());
    let exit = match (ended_by, outcome.stop_reason) {
        (Some(exit), _) => exit,
        (None, StopReason::EndTurn) if is_refused || all_denied => Exit::Error,
        (None, StopReason::EndTurn) => goal.as_ref().map_or(Exit::Ok, |goal| goal_exit(goal.status)),
        (None, StopReason::MaxTokens | StopReason::MaxTurnRequests) => Exit::Limit,
        (None, StopReason::Refusal | StopReason::Cancelled | StopReason::Suspended) => Exit::Error,
    };
    with(output, |output| {
        let of_goal = goal.filter(|_| outcome.stop_reason == StopReason::EndTurn && exit != Exit::Ok);
        let message = match of_goal {
            Some(goal) => Some(goal_reason(&goal)),
            None => reason(exit, outcome.stop_reason, run),
        };
        if let Some(message) = message {
            crate::screen::note(&format!("tiller: {message}"));
            output.error(&message);
        } else if is_refused {
            // The answer says why.
            let why = output.last_text().trim_end().to_owned();
            output.error(&why);
        } else if all_denied && exit == Exit::Error {
            let why = "each tool call was denied";
            crate::screen::note(&format!("tiller: {why}"));
            output.error(why);
        }
        output.end(&RunEnd {
            stop_reason: outcome.stop_reason,
            usage: outcome.usage,
            requests: outcome.requests,
            exit,
            command: outcome.command,
            output: value,
        });
    });
    Ok(exit)
}

/// Returns the exit code of a turn that ended while the session had a goal.
fn goal_exit(status: GoalStatus) -> Exit {
    match status {
        GoalStatus::Complete => Exit::Ok,
        GoalStatus::BudgetLimited => Exit::Limit,
        GoalStatus::Active | GoalStatus::Paused | GoalStatus::Interrupted | GoalStatus::Blocked => {
            Exit::Error
        }
    }
}

fn goal_reason(goal: &Goal) -> String {
    let why = goal.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("the goal is {}, not complete{why}", goal.status.id().replace('_', " "))
}

/// The result of a prompt.
enum PromptResult {
    /// The turn's outcome, and the reason for its cancellation, if it was cancelled.
    Outcome(PromptOutcome, Option<Exit>),
    /// The turn was cancelled and did not settle in time.
    Unsettled(Exit),
}

fn unsettled(output: &SharedOutput, exit: Exit) -> Exit {
    let waited = format!("the cancelled turn did not settle in {} s", limits::SETTLE.as_secs());
    unfinished(output, exit, &waited)
}

/// Runs the prompt to its end. A signal, the time limit or a failed stdout cancels it, and it gets
/// time to settle.
async fn run_prompt(session: &SessionHandle, run: &Run, prompt: Vec<Content>) -> Result<PromptResult> {
    let prompt = session.prompt(prompt);
    tokio::pin!(prompt);
    let ended_by = tokio::select! {
        outcome = &mut prompt => return Ok(PromptResult::Outcome(outcome?, None)),
        exit = asked_to_end(run.deadline) => exit,
    };
    session.cancel();
    if signals::received().is_some() {
        crate::screen::note("tiller: the turn is being cancelled; a second signal ends the process at once");
    }
    match tokio::time::timeout(limits::SETTLE, prompt).await {
        Ok(outcome) => Ok(PromptResult::Outcome(outcome?, Some(ended_by))),
        Err(_elapsed) => Ok(PromptResult::Unsettled(ended_by)),
    }
}

/// Waits for a signal, the deadline, or a failure of standard output.
async fn asked_to_end(deadline: Option<Instant>) -> Exit {
    let time = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        exit = signals::next() => exit,
        why = streams::stdout_failed() => Exit::from(&why),
        () = time => {
            streams::limit_last_writes();
            Exit::Limit
        }
    }
}

/// Reports a run without a result.
fn unfinished(output: &SharedOutput, exit: Exit, why: &str) -> Exit {
    crate::screen::note(&format!("tiller: {why}"));
    let kind = if exit == Exit::Limit { Kind::Limit } else { Kind::Internal };
    let failure = Failure { exit, ..Failure::new(kind, why) };
    with(output, |output| output.failed(&failure));
    exit
}

fn reason(exit: Exit, stop: StopReason, run: &Run) -> Option<String> {
    match (exit, stop) {
        (Exit::Interrupted, _) => Some("interrupted".to_owned()),
        (Exit::Terminated, _) => Some("terminated".to_owned()),
        (Exit::HungUp, _) => Some("ended by SIGHUP".to_owned()),
        (Exit::Quit, _) => Some("ended by SIGQUIT".to_owned()),
        // A write error is reported at the end of the process; a closed stdout has no reader.
        (Exit::Output | Exit::Closed, _) => None,
        (_, StopReason::Cancelled) => {
            Some(format!("stopped after {} s (--timeout)", run.timeout.unwrap_or_default()))
        }
        (_, StopReason::MaxTurnRequests) => {
            Some("stopped at the limit of model requests (--max-turns, limits.turn_requests)".to_owned())
        }
        (_, StopReason::MaxTokens) => Some("the model's answer reached its size limit".to_owned()),
        (_, StopReason::Refusal) => Some("the model refused".to_owned()),
        (_, StopReason::Suspended) => Some("another process goes on with the turn".to_owned()),
        (_, StopReason::EndTurn) => None,
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
