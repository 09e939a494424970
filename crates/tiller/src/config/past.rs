//! What a project's file has said while a session went on.
//!
//! Whoever can write the file, the model among them, must not loosen a running session by taking a
//! line out of it. What the file has forbidden holds until the session is opened anew, or until the
//! user takes it back through this program.

use super::{
    ConfigError, InProject, SettingsFile,
    parse::{Setting, parse},
};
use crate::options::{HookOptions, Options};
use std::collections::{BTreeMap, BTreeSet};

/// The most settings that are held for one session.
const HELD: usize = 1024;

/// What still holds of earlier versions of a project's file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    /// Those that only tighten.
    settings: Vec<Setting>,
    /// Hooks that were trusted, by their names in the file.
    hooks: BTreeMap<String, HookOptions>,
}

impl Past {
    /// Keeps what a version of the file forbids, and of the hooks in `options` those of the project
    /// that are trusted.
    pub(crate) fn remember(
        &mut self,
        file: Option<&SettingsFile>,
        options: &Options,
    ) -> Result<(), ConfigError> {
        for setting in file.map_or(Ok(Vec::new()), parse)? {
            let tightens = matches!(setting.key.in_project, InProject::Adds | InProject::Tightens(_));
            let known = self.settings.iter().any(|known| known.says_the_same(&setting));
            if tightens && !known {
                self.settings.push(setting);
            }
        }
        for hook in options.hooks.values() {
            if let Some(brought) = hook.of_project.as_ref().filter(|brought| brought.trusted) {
                self.hooks.insert(brought.name.clone(), hook.clone());
            }
        }
        Ok(())
    }

    /// Whether more is held than a file that changes now and then comes to.
    pub(crate) fn is_full(&self) -> bool {
        self.settings.len() > HELD
    }

    /// The user takes a setting back, or sets it anew.
    pub(crate) fn forget(&mut self, name: &str) {
        self.settings.retain(|setting| setting.name != name);
        let hook = name.strip_prefix("hooks.").and_then(|rest| rest.split('.').next());
        hook.map(|hook| self.hooks.remove(hook));
    }

    /// Lays what the file does not say any more over the user's settings.
    pub(super) fn apply(
        &self,
        options: &mut Options,
        file: Option<&SettingsFile>,
    ) -> Result<(), ConfigError> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let now = file.map_or(Ok(Vec::new()), parse)?;
        let gone = |setting: &&Setting| !now.iter().any(|now| now.says_the_same(setting));
        for setting in self.settings.iter().filter(gone) {
            let mut after = options.clone();
            let holds = setting.apply(&mut after).is_ok()
                && match setting.key.in_project {
                    InProject::Adds => true,
                    InProject::Tightens(holds) => holds(options, &after),
                    InProject::WhenTrusted(_) => false,
                };
            if holds {
                *options = after;
            }
        }
        Ok(())
    }

    /// Hooks that were trusted stay as they were until those of the file are trusted. Each is run
    /// only while it is what was trusted.
    pub(super) fn keep_hooks(&self, options: &mut Options) {
        for (name, hook) in &self.hooks {
            let now = options.hooks.entry(format!("project/{name}")).or_insert_with(|| hook.clone());
            if now.of_project.as_ref().is_some_and(|brought| !brought.trusted) {
                now.clone_from(hook);
            }
        }
    }

    /// The settings and hooks that hold although the file does not say so any more.
    pub(crate) fn kept(&self, file: Option<&SettingsFile>) -> BTreeSet<String> {
        let now = file.and_then(|file| parse(file).ok()).unwrap_or_default();
        let gone = |setting: &&Setting| !now.iter().any(|now| now.says_the_same(setting));
        let settings = self.settings.iter().filter(gone).map(|setting| setting.name.clone());
        let hooks = self.hooks.keys().map(|name| format!("hooks.{name}"));
        let gone = |hook: &String| !now.iter().any(|now| now.name.starts_with(&format!("{hook}.")));
        settings.chain(hooks.filter(gone)).collect()
    }
}
