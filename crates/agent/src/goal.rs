//! Changes of a session's goal: by the user, by a program, and by the model.

use crate::{Goal, GoalStatus, StoreError, Usage, limits::GOAL_OBJECTIVE_CHARS};
use std::fmt::Write as _;

/// A change of the goal by the user or by a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalChange {
    /// Sets a new goal, in place of any other.
    Set {
        /// What is to be reached.
        objective: String,
        /// The tokens that it may use; `None` for no limit.
        token_budget: Option<u64>,
    },
    /// Pauses it: the running turn ends with its current answer.
    Pause,
    /// Resumes it, with another token budget if one is given.
    Resume {
        /// The new token budget.
        token_budget: Option<u64>,
    },
    /// Removes it.
    Clear,
}

/// Why a goal was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no goal.
    #[error("there is no goal; set one with /goal TEXT")]
    NoGoal,
    /// The objective is empty or too long.
    #[error("the objective of a goal has between 1 and {GOAL_OBJECTIVE_CHARS} characters, not {0}")]
    Objective(usize),
    /// The token budget is zero, or used up.
    #[error("{0}")]
    Budget(String),
    /// The goal is complete, or paused already.
    #[error("the goal is {0} already; set a new one with /goal TEXT")]
    Settled(&'static str),
    /// The agent mode permits no changes.
    #[error("a goal needs Edit mode, and the session is in {0} mode; switch with /edit")]
    Mode(&'static str),
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

/// Returns the goal after a change. `total` is the usage of the session so far; `works` is whether
/// a turn takes the goal up now.
pub(crate) fn changed(
    goal: Option<&Goal>,
    change: GoalChange,
    total: Usage,
    works: bool,
) -> Result<Option<Goal>, GoalError> {
    if let GoalChange::Set { objective, token_budget } = change {
        let goal = new(&objective, token_budget, total)?;
        return Ok(Some(if works { goal } else { waiting(goal) }));
    }
    let goal = goal.cloned().ok_or(GoalError::NoGoal)?;
    Ok(match change {
        GoalChange::Pause => match goal.status {
            GoalStatus::Active | GoalStatus::Interrupted | GoalStatus::Blocked => {
                Some(with(goal, GoalStatus::Paused, Some("paused by the user")))
            }
            settled => return Err(GoalError::Settled(settled.id())),
        },
        GoalChange::Resume { token_budget } => Some(resumed(goal, token_budget, total, works)?),
        GoalChange::Clear | GoalChange::Set { .. } => None,
    })
}

/// Returns a new active goal.
pub(crate) fn new(objective: &str, token_budget: Option<u64>, total: Usage) -> Result<Goal, GoalError> {
    let objective = objective.trim().to_owned();
    let chars = objective.chars().count();
    if !(1..=GOAL_OBJECTIVE_CHARS).contains(&chars) {
        return Err(GoalError::Objective(chars));
    }
    Ok(Goal {
        id: uuid::Uuid::now_v7().to_string(),
        objective,
        status: GoalStatus::Active,
        reason: None,
        token_budget: checked(token_budget)?,
        tokens_used: 0,
        seconds_used: 0,
        metered: total.metered(),
    })
}

/// Returns the goal with another status.
pub(crate) fn with(goal: Goal, status: GoalStatus, reason: Option<&str>) -> Goal {
    Goal { status, reason: reason.map(str::to_owned), ..goal }
}

fn resumed(goal: Goal, token_budget: Option<u64>, total: Usage, works: bool) -> Result<Goal, GoalError> {
    if goal.status == GoalStatus::Complete {
        return Err(GoalError::Settled(goal.status.id()));
    }
    let goal = Goal { token_budget: checked(token_budget)?.or(goal.token_budget), ..goal };
    if goal.is_spent() {
        return Err(GoalError::Budget(format!(
            "the goal has used {} tokens, its whole budget; resume it with a larger one: /goal resume --budget {}",
            goal.tokens_used,
            goal.tokens_used.saturating_mul(2)
        )));
    }
    let goal = Goal { metered: total.metered(), ..with(goal, GoalStatus::Active, None) };
    Ok(if works { goal } else { waiting(goal) })
}

/// Returns a goal that the next prompt takes up.
fn waiting(goal: Goal) -> Goal {
    with(goal, GoalStatus::Interrupted, Some("starts with the next prompt"))
}

fn checked(token_budget: Option<u64>) -> Result<Option<u64>, GoalError> {
    match token_budget {
        Some(0) => Err(GoalError::Budget("a token budget is at least 1".to_owned())),
        budget => Ok(budget),
    }
}

/// Describes a goal for the user, one fact per line.
pub(crate) fn described(goal: Option<&Goal>) -> String {
    let Some(goal) = goal else { return "There is no goal. Set one with `/goal TEXT`.".to_owned() };
    let mut text = format!("Goal: {}\n\n- status: {}", goal.objective, goal.status.id());
    if let Some(reason) = &goal.reason {
        let _ = write!(text, " ({reason})");
    }
    let _ = write!(text, "\n- tokens: {}", tokens(goal));
    let _ = write!(text, "\n- time: {} s\n", goal.seconds_used);
    text
}

/// Describes the tokens of a goal: used, of the budget, and left.
pub(crate) fn tokens(goal: &Goal) -> String {
    match (goal.token_budget, goal.tokens_left()) {
        (Some(budget), Some(left)) => format!("{} of {budget} used, {left} left", goal.tokens_used),
        _ => format!("{} used, no budget", goal.tokens_used),
    }
}

/// Parses a token budget: `200000`, `200_000`, `200k` or `1.5m`.
pub(crate) fn parse_budget(text: &str) -> Option<u64> {
    let text = text.replace('_', "").to_ascii_lowercase();
    let (digits, thousands) = match text.char_indices().last()? {
        (at, 'k') => (&text[..at], 3),
        (at, 'm') => (&text[..at], 6),
        _ => (text.as_str(), 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if part.len() > thousands || whole.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let zeros = "0".repeat(thousands - part.len());
    format!("{whole}{part}{zeros}").parse().ok().filter(|budget| *budget > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(token_budget: Option<u64>) -> GoalChange {
        GoalChange::Set { objective: " do it ".to_owned(), token_budget }
    }

    fn used(input: u64, cache_read: u64, output: u64) -> Usage {
        Usage { input, cache_read, output, ..Usage::default() }
    }

    #[test]
    fn a_budget_is_a_number_with_or_without_a_unit() {
        for (text, expected) in [
            ("200000", Some(200_000)),
            ("200_000", Some(200_000)),
            ("200k", Some(200_000)),
            ("1.5M", Some(1_500_000)),
            ("0", None),
            ("", None),
            ("k", None),
            ("1.5", None),
            ("-1", None),
            ("1.2345k", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(parse_budget(text), expected, "{text}");
        }
    }

    #[test]
    fn a_goal_is_set_paused_resumed_and_cleared() {
        let goal = changed(None, set(Some(10)), used(5, 0, 5), true).unwrap().unwrap();
        assert_eq!((goal.objective.as_str(), goal.status, goal.metered), ("do it", GoalStatus::Active, 10));
        let paused = changed(Some(&goal), GoalChange::Pause, used(6, 0, 6), true).unwrap().unwrap();
        assert_eq!(paused.status, GoalStatus::Paused);
        assert_eq!(
            changed(Some(&paused), GoalChange::Pause, Usage::default(), true),
            Err(GoalError::Settled("paused"))
        );
        let resume = |token_budget| GoalChange::Resume { token_budget };
        let now = changed(Some(&paused), resume(None), used(50, 0, 50), true).unwrap().unwrap();
        assert_eq!((now.status, now.tokens_used, now.metered), (GoalStatus::Active, 0, 100));
        let later = changed(Some(&paused), resume(Some(7)), Usage::default(), false).unwrap().unwrap();
        assert_eq!((later.status, later.token_budget), (GoalStatus::Interrupted, Some(7)));
        assert_eq!(changed(Some(&goal), GoalChange::Clear, Usage::default(), true), Ok(None));
    }

    #[test]
    fn what_cannot_be_changed_says_why() {
        let none = |change| changed(None, change, Usage::default(), true).unwrap_err().to_string();
        assert_eq!(none(GoalChange::Pause), "there is no goal; set one with /goal TEXT");
        assert_eq!(none(set(Some(0))), "a token budget is at least 1");
        let long = GoalChange::Set { objective: "ü".repeat(4_001), token_budget: None };
        assert_eq!(none(long), "the objective of a goal has between 1 and 4000 characters, not 4001");
        let goal = changed(None, set(Some(10)), Usage::default(), true).unwrap().unwrap();
        let spent = Goal { tokens_used: 12, status: GoalStatus::BudgetLimited, ..goal.clone() };
        let resume = GoalChange::Resume { token_budget: None };
        let why = changed(Some(&spent), resume.clone(), Usage::default(), true).unwrap_err().to_string();
        assert!(why.ends_with("/goal resume --budget 24"), "{why}");
        let done = with(goal, GoalStatus::Complete, None);
        let why = changed(Some(&done), resume, Usage::default(), true);
        assert_eq!(why, Err(GoalError::Settled("complete")));
    }

    #[test]
    fn a_goal_counts_the_tokens_that_are_used_while_it_is_active() {
        let usage = |total| {
            crate::SessionEvent::Usage(crate::UsageUpdate {
                model: String::new(),
                context_used: 0,
                context_size: 0,
                total,
                subagents: Usage::default(),
                turn: Usage::default(),
                counted: None,
            })
        };
        let mut goal = changed(None, set(Some(100)), used(1_000, 0, 0), true).unwrap();
        crate::apply_to_goal(&mut goal, &usage(used(1_500, 460, 10)));
        let now = goal.clone().unwrap();
        assert_eq!((now.tokens_used, now.tokens_left()), (50, Some(50)), "cached input counts nothing");
        let mut paused = Some(with(now, GoalStatus::Paused, None));
        crate::apply_to_goal(&mut paused, &usage(used(9_000, 460, 10)));
        assert_eq!(paused.map(|goal| (goal.tokens_used, goal.metered)), Some((50, 8_550)));
        crate::apply_to_goal(&mut goal, &usage(used(1_600, 460, 10)));
        assert!(goal.unwrap().is_spent());
    }
}
