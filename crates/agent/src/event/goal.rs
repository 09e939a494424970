//! The goal that a session works on by itself.

use crate::{SessionEvent, Usage};

/// A goal: an objective that the model works on until it is reached, without a prompt for each
/// step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Identifies the goal; a new objective is a new goal.
    pub id: String,
    /// What is to be reached.
    pub objective: String,
    /// Its status.
    pub status: GoalStatus,
    /// Why it has this status, if there is more to say.
    pub reason: Option<String>,
    /// The tokens that it may use; `None` for no limit.
    pub token_budget: Option<u64>,
    /// The tokens that it has used, as [`Usage::metered`] counts them.
    pub tokens_used: u64,
    /// The seconds that turns have worked on it, as of the last event.
    pub seconds_used: u64,
    /// The session's metered tokens up to which `tokens_used` counts.
    pub metered: u64,
}

/// The status of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalStatus {
    /// The running turn works on it. Outside turns no goal is active.
    Active,
    /// The user paused it; it goes on when the user resumes it.
    Paused,
    /// It was interrupted; it goes on with the next prompt, or when the user resumes it.
    Interrupted,
    /// The model cannot go on without the user; it goes on with the next prompt.
    Blocked,
    /// Its token budget is used up.
    BudgetLimited,
    /// It is reached.
    Complete,
}

impl GoalStatus {
    /// Returns the status as an id for programs. An interrupted goal counts as paused; its reason
    /// says why.
    pub fn id(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused | Self::Interrupted => "paused",
            Self::Blocked => "blocked",
            Self::BudgetLimited => "budget_limited",
            Self::Complete => "complete",
        }
    }
}

impl Goal {
    /// Returns whether the running turn works on it.
    pub fn is_active(&self) -> bool {
        self.status == GoalStatus::Active
    }

    /// Returns whether it has used its budget.
    pub fn is_spent(&self) -> bool {
        self.token_budget.is_some_and(|budget| self.tokens_used >= budget)
    }

    /// Returns the tokens left of the budget; `None` without one.
    pub fn tokens_left(&self) -> Option<u64> {
        Some(self.token_budget?.saturating_sub(self.tokens_used))
    }

    /// Counts the session's tokens so far.
    fn meter(&mut self, total: Usage) {
        let now = total.metered();
        if self.is_active() {
            self.tokens_used = self.tokens_used.saturating_add(now.saturating_sub(self.metered));
        }
        self.metered = now;
    }
}

/// Applies an event to a session's goal. The goal follows from the events in order.
pub fn apply_to_goal(goal: &mut Option<Goal>, event: &SessionEvent) {
    match event {
        SessionEvent::Goal(now) => goal.clone_from(now),
        SessionEvent::Usage(usage) => {
            if let Some(goal) = goal {
                goal.meter(usage.sum());
            }
        }
        _ => {}
    }
}
