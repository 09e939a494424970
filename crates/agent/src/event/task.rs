//! The tasks of a session, and the plan that clients show of them.

use crate::{PlanEntry, PlanPriority, PlanStatus};
use std::fmt::Write as _;

/// A task of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Eight hexadecimal digits.
    pub id: String,
    /// The work to be done.
    pub subject: String,
    /// A longer description; may be empty.
    pub description: String,
    /// The wording shown while the task is in progress; may be empty.
    pub active_form: String,
    /// The id of the parent task.
    pub parent: Option<String>,
    /// The task's status.
    pub status: TaskStatus,
    /// The ids of tasks that must be completed first.
    pub blocked_by: Vec<String>,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum TaskStatus {
    #[serde(alias = "todo", alias = "open", alias = "not_started")]
    Pending,
    #[serde(alias = "in-progress", alias = "inprogress", alias = "active", alias = "doing")]
    InProgress,
    #[serde(alias = "done", alias = "complete", alias = "finished")]
    Completed,
    #[serde(alias = "canceled")]
    Cancelled,
    Failed,
}

impl TaskStatus {
    /// Returns the status as an id for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Returns the symbol shown before a task with this status.
    pub fn icon(self) -> char {
        match self {
            Self::Pending => '○',
            Self::InProgress => '◎',
            Self::Completed => '●',
            Self::Cancelled => '✗',
            Self::Failed => '☠',
        }
    }

    /// Whether the task needs no further work.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::InProgress)
    }
}

/// Returns the tasks as the plan that clients show, without cancelled tasks.
pub fn plan_of(tasks: &[Task]) -> Vec<PlanEntry> {
    let shown = tasks.iter().filter(|task| task.status != TaskStatus::Cancelled);
    shown
        .map(|task| PlanEntry {
            content: match task.status {
                TaskStatus::Failed => format!("{} (failed)", task.subject),
                _ => task.subject.clone(),
            },
            priority: PlanPriority::Medium,
            status: match task.status {
                TaskStatus::Pending => PlanStatus::Pending,
                TaskStatus::InProgress => PlanStatus::InProgress,
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => PlanStatus::Completed,
            },
        })
        .collect()
}

/// Renders the tasks as a tree, one line each: `○ id subject`, with subtasks indented below their
/// parent. Empty without tasks.
pub fn task_tree(tasks: &[Task]) -> String {
    let mut out = String::new();
    branch(tasks, None, 0, &mut out);
    out.truncate(out.trim_end().len());
    out
}

fn branch(tasks: &[Task], parent: Option<&str>, depth: usize, out: &mut String) {
    for task in tasks.iter().filter(|task| task.parent.as_deref() == parent) {
        let _ = write!(out, "{}{} {} {}", "  ".repeat(depth), task.status.icon(), task.id, task.subject);
        if task.status == TaskStatus::InProgress && !task.active_form.is_empty() {
            let _ = write!(out, " ({})", task.active_form);
        }
        let open = |id: &&String| tasks.iter().any(|other| other.id == **id && !other.status.is_final());
        let blockers: Vec<_> = task.blocked_by.iter().filter(open).map(String::as_str).collect();
        if !blockers.is_empty() && !task.status.is_final() {
            let _ = write!(out, " (blocked by {})", blockers.join(", "));
        }
        out.push('\n');
        branch(tasks, Some(&task.id), depth + 1, out);
    }
}
