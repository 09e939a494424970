//! `tiller install --list`: the editors that are known, and what they start.

use crate::{
    answer::Answer,
    editors::{FoundEditor, Places, look},
};
use schemars::JsonSchema;
use serde::Serialize;
use system::System;

/// The result of `tiller install --list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Editors {
    editors: Vec<Row>,
}

/// An editor.
#[derive(Debug, Serialize, JsonSchema)]
struct Row {
    /// The word on the command line.
    editor: &'static str,
    /// The name for people.
    label: &'static str,
    /// Its settings file, whether it exists or not.
    file: String,
    /// Whether the editor has settings on this machine.
    present: bool,
    /// What its entry starts; null if it has none.
    command: Option<String>,
    /// Whether the command exists; null without an entry.
    command_exists: Option<bool>,
    /// Why its settings could not be read.
    problem: Option<String>,
}

/// Looks at all editors.
pub(super) async fn answer(system: &dyn System, places: &Places, path: &str) -> Answer {
    let found = look(system, places, path).await;
    let width = found.iter().map(|found| found.editor.id().len()).max().unwrap_or_default();
    let text: String = found
        .iter()
        .map(|found| {
            format!("{:width$}  {}  {}\n", found.editor.id(), state(found), shortened(found, places))
        })
        .collect();
    Answer::new(Editors { editors: found.iter().map(row).collect() }, text)
}

/// The state of an editor in words of one width.
fn state(found: &FoundEditor) -> &'static str {
    match found {
        FoundEditor { problem: Some(_), .. } => "unreadable  ",
        FoundEditor { command: Some(_), command_exists: false, .. } => "entry broken",
        FoundEditor { command: Some(_), .. } => "installed   ",
        FoundEditor { is_present: true, .. } => "found       ",
        _ => "not found   ",
    }
}

fn shortened(found: &FoundEditor, places: &Places) -> String {
    let file = match found.file.relative_to(&places.home) {
        Some(below) => format!("~/{below}"),
        None => found.file.as_str().to_owned(),
    };
    match &found.problem {
        Some(problem) => format!("{file}: {problem}"),
        None => file,
    }
}

fn row(found: &FoundEditor) -> Row {
    Row {
        editor: found.editor.id(),
        label: found.editor.label(),
        file: found.file.as_str().to_owned(),
        present: found.is_present,
        command: found.command.clone(),
        command_exists: found.command.as_ref().map(|_| found.command_exists),
        problem: found.problem.clone(),
    }
}
