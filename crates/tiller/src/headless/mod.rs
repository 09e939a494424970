//! `tiller -p PROMPT`: one prompt over the same runtime, with nobody to ask.

pub(crate) mod client;
pub(crate) mod output;

use crate::{args::OutputFormat, exit, limits, signals::Signals};
use agent::{
    Content, CreateSession, ListQuery, OpenSession, PromptOutcome, Runtime, SessionError, SessionHandle,
    SessionId, StopReason, StoreError, Surface, TurnError,
};
use anyhow::{Context, Result, anyhow, bail};
use client::{HeadlessClient, SharedOutput, with};
use output::{Ending, Output};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};
use system::{AbsPath, System};

/// What the model is told about being alone, so that it can pass on the way out of a denial.
pub(crate) const NOBODY: &str = "Nobody watches this run, so nobody can answer a permission request: what would have to be asked is denied. When that keeps \
                                 you from finishing, say so, and that the user can allow it with --permission-mode prometheus (or --yolo), or \
                                 with the setting tools.default_permission_mode.";

/// A run.
pub(crate) struct Run {
    pub(crate) cwd: AbsPath,
    pub(crate) prompt: String,
    pub(crate) format: OutputFormat,
    pub(crate) timeout: Option<Duration>,
    pub(crate) session: Begin,
    /// Whether to take a session that goes on from another process that holds it.
    pub(crate) take_over: bool,
    /// The model, mode and permission mode that flags gave: they hold for a session that goes on, too.
    pub(crate) overrides: Overrides,
}

/// Which session a run is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begin {
    /// A new one.
    New,
    /// The last one of the folder.
    Last,
    /// This one.
    This(SessionId),
}

/// What flags change about a session that goes on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<agent::Mode>,
    pub(crate) permission_mode: Option<agent::PermissionMode>,
}

/// Runs a prompt, prints what comes of it to stdout, and returns the process's exit code.
pub(crate) async fn run(runtime: &Arc<Runtime>, system: Arc<dyn System>, run: Run) -> Result<u8> {
    let output = Output::new(run.format, Box::new(crate::screen::stdout()) as Box<_>, now);
    let output: SharedOutput = Arc::new(Mutex::new(output));
    let mut signals = Signals::new()?;
    let client = Arc::new(HeadlessClient::new(Arc::clone(&output)));
    let code = match begin(runtime, &run, Surface { client, system }).await {
        Ok(session) => turn(&session, &run, &output, &mut signals).await,
        Err(error) => Err(error),
    };
    if tokio::time::timeout(limits::SETTLE, runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    code.or_else(|error| {
        with(&output, |output| output.failed(&format!("{error:#}"), exit::ERROR));
        // The other formats have told of it on stdout.
        if run.format == OutputFormat::Text { Err(error) } else { Ok(exit::ERROR) }
    })
}

async fn begin(runtime: &Arc<Runtime>, run: &Run, surface: Surface) -> Result<SessionHandle> {
    let id = match &run.session {
        Begin::New => {
            let new = CreateSession {
                cwd: run.cwd.clone(),
                additional_directories: Vec::new(),
                servers: Vec::new(),
            };
            return Ok(runtime.create(new, |_| surface).await?);
        }
        Begin::This(id) => id.clone(),
        Begin::Last => {
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

async fn turn(
    session: &SessionHandle,
    run: &Run,
    output: &SharedOutput,
    signals: &mut Signals,
) -> Result<u8> {
    let started = Instant::now();
    let (outcome, ended_by) = settle(session, run, signals).await?;
    let outcome = outcome?;
    let code = match (ended_by, outcome.stop_reason) {
        (Some(code), _) => code,
        (None, StopReason::EndTurn) => exit::OK,
        (None, StopReason::MaxTokens | StopReason::MaxTurnRequests) => exit::LIMIT,
        (None, StopReason::Refusal | StopReason::Cancelled) => exit::ERROR,
    };
    with(output, |output| {
        if let Some(message) = reason(code, outcome.stop_reason, run) {
            tracing::warn!("{message}");
            output.error(&message);
        }
        output.end(&Ending {
            session: session.id().0.clone(),
            stop_reason: outcome.stop_reason,
            usage: outcome.usage,
            requests: outcome.requests,
            duration: started.elapsed(),
        });
    });
    Ok(code)
}

/// Runs the prompt to its end. A signal or the time limit cancels it and waits for it to settle; a second signal does not wait.
async fn settle(
    session: &SessionHandle,
    run: &Run,
    signals: &mut Signals,
) -> Result<(Result<PromptOutcome, TurnError>, Option<u8>)> {
    let prompt = session.prompt(vec![Content::text(run.prompt.clone())]);
    tokio::pin!(prompt);
    let time = run.timeout.unwrap_or(Duration::MAX);
    let ended_by = tokio::select! {
        outcome = &mut prompt => return Ok((outcome, None)),
        code = signals.next() => code,
        () = tokio::time::sleep(time) => exit::LIMIT,
    };
    session.cancel();
    tokio::select! {
        outcome = &mut prompt => Ok((outcome, Some(ended_by))),
        _ = signals.next() => bail!("interrupted twice; the turn was not waited for"),
        () = tokio::time::sleep(limits::SETTLE) => bail!("the cancelled turn did not settle in {} s", limits::SETTLE.as_secs()),
    }
}

fn reason(code: u8, stop: StopReason, run: &Run) -> Option<String> {
    match (code, stop) {
        (exit::INTERRUPTED, _) => Some("interrupted".to_owned()),
        (exit::TERMINATED, _) => Some("terminated".to_owned()),
        (_, StopReason::Cancelled) => {
            let seconds = run.timeout.map_or(0, |time| time.as_secs());
            Some(format!("stopped after {seconds} s (--timeout)"))
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
