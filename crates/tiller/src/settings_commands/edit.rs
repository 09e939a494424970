//! `settings edit`: opens the user's editor on a copy, which replaces the file once it is valid.

use super::{SettingsContext, answer};
use crate::{
    answer::{Answer, Console},
    args::SettingsFileChoice,
    config::SettingsFile,
    editor,
    failure::{Failure, Kind},
    screen,
};
use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::BufRead as _;
use system::{AbsPath, LocalSystem, System as _, TemporaryDirectory};

/// What an empty file begins with.
const TEMPLATE: &str = "\
#:schema ./settings.schema.json
# The settings: `tiller settings list`. Examples: `tiller settings examples`.

";

/// The answer of `tiller settings edit`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Edited {
    /// The file.
    file: String,
    /// Whether it was changed.
    changed: bool,
}

impl SettingsContext<'_> {
    pub(super) async fn edit(&self, console: &Console, choice: SettingsFileChoice) -> Result<Answer> {
        if !console.may_ask() {
            return Err(Failure::new(Kind::Usage, "an editor needs a terminal")
                .hint("without one, change single settings")
                .next("tiller settings set KEY VALUE")
                .into());
        }
        let target = self.target(choice);
        let before = target.read()?;
        let directory = TemporaryDirectory::new()?;
        let draft = AbsPath::from_os(directory.path())?.join("config.toml");
        let system = LocalSystem::new();
        let begin = if before.text.trim().is_empty() { TEMPLATE.to_owned() } else { before.text.clone() };
        system.write(&draft, begin.as_bytes()).await?;
        loop {
            editor::open(self.environment, &draft)?;
            let text = String::from_utf8(system.read(&draft).await?).context("the text is not UTF-8")?;
            if text == begin {
                let body = Edited { file: target.path.to_string(), changed: false };
                return Ok(answer(&body, "Nothing was changed.\n"));
            }
            let changed = SettingsFile { path: target.path.clone(), text };
            let Err(problem) = self.check(&changed, None).await else {
                self.replace(&target, &changed).await?;
                let body = Edited { file: target.path.to_string(), changed: true };
                return Ok(answer(&body, format!("The settings are in {}.\n", target.path)));
            };
            screen::note(&format!("{problem:#}\nEdit it again? [Y/n]"));
            let mut line = String::new();
            let ended = std::io::stdin().lock().read_line(&mut line)? == 0;
            if ended || line.trim().eq_ignore_ascii_case("n") {
                let kept = directory.keep().join("config.toml");
                let what = format!("{problem:#}; {} is as it was", target.path);
                let hint = format!("your text is in {}", kept.display());
                return Err(Failure::new(Kind::Config, what).hint(hint).into());
            }
        }
    }
}
