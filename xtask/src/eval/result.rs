//! The outcomes of runs in a file: one line of JSON per run, which a later evaluation reads to go on.

use super::task::{Kind, Split, Task};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// What makes a run: it is done once.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Id {
    pub(super) agent: String,
    /// As the server calls it, without Tiller's name of the provider.
    pub(super) model: String,
    pub(super) task: String,
    pub(super) seed: u64,
}

/// The outcome of one run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Outcome {
    #[serde(flatten)]
    pub(super) id: Id,
    /// Of the task, so that a file of results can be read without the tasks.
    pub(super) kind: String,
    pub(super) language: String,
    pub(super) split: String,
    /// The check passed, and nothing changed that should not have.
    pub(super) solved: bool,
    /// Why it is not solved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// Why the agent is not to blame: it did not start, or the server was not there. Such a run is
    /// done again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) broken: Option<String>,
    /// Why the turn ended, in the protocol's word; `timeout` where it took too long.
    pub(super) ended: String,
    /// Requests to the model that were answered to the end.
    pub(super) rounds: u64,
    /// Tokens of all prompts and answers, as the server counts them.
    pub(super) prompt_tokens: u64,
    pub(super) answer_tokens: u64,
    /// Tokens of the first prompt that offers tools.
    pub(super) first_prompt_tokens: u64,
    /// Calls that the model wrote, well or not.
    pub(super) calls: u64,
    /// Those that were not as the request asked for them.
    pub(super) invalid_calls: u64,
    /// Those of them that the agent did not run.
    pub(super) lost_calls: u64,
    /// Edits that the agent tried.
    pub(super) edits: u64,
    pub(super) failed_edits: u64,
    /// Whether the first of them succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_edit: Option<bool>,
    /// What changed and should not have.
    pub(super) unwanted: Vec<String>,
    /// Seconds from the prompt to the end of the turn.
    pub(super) seconds: f64,
    /// The end of the answer.
    pub(super) answer: String,
}

impl Outcome {
    /// An outcome of a task, with nothing in it yet.
    pub(super) fn of(task: &Task, id: Id) -> Self {
        let (kind, split) = (task.kind.name().to_owned(), task.split.to_string());
        Self { id, kind, language: task.language.clone(), split, ..Self::default() }
    }

    pub(super) fn is_of(&self, kind: Kind) -> bool {
        self.kind == kind.name()
    }

    pub(super) fn is_in(&self, split: Split) -> bool {
        self.split == split.to_string()
    }
}

/// The outcomes in a file, the last of each run; none where there is no file. A last line that was
/// cut off is left out.
pub(super) fn read(path: &Path) -> Result<Vec<Outcome>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let outcome: Outcome = match serde_json::from_str(line) {
            Ok(outcome) => outcome,
            Err(_) if !text.ends_with('\n') && number + 1 == text.lines().count() => break,
            Err(error) => {
                return Err(error).with_context(|| format!("{}, line {}", path.display(), number + 1));
            }
        };
        outcomes.retain(|other| other.id != outcome.id);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Adds an outcome to a file, on a line of its own.
pub(super) fn append(path: &Path, outcome: &Outcome) -> Result<()> {
    let cut_off = std::fs::read(path).is_ok_and(|text| text.last().is_some_and(|last| *last != b'\n'));
    let mut file = std::fs::File::options().create(true).append(true).open(path)?;
    let line = serde_json::to_string(outcome)?;
    Ok(writeln!(file, "{}{line}", if cut_off { "\n" } else { "" })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(task: &str, solved: bool) -> Outcome {
        let id = Id { agent: "a".to_owned(), model: "m".to_owned(), task: task.to_owned(), seed: 1 };
        Outcome { id, solved, ..Outcome::default() }
    }

    #[test]
    fn what_was_written_is_read_again_and_the_last_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        assert!(read(&path).unwrap().is_empty());
        for outcome in [outcome("one", false), outcome("two", false), outcome("one", true)] {
            append(&path, &outcome).unwrap();
        }
        assert_eq!(read(&path).unwrap(), [outcome("two", false), outcome("one", true)]);
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out_and_others_that_are_broken_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        append(&path, &outcome("one", true)).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"agent\":")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        std::fs::write(&path, format!("{{}}\n{whole}")).unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("line 1"));
    }
}
