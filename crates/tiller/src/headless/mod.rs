//! `tiller -p PROMPT`: runs one prompt on the same runtime, without a user who could answer.

pub(crate) mod client;
pub(crate) mod output;
pub(crate) mod prompt;

use crate::{args::OutputFormat, exit::Exit, limits, sessions, signals, streams};
use agent::{
    Content, CreateSession, Goal, GoalStatus, ListQuery, OpenSession, PromptOutcome, Runtime, SessionError,
    SessionHandle, SessionId, StopReason, StoreError, Surface,
};
use anyhow::{Context, Result, anyhow};
use client::{HeadlessClient, SharedOutput, with};
use output::{Output, RunEnd};
use std::{
    sync::{Arc, Mutex},
    time::{Instant, SystemTime},
};
use system::{AbsPath, System};

/// The addition to the system prompt, so that the model can pass on how to get past a denial.
pub(crate) const NO_USER: &str = "Nobody watches this run, so nobody can answer a permission request: what would have to be asked is denied. When that keeps \
                                 you from finishing, say so, and that the user can allow it with --permission-mode prometheus (or --yolo), or \
                                 with the setting tools.default_permission_mode.";

/// The error of a run without a model. The pilot runs a prompt only if it was chosen explicitly: it
/// understands few prompts, and would report success without doing anything.
const NO_MODEL: &str = "no model is set up, so no request was sent. Run `tiller setup`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a model \
                        server on this machine (Ollama, llama.cpp, LM Studio, vLLM). `tiller models` lists what can be chosen, and \
                        `-m offline/pilot` uses the built-in pilot, which is not a language model.";

/// The options of a run.
pub(crate) struct Run {
    pub(crate) cwd: AbsPath,
    pub(crate) prompt: String,
    pub(crate) format: OutputFormat,
    /// The time limit in seconds, and the moment when it ends.
    pub(crate) timeout: Option<u64>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) session: SessionChoice,
    /// Whether to take a continued session over from another process that holds its lease.
    pub(crate) take_over: bool,
    /// The model, mode and permission mode from flags; they apply to a continued session too.
    pub(crate) overrides: Overrides,
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
}

/// Runs a prompt, prints the result to stdout and returns the exit code.
pub(crate) async fn run(runtime: &Arc<Runtime>, system: Arc<dyn System>, run: Run) -> Result<Exit> {
    let output = Output::new(run.format, Box::new(crate::screen::stdout()) as Box<_>, now);
    let output: SharedOutput = Arc::new(Mutex::new(output));
    signals::end_in_order();
    if let Some(deadline) = run.deadline {
        streams::wait_until(deadline);
    }
    let client = Arc::new(HeadlessClient::new(Arc::clone(&output)));
    let begun = tokio::select! {
        begun = open_session(runtime, &run, Surface { client, system }) => begun.map(Ok),
        exit = asked_to_end(run.deadline) => Ok(Err(exit)),
    };
    let code = match begun {
        Ok(Ok(session)) => {
            let turn = turn(&session, &run, &output).await;
            turn.with_context(|| format!("session {}", session.id()))
        }
        Ok(Err(exit)) => Ok(unfinished(&output, exit, "the turn had not started")),
        Err(error) => Err(error),
    };
    if tokio::time::timeout(limits::SETTLE, runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    code.or_else(|error| {
        let exit = crate::failure::exit_of(&error);
        with(&output, |output| output.failed(&format!("{error:#}"), exit));
        // The other formats have reported the error on stdout.
        if run.format == OutputFormat::Text { Err(error) } else { Ok(exit) }
    })
}

async fn open_session(runtime: &Arc<Runtime>, run: &Run, surface: Surface) -> Result<SessionHandle> {
    let id = match &run.session {
        SessionChoice::New => {
            if run.overrides.model.is_none() && runtime.is_unconfigured(&run.cwd).await {
                return Err(anyhow!(NO_MODEL));
            }
            let new = CreateSession {
                cwd: run.cwd.clone(),
                additional_directories: Vec::new(),
                servers: Vec::new(),
            };
            return Ok(runtime.create(new, |_| surface).await?);
        }
        SessionChoice::This(id) => sessions::resolve_session_id(runtime, id.as_str(), &run.cwd).await?,
        SessionChoice::Last => {
            let query = ListQuery { cwd: Some(run.cwd.clone()), limit: 1, ..ListQuery::default() };
            let page = runtime.list(query).await?;
            let last = page.sessions.into_iter().next();
            last.with_context(|| format!("no session to continue in {}", run.cwd))?.id
        }
    };
    let how = OpenSession { take_over: run.take_over, ..OpenSession::default() };
    let session = runtime.open(&id, how, |_| surface).await.map_err(|error| match error {
        SessionError::Store(StoreError::Held { .. }) => anyhow!("{error} with --take-over"),
        error => error.into(),
    })?;
    let Overrides { model, mode, permission_mode } = &run.overrides;
    if model.is_none()
        && session.state().model == providers::pilot::ID
        && runtime.is_unconfigured(&run.cwd).await
    {
        return Err(anyhow!(NO_MODEL));
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
    Ok(session)
}

async fn turn(session: &SessionHandle, run: &Run, output: &SharedOutput) -> Result<Exit> {
    let started = Instant::now();
    let (outcome, ended_by) = match run_prompt(session, run).await? {
        PromptResult::Outcome(outcome, ended_by) => (outcome, ended_by),
        PromptResult::Unsettled(exit) => {
            let waited = format!("the cancelled turn did not settle in {} s", limits::SETTLE.as_secs());
            return Ok(unfinished(output, exit, &waited));
        }
    };
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
            tracing::warn!("{message}");
            output.error(&message);
        }
        output.end(&RunEnd {
            session: session.id().0.clone(),
            stop_reason: outcome.stop_reason,
            usage: outcome.usage,
            requests: outcome.requests,
            duration: started.elapsed(),
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

/// Runs the prompt to its end. A signal, the time limit or a failed stdout cancels it, and it gets
/// time to settle.
async fn run_prompt(session: &SessionHandle, run: &Run) -> Result<PromptResult> {
    let prompt = session.prompt(vec![Content::text(run.prompt.clone())]);
    tokio::pin!(prompt);
    let ended_by = tokio::select! {
        outcome = &mut prompt => return Ok(PromptResult::Outcome(outcome?, None)),
        exit = asked_to_end(run.deadline) => exit,
    };
    session.cancel();
    if signals::received().is_some() {
        tracing::warn!("the turn is being cancelled; a second signal ends the process at once");
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
    tracing::warn!("{why}");
    with(output, |output| output.failed(why, exit));
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
