//! `tiller sessions repair`: checks and repairs the session database.

use crate::{answer::Console, directories::sessions_file, exit::Exit, options::Directories, screen};
use anyhow::Result;
use serde_json::{Value, json};
use std::{io::Write, path::Path};
use store::{CheckDepth, CutSession, Health, Remedy, Repaired};

/// Checks the database and, unless `check` is set, repairs it. Exit code 1 if problems remain.
pub(crate) fn run(directories: &Directories, check: bool, console: &Console) -> Result<Exit> {
    let path = sessions_file(&directories.data);
    let path = path.as_std();
    let found = store::examine(path, CheckDepth::Thorough)?;
    let done = if check { Repaired::Nothing } else { store::repair(path)? };
    // The state after the repair: it marks truncated sessions and sets a damaged file aside.
    let left = if check { found.clone() } else { store::examine(path, CheckDepth::Quick)? };
    let mut stdout = screen::stdout();
    if console.is_json() {
        let report = report(path, found.as_ref(), &done, left.as_ref());
        writeln!(stdout, "{}", agent::escaped_json(&report.to_string()))?;
    } else {
        for line in lines(path, found.as_ref(), &done, left.as_ref()) {
            writeln!(stdout, "{line}")?;
        }
    }
    Ok(if left.is_some_and(|left| !left.problems.is_empty()) { Exit::Error } else { Exit::Ok })
}

fn report(path: &Path, found: Option<&Health>, done: &Repaired, left: Option<&Health>) -> Value {
    let problems: &[String] = found.map_or(&[], |found| &found.problems);
    let cut: &[CutSession] = left.map_or(&[], |left| &left.cut);
    let set_aside = left.map_or(&[][..], |left| &left.set_aside);
    json!({
        "file": path.to_string_lossy(),
        "problems": problems,
        "remedy": remedy_id(found.map_or(Remedy::Nothing, |found| found.remedy)),
        "done": match done {
            Repaired::Nothing => "nothing",
            Repaired::Indexes => "indexes",
            Repaired::Salvaged(_) => "salvaged",
        },
        "sessions": left.map_or(0, |left| left.sessions),
        "cut": cut.iter().map(cut_json).collect::<Vec<_>>(),
        "set_aside": set_aside.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
    })
}

pub(super) fn cut_json(cut: &CutSession) -> Value {
    json!({ "session_id": cut.id, "kept_events": cut.kept, "lost": cut.lost })
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
