//! Resolves the layers of settings.

use super::{
    ConfigError, InProject, Key, Place, ProjectHistory, SettingsFile, Value, ValueError, checks,
    parse::{Setting, parse},
    variables,
};
use crate::{
    environment::Environment,
    options::{Directories, HookOptions, Options, ProjectHook, Rule, RuleList, ServedUser},
    stored_keys::StoredKeys,
};
use agent::{Mode, PermissionMode};
use std::{collections::BTreeMap, sync::Arc};
use system::AbsPath;

/// Settings from command-line flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub(crate) model: Option<String>,
    /// The models with which sessions go on when a provider fails, in order.
    pub(crate) models_in_order: Vec<String>,
    pub(crate) mode: Option<Mode>,
    pub(crate) permission_mode: Option<PermissionMode>,
    pub(crate) prompt: PromptFlags,
    /// Rules that come before those of the settings.
    pub(crate) allow: Vec<Rule>,
    pub(crate) deny: Vec<Rule>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) record: Option<AbsPath>,
    /// Files with secrets that the command line names, which commands must not see.
    pub(crate) secret_files: Vec<AbsPath>,
}

/// Flags about what a model is sent beside the conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptFlags {
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) answer_schema: Option<serde_json::Value>,
}

/// Every layer, the lowest first.
pub(crate) struct Layers<'a> {
    pub(crate) directories: Directories,
    /// The user of a server whose settings these are, and the server's own file.
    pub(crate) served: Option<Arc<ServedUser>>,
    pub(crate) server: Option<SettingsFile>,
    pub(crate) user: Option<SettingsFile>,
    /// The restrictions of earlier versions of the project's file that still apply.
    pub(crate) past: &'a ProjectHistory,
    pub(crate) project: Option<ProjectLayer>,
    pub(crate) environment: &'a Environment,
    /// The stored keys, used where the variable of a key is not set.
    pub(crate) keys: &'a StoredKeys,
    pub(crate) flags: Flags,
}

/// The settings of a project.
pub(crate) struct ProjectLayer {
    pub(crate) file: SettingsFile,
    /// Why they may only tighten; `None` if the user trusts them.
    pub(crate) distrust: Option<String>,
    /// The values that the user set in this file through this program, by name. Each applies,
    /// trusted
    /// or not, as long as the file still has that value.
    pub(crate) user_set: BTreeMap<String, Value>,
    /// Why a hook is not trusted, by name. A hook that is missing here is trusted.
    pub(crate) untrusted_hooks: BTreeMap<String, String>,
}

/// The resolved options, with what the user should know about their origin.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) options: Options,
    pub(crate) notices: Vec<String>,
    /// The settings of files that apply, the lowest layer first.
    pub(crate) effective: Vec<EffectiveSetting>,
}

/// A setting of a file that applies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EffectiveSetting {
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

impl EffectiveSetting {
    fn of(setting: &Setting) -> Self {
        let Setting { name, value, place, .. } = setting.clone();
        Self { name, value, place }
    }
}

/// Resolves the layers; a higher layer overrides the lower ones.
pub(crate) fn resolve(layers: Layers<'_>) -> Result<Resolved, ConfigError> {
    let mut options = Options::built_in(layers.directories);
    let (mut notices, mut effective) = (Vec::new(), Vec::new());
    if let Some(served) = &layers.served {
        apply_server(&mut options, served, layers.server.as_ref())?;
    }
    if let Some(file) = &layers.user {
        effective.extend(apply_user(&mut options, file, &mut notices)?);
    }
    layers.past.apply(&mut options, layers.project.as_ref().map(|layer| &layer.file))?;
    if let Some(layer) = &layers.project {
        effective.extend(apply_project(&mut options, layer, &mut notices)?);
    }
    layers.past.keep_hooks(&mut options);
    complete(&options)?;
    variables::apply(&mut options, layers.environment, layers.keys)?;
    apply_flags(&mut options, layers.flags);
    options.providers.hosted_search = options.allows_hosted_search();
    Ok(Resolved { options, notices, effective })
}

/// Returns the paths that the user's own settings block. They restrict the reading of a project's
/// files before the project's settings are known.
pub(crate) fn users_blocked_paths(
    directories: &Directories,
    user: &SettingsFile,
) -> Result<Vec<String>, ConfigError> {
    let mut options = Options::built_in(directories.clone());
    apply_all(&mut options, user)?;
    Ok(options.permissions.blocked_paths)
}

/// Checks a model's id from a flag.
pub(crate) fn check_model(id: &str) -> Result<String, ValueError> {
    checks::model(id.to_owned())
}

/// Applies the file of a server below those of its user. `~` is the home of the server's account
/// in it.
fn apply_server(
    options: &mut Options,
    served: &Arc<ServedUser>,
    file: Option<&SettingsFile>,
) -> Result<(), ConfigError> {
    let own = std::mem::replace(&mut options.directories, served.server.clone());
    let applied = file.map_or(Ok(()), |file| apply_all(options, file));
    options.directories = own;
    options.served = Some(Arc::clone(served));
    applied
}

/// Applies the user's file and returns its settings. Of a server's user, those that are the
/// server's are ignored, with a notice.
fn apply_user(
    options: &mut Options,
    file: &SettingsFile,
    notices: &mut Vec<String>,
) -> Result<Vec<EffectiveSetting>, ConfigError> {
    let settings = parse(file)?;
    if options.served.is_none() {
        settings.iter().try_for_each(|setting| setting.apply(options))?;
        return Ok(settings.iter().map(EffectiveSetting::of).collect());
    }
    let mut effective = Vec::new();
    for setting in settings {
        let mut after = options.clone();
        setting.apply(&mut after)?;
        match refused_to_user(options, &after, setting.key) {
            None => {
                effective.push(EffectiveSetting::of(&setting));
                *options = after;
            }
            Some(reason) => notices.push(format!("{}: {} is ignored: {reason}", setting.place, setting.name)),
        }
    }
    Ok(effective)
}

fn apply_all(options: &mut Options, file: &SettingsFile) -> Result<(), ConfigError> {
    parse(file)?.iter().try_for_each(|setting| setting.apply(options))
}

/// The settings about the machine of a server, by the beginnings of their names. A user who stays
/// in a folder must not choose what leaves it.
const MACHINE: [&str; 6] =
    ["sandbox.", "hooks.", "env.", "tools.allowed_paths", "web.local_hosts", "providers.local."];

/// Returns why a user of a server cannot set a setting in the own file or in that of a project, if
/// so.
fn refused_to_user(before: &Options, after: &Options, key: &Key) -> Option<&'static str> {
    before.served.as_ref()?;
    if key.name.starts_with("serve.") {
        return Some("only the administrator of the server sets it");
    }
    let is_of_machine = MACHINE.iter().any(|beginning| key.name.starts_with(beginning));
    match key.in_project {
        _ if before.user_folder().is_none() || !is_of_machine => None,
        InProject::Tightens(holds) if holds(before, after) => None,
        InProject::Tightens(_) => Some("a user of the server may only tighten it"),
        _ => Some("it is about the machine of the server; only its administrator sets it"),
    }
}

fn apply_project(
    options: &mut Options,
    layer: &ProjectLayer,
    notices: &mut Vec<String>,
) -> Result<Vec<EffectiveSetting>, ConfigError> {
    // A project's hook never replaces a hook of the user: that would loosen.
    let own = std::mem::take(&mut options.session.hooks);
    let result = apply_each(options, layer, notices);
    let brought = std::mem::replace(&mut options.session.hooks, own);
    for (name, hook) in brought {
        let why = layer.untrusted_hooks.get(&name);
        let project_hook = Some(ProjectHook { name: name.clone(), trusted: why.is_none() });
        if let Some(why) = why {
            let path = &layer.file.path;
            notices.push(format!("{path}: the hook {name:?} is not run: {why}"));
            // The user has not approved this hook yet, so its incompleteness is not an error of the
            // settings.
            if hook.event.is_none() || hook.command.is_empty() {
                continue;
            }
        }
        options.session.hooks.insert(format!("project/{name}"), HookOptions { project_hook, ..hook });
    }
    result
}

/// Checks that every hook has an event and a command.
fn complete(options: &Options) -> Result<(), ConfigError> {
    let incomplete = options.session.hooks.iter().find_map(|(name, hook)| match hook {
        HookOptions { event: None, .. } => Some((name, "on")),
        HookOptions { command, .. } if command.is_empty() => Some((name, "command")),
        _ => None,
    });
    match incomplete {
        None => Ok(()),
        Some((name, missing)) => Err(ConfigError::IncompleteHook { name: name.clone(), missing }),
    }
}

fn apply_each(
    options: &mut Options,
    layer: &ProjectLayer,
    notices: &mut Vec<String>,
) -> Result<Vec<EffectiveSetting>, ConfigError> {
    let mut effective = Vec::new();
    for setting in parse(&layer.file)? {
        let name = &setting.name;
        let mut after = options.clone();
        setting.apply(&mut after)?;
        // Each hook needs trust of its own: until then it is listed, but does not run.
        let user_set = layer.user_set.get(name) == Some(&setting.value);
        let distrust = if setting.is_of_hook() || user_set { &None } else { &layer.distrust };
        if let Some(reason) = refused_to_user(options, &after, setting.key) {
            notices.push(format!("{}: {name} is ignored: {reason}", setting.place));
            continue;
        }
        let refusal = match (setting.key.in_project, distrust) {
            (InProject::Adds, _) | (InProject::WhenTrusted(_), None) => None,
            (InProject::Never(reason), _) => Some(reason.to_owned()),
            (InProject::Tightens(holds), _) if holds(options, &after) => None,
            (InProject::Tightens(_), _) => Some("a project may only tighten it".to_owned()),
            (InProject::WhenTrusted(reason), Some(distrust)) => Some(format!("{reason}, and {distrust}")),
        };
        match refusal {
            None => {
                effective.push(EffectiveSetting::of(&setting));
                *options = after;
            }
            Some(reason) => notices.push(format!(
                "{}: {name} is ignored: {reason}; set it in your own config.toml, or by flag, if you want it",
                setting.place
            )),
        }
    }
    Ok(effective)
}

fn apply_flags(options: &mut Options, flags: Flags) {
    options.session.models_in_order = flags.models_in_order;
    if let Some(model) = flags.model {
        options.session.model = Some(model);
    }
    options.session.mode = flags.mode.unwrap_or(options.session.mode);
    options.session.permission_mode = flags.permission_mode.unwrap_or(options.session.permission_mode);
    if let Some(text) = flags.prompt.append_system_prompt {
        options.append_prompt(&text);
    }
    if let Some(text) = flags.prompt.system_prompt {
        options.session.prompt.system_prompt = Some(text);
    }
    options.session.prompt.answer_schema = flags.prompt.answer_schema;
    let home = options.directories.home.clone();
    let at_home = |rules: Vec<Rule>| rules.into_iter().map(|rule| rule.at_home(&home)).collect::<Vec<_>>();
    RuleList::Allow.extend(&mut options.permissions.rules, at_home(flags.allow));
    RuleList::Deny.extend(&mut options.permissions.rules, at_home(flags.deny));
    if let Some(most) = flags.max_turns {
        options.session.limits.turn_requests = most;
        options.session.limits.run_requests = most;
    }
    options.record = flags.record;
    options.commands.secret_files = flags.secret_files;
}
