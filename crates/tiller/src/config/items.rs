//! The items of a project's settings that need trust.

use super::{ConfigError, InProject, PROJECT_FILE, SettingsFile, parse::parse};
use crate::options::{Directories, HookOptions, Options};
use agent::{HookEvent, ItemKind, TrustItem};

/// Returns one item for all settings that loosen or redirect, and one for each hook.
pub(crate) fn trust_items(
    file: &SettingsFile,
    directories: &Directories,
) -> Result<Vec<TrustItem>, ConfigError> {
    let mut scratch = Options::built_in(directories.clone());
    let mut loosening = Vec::new();
    for setting in parse(file)? {
        match setting.key.in_project {
            _ if setting.is_of_hook() => setting.apply(&mut scratch)?,
            InProject::WhenTrusted(_) => loosening.push(format!("{} = {}", setting.name, setting.value)),
            InProject::Never(_) | InProject::Adds | InProject::Tightens(_) => {}
        }
    }
    let settings = TrustItem {
        kind: ItemKind::Settings,
        source: PROJECT_FILE.to_owned(),
        name: "settings".to_owned(),
        parts: loosening.clone(),
        words: Vec::new(),
        tree: None,
        shown: loosening,
    };
    let settings = Some(settings).filter(|settings| !settings.parts.is_empty());
    let hooks = scratch.session.hooks.iter().map(|(name, hook)| hook_item(name, hook));
    Ok(settings.into_iter().chain(hooks).collect())
}

/// Returns the trust item of a project's hook.
pub(crate) fn hook_item(name: &str, hook: &HookOptions) -> TrustItem {
    let event = HookEvent::ALL.iter().find(|(_, event)| Some(*event) == hook.event);
    let event = event.map_or("never", |(word, _)| word);
    let seconds = hook.timeout.as_secs();
    let list = |words: &[String]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let (command, tools) = (list(&hook.command), list(&hook.tools));
    let parts = [event, &command, &tools, &seconds.to_string()].map(str::to_owned).to_vec();
    let about = if hook.tools.is_empty() { "all".to_owned() } else { tools };
    TrustItem {
        kind: ItemKind::Hook,
        source: PROJECT_FILE.to_owned(),
        name: name.to_owned(),
        parts,
        words: hook.command.clone(),
        tree: None,
        shown: vec![
            format!("runs: [{command}]"),
            format!("on: {event}, tools: {about}, timeout: {seconds} s"),
        ],
    }
}
