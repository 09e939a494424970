//! `tiller caches`: what commands in the sandbox changed in toolchains and caches of the user.

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::CachesCommand,
    exit::Exit,
    table::Table,
};
use agent::byte_size;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::UNIX_EPOCH;
use system::{AbsPath, ProjectCaches, System, private_temp};

/// The answer of `tiller caches list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CacheList {
    /// The caches, those that were used last first.
    caches: Vec<Caches>,
}

/// The caches of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Caches {
    /// The directory of the project; null if it is not known.
    project: Option<String>,
    /// The directory with the files.
    directory: String,
    /// The space that they take, in bytes.
    bytes: u64,
    /// When a session used them last, in milliseconds since 1970.
    used_ms: i64,
}

/// The answer of `tiller caches clear`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CachesCleared {
    /// The caches that were removed.
    removed: Vec<Caches>,
    /// The caches that stay, because a session uses them.
    in_use: Vec<Caches>,
}

impl Caches {
    fn of(caches: &ProjectCaches) -> Self {
        let since = caches.used.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            project: caches.project.as_ref().map(ToString::to_string),
            directory: caches.directory.to_string(),
            bytes: caches.bytes(),
            used_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Returns the project, or the directory if that is not known.
    fn name(&self) -> &str {
        self.project.as_ref().unwrap_or(&self.directory)
    }
}

/// Runs the command.
pub(crate) async fn run(
    console: &Console,
    system: &dyn System,
    cwd: &AbsPath,
    command: CachesCommand,
) -> Result<Exit> {
    let mut all = private_temp().map(|temp| ProjectCaches::all(&temp)).unwrap_or_default();
    let project = match &command {
        CachesCommand::List { project: None } | CachesCommand::Clear { all: true, .. } => None,
        CachesCommand::List { project: Some(project) } => Some(project.clone()),
        CachesCommand::Clear { project, all: false } => Some(project.clone().unwrap_or_default()),
    };
    if let Some(project) = project {
        let named = AbsPath::from_os(&cwd.as_std().join(project))?;
        let project = system.resolve(&named).await.unwrap_or(named);
        all.retain(|caches| caches.project.as_ref() == Some(&project));
        if all.is_empty() && matches!(command, CachesCommand::Clear { .. }) {
            let text = format!("commands in {project} have changed no caches");
            return Err(Failure::new(Kind::NotFound, text).next("tiller caches list").into());
        }
    }
    match command {
        CachesCommand::List { .. } => list(console, &all),
        CachesCommand::Clear { .. } => clear(console, &all),
    }
}

fn list(console: &Console, all: &[ProjectCaches]) -> Result<Exit> {
    let caches: Vec<_> = all.iter().map(Caches::of).collect();
    let mut table = Table::new(["PROJECT", "SIZE", "LAST USED"]);
    for one in &caches {
        table.row([one.name().to_owned(), byte_size(one.bytes), console.moment(one.used_ms)]);
    }
    let text = match caches.as_slice() {
        [] => "Commands in the sandbox have changed no caches.\n".to_owned(),
        _ => table.text(),
    };
    console.print(Answer::new(CacheList { caches }, text))
}

fn clear(console: &Console, all: &[ProjectCaches]) -> Result<Exit> {
    let mut cleared = CachesCleared { removed: Vec::new(), in_use: Vec::new() };
    let mut text = String::new();
    for caches in all {
        let one = Caches::of(caches);
        match caches.clear()? {
            true => {
                text.push_str(&format!("removed {} of {}\n", byte_size(one.bytes), one.name()));
                cleared.removed.push(one);
            }
            false => {
                text.push_str(&format!(
                    "kept {} of {}: a session uses it\n",
                    byte_size(one.bytes),
                    one.name()
                ));
                cleared.in_use.push(one);
            }
        }
    }
    if all.is_empty() {
        text.push_str("there is nothing to remove\n");
    }
    console.print(Answer::new(cleared, text))
}
