//! The verdict on a run.

use super::run_directory::RunDirectory;
use super::task::{Check, Task};
use anyhow::Result;

/// The verdict on a finished run.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The reason why the check failed; `None` if it passed.
    pub(super) failure: Option<String>,
    /// Files that changed although they should not.
    pub(super) unwanted: Vec<String>,
}

impl Verdict {
    /// Returns whether the work is done, without unwanted changes.
    pub(super) fn solved(&self) -> bool {
        self.failure.is_none() && self.unwanted.is_empty()
    }
}

/// Judges the current state of the project and the given answer.
pub(super) fn judge(task: &Task, run_directory: &RunDirectory, answer: &str) -> Result<Verdict> {
    let mut unwanted = run_directory.changes()?;
    unwanted.retain(|path| !task.may_change(path));
    let failure = match &task.check {
        Check::Script(script) => run_directory.judge(task, script)?,
        Check::Answer { all, none, .. } => {
            let answer = plain(answer);
            let missing = all.iter().find(|pattern| !pattern.is_match(&answer));
            let missing = missing.map(|pattern| format!("the answer does not match {pattern}"));
            missing.or_else(|| {
                let wrong = none.iter().find(|pattern| pattern.is_match(&answer))?;
                Some(format!("the answer matches {wrong}, which is wrong"))
            })
        }
    };
    Ok(Verdict { failure, unwanted })
}

/// Removes Markdown's emphasis and code marks, which could split the expected text.
fn plain(answer: &str) -> String {
    answer.replace(['*', '`'], "")
}
