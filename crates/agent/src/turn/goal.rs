//! Work on a goal: the turn goes on after an answer until the goal is complete, blocked, paused or
//! out of budget.

use super::Turn;
use crate::{
    Briefing, Goal, GoalChange, GoalError, GoalStatus, Mode, SessionEvent, Severity, StopReason, StoreError,
    TurnError, goal,
    history::conversation::GOAL_FACT,
    limits::{GOAL_CONTINUATIONS, GOAL_IDLE_ANSWERS, GOAL_LAST_REQUESTS, GOAL_WARNING_PERCENT},
    prompt,
};
use tokio::time::Instant;

/// The counters of a turn's work on a goal.
#[derive(Default)]
pub(super) struct GoalProgress {
    /// The number of requests when the current step began: the limit of requests applies to each
    /// step.
    pub(super) step: u32,
    /// When the time was last counted; `None` while no goal is active.
    counted: Option<Instant>,
    /// Answers in a row without a call.
    idle: u32,
    /// How often the turn went on after an answer.
    continuations: u32,
    /// Whether the user was warned of the budget.
    warned: bool,
    /// Requests made since the budget was used up.
    closing: Option<u32>,
}

impl Turn<'_> {
    /// Decides after a round whether the turn goes on. `ended` is why it would end without a goal.
    pub(super) async fn pursue(
        &mut self,
        ended: Option<StopReason>,
    ) -> Result<Option<StopReason>, TurnError> {
        self.take_goal_changes().await?;
        let Some(goal) = self.active_goal() else {
            self.report_goal_end().await?;
            return Ok(ended);
        };
        self.begin_goal(&goal);
        if ended.is_some() {
            // The goal counts the tokens of the answer once it is recorded.
            self.record_last().await?;
        }
        let Some(goal) = self.active_goal() else { return Ok(ended) };
        match ended {
            Some(stop @ (StopReason::Cancelled | StopReason::Refusal | StopReason::MaxTurnRequests)) => {
                self.end_goal(goal, GoalStatus::Paused, why_paused(stop)).await?;
                Ok(ended)
            }
            ended if goal.is_spent() => self.close_goal(goal, ended).await,
            None => {
                self.progress.goal.idle = 0;
                self.warn_of_budget(&goal);
                Ok(None)
            }
            Some(stop) => {
                self.warn_of_budget(&goal);
                self.go_on(goal, stop).await
            }
        }
    }

    /// Sets or resumes a goal at the user's request. The turn works on it.
    pub(super) async fn start_goal(&mut self, change: GoalChange) -> Result<(), GoalError> {
        let mode = self.controls.state().mode;
        let goal = self.session.change_goal(mode, change, true).await?;
        // A model that does not know of the goal is briefed on it with the request.
        let known = self.session.conversation().known();
        if let Some(goal) = goal {
            self.begin_goal(&goal);
            if known.get(GOAL_FACT) == Some(&goal.id) {
                self.progress.nudge = Some(message(&goal, RESUMED));
            }
        }
        Ok(())
    }

    /// Resumes a goal that was interrupted, or that waits for the user, because of a prompt.
    pub(super) async fn resume_goal(&mut self) -> Result<(), TurnError> {
        let waits = |goal: &Goal| matches!(goal.status, GoalStatus::Interrupted | GoalStatus::Blocked);
        if !self.session.conversation().goal().is_some_and(waits) {
            return Ok(());
        }
        self.session.stored().await?;
        match self.start_goal(GoalChange::Resume { token_budget: None }).await {
            Err(GoalError::Store(error)) => Err(error.into()),
            // Without Edit mode or budget, the prompt is an ordinary one.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the event that keeps an active goal from outliving a turn that failed.
    pub(super) fn interrupted_goal(&self, error: &TurnError) -> Option<SessionEvent> {
        let goal = self.session.log().memory().conversation()?.goal().cloned()?;
        goal.is_active().then(|| {
            let reason = format!("interrupted: {error}");
            let counted = self.progress.goal.counted;
            let seconds = counted.map_or(0, |since| since.elapsed().as_secs());
            let goal = Goal { seconds_used: goal.seconds_used.saturating_add(seconds), ..goal };
            SessionEvent::Goal(Some(goal::with(goal, GoalStatus::Interrupted, Some(&reason))))
        })
    }

    /// Shows the user, once, that the turn works on the goal, and begins to count its time.
    fn begin_goal(&mut self, goal: &Goal) {
        if self.progress.goal.counted.is_none() {
            self.progress.goal.counted = Some(Instant::now());
            self.notify_goal(Severity::Info, format!("Goal: {}", goal.objective), Some(goal::tokens(goal)));
        }
    }

    fn active_goal(&self) -> Option<Goal> {
        self.session.conversation().goal().filter(|goal| goal.is_active()).cloned()
    }

    /// Applies the changes that the user or a program requested meanwhile.
    async fn take_goal_changes(&mut self) -> Result<(), StoreError> {
        while let Some(request) = self.controls.goal_requests().next() {
            self.session.stored().await?;
            let changed =
                self.session.change_goal(self.controls.state().mode, request.change.clone(), true).await;
            request.settle(self.session.log(), changed);
        }
        Ok(())
    }

    /// Goes on after an answer without calls, unless the goal must wait.
    async fn go_on(&mut self, goal: Goal, stop: StopReason) -> Result<Option<StopReason>, TurnError> {
        let mode = self.controls.state().mode;
        let progress = &mut self.progress.goal;
        progress.idle += 1;
        progress.continuations += 1;
        let (idle, continuations) = (progress.idle, progress.continuations);
        let waits = if self.controls.has_waiting_prompts() {
            Some((GoalStatus::Interrupted, "interrupted: another prompt came in".to_owned()))
        } else if mode != Mode::Edit {
            Some((GoalStatus::Paused, format!("the mode is {}; switch with /edit", mode.label())))
        } else if idle >= GOAL_IDLE_ANSWERS {
            let why = format!("the model gave {idle} answers in a row without a tool call");
            Some((GoalStatus::Blocked, why))
        } else if continuations > GOAL_CONTINUATIONS {
            Some((GoalStatus::Paused, format!("the turn went on {GOAL_CONTINUATIONS} times")))
        } else {
            None
        };
        if let Some((status, why)) = waits {
            self.end_goal(goal, status, &why).await?;
            return Ok(Some(stop));
        }
        self.progress.goal.step = self.progress.requests;
        self.progress.was_silent = false;
        self.progress.nudge = Some(message(&goal, GO_ON));
        let goal = self.timed(goal);
        self.session.record(vec![SessionEvent::Goal(Some(goal))]).await?;
        Ok(None)
    }

    /// Lets the model sum up once the budget is used up, and then ends the work on the goal.
    async fn close_goal(
        &mut self,
        goal: Goal,
        ended: Option<StopReason>,
    ) -> Result<Option<StopReason>, TurnError> {
        let Some(requests) = self.progress.goal.closing else {
            self.progress.goal.closing = Some(0);
            self.progress.nudge = Some(message(&goal, SUM_UP));
            self.notify_goal(
                Severity::Warning,
                "The token budget of the goal is used up; the model sums up".to_owned(),
                Some(goal::tokens(&goal)),
            );
            return Ok(None);
        };
        if ended.is_none() && requests + 1 < GOAL_LAST_REQUESTS {
            self.progress.goal.closing = Some(requests + 1);
            return Ok(None);
        }
        self.end_goal(goal, GoalStatus::BudgetLimited, "the token budget is used up").await?;
        Ok(Some(ended.unwrap_or(StopReason::EndTurn)))
    }

    async fn end_goal(&mut self, goal: Goal, status: GoalStatus, reason: &str) -> Result<(), StoreError> {
        let goal = goal::with(self.timed(goal), status, Some(reason));
        self.session.record(vec![SessionEvent::Goal(Some(goal))]).await?;
        self.report_goal_end().await
    }

    /// Shows the user that the work on the goal has ended, once, and records its time.
    async fn report_goal_end(&mut self) -> Result<(), StoreError> {
        if self.progress.goal.counted.is_none() {
            return Ok(());
        }
        if let Some(goal) = self.session.conversation().goal().cloned() {
            let timed = self.timed(goal.clone());
            if timed != goal {
                self.session.record(vec![SessionEvent::Goal(Some(timed))]).await?;
            }
            let severity = match goal.status {
                GoalStatus::Complete => Severity::Info,
                _ => Severity::Warning,
            };
            let more = goal.reason.clone().unwrap_or_else(|| goal::tokens(&goal));
            self.notify_goal(severity, format!("Goal {}", goal.status.id().replace('_', " ")), Some(more));
        }
        self.progress.goal = GoalProgress { step: self.progress.goal.step, ..GoalProgress::default() };
        Ok(())
    }

    fn warn_of_budget(&mut self, goal: &Goal) {
        let Some(budget) = goal.token_budget.filter(|_| !self.progress.goal.warned) else { return };
        if goal.tokens_used.saturating_mul(100) >= budget.saturating_mul(GOAL_WARNING_PERCENT) {
            self.progress.goal.warned = true;
            let title = format!("The goal has used {GOAL_WARNING_PERCENT} % of its token budget");
            self.notify_goal(Severity::Warning, title, Some(goal::tokens(goal)));
        }
    }

    /// Adds the whole seconds since the time was last counted.
    fn timed(&mut self, goal: Goal) -> Goal {
        let Some(counted) = self.progress.goal.counted else { return goal };
        let seconds = counted.elapsed().as_secs();
        self.progress.goal.counted = Some(counted + std::time::Duration::from_secs(seconds));
        Goal { seconds_used: goal.seconds_used.saturating_add(seconds), ..goal }
    }

    fn notify_goal(&self, severity: Severity, title: String, description: Option<String>) {
        self.session.notify(SessionEvent::Notice { severity, title, description });
    }
}

const GO_ON: &str =
    "You ended your answer, and the goal is still active: go on with the next step by yourself.";
const RESUMED: &str = "The user resumed the goal: go on with it by yourself.";
const SUM_UP: &str =
    "The token budget is used up. Begin nothing new: sum up what is done, what is left, and the next step.";
const START: &str =
    "Work on this goal by yourself until it is reached; the user gives no prompt for each step.";
/// How the model ends the work.
const END: &str = "When it is reached and you have checked that, call update_goal with status complete. If only the user can \
                   help, call update_goal with status blocked and the reason.";

/// Returns the message to the model about an active goal.
fn message(goal: &Goal, what: &str) -> Briefing {
    let end = if what == SUM_UP { String::new() } else { format!(" {END}") };
    let objective = prompt::within("goal", &goal.objective);
    let text = format!("<goal>\n{objective}\nTokens: {}\n</goal>\n{what}{end}", goal::tokens(goal));
    Briefing { text, facts: [(GOAL_FACT.to_owned(), goal.id.clone())].into() }
}

/// Returns the text about an active goal for a model that does not know of it.
pub(super) fn start_text(goal: &Goal) -> String {
    message(goal, START).text
}

fn why_paused(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Refusal => "the model refused",
        StopReason::MaxTurnRequests => "a step reached the limit of model requests, or repeated itself",
        StopReason::Cancelled | StopReason::EndTurn | StopReason::MaxTokens | StopReason::Suspended => {
            "cancelled by the user"
        }
    }
}
