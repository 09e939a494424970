//! What projects contain that needs trust, for programs.

use super::{Project, lines};
use agent::{CheckedItem, Redactor, TrustState};
use schemars::JsonSchema;
use serde::Serialize;

/// A project, and what it contains that needs trust.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Folder {
    /// The directory.
    path: String,
    /// In a list: trusted, untrusted, changed, partly or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<&'static str>,
    /// In a list: whether models may save memories there without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memories: Option<bool>,
    /// Its items.
    items: Vec<TrustItem>,
    /// What could not be read.
    problems: Vec<String>,
}

/// An item that needs trust.
#[derive(Debug, Serialize, JsonSchema)]
struct TrustItem {
    /// Its id, for `--only`.
    id: String,
    /// What it is, such as a server or a hook.
    kind: &'static str,
    /// Its name.
    name: String,
    /// The file that it is in.
    source: String,
    /// trusted, untrusted, changed or unknown.
    state: &'static str,
    /// The hash of what would be trusted; null if it cannot be trusted.
    fingerprint: Option<String>,
    /// Why it cannot be trusted.
    problem: Option<String>,
    /// What it does, and its files, without secrets.
    shown: Vec<String>,
}

/// Projects with items that need trust.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FolderList {
    /// The projects.
    pub(super) folders: Vec<Folder>,
}

impl Folder {
    pub(super) fn of(path: &str, project: &Project, redactor: &Redactor) -> Self {
        Self {
            path: path.to_owned(),
            state: None,
            memories: None,
            items: project.items.iter().map(|judged| TrustItem::of(judged, redactor)).collect(),
            problems: project.problems.clone(),
        }
    }
}

impl TrustItem {
    fn of(judged: &CheckedItem, redactor: &Redactor) -> Self {
        let item = &judged.item;
        let problem = match &judged.state {
            TrustState::Unknown(why) => Some(why.clone()),
            _ => None,
        };
        Self {
            id: item.id(),
            kind: item.kind.word(),
            name: item.name.clone(),
            source: item.source.clone(),
            state: judged.state.word(),
            fingerprint: judged.hash.as_ref().map(ToString::to_string),
            problem,
            shown: lines(judged, redactor),
        }
    }
}
