//! The tool calls of one answer: announced, ruled on by the gate, run, recorded.
//!
//! Read-only calls that need no approval run in parallel; writes and commands run one after the
//! other, in the model's order. The start of a call is recorded before it runs and its end after
//! it, each before the next side effect.
//!
//! A call may make nested calls (`nested`), which take the same path (`alone`) recursively.

mod candidate;
mod nested;
mod sampling;
mod single;
mod span;

pub(super) use candidate::Candidate;

use crate::{
    Effect, Item, LanguageModel, ModelResponse, SessionEvent, StoreError, ToolResult, ToolSpec, ToolStatus,
    Usage,
    gate::Ruling,
    repair::Known,
    session::{Session, controls::Controls},
};
use futures::FutureExt as _;
use sampling::Spent;
use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// Runs the calls of one answer.
pub(super) struct Calls<'a> {
    session: &'a Session,
    controls: &'a Controls,
    /// The model of the turn.
    model: &'a Arc<dyn LanguageModel>,
    /// Tokens used by MCP sampling.
    sampled: Spent,
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        session: &'a Session,
        controls: &'a Controls,
        model: &'a Arc<dyn LanguageModel>,
    ) -> Self {
        Self { session, controls, model, sampled: Spent::default() }
    }
}

impl Calls<'_> {
    /// Returns the tokens used by MCP sampling so far.
    pub(super) fn sampled(&self) -> Usage {
        *self.sampled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the calls. Every call gets a result on every path, and the result is recorded. Returns
    /// whether the turn must end: it was cancelled, or the user dismissed an approval prompt.
    pub(in crate::turn) async fn run(
        &self,
        candidates: Vec<Candidate>,
        cancel: &CancellationToken,
    ) -> Result<bool, StoreError> {
        let mut dismissed = false;
        let mut batch: Vec<(Candidate, Ruling)> = Vec::new();
        for mut candidate in candidates {
            self.session.room(cancel).await;
            let ruling = match dismissed || cancel.is_cancelled() {
                true => None,
                false => self.ruling_with_hooks(&mut candidate, cancel).await,
            };
            let parallel = matches!(candidate.effect(), Some(Effect::Reads | Effect::Delegates));
            match ruling {
                Some(ruling) if parallel && ruling.allows() => batch.push((candidate, ruling)),
                ruling => {
                    self.run_batch(std::mem::take(&mut batch), cancel).await?;
                    let (_, dismiss) = self.run_alone(candidate, ruling, cancel).await?;
                    dismissed |= dismiss;
                }
            }
        }
        self.run_batch(batch, cancel).await?;
        Ok(dismissed || cancel.is_cancelled())
    }

    /// Runs a single call that no model made, and returns its result. `None` if the turn must end.
    pub(in crate::turn) async fn run_one(
        &self,
        mut candidate: Candidate,
        cancel: &CancellationToken,
    ) -> Result<Option<ToolResult>, StoreError> {
        self.session.room(cancel).await;
        let ruling = self.ruling_with_hooks(&mut candidate, cancel).await;
        let (result, dismissed) = self.run_alone(candidate, ruling, cancel).await?;
        Ok((!dismissed && !cancel.is_cancelled()).then_some(result))
    }

    /// Returns the gate's ruling on a call, after the hooks if the gate does not deny it; `None` if
    /// it cannot run.
    async fn ruling_with_hooks(
        &self,
        candidate: &mut Candidate,
        cancel: &CancellationToken,
    ) -> Option<Ruling> {
        match self.rule_on(candidate, cancel).await? {
            Ok(ruling) if ruling.denial().is_none() => Some(self.ask_hooks(candidate, ruling, cancel).await),
            Ok(ruling) => Some(ruling),
            Err(error) => {
                if !cancel.is_cancelled() {
                    candidate.refuse(error.to_string());
                }
                None
            }
        }
    }

    async fn run_batch(
        &self,
        batch: Vec<(Candidate, Ruling)>,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let started = batch.iter().flat_map(|(candidate, ruling)| {
            let mut started = candidate.update(ToolStatus::InProgress);
            started.display.place = ruling.command_place();
            let started = SessionEvent::ToolCall(started);
            ruling.record(candidate.id()).into_iter().chain([started])
        });
        self.session.record(started.collect()).await?;
        let ended = futures::future::join_all(batch.into_iter().map(async |(mut candidate, ruling)| {
            let cx = self.session.tool_context(candidate.id(), cancel, false, &ruling);
            let outcome = self.execute(&mut candidate, cx, cancel).await?;
            let outcome = self.run_result_hooks(&mut candidate, outcome, cancel).await;
            let (_, events) = candidate.ended(outcome, Vec::new(), &self.session.settings().limits.tools);
            Ok(events)
        }))
        .await;
        let ended = ended.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        self.session.record(ended.into_iter().flatten().collect()).await
    }
}

/// Parses the calls of an answer. The events announce them and are recorded together with the
/// answer. `offered` are the tools in the request; `cut_at` is the token limit that the answer
/// reached, if it did.
pub(super) fn announce(
    session: &Session,
    response: &mut ModelResponse,
    offered: &[ToolSpec],
    cut_at: Option<u64>,
) -> (Vec<Candidate>, Vec<SessionEvent>) {
    let offered: Vec<&str> = offered.iter().map(|spec| spec.name.as_str()).collect();
    let known = Known { tools: session.toolbox().all(), offered: &offered };
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
            let mut candidate = Candidate::new(session.cwd(), known, request, cut_at);
            if index >= limit {
                candidate.refuse(format!(
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

/// Stores the answer that made the calls, and meanwhile resolves the accesses of the first call.
/// Until that call runs, only something that could also change them afterwards can change them. A
/// lookup that takes longer than the store is left for the ruling.
pub(super) async fn record_and_resolve(
    session: &Session,
    candidates: &mut [Candidate],
    events: Vec<SessionEvent>,
) -> Result<(), StoreError> {
    let Some(submitted) = candidates.first().and_then(Candidate::submitted) else {
        return session.record(events).await;
    };
    let mut resolved = None;
    let stored = {
        let mut recording = std::pin::pin!(session.record(events));
        let resolving =
            AssertUnwindSafe(session.gate().resolve_accesses(&submitted, session.cwd())).catch_unwind();
        let mut resolving = std::pin::pin!(resolving);
        loop {
            tokio::select! {
                biased;
                stored = &mut recording => break stored,
                found = &mut resolving, if resolved.is_none() => resolved = Some(found),
            }
        }
    };
    // A lookup that panicked is repeated by the ruling, which reports the panic.
    candidates[0].set_accesses(resolved.and_then(Result::ok));
    stored
}
