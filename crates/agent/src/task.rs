//! The session's task list, kept in memory and shown to clients as the plan.

use crate::{PlanEntry, PlanPriority, PlanStatus};
use std::{fmt::Write as _, sync::Mutex};

/// The tasks of a session, in the order they were created.
#[derive(Debug, Default)]
pub struct TaskList {
    tasks: Mutex<Vec<Task>>,
}

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

impl TaskList {
    /// Runs `work` on all tasks while holding the lock.
    pub fn with<T>(&self, work: impl FnOnce(&mut Vec<Task>) -> T) -> T {
        work(&mut self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl TaskStatus {
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

/// Renders the tasks as a tree, one line each: `○ id subject`, with subtasks indented below their
/// parent. Empty without tasks.
pub(crate) fn tree(tasks: &[Task]) -> String {
    let mut out = String::new();
    branch(tasks, None, 0, &mut out);
    out.truncate(out.trim_end().len());
    out
}

/// Returns the tasks as the plan that clients show, without cancelled tasks.
pub(crate) fn plan(tasks: &[Task]) -> Vec<PlanEntry> {
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

/// Completes every task whose subtasks are all completed or cancelled, with at least one completed;
/// works from the leaves upwards.
pub(crate) fn complete_parents(tasks: &mut [Task]) {
    // Each iteration completes at least one task or is the last.
    while let Some(done) =
        tasks.iter().position(|task| !task.status.is_final() && parts_done(tasks, &task.id))
    {
        tasks[done].status = TaskStatus::Completed;
    }
}

/// Whether `id` waits for `target`, directly or through other tasks.
pub(crate) fn waits_for(tasks: &[Task], id: &str, target: &str) -> bool {
    let mut open = vec![id];
    let mut seen = std::collections::HashSet::new();
    while let Some(id) = open.pop() {
        if id == target {
            return true;
        }
        if seen.insert(id) {
            let blockers = tasks.iter().filter(|task| task.id == id).flat_map(|task| &task.blocked_by);
            open.extend(blockers.map(String::as_str));
        }
    }
    false
}

fn parts_done(tasks: &[Task], id: &str) -> bool {
    let mut parts = tasks.iter().filter(|task| task.parent.as_deref() == Some(id)).peekable();
    let mut completed = false;
    parts.peek().is_some()
        && parts.all(|part| {
            completed |= part.status == TaskStatus::Completed;
            matches!(part.status, TaskStatus::Completed | TaskStatus::Cancelled)
        })
        && completed
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

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, parent: Option<&str>, status: TaskStatus, blocked_by: &[&str]) -> Task {
        Task {
            id: id.to_owned(),
            subject: format!("do {id}"),
            description: String::new(),
            active_form: format!("doing {id}"),
            parent: parent.map(str::to_owned),
            status,
            blocked_by: blocked_by.iter().map(|&id| id.to_owned()).collect(),
        }
    }

    #[test]
    fn draws_a_tree_and_a_plan() {
        let tasks = [
            task("a", None, TaskStatus::InProgress, &[]),
            task("b", None, TaskStatus::Pending, &["a", "d"]),
            task("c", Some("a"), TaskStatus::Failed, &[]),
            task("d", Some("a"), TaskStatus::Cancelled, &["a"]),
        ];
        assert_eq!(tree(&tasks), "◎ a do a (doing a)\n  ☠ c do c\n  ✗ d do d\n○ b do b (blocked by a)");
        assert_eq!(tree(&[]), "");
        let plan: Vec<_> = plan(&tasks).into_iter().map(|entry| (entry.content, entry.status)).collect();
        let expected = [
            ("do a", PlanStatus::InProgress),
            ("do b", PlanStatus::Pending),
            ("do c (failed)", PlanStatus::Completed),
        ];
        assert_eq!(plan, expected.map(|(content, status)| (content.to_owned(), status)));
    }

    #[test]
    fn completes_parents_from_below() {
        use TaskStatus::{Cancelled, Completed, Failed, InProgress, Pending};
        for (parts, expected) in [
            ([Completed, Completed], Completed),
            ([Completed, Cancelled], Completed),
            ([Cancelled, Cancelled], Pending),
            ([Completed, Failed], Pending),
            ([Completed, InProgress], Pending),
        ] {
            let mut tasks = [
                task("root", None, Pending, &[]),
                task("middle", Some("root"), Pending, &[]),
                task("x", Some("middle"), parts[0], &[]),
                task("y", Some("middle"), parts[1], &[]),
            ];
            complete_parents(&mut tasks);
            assert_eq!((tasks[0].status, tasks[1].status), (expected, expected), "{parts:?}");
        }
    }

    #[test]
    fn sees_cycles() {
        let tasks =
            [task("a", None, TaskStatus::Pending, &["b"]), task("b", None, TaskStatus::Pending, &["c"])];
        for (id, target, expected) in
            [("a", "c", true), ("a", "a", true), ("c", "a", false), ("b", "a", false)]
        {
            assert_eq!(waits_for(&tasks, id, target), expected, "{id} {target}");
        }
    }
}
