//! What the doctor found.

use crate::web::WebState;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The answer of `tiller doctor`. It contains no secrets and no text of prompts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    /// The version of this program.
    pub(super) version: &'static str,
    /// How this program was installed.
    pub(super) install: InstallRow,
    /// The directories of this program.
    pub(super) paths: Paths,
    /// The provider of the model of new sessions; null without a model.
    pub(super) default_provider: Option<String>,
    /// The model of new sessions; null if only the pilot would answer.
    pub(super) default_model: Option<String>,
    /// The state of its provider's key: `present`, `missing` or `not_needed`; null without a model.
    pub(super) provider_auth_status: Option<&'static str>,
    /// Every check, in order.
    pub(super) checks: Vec<Check>,
    /// The checks that found something to do.
    pub(super) issues: Vec<Issue>,
    /// Command lines that solve the issues.
    pub(super) next_commands: Vec<String>,
    /// What is good to know and needs no action.
    pub(super) notices: Vec<String>,
    /// What was repaired by `--fix`.
    pub(super) fixed: Vec<String>,
    /// The sandbox of commands.
    pub(super) sandbox: Value,
    /// The providers of models with wires of their own, and whether each has a key.
    pub(super) providers: Vec<Value>,
    /// Whether the web can be searched, and the local hosts that may be fetched from.
    pub(super) web: WebState,
    /// The database of sessions.
    pub(super) sessions: Value,
}

/// How this program was installed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstallRow {
    /// The method, as `tiller update` names it.
    pub(super) method: &'static str,
    /// The path of the running program.
    pub(super) path: Option<String>,
    /// Other programs of this name in PATH.
    pub(super) others_in_path: Vec<String>,
}

/// The directories of this program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Paths {
    /// The settings.
    pub(super) config: String,
    /// The sessions and secrets.
    pub(super) data: String,
    /// What can be made again.
    pub(super) cache: String,
}

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Ok,
    Warn,
    Error,
    Skipped,
}

/// One check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Check {
    /// A name that stays the same.
    pub(super) id: &'static str,
    pub(super) state: State,
    /// What was checked, in words.
    pub(super) title: &'static str,
    /// What was found.
    pub(super) detail: String,
    /// The command that helps.
    #[serde(skip)]
    pub(super) next: Option<String>,
    /// The place of the problem.
    #[serde(skip)]
    pub(super) place: Option<(String, Option<usize>)>,
}

/// A check that found something to do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Issue {
    /// The check's id.
    pub(super) id: &'static str,
    /// error or warning.
    pub(super) severity: &'static str,
    /// What was checked, in words.
    pub(super) title: &'static str,
    /// What is wrong.
    pub(super) detail: String,
    /// A command line that helps.
    pub(super) next_command: Option<String>,
    /// The file of the problem.
    pub(super) file: Option<String>,
    /// The line in that file, from 1.
    pub(super) line: Option<usize>,
}

impl State {
    /// The word before a check.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warning",
            Self::Error => "ERROR",
            Self::Skipped => "skipped",
        }
    }
}

impl Check {
    fn new(id: &'static str, state: State, title: &'static str, detail: impl Into<String>) -> Self {
        Self { id, state, title, detail: detail.into(), next: None, place: None }
    }

    pub(super) fn ok(id: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(id, State::Ok, title, detail)
    }

    pub(super) fn warning(id: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(id, State::Warn, title, detail)
    }

    pub(super) fn error(id: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(id, State::Error, title, detail)
    }

    pub(super) fn skipped(id: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(id, State::Skipped, title, detail)
    }

    /// Adds the command that helps.
    pub(super) fn next(self, command: impl Into<String>) -> Self {
        Self { next: Some(command.into()), ..self }
    }

    /// Adds the place of the problem.
    pub(super) fn at(self, file: impl Into<String>, line: Option<usize>) -> Self {
        Self { place: Some((file.into(), line)), ..self }
    }

    /// Returns what there is to do about it, if anything.
    pub(super) fn issue(&self) -> Option<Issue> {
        let severity = match self.state {
            State::Error => "error",
            State::Warn => "warning",
            State::Ok | State::Skipped => return None,
        };
        let (file, line) = self.place.clone().map_or((None, None), |(file, line)| (Some(file), line));
        Some(Issue {
            id: self.id,
            severity,
            title: self.title,
            detail: self.detail.clone(),
            next_command: self.next.clone(),
            file,
            line,
        })
    }
}
