//! The run of one subagent: it waits until it may begin, prompts a session of its own, tries again
//! after passing failures, and records its end.

use super::{
    ChildSession, NewChild, Node, Swarm,
    child_client::ChildClient,
    failure::{self, Failure},
    node::OwnPlace,
    request::Admitted,
    results,
    slots::Slot,
    unix_time_ms, watchdog,
};
use crate::{
    KeptOutput, Outputs, PromptOutcome, StopReason, SubagentEnd, SubagentState, SubagentStatus,
    SubagentWorktree, SwarmEvent, ToolCallId, TurnError, label,
    limits::{SUBAGENT_END_WAIT, SUBAGENT_PREVIEW_CHARS},
    session::controls::StateBound,
    text::panic::panic_text,
};
use futures::FutureExt as _;
use std::{panic::AssertUnwindSafe, sync::Arc};
use system::System;
use tokio::{sync::OwnedMutexGuard, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

/// One run of a subagent.
pub(super) struct Run {
    swarm: Arc<Swarm>,
    agent: Admitted,
    client: Arc<ChildClient>,
    node: Arc<Node>,
    /// The state of the requesting session.
    bound: Option<Arc<StateBound>>,
    /// Keeps a long answer for the requesting session.
    outputs: Option<Arc<Outputs>>,
    system: Arc<dyn System>,
    cancel: CancellationToken,
}

impl Run {
    /// Starts the run in a task of its own.
    pub(super) fn start(
        swarm: Arc<Swarm>,
        agent: Admitted,
        bound: Option<Arc<StateBound>>,
        outputs: Option<Arc<Outputs>>,
        system: Arc<dyn System>,
        cancel: CancellationToken,
    ) {
        let own = OwnPlace {
            id: agent.state.id.clone(),
            kind: agent.kind,
            depth: agent.state.place.depth,
            slot: Slot::new(swarm.slots.clone()),
            cancel: cancel.clone(),
        };
        let client = Arc::new(ChildClient::new(&swarm, &agent.state.id));
        let node = Arc::new(Node::child(swarm.clone(), own));
        let run = Self { swarm, agent, client, node, bound, outputs, system, cancel };
        tokio::spawn(run.go().instrument(Span::current()));
    }

    async fn go(self) {
        let answer = AssertUnwindSafe(self.answer()).catch_unwind().await.unwrap_or_else(|panic| {
            let text = panic_text(panic.as_ref());
            tracing::error!(agent = self.id(), text, "the run of a subagent panicked");
            Err(Failure::Lasting(format!(
                "internal error: {text}; this is a defect in tiller, please report it"
            )))
        });
        if let Some(own) = self.node.own() {
            own.slot.give_back().await;
        }
        self.end(answer).await;
    }

    fn id(&self) -> &str {
        &self.agent.state.id
    }

    /// Waits for everything that must come first, and runs the subagent. Returns its answer.
    async fn answer(&self) -> Result<String, Failure> {
        let task = self.unless_cancelled(self.dependencies()).await?;
        let _group = self.unless_cancelled(self.group()).await?;
        self.unless_cancelled(self.slot()).await?;
        let worktree = self.worktree().await?;
        let answer = match self.open(worktree.clone()).await {
            Ok(child) => {
                let answer = self.attempts(child.as_ref(), task).await;
                // The end of a session waits for its own subagents.
                child.end().await;
                answer
            }
            Err(failure) => Err(failure),
        };
        match worktree {
            None => answer,
            Some(worktree) => self.hand_back(&worktree, answer).await,
        }
    }

    /// Waits for the subagents that this one depends on. Returns the task with their results.
    async fn dependencies(&self) -> String {
        let depends_on = &self.agent.state.request.depends_on;
        let is_open = |id: &String| self.swarm.status(id).is_some_and(|status| !status.is_final());
        let open: Vec<_> = depends_on.iter().filter(|id| is_open(id)).cloned().collect();
        if !open.is_empty() {
            self.wait(SubagentStatus::Waiting, format!("waiting for {}", open.join(", ")));
        }
        for id in &open {
            self.swarm.until_ended(id).await;
        }
        let registry = self.swarm.registry();
        let results: Vec<SubagentState> =
            depends_on.iter().filter_map(|id| registry.get(id)).map(|agent| agent.state.clone()).collect();
        for failed in results.iter().filter(|state| state.progress.status != SubagentStatus::Done) {
            tracing::warn!(
                agent = self.id(),
                dependency = failed.id,
                "a subagent runs without a result that it depends on"
            );
        }
        results::with_dependencies(&self.agent.task, &results)
    }

    /// Waits until no other subagent of the group runs.
    async fn group(&self) -> Option<OwnedMutexGuard<()>> {
        let name = self.agent.state.request.group.as_deref()?;
        let group = self.swarm.registry().group(name);
        if let Ok(free) = group.clone().try_lock_owned() {
            return Some(free);
        }
        self.wait(SubagentStatus::Queued, format!("waiting for group {name}"));
        Some(group.lock_owned().await)
    }

    async fn slot(&self) {
        let Some(own) = self.node.own() else { return };
        let mut taken = std::pin::pin!(own.slot.take());
        if taken.as_mut().now_or_never().is_none() {
            self.wait(SubagentStatus::QueuedGlobal, "waiting for a free slot".to_owned());
            taken.await;
        }
    }

    fn wait(&self, status: SubagentStatus, reason: String) {
        self.swarm.update(self.id(), |state| {
            state.progress.status = status;
            state.progress.queue_reason = Some(reason);
        });
    }

    /// Returns the worktree of an isolated subagent: a new one, or the one that it had.
    async fn worktree(&self) -> Result<Option<SubagentWorktree>, Failure> {
        if !self.agent.state.request.isolated {
            return Ok(None);
        }
        let known = self.agent.state.place.worktree.as_ref();
        let worktree = self.swarm.sessions.isolate(self.id(), known).await.map_err(Failure::Lasting)?;
        Ok(Some(worktree))
    }

    /// Opens the session and records that the subagent runs in it.
    async fn open(&self, worktree: Option<SubagentWorktree>) -> Result<Arc<dyn ChildSession>, Failure> {
        let place = &self.agent.state.place;
        let models = &self.swarm.root.settings.seen().start.subagent_models;
        let depth = usize::try_from(place.depth).unwrap_or(usize::MAX);
        let own_model = models.get(depth.saturating_sub(1)).cloned().flatten();
        let model = own_model.or_else(|| self.bound.as_ref().map(|bound| bound.state().model));
        let child = NewChild {
            session: place.session.clone().filter(|_| self.agent.resumes),
            model,
            mode: self.agent.kind.mode(),
            title: format!(
                "{}: {}",
                self.id(),
                label(&self.agent.state.request.task, SUBAGENT_PREVIEW_CHARS)
            ),
            worktree: worktree.clone(),
            client: self.client.clone(),
            node: self.node.clone(),
            bound: self.bound.clone(),
        };
        let child = self.swarm.sessions.open(child).await.map_err(Failure::Lasting)?;
        let session = child.session().clone();
        let begun = |state: &mut SubagentState| {
            state.progress.status = SubagentStatus::Running;
            state.progress.queue_reason = None;
            state.place.session = Some(session);
            state.place.worktree = worktree;
            state.times.started_at = state.times.started_at.or_else(|| Some(unix_time_ms()));
            state.times.active_at = Some(unix_time_ms());
        };
        match self.swarm.record(self.id(), begun).await {
            Ok(()) => Ok(child),
            Err(error) => {
                child.end().await;
                Err(Failure::Lasting(error.to_string()))
            }
        }
    }

    /// Prompts the session, again after passing failures.
    async fn attempts(&self, child: &dyn ChildSession, task: String) -> Result<String, Failure> {
        let mut text = match self.agent.resumes {
            // The text does not begin with what the model wrote, so it is never a slash command.
            true => format!("The agent that gave you your task says:\n{task}"),
            false => format!("{}\n\n{task}", self.agent.kind.role()),
        };
        let mut retries = 0;
        loop {
            let reason = match self.attempt(child, text).await {
                Err(Failure::Passing(reason)) => reason,
                answer => return answer,
            };
            retries += 1;
            if retries >= self.swarm.root.settings.seen().limits.subagents.attempts {
                return Err(Failure::Lasting(reason));
            }
            self.pause(retries, &reason).await?;
            text =
                "The last request to your model failed. Go on with your task where you stopped.".to_owned();
        }
    }

    /// Waits before a retry.
    async fn pause(&self, retries: u32, reason: &str) -> Result<(), Failure> {
        let delay = failure::delay(retries, random());
        self.swarm.update(self.id(), |state| {
            state.progress.status = SubagentStatus::Retrying;
            state.progress.retries += 1;
            state.progress.error = Some(reason.to_owned());
            let delay = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
            state.progress.next_retry_at = Some(unix_time_ms().saturating_add(delay));
        });
        self.unless_cancelled(tokio::time::sleep(delay)).await?;
        self.swarm.update(self.id(), |state| {
            state.progress.status = SubagentStatus::Running;
            state.progress.error = None;
            state.progress.next_retry_at = None;
        });
        Ok(())
    }

    /// Prompts the session once, under the watchdog.
    async fn attempt(&self, child: &dyn ChildSession, text: String) -> Result<String, Failure> {
        self.client.activity.reset();
        let limit = self.swarm.root.settings.seen().limits.subagents.idle;
        let mut running = std::pin::pin!(child.run(text));
        let failure = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Failure::Cancelled(None),
            outcome = &mut running => return self.read(outcome),
            idle = self.client.activity.idle(limit) => Failure::Lasting(watchdog::message(idle)),
        };
        child.stop();
        if timeout(SUBAGENT_END_WAIT, running).await.is_err() {
            tracing::warn!(agent = self.id(), "a cancelled subagent has not ended in time");
        }
        Err(failure)
    }

    /// Returns the answer of a turn that ended.
    fn read(&self, outcome: Result<PromptOutcome, TurnError>) -> Result<String, Failure> {
        let stop = outcome.map_err(|error| Failure::of(&error))?.stop_reason;
        let answer = self.client.take_answer();
        match stop {
            StopReason::Cancelled | StopReason::Suspended => Err(Failure::Cancelled(None)),
            StopReason::Refusal => Err(Failure::Lasting("the model refused the task".to_owned())),
            _ if answer.trim().is_empty() => Err(Failure::Lasting("it gave no answer".to_owned())),
            StopReason::EndTurn => Ok(answer),
            StopReason::MaxTokens => {
                Ok(format!("{answer}\n\n[The answer was cut off at the model's output limit.]"))
            }
            StopReason::MaxTurnRequests => Ok(format!(
                "{answer}\n\n[The agent was stopped before it was finished: it repeated itself, or reached its limit of requests.]"
            )),
        }
    }

    /// Adds what an isolated subagent left in its worktree to its answer. Its work is kept even if
    /// it failed.
    async fn hand_back(
        &self,
        worktree: &SubagentWorktree,
        answer: Result<String, Failure>,
    ) -> Result<String, Failure> {
        let work = self.swarm.sessions.hand_back(worktree).await;
        match answer {
            Ok(answer) => Ok(format!("{answer}\n\n{work}")),
            Err(Failure::Cancelled(_)) => Err(Failure::Cancelled(Some(work))),
            Err(Failure::Passing(why) | Failure::Lasting(why)) => {
                Err(Failure::Lasting(format!("{why}\n{work}")))
            }
        }
    }

    /// Records the end, and wakes those who wait for it.
    async fn end(&self, answer: Result<String, Failure>) {
        self.client.flush().await;
        let whole = answer.as_ref().ok().cloned();
        let (mut result, output) = match &whole {
            Some(answer) => self.kept(answer).await,
            None => (None, None),
        };
        let (status, error) = match answer {
            Ok(_) => (SubagentStatus::Done, None),
            Err(Failure::Cancelled(work)) => {
                result = work;
                (SubagentStatus::Cancelled, None)
            }
            Err(Failure::Passing(why) | Failure::Lasting(why)) => (SubagentStatus::Failed, Some(why)),
        };
        let ended = |state: &mut SubagentState| {
            state.progress.status = status;
            state.progress.error = error;
            state.progress.queue_reason = None;
            state.progress.next_retry_at = None;
            state.times.ended_at = Some(unix_time_ms());
            state.result = result;
            state.output = output;
        };
        if let Err(error) = self.swarm.record(self.id(), ended).await {
            tracing::warn!(agent = self.id(), %error, "the end of a subagent could not be recorded");
        }
        self.swarm.show_late_changes(self.id()).await;
        let end = {
            let mut registry = self.swarm.registry();
            let descendants = registry.descendants(self.id());
            registry.get_mut(self.id()).and_then(|agent| {
                let run = agent.run.take()?;
                Some(SubagentEnd {
                    args: run.args,
                    result: results::of_end(&agent.state),
                    success: status == SubagentStatus::Done,
                    background: agent.state.request.mode == "background",
                    state: agent.state.clone(),
                    descendants,
                })
            })
        };
        self.swarm.notify(SwarmEvent::Completed(end.into_iter().collect()));
        self.swarm.changed.notify_one();
        self.swarm.ended.notify_waiters();
    }

    /// Returns the part of an answer that is sent, and where the whole is if that is longer.
    async fn kept(&self, answer: &str) -> (Option<String>, Option<KeptOutput>) {
        let Some(beginning) = results::shortened(answer) else { return (Some(answer.to_owned()), None) };
        let call = ToolCallId(format!("agent_{}", self.id()));
        let path = match &self.outputs {
            Some(outputs) => outputs.keep(self.system.as_ref(), &call, answer).await,
            None => None,
        };
        let place = match &path {
            Some(path) => format!("All of it is in {path}: read it with file_read or grep"),
            None => "The rest is not kept".to_owned(),
        };
        let text = format!("{beginning}\n[The answer is longer: {} bytes. {place}.]", answer.len());
        let output = path.map(|path| KeptOutput {
            reference: path.as_str().to_owned(),
            bytes: answer.len() as u64,
            preview: label(answer, SUBAGENT_PREVIEW_CHARS),
        });
        (Some(text), output)
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        self.cancel.run_until_cancelled(work).await.ok_or(Failure::Cancelled(None))
    }
}

/// Returns a random number for the jitter of a delay, from the random end of a UUID.
fn random() -> u32 {
    let bytes = uuid::Uuid::now_v7().into_bytes();
    u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
}
