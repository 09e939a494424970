//! `tiller sessions repair`: checks and repairs the session database.

use crate::{
    answer::{Answer, Console},
    directories::sessions_file,
    exit::Exit,
    options::Directories,
};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use store::{CheckDepth, CutSession, Health, Remedy, Repaired};

/// The state of the session database, and what was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RepairReport {
    /// The file.
    file: String,
    /// What was wrong with it.
    problems: Vec<String>,
    /// What repairs it: nothing, indexes, salvage or refused.
    remedy: &'static str,
    /// What was done: nothing, indexes or salvaged.
    done: &'static str,
    /// The number of sessions.
    sessions: u64,
    /// Sessions whose last events are lost.
    cut: Vec<CutRow>,
    /// Damaged files that were set aside.
    set_aside: Vec<String>,
}

/// A session whose last events are lost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CutRow {
    /// The id of the session.
    session_id: String,
    /// The number of events that it still has.
    kept_events: u64,
    /// What is lost.
    lost: String,
}

/// Checks the database and, unless `check` is set, repairs it. Exit code 1 if problems remain.
pub(crate) fn run(directories: &Directories, check: bool, console: &Console) -> Result<Exit> {
    let path = sessions_file(&directories.data);
    let path = path.as_std();
    let found = store::examine(path, CheckDepth::Thorough)?;
    let done = if check { Repaired::Nothing } else { store::repair(path)? };
    // The state after the repair: it marks truncated sessions and sets a damaged file aside.
    let left = if check { found.clone() } else { store::examine(path, CheckDepth::Quick)? };
    let text: String =
        lines(path, found.as_ref(), &done, left.as_ref()).iter().map(|line| format!("{}\n", line)).collect();
    let answer = Answer::new(RepairReport::of(path, found, &done, left.as_ref()), text);
    let remain = left.is_some_and(|left| !left.problems.is_empty());
    console.print(answer.failed_if(remain, "the session database has problems"))
}

impl RepairReport {
    fn of(path: &Path, found: Option<Health>, done: &Repaired, left: Option<&Health>) -> Self {
        let remedy = remedy_id(found.as_ref().map_or(Remedy::Nothing, |found| found.remedy));
        Self {
            file: path.to_string_lossy().into_owned(),
            problems: found.map(|found| found.problems).unwrap_or_default(),
            remedy,
            done: match done {
                Repaired::Nothing => "nothing",
                Repaired::Indexes => "indexes",
                Repaired::Salvaged(_) => "salvaged",
            },
            sessions: left.map_or(0, |left| left.sessions),
            cut: left.map(|left| left.cut.iter().map(CutRow::of).collect()).unwrap_or_default(),
            set_aside: left
                .map(|left| left.set_aside.iter().map(|file| file.to_string_lossy().into_owned()).collect())
                .unwrap_or_default(),
        }
    }
}

impl CutRow {
    pub(super) fn of(cut: &CutSession) -> Self {
        Self { session_id: cut.id.clone(), kept_events: cut.kept, lost: cut.lost.clone() }
    }
}

fn remedy_id(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Nothing => "nothing",
        Remedy::Indexes => "indexes",
        Remedy::Salvage => "salvage",
        Remedy::Refuse => "refused",
    }
}

fn lines(path: &Path, found: Option<&Health>, done: &Repaired, left: Option<&Health>) -> Vec<String> {
    let file = path.display();
    let Some(found) = found else {
        return vec![format!("{file}: the file does not exist, so no sessions are stored")];
    };
    let mut lines: Vec<String> =
        found.problems.iter().map(|problem| format!("problem    {problem}")).collect();
    lines.push(match (done, found.remedy) {
        (Repaired::Salvaged(salvaged), _) => salvaged.summary(path),
        (Repaired::Indexes, _) => format!("{file}: its indexes were rebuilt; nothing was lost"),
        (Repaired::Nothing, Remedy::Nothing) => format!("{file} is healthy: {} sessions", found.sessions),
        (Repaired::Nothing, Remedy::Indexes) => {
            format!("`tiller sessions repair` rebuilds the indexes of {file}; nothing is lost")
        }
        (Repaired::Nothing, Remedy::Salvage) => format!(
            "`tiller sessions repair` copies what can be read into a fresh file and sets the damaged one aside as {file}.damaged-…"
        ),
        (Repaired::Nothing, Remedy::Refuse) => "this program cannot repair it".to_owned(),
    });
    let Some(left) = left else { return lines };
    lines.extend(
        left.cut
            .iter()
            .map(|cut| format!("cut        {}: {} events are kept; {}", cut.id, cut.kept, cut.lost)),
    );
    lines.extend(left.set_aside.iter().map(|aside| format!("set aside  {}", aside.display())));
    lines
}
