//! The options of sessions: rules, hooks, the sandbox.

use super::{command_network, local_system};
use crate::{
    config,
    options::{self, HookOptions, Options},
    trust,
};
use agent::{
    CommandFiles, Hook, HookOrigin, Hooks, PermissionOptions, PromptOptions, RuntimeOptions, SandboxOptions,
    SessionStart, ToolProviders, UserInstructions,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use system::{AbsPath, HomeEntry};

/// Whether each hook of a project, by name, was trusted before in this session. If such a hook
/// changes, it denies.
pub(crate) type TrustedHooks = BTreeMap<String, Arc<AtomicBool>>;

/// Returns the session options for a directory.
pub(crate) fn sessions(options: &Options, cwd: &AbsPath, trusted_hooks: &mut TrustedHooks) -> RuntimeOptions {
    RuntimeOptions {
        start: SessionStart {
            mode: options.session.mode,
            permission_mode: options.session.permission_mode,
            model: options.session.model.clone(),
            models_in_order: options.session.models_in_order.clone(),
            subagent_models: options.session.subagent_models.to_vec(),
        },
        prompt: PromptOptions {
            system_prompt: options.session.prompt.system_prompt.clone(),
            answer_schema: options.session.prompt.answer_schema.clone(),
            append_system_prompt: options.session.prompt.append_system_prompt.clone(),
            user_instructions: user_instructions(&options.directories),
            memories: options.session.prompt.memories.clone().into(),
        },
        permissions: PermissionOptions {
            allowed_paths: options.permissions.allowed_paths.clone(),
            blocked_paths: options.permissions.blocked_paths.clone(),
            denied_tools: options.permissions.denied_tools.clone(),
            rules: options.permissions.rules.clone(),
            folder: options.user_folder().map(|folder| folder.own.clone()),
        },
        sandbox: sandbox(options),
        command_network: Some(command_network(options)),
        hooks: hooks(options, cwd, trusted_hooks),
        tool_providers: ToolProviders::default(),
        limits: options.session.limits.clone(),
        calls_as_text: options.session.calls_as_text,
    }
}

/// Returns the user's own instruction files: ours, and those of other agents. A server's user has
/// only ours, since the home directory is the server's.
fn user_instructions(directories: &options::Directories) -> UserInstructions {
    let ours = directories.config.join("AGENTS.md");
    match directories.folder {
        Some(_) => UserInstructions { files: vec![ours], home: None },
        None => {
            let of_others = [".claude/CLAUDE.md", ".codex/AGENTS.md"].map(|file| directories.home.join(file));
            UserInstructions {
                files: [ours].into_iter().chain(of_others).collect(),
                home: Some(directories.home.clone()),
            }
        }
    }
}

/// Creates the hooks of the settings. They run on this machine; a hook of the project in `cwd` runs
/// only while it is trusted.
fn hooks(options: &Options, cwd: &AbsPath, trusted_hooks: &mut TrustedHooks) -> Hooks {
    let mut brought = |hook: &HookOptions| {
        let options::ProjectHook { name, trusted } = hook.project_hook.as_ref()?;
        Some(HookOrigin {
            trust: trust::directory_trust(&options.directories),
            folder: cwd.clone(),
            item: config::hook_item(name, hook),
            counted_on: {
                let before = trusted_hooks.entry(name.clone()).or_default();
                before.fetch_or(*trusted, Ordering::Relaxed);
                Arc::clone(before)
            },
        })
    };
    let hook = |(name, hook): (&String, &HookOptions)| {
        Some(Hook {
            name: name.clone(),
            event: hook.event?,
            command: hook.command.clone(),
            tools: hook.tools.clone(),
            timeout: hook.timeout,
            is_confined: hook.confined,
            origin: brought(hook),
        })
    };
    let hooks: Vec<_> = options.session.hooks.iter().filter_map(hook).collect();
    if hooks.is_empty() { Hooks::default() } else { Hooks::new(hooks, local_system(options)) }
}

/// Returns the sandbox options of commands.
fn sandbox(options: &Options) -> SandboxOptions {
    let directories = &options.directories;
    let server = options.served.as_ref().map(|served| &served.server);
    let all: Vec<_> = std::iter::once(directories).chain(server).collect();
    let own = all.iter().flat_map(|places| [places.config.clone(), places.data.clone()]);
    let mut hidden: Vec<_> = all.iter().map(|places| places.data.clone()).collect();
    if options.user_folder().is_some() {
        hidden.extend(server.map(|server| server.config.clone()));
    }
    hidden.extend(options.commands.secret_files.iter().cloned());
    SandboxOptions {
        level: options.commands.sandbox,
        network: options.commands.network.clone(),
        files: CommandFiles {
            home: Some(directories.home.clone()),
            home_entries: HomeEntry::usual()
                .chain(options.commands.files.home_entries.iter().cloned())
                .collect(),
            ..options.commands.files.clone()
        },
        shared: shared_temp(&directories.temp),
        temp: system::private_temp(),
        limits: options.commands.resource_limits,
        secrets: options.commands.secrets,
        hidden,
        guarded: own.collect(),
    }
}

/// The temporary directories that all programs share: the one of the environment, and `/tmp`,
/// which many programs use without asking.
pub(crate) fn shared_temp(temp: &AbsPath) -> Vec<AbsPath> {
    let usual = AbsPath::new("/tmp").expect("it is absolute");
    let differs = &usual != temp;
    std::iter::once(temp.clone()).chain(differs.then_some(usual)).collect()
}

/// The options for calls that are made outside of a turn.
pub(crate) fn outside(options: &Options, cwd: &AbsPath, force: bool) -> agent::DirectCaller {
    agent::DirectCaller {
        options: sessions(options, cwd, &mut TrustedHooks::new()),
        system: local_system(options),
        cwd: cwd.clone(),
        force,
    }
}
