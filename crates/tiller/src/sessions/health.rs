//! The state of the session database, for `tiller doctor`.

use super::repair::CutRow;
use crate::{directories::sessions_file, options::Options};
use serde_json::{Value, json};
use store::{CheckDepth, CutSession, Remedy};
use system::AbsPath;

/// The result of a check of the session database.
pub(crate) struct Sessions {
    file: AbsPath,
    /// The number of sessions; `None` if the file is missing or cannot be read.
    count: Option<u64>,
    cut: Vec<CutSession>,
    set_aside: Vec<String>,
    pub(crate) problems: Vec<String>,
}

impl Sessions {
    pub(crate) fn line(&self) -> String {
        match (self.count, self.problems.is_empty()) {
            (Some(count), true) => format!("{count} in {}", self.file),
            (None, true) => format!("none yet; {}", self.file),
            (_, false) => format!("{} has a problem", self.file),
        }
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({
            "file": self.file.as_str(),
            "count": self.count,
            "cut": self.cut.iter().map(CutRow::of).collect::<Vec<_>>(),
            "set_aside": self.set_aside,
        })
    }

    /// Notes about the results of earlier damage.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let cut = self
            .cut
            .iter()
            .map(|cut| format!("session {} is cut to {} events: {}", cut.id, cut.kept, cut.lost));
        cut.chain(self.set_aside.iter().map(|file| {
            format!(
                "{file} is a damaged session database that was set aside; delete it once nothing is missing"
            )
        }))
    }
}

/// Checks the database without changing it.
pub(crate) async fn check(options: &Options) -> Sessions {
    let file = sessions_file(&options.directories.data);
    let path = file.as_std().to_owned();
    let mut sessions =
        Sessions { file, count: None, cut: Vec::new(), set_aside: Vec::new(), problems: Vec::new() };
    // The check reads the whole file, so it runs on a blocking thread.
    let found = tokio::task::spawn_blocking(move || store::examine(&path, CheckDepth::Quick)).await;
    match found {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(health))) => {
            let mendable = matches!(health.remedy, Remedy::Indexes | Remedy::Salvage);
            let remedy = if mendable { "; run `tiller sessions repair`" } else { "" };
            sessions.problems =
                health.problems.iter().map(|problem| format!("sessions: {problem}{remedy}")).collect();
            sessions.count = Some(health.sessions);
            sessions.cut = health.cut;
            sessions.set_aside =
                health.set_aside.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        }
        Ok(Err(error)) => sessions.problems.push(error.to_string()),
        Err(error) => sessions.problems.push(format!("the session database was not checked: {error}")),
    }
    sessions
}
