//! The session's task list, kept in memory and shown to clients as the plan.

use std::sync::Mutex;

/// The tasks of a session, in the order they were created.
#[derive(Debug, Default)]
pub struct TaskList {
    tasks: Mutex<Vec<Task>>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Eight hexadecimal digits.
    pub id: String,
    /// What is to be done.
    pub subject: String,
    /// More about it; may be empty.
    pub description: String,
    /// What it reads like while it is being done; may be empty.
    pub active_form: String,
    /// The task it is part of.
    pub parent: Option<String>,
    /// How far it is.
    pub status: TaskStatus,
    /// Tasks that must be done first.
    pub blocked_by: Vec<String>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
    Failed,
}

impl TaskList {
    /// Works on the tasks, all of them, while nobody else does.
    pub fn with<T>(&self, work: impl FnOnce(&mut Vec<Task>) -> T) -> T {
        work(&mut self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
