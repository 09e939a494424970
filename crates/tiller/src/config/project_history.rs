//! Remembers what a project's file has forbidden during a session.
//!
//! A program that can write the file, the model's tools included, must not loosen a running session
//! by deleting a line. Restrictions of earlier versions of the file apply until the session is
//! opened anew, or until the user revokes them through this program.

use super::{
    ConfigError, InProject, SettingsFile,
    parse::{Setting, parse},
};
use crate::options::{HookOptions, Options};
use std::collections::{BTreeMap, BTreeSet};

/// The most settings that are remembered for one session.
const HELD: usize = 1024;

/// The restrictions of earlier versions of a project's file that still apply.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectHistory {
    /// Settings that only tighten.
    settings: Vec<Setting>,
    /// Hooks that were trusted, by their names in the file.
    hooks: BTreeMap<String, HookOptions>,
}

impl ProjectHistory {
    /// Remembers the restrictions of this version of the file, and the trusted project hooks in
    /// `options`.
    pub(crate) fn remember(
        &mut self,
        file: Option<&SettingsFile>,
        options: &Options,
    ) -> Result<(), ConfigError> {
        for setting in file.map_or(Ok(Vec::new()), parse)? {
            let tightens = matches!(setting.key.in_project, InProject::Adds | InProject::Tightens(_));
            let known = self.settings.iter().any(|known| known.is_same_setting(&setting));
            if tightens && !known {
                self.settings.push(setting);
            }
        }
        for hook in options.session.hooks.values() {
            if let Some(brought) = hook.project_hook.as_ref().filter(|brought| brought.trusted) {
                self.hooks.insert(brought.name.clone(), hook.clone());
            }
        }
        Ok(())
    }

    /// Whether the limit is reached; occasional changes of a file do not come near it.
    pub(crate) fn is_full(&self) -> bool {
        self.settings.len() > HELD
    }

    /// Forgets a setting because the user removed it or set it anew.
    pub(crate) fn forget(&mut self, name: &str) {
        self.settings.retain(|setting| setting.name != name);
        let hook = name.strip_prefix("hooks.").and_then(|rest| rest.split('.').next());
        hook.map(|hook| self.hooks.remove(hook));
    }

    /// Applies the settings that the file no longer has. The user's settings are the layer below.
    pub(super) fn apply(
        &self,
        options: &mut Options,
        file: Option<&SettingsFile>,
    ) -> Result<(), ConfigError> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let now = file.map_or(Ok(Vec::new()), parse)?;
        let gone = |setting: &&Setting| !now.iter().any(|now| now.is_same_setting(setting));
        for setting in self.settings.iter().filter(gone) {
            let mut after = options.clone();
            let holds = setting.apply(&mut after).is_ok()
                && match setting.key.in_project {
                    InProject::Adds => true,
                    InProject::Tightens(holds) => holds(options, &after),
                    InProject::Never(_) | InProject::WhenTrusted(_) => false,
                };
            if holds {
                *options = after;
            }
        }
        Ok(())
    }

    /// Keeps the last trusted version of each hook until the file's version is trusted. A hook runs
    /// only
    /// while its item is trusted.
    pub(super) fn keep_hooks(&self, options: &mut Options) {
        for (name, hook) in &self.hooks {
            let now = options.session.hooks.entry(format!("project/{name}")).or_insert_with(|| hook.clone());
            if now.project_hook.as_ref().is_some_and(|brought| !brought.trusted) {
                now.clone_from(hook);
            }
        }
    }

    /// Returns the names of settings and hooks that apply although the file no longer has them.
    pub(crate) fn kept(&self, file: Option<&SettingsFile>) -> BTreeSet<String> {
        let now = file.and_then(|file| parse(file).ok()).unwrap_or_default();
        let gone = |setting: &&Setting| !now.iter().any(|now| now.is_same_setting(setting));
        let settings = self.settings.iter().filter(gone).map(|setting| setting.name.clone());
        let hooks = self.hooks.keys().map(|name| format!("hooks.{name}"));
        let gone = |hook: &String| !now.iter().any(|now| now.name.starts_with(&format!("{hook}.")));
        settings.chain(hooks.filter(gone)).collect()
    }
}
