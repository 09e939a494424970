//! Whether a task was solved.

use super::ground::Ground;
use super::task::{Check, Task};
use anyhow::Result;

/// What was found when a run was over.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Why the check did not pass; `None` where it did.
    pub(super) failure: Option<String>,
    /// What changed and should not have.
    pub(super) unwanted: Vec<String>,
}

impl Verdict {
    /// The work is done and nothing else was.
    pub(super) fn solved(&self) -> bool {
        self.failure.is_none() && self.unwanted.is_empty()
    }
}

/// Judges the project as it is now, and the answer that was given.
pub(super) fn judge(task: &Task, ground: &Ground, answer: &str) -> Result<Verdict> {
    let mut unwanted = ground.changes()?;
    unwanted.retain(|path| !task.may_change(path));
    let failure = match &task.check {
        Check::Script(script) => ground.judge(task, script)?,
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

/// An answer without Markdown's marks, which may stand in the middle of what is looked for.
fn plain(answer: &str) -> String {
    answer.replace(['*', '`'], "")
}
