//! `settings set`, `unset` and `apply`: change a settings file, checked before it is replaced.

use super::{SettingsContext, answer, checked_name, interface, plain_name, rows::SettingRow};
use crate::{
    answer::Answer,
    args::{SettingsFileChoice, SettingsTo},
    config::{self, ConfigError, Key, Layer, SettingsFile, Takes},
    failure::{Failure, Kind},
    input::read_stdin,
    setup, trust,
};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use system::AbsPath;

/// The answer of `tiller settings set`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetAnswer {
    /// Whether nothing was written.
    dry_run: bool,
    /// The file's layer: global or project.
    scope: &'static str,
    /// The file.
    file: String,
    /// The dotted name.
    key: String,
    /// The written value.
    written_value: Value,
    /// The written value as in the file.
    written_display_value: String,
    /// The value that applies afterwards, from whichever layer.
    effective_setting: EffectiveRow,
    /// The setting as it is afterwards.
    setting: SettingRow,
    /// Why the written value does not apply, if another layer overrides it.
    note: Option<String>,
}

/// The value that applies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EffectiveRow {
    /// The dotted name.
    key: String,
    /// The value; null if the default is none.
    value: Value,
    /// The value as in a settings file, or the default in words.
    display_value: String,
    /// The layer: default, user, project or environment.
    layer: &'static str,
}

/// The answer of `tiller settings unset`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnsetAnswer {
    /// Whether nothing was written.
    dry_run: bool,
    /// The file's layer: global or project.
    scope: &'static str,
    /// The file.
    file: String,
    /// The dotted name.
    key: String,
    /// Whether the file had the setting.
    removed: bool,
    /// The setting as it is afterwards.
    setting: SettingRow,
}

/// The answer of `tiller settings apply`. If one change is rejected, none is made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Applied {
    /// Whether nothing was written.
    dry_run: bool,
    /// The file's layer: global or project.
    scope: &'static str,
    /// The file.
    file: String,
    /// The changes that were made.
    applied: Vec<AppliedRow>,
    /// The changes that are invalid.
    rejected: Vec<RejectedRow>,
}

/// A change that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AppliedRow {
    /// The dotted name.
    key: String,
    /// The written value; null if the setting was removed.
    value: Value,
}

/// A change that is invalid.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RejectedRow {
    /// The name as given.
    key: String,
    /// What is wrong with it.
    error: String,
}

/// The settings file that is changed.
pub(super) struct Target {
    pub(super) path: AbsPath,
    project: bool,
}

impl Target {
    pub(super) fn scope(&self) -> &'static str {
        if self.project { "project" } else { "global" }
    }

    fn layer(&self) -> Layer {
        if self.project { Layer::Project } else { Layer::User }
    }

    /// Reads the file; a missing one is empty.
    pub(super) fn read(&self) -> Result<SettingsFile> {
        let file = config::read(self.path.clone())?;
        Ok(file.unwrap_or(SettingsFile { path: self.path.clone(), text: String::new() }))
    }
}

impl SettingsContext<'_> {
    pub(super) fn target(&self, choice: SettingsFileChoice) -> Target {
        let path = match choice.project {
            true => config::project_path(self.cwd),
            false => config::user_path(self.directories()),
        };
        Target { path, project: choice.project }
    }

    /// Writes a setting into a settings file.
    pub(crate) async fn set(&self, name: &str, words: &[String], to: &SettingsTo) -> Result<Answer> {
        let name = checked_name(name)?;
        let target = self.target(to.file);
        let key = config::key_of(name).expect("the name was checked");
        let value = typed(key, words)?;
        let mut file = target.read()?;
        file.text = config::with_setting(&file, self.directories(), name, &value).map_err(refused)?;
        let state = self.finish(&target, &file, to.dry_run, name).await?;
        let setting = SettingRow::of(&state);
        let display = config::Value::of_json(&value).map(|value| value.to_string()).unwrap_or_default();
        let written = state.origins.iter().any(|origin| origin.layer == target.layer());
        let note = match (written, state.origins.last()) {
            (false, _) => {
                Some(format!("{name} is ignored in the project's file; `tiller settings list` says why"))
            }
            (true, Some(last)) if last.layer != target.layer() && !config::description(key).adds_up() => {
                Some(format!("the value does not apply here: {} has {}", last.place, last.value))
            }
            _ => None,
        };
        let verb = if to.dry_run { "would be" } else { "is" };
        let mut text = format!("{name} = {display} {verb} in {}.\n", target.path);
        note.iter().for_each(|note| text += &format!("note: {note}\n"));
        let body = SetAnswer {
            dry_run: to.dry_run,
            scope: target.scope(),
            file: target.path.to_string(),
            key: name.to_owned(),
            written_value: value,
            written_display_value: display,
            effective_setting: EffectiveRow {
                key: name.to_owned(),
                value: setting.value.clone(),
                display_value: setting.display_value.clone(),
                layer: setting.layer,
            },
            setting,
            note,
        };
        Ok(answer(&body, text))
    }

    /// Removes a setting from a settings file.
    pub(crate) async fn unset(&self, name: &str, to: &SettingsTo) -> Result<Answer> {
        let name = checked_name(name)?;
        let target = self.target(to.file);
        let mut file = target.read()?;
        let without = config::without_setting(&file, name)?;
        let removed = without.is_some();
        let state = match without {
            Some(text) => {
                file.text = text;
                self.finish(&target, &file, to.dry_run, name).await?
            }
            None => self.state(name).await?,
        };
        let setting = SettingRow::of(&state);
        let text = match (removed, to.dry_run) {
            (false, _) => format!("{name} was not in {}.\n", target.path),
            (true, true) => format!("{name} would be removed from {}.\n", target.path),
            (true, false) => format!(
                "{name} is not in {} any more; it is {} ({}).\n",
                target.path,
                setting.display_value,
                super::rows::layer(&state)
            ),
        };
        let body = UnsetAnswer {
            dry_run: to.dry_run,
            scope: target.scope(),
            file: target.path.to_string(),
            key: name.to_owned(),
            removed,
            setting,
        };
        Ok(answer(&body, text))
    }

    pub(super) async fn apply(&self, to: &SettingsTo) -> Result<Answer> {
        let text = read_stdin()?;
        let given = serde_json::from_str::<Map<String, Value>>(&text).map_err(|error| {
            Failure::new(Kind::Usage, format!("stdin is not a JSON object: {error}"))
                .hint(r#"write {"agent.mode": "plan", "tools.denied_tools": ["bash"]}"#)
        })?;
        let target = self.target(to.file);
        let mut file = target.read()?;
        let (mut applied, mut rejected) = (Vec::new(), Vec::new());
        for (key, value) in given {
            match self.changed(&file, plain_name(&key), &value) {
                Ok(text) => {
                    file.text = text;
                    applied.push(AppliedRow { key: plain_name(&key).to_owned(), value });
                }
                Err(error) => rejected.push(RejectedRow { key, error: error.to_string() }),
            }
        }
        if rejected.is_empty() && !applied.is_empty() {
            let names: Vec<_> = applied.iter().map(|row| row.key.as_str()).collect();
            self.check(&file, Some(&names)).await?;
            if !to.dry_run {
                self.replace(&target, &file).await?;
            }
        }
        let mut lines: String = rejected.iter().map(|row| format!("{}: {}\n", row.key, row.error)).collect();
        let failed = !rejected.is_empty();
        if failed {
            applied.clear();
        }
        let verb = if to.dry_run { "would be" } else { "are" };
        for row in &applied {
            let shown =
                config::Value::of_json(&row.value).map_or("removed".to_owned(), |value| value.to_string());
            lines += &format!("{} = {shown}\n", row.key);
        }
        if failed {
            lines += "Nothing was changed.\n";
        } else {
            lines += &format!("{} settings {verb} in {}.\n", applied.len(), target.path);
        }
        let body = Applied {
            dry_run: to.dry_run,
            scope: target.scope(),
            file: target.path.to_string(),
            applied,
            rejected,
        };
        let answer = answer(&body, lines);
        Ok(match failed {
            true => {
                answer.failed(Failure::new(Kind::Config, "nothing was changed: not every setting is valid"))
            }
            false => answer,
        })
    }

    fn changed(&self, file: &SettingsFile, name: &str, value: &Value) -> Result<String, Failure> {
        config::check_name(name).map_err(refused)?;
        match value {
            Value::Null => config::without_setting(file, name)
                .map(|text| text.unwrap_or_else(|| file.text.clone()))
                .map_err(refused),
            value => config::with_setting(file, self.directories(), name, value).map_err(refused),
        }
    }

    /// Checks that the settings of this directory can be used with a changed file. `names` are the
    /// settings that changed, if not all may have.
    pub(super) async fn check(&self, changed: &SettingsFile, names: Option<&[&str]>) -> Result<()> {
        let preview = self.settings.preview(self.cwd, changed).await?;
        interface::check(&preview.options, names).await
    }

    /// Checks a changed file, writes it unless this is a trial, and returns the state of a setting
    /// with it.
    async fn finish(
        &self,
        target: &Target,
        file: &SettingsFile,
        dry_run: bool,
        name: &str,
    ) -> Result<config::SettingState> {
        let preview = self.settings.preview(self.cwd, file).await?;
        interface::check(&preview.options, Some(&[name])).await?;
        if dry_run {
            let states = config::states(&preview.effective, self.environment, self.directories());
            return Ok(config::state(states, name).expect("the name was checked"));
        }
        self.replace(target, file).await?;
        self.state(name).await
    }

    /// Replaces the file. The user's own change to a project's file stays trusted.
    pub(super) async fn replace(&self, target: &Target, file: &SettingsFile) -> Result<()> {
        let options = self.settings.built_in();
        let awaiting_review = match target.project {
            true => trust::settings_awaiting_review(self.directories(), self.cwd).await,
            false => None,
        };
        setup::write(&options, file).await?;
        if let Some(awaiting_review) = awaiting_review {
            trust::grant_written_settings(self.directories(), self.cwd, &awaiting_review).await?;
        }
        Ok(())
    }
}

/// Converts an error about a value that was given on the command line, which is at no place of a
/// file.
fn refused(error: ConfigError) -> Failure {
    match error {
        ConfigError::BadValue { key, problem, .. } => Failure::new(Kind::Config, format!("{key}: {problem}"))
            .next(format!("tiller settings options {key}")),
        other => Failure::new(Kind::Config, other.to_string()),
    }
}

/// Converts typed words to the type of a setting. A word that does not fit stays text, so that the
/// error names what the setting takes.
pub(super) fn typed(key: &Key, words: &[String]) -> Result<Value> {
    let takes = config::description(key).takes;
    let [word] = words else {
        return match takes {
            Takes::List(_) => Ok(json!(words)),
            _ => {
                let what = format!("{} takes one value, not {}", key.name, words.len());
                Err(Failure::new(Kind::Usage, what).hint("quote a value that has blanks").into())
            }
        };
    };
    let number = || word.parse::<i64>().map_or_else(|_| json!(word), |number| json!(number));
    Ok(match takes {
        Takes::List(_) if word.trim_start().starts_with('[') => list(key, word)?,
        Takes::List(_) => json!([word]),
        Takes::Flag => word.parse::<bool>().map_or_else(|_| json!(word), |flag| json!(flag)),
        Takes::Count | Takes::CountOrZero | Takes::Percent | Takes::Seconds { .. } => number(),
        Takes::Text
        | Takes::Theme
        | Takes::Model
        | Takes::Url
        | Takes::Address
        | Takes::Variable
        | Takes::Word(_) => {
            json!(word)
        }
    })
}

/// Parses a list as TOML has it, which includes JSON.
fn list(key: &Key, word: &str) -> Result<Value> {
    let parsed = format!("list = {word}").parse::<toml::Table>().ok().and_then(|table| {
        let items = table.get("list")?.as_array()?.clone();
        items.iter().map(|item| item.as_str().map(|text| json!(text))).collect::<Option<Vec<_>>>()
    });
    parsed.map(Value::Array).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("{}: {word:?} is not a list of texts", key.name))
            .hint(r#"write ["a", "b"], or the items as separate words"#)
            .into()
    })
}
