//! The file of results: one line of JSON per run. A later evaluation reads it to continue.

use super::task::{Kind, Split, Task};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// The identity of a run, which is done once.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct RunId {
    pub(super) agent: String,
    /// The server's name of the model, without Tiller's provider prefix.
    pub(super) model: String,
    pub(super) task: String,
    pub(super) seed: u64,
}

/// The outcome of one run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Outcome {
    #[serde(flatten)]
    pub(super) id: RunId,
    /// Copied from the task, so that results can be read without the tasks.
    pub(super) kind: String,
    pub(super) language: String,
    pub(super) split: String,
    /// Whether the check passed without unwanted changes.
    pub(super) solved: bool,
    /// The reason for a failed check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// A failure that is not the agent's fault: it did not start, or the server was unreachable.
    /// Such a run is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) broken: Option<String>,
    /// The turn's stop reason in the protocol; `timeout` if it exceeded the limit.
    pub(super) ended: String,
    /// Complete responses of the model.
    pub(super) rounds: u64,
    /// Tokens of all prompts and responses, as counted by the server.
    pub(super) prompt_tokens: u64,
    pub(super) answer_tokens: u64,
    /// Tokens of the first prompt with tools.
    pub(super) first_prompt_tokens: u64,
    /// Calls that the model wrote, valid or not.
    pub(super) calls: u64,
    /// Calls that violate the request's tool definitions.
    pub(super) invalid_calls: u64,
    /// Invalid calls that the agent did not run.
    pub(super) lost_calls: u64,
    /// Attempted edits.
    pub(super) edits: u64,
    pub(super) failed_edits: u64,
    /// Whether the first edit succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_edit: Option<bool>,
    /// Files that changed although they should not.
    pub(super) unwanted: Vec<String>,
    /// Seconds from the prompt to the end of the turn.
    pub(super) seconds: f64,
    /// The end of the answer's text.
    pub(super) answer: String,
}

impl Outcome {
    /// Creates an empty outcome of a task.
    pub(super) fn of(task: &Task, id: RunId) -> Self {
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

/// Reads the outcomes from a file, the last one of each run; empty if the file does not exist. A
/// truncated last line is ignored.
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

/// Appends an outcome as a line of its own.
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
        let id = RunId { agent: "a".to_owned(), model: "m".to_owned(), task: task.to_owned(), seed: 1 };
        Outcome { id, solved, ..Outcome::default() }
    }

    #[test]
    fn results_are_read_back_and_the_last_one_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.jsonl");
        assert!(read(&path).unwrap().is_empty());
        for outcome in [outcome("one", false), outcome("two", false), outcome("one", true)] {
            append(&path, &outcome).unwrap();
        }
        assert_eq!(read(&path).unwrap(), [outcome("two", false), outcome("one", true)]);
    }

    #[test]
    fn a_truncated_last_line_is_skipped_and_other_bad_lines_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.jsonl");
        append(&path, &outcome("one", true)).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"agent\":")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        std::fs::write(&path, format!("{{}}\n{whole}")).unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("line 1"));
    }
}
