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
    limits, sessions, signals, streams,
};
use agent::{
    Content, CreateSession, Goal, GoalStatus, ListQuery, ModelError, OpenSession, PromptOutcome, Runtime,
    SessionError, SessionEvent, SessionHandle, SessionId, StopReason, StoreError, Surface, TurnError,
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

/// The error of a run without a model. The pilot runs a prompt only if it was chosen explicitly: it
/// understands few prompts, and would report success without doing anything.
const NO_MODEL: &str = "no model is set up, so no request was sent. Run `tiller setup`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a model \
                        server on this machine (Ollama, llama.cpp, LM Studio, vLLM). `tiller models` lists what can be chosen, and \
                        `-m offline/pilot` uses the built-in pilot, which is not a language model.";

/// The options of a run.
pub(crate) struct Run {
    pub(crate) cwd: AbsPath,
    pub(crate) ask: Ask,
    pub(crate) session: RunSession,
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
    /// The models to use when the first fails, in order.
    pub(crate) other_models: Vec<String>,
}

/// The session of a run, and what flags change of it.
pub(crate) struct RunSession {
    pub(crate) choice: SessionChoice,
    /// Whether to take a continued session over from another process that holds its lease.
    pub(crate) take_over: bool,
    /// Whether to continue in a copy of the session.
    pub(crate) fork: bool,
    /// Further directories of the session.
    pub(crate) directories: Vec<AbsPath>,
    /// The model, mode and permission mode from flags; they apply to a continued session too.
    pub(crate) overrides: Overrides,
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

/// The session of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    /// A new one.
    New,
    /// The most recent one of the directory.
    Last,
    /// The one with this id.
    This(SessionId),
}

/// The flags that change a continued session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<agent::Mode>,
    pub(crate) permission_mode: Option<agent::PermissionMode>,
    pub(crate) effort: Option<agent::Effort>,
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
    let id = match &run.session.choice {
        SessionChoice::New => {
            if run.session.overrides.model.is_none() && runtime.is_unconfigured(&run.cwd).await {
                return Err(no_model());
            }
            let new = CreateSession {
                cwd: run.cwd.clone(),
                additional_directories: run.session.directories.clone(),
                servers: Vec::new(),
            };
            let session = runtime.create(new, |_| surface).await?;
            if let Some(effort) = run.session.overrides.effort {
                session.set_effort(Some(effort)).await?;
            }
            return Ok(session);
        }
        SessionChoice::This(id) => sessions::resolve_session_id(runtime, id.as_str(), &run.cwd).await?,
        SessionChoice::Last => {
            let query = ListQuery { cwd: Some(run.cwd.clone()), limit: 1, ..ListQuery::default() };
            let page = runtime.list(query).await?;
            let last = page.sessions.into_iter().next();
            let Some(last) = last else {
                let what = format!("no session to continue in {}", run.cwd);
                return Err(Failure::new(Kind::NotFound, what).next("tiller sessions list").into());
            };
            last.id
        }
    };
    let opened = match run.session.fork {
        true => {
            let record = sessions::record(runtime, &id).await?;
            let new = CreateSession {
                cwd: record.cwd,
                additional_directories: run.session.directories.clone(),
                servers: Vec::new(),
            };
            runtime.fork(&id, new, |_| surface).await
        }
        false => {
            let more = (!run.session.directories.is_empty()).then(|| run.session.directories.clone());
            let how = OpenSession {
                take_over: run.session.take_over,
                additional_directories: more,
                ..OpenSession::default()
            };
            runtime.open(&id, how, |_| surface).await
        }
    };
    let session = match opened {
        Ok(session) => session,
        Err(SessionError::Store(StoreError::NotFound(_))) => {
            return Err(sessions::not_found(runtime, &id).await);
        }
        Err(SessionError::Store(error @ StoreError::Held { .. })) => {
            let what = format!("{error} with --take-over");
            return Err(Failure::new(Kind::Busy, what).hint("--fork continues in a copy instead").into());
        }
        Err(error) => return Err(error.into()),
    };
    let Overrides { model, mode, permission_mode, effort } = &run.session.overrides;
    if model.is_none()
        && session.state().model == providers::pilot::ID
        && runtime.is_unconfigured(&run.cwd).await
    {
        return Err(no_model());
    }
    if let Some(model) = model {
        session.set_model(model).await?;
    }
    if let Some(mode) = mode {
        session.set_mode(*mode).await?;
    }
    if let Some(mode) = permission_mode {
        session.set_permission_mode(*mode).await?;
    }
    if let Some(effort) = effort {
        session.set_effort(Some(*effort)).await?;
    }
    Ok(session)
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
    let started = Instant::now();
    let mut prompt = vec![Content::text(run.ask.prompt.clone())];
    prompt.extend(run.ask.images.iter().cloned());
    let (mut outcome, mut ended_by) = match with_fail_over(session, run, prompt).await? {
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
    let exit = match (ended_by, outcome.stop_reason) {
        (Some(exit), _) => exit,
        (None, StopReason::EndTurn) => goal.as_ref().map_or(Exit::Ok, |goal| goal_exit(goal.status)),
        (None, StopReason::MaxTokens | StopReason::MaxTurnRequests) => Exit::Limit,
        (None, StopReason::Refusal | StopReason::Cancelled) => Exit::Error,
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
        }
        output.end(&RunEnd {
            session: session.id().0.clone(),
            stop_reason: outcome.stop_reason,
            usage: outcome.usage,
            requests: outcome.requests,
            duration: started.elapsed(),
            model: session.state().model,
            exit,
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

/// Returns the failure of a run without a model.
fn no_model() -> anyhow::Error {
    Failure::new(Kind::Config, NO_MODEL).next("tiller setup").next("tiller models").into()
}

/// Runs the prompt with the session's model; when its provider fails, with the next of the list.
async fn with_fail_over(session: &SessionHandle, run: &Run, prompt: Vec<Content>) -> Result<PromptResult> {
    let mut others = run.ask.other_models.iter();
    loop {
        let error = match run_prompt(session, run, prompt.clone()).await {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        let provider_failed = matches!(
            error.downcast_ref(),
            Some(TurnError::Model(
                ModelError::NotConfigured(_)
                    | ModelError::Auth(_)
                    | ModelError::Overloaded(_)
                    | ModelError::Transport(_)
                    | ModelError::BadResponse(_)
            ))
        );
        let Some(next) = others.next().filter(|_| provider_failed) else { return Err(error) };
        crate::screen::note(&format!("tiller: {}: {error:#}; trying {next}", session.state().model));
        session.set_model(next).await?;
    }
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
        (_, StopReason::EndTurn) => None,
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
