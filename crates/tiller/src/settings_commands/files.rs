//! `config show` and `config paths`.

use super::{SettingsContext, answer, rows, rows::SettingRow};
use crate::{
    answer::Answer,
    config::{self, SettingState},
    directories::{sessions_file, tokens_file},
    secrets,
    settings::Snapshot,
    table::Table,
    trust,
};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use system::{AbsPath, FileStamp};

/// The answer of `tiller config show`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShownConfig {
    /// The settings that apply, as a settings file with the origin of each in a comment.
    toml: String,
    /// The same settings.
    settings: Vec<SettingRow>,
    /// What is in the files and does not apply, with the reasons.
    notices: Vec<String>,
}

/// The answer of `tiller config paths`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PathList {
    /// The files and directories.
    paths: Vec<PathRow>,
}

/// A file or directory that the program uses.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PathRow {
    /// What it is for.
    name: &'static str,
    /// The path.
    path: String,
    /// Whether it exists.
    exists: bool,
}

impl SettingsContext<'_> {
    pub(super) async fn show(&self, all: bool) -> Result<Answer> {
        let Snapshot { effective, notices, .. } = self.settings.read(self.cwd).await?;
        let mut states = config::states(&effective, self.environment, self.directories());
        states.retain(|state| all || !state.origins.is_empty());
        let mut toml = toml_text(&states);
        if states.is_empty() {
            toml = "# No setting is set; everything has its default: tiller config show --all\n".to_owned();
        }
        let text = notices.iter().fold(toml.clone(), |text, notice| text + &format!("# ignored: {notice}\n"));
        let settings = states.iter().map(SettingRow::of).collect();
        Ok(answer(&ShownConfig { toml, settings, notices }, text))
    }

    pub(super) fn paths(&self) -> Result<Answer> {
        let own = self.directories();
        let paths = [
            ("settings", config::user_path(own)),
            ("project settings", config::project_path(self.cwd)),
            ("secrets", secrets::path(own)),
            ("tokens", tokens_file(&own.data)),
            ("sessions", sessions_file(&own.data)),
            ("trust", trust::path(own)),
            ("configuration", own.config.clone()),
            ("data", own.data.clone()),
            ("cache", own.cache.clone()),
        ];
        let row = |(name, path): (&'static str, AbsPath)| PathRow {
            name,
            exists: FileStamp::of(&path).exists(),
            path: path.to_string(),
        };
        let paths: Vec<_> = paths.into_iter().map(row).collect();
        let mut table = Table::plain();
        for PathRow { name, path, exists } in &paths {
            let missing = if *exists { "" } else { "(not there)" };
            table.row([(*name).to_owned(), path.clone(), missing.to_owned()]);
        }
        let text = table.text();
        Ok(answer(&PathList { paths }, text))
    }
}

/// Formats settings as a file. Those without a value are comments.
fn toml_text(states: &[SettingState]) -> String {
    let mut text = String::new();
    let mut header = "";
    for state in states {
        let (group, key) = state.name.rsplit_once('.').unwrap_or(("", &state.name));
        if group != header {
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}[{group}]\n");
            header = group;
        }
        let mark = if state.origins.is_empty() { "# " } else { "" };
        text += &format!("{mark}{key} = {}  # {}\n", rows::display(state), rows::origin(state));
    }
    text
}
