//! The resolved options of a run: the rest of the program receives these instead of files,
//! variables and flags.

mod interface;
mod network;
mod providers;
mod serve;
mod served;
mod web;

pub(crate) use interface::{EnterChoice, Interface, ScreenChoice};
pub(crate) use network::{NETWORKS, Rule, RuleList, SIGN_COMMITS, network_word};
pub(crate) use providers::{BUILT_IN, Provider, ProviderNameError, Providers, Secret};
pub(crate) use serve::{NodeSettings, OidcSettings, OtelSettings, ServeSettings};
pub(crate) use served::{ServedUser, SharedKeys, UserFolder, named_addresses};
pub(crate) use web::{SearchChoice, Web};

use crate::limits::HOOK_TIMEOUT;
use ::integrations::{Permission, Permissions, Switches, integration_name};
use ::mcp::{Offered, server_name};
use ::providers::NamedAddresses;
use agent::{
    Answer, CallsAsText, CommandFiles, HookEvent, Limits, MemoryOptions, Mode, NetworkOptions,
    PermissionMode, PermissionRules, Redactor, Secrets, ServerRule,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use system::{AbsPath, LocalSystem, LoginShell, ResourceLimits, SandboxLevel, System, Within};

/// A name that no integration can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of an integration; write it as `tiller integrations list` does")]
pub(crate) struct IntegrationNameError(String);

/// The resolved options of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub(crate) directories: Directories,
    pub(crate) session: SessionDefaults,
    pub(crate) permissions: PermissionOptions,
    pub(crate) commands: CommandOptions,
    pub(crate) providers: Providers,
    pub(crate) integrations: Integrations,
    pub(crate) client: ClientOptions,
    pub(crate) serve: ServeSettings,
    /// The user of a server whose options these are; the account of the process without one.
    pub(crate) served: Option<Arc<ServedUser>>,
    /// The file to which the model's traffic is recorded.
    pub(crate) record: Option<AbsPath>,
}

/// What new sessions begin with.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SessionDefaults {
    /// The model of new sessions; the first available one if `None`.
    pub(crate) model: Option<String>,
    /// The models with which a session goes on, each when the provider of the one before it fails.
    pub(crate) models_in_order: Vec<String>,
    /// The models of subagents at depth 1 and 2; that of the requesting agent if `None`.
    pub(crate) subagent_models: [Option<String>; 2],
    pub(crate) mode: Mode,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) prompt: PromptSettings,
    /// Whether tool calls that a model writes into its text are run as calls.
    pub(crate) calls_as_text: CallsAsText,
    /// Hooks: commands around calls, prompts and turns, by name.
    pub(crate) hooks: BTreeMap<String, HookOptions>,
    pub(crate) limits: Limits,
}

/// What is allowed, denied or asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PermissionOptions {
    /// Tools that are denied in every mode.
    pub(crate) denied_tools: Vec<String>,
    /// Path patterns that are denied in every mode, in addition to the built-in ones.
    pub(crate) blocked_paths: Vec<String>,
    /// Paths outside the project that need no permission.
    pub(crate) allowed_paths: Vec<AbsPath>,
    /// Permission rules for tools, commands and paths.
    pub(crate) rules: PermissionRules,
    /// What MCP servers from the editor may request of us (roots, sampling, …), by server name.
    pub(crate) offers: BTreeMap<String, Vec<Offered>>,
}

/// How commands run on this machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandOptions {
    /// The sandbox level of local commands.
    pub(crate) sandbox: SandboxLevel,
    /// The network of sandboxed commands.
    pub(crate) network: NetworkOptions,
    /// The files outside the project that sandboxed commands see.
    pub(crate) files: CommandFiles,
    pub(crate) resource_limits: ResourceLimits,
    /// Whether sandboxed commands can read files with secrets.
    pub(crate) secrets: Secrets,
    /// Files with secrets of this program that commands must not see.
    pub(crate) secret_files: Vec<AbsPath>,
    /// Variables that commands get although their names look like those of secrets.
    pub(crate) keep_variables: Vec<String>,
    /// When the login shell's variables are read.
    pub(crate) ask_login_shell: AskLoginShell,
    /// The login shell whose variables commands get, if any.
    pub(crate) login: LoginShell,
}

/// What goes through the client, and how Tiller's own one looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ClientOptions {
    pub(crate) terminal: Terminal,
    pub(crate) tools: Tools,
    /// Tiller's own client, the interface in a terminal.
    pub(crate) interface: Interface,
}

/// What models are sent beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PromptSettings {
    /// The system prompt of new sessions, instead of the built-in one.
    pub(crate) system_prompt: Option<String>,
    /// JSON Schema that the last answer of a turn should follow.
    pub(crate) answer_schema: Option<serde_json::Value>,
    /// Text added to the system prompt.
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) memories: MemorySettings,
}

/// How sessions of the directory use memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemorySettings {
    /// Whether they use them at all.
    pub(crate) enabled: bool,
    /// Whether the user trusts the project with memories.
    pub(crate) trusted: bool,
    /// The root of the project, with links resolved.
    pub(crate) project: Option<AbsPath>,
    /// The root of the repository as the directory names it.
    pub(crate) repository: Option<AbsPath>,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { enabled: true, trusted: false, project: None, repository: None }
    }
}

impl From<MemorySettings> for MemoryOptions {
    fn from(settings: MemorySettings) -> Self {
        let MemorySettings { enabled, trusted, project, repository } = settings;
        Self { enabled, trusted, project, repository, redactor: Redactor::default() }
    }
}

/// The directories of the program and of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directories {
    /// The user's settings file.
    pub(crate) settings: AbsPath,
    pub(crate) home: AbsPath,
    pub(crate) config: AbsPath,
    pub(crate) data: AbsPath,
    pub(crate) cache: AbsPath,
    pub(crate) temp: AbsPath,
    /// The folder that a server's user stays in, if there is one: of the machine's files, only
    /// those in it and in these directories are read or written for the user.
    pub(crate) folder: Option<UserFolder>,
}

impl Directories {
    /// Returns a system with the files that may be read and written for the user: those of the
    /// machine, or those of the user's folder, of the user's own directories and of `more`.
    pub(crate) fn within(&self, system: Arc<dyn System>, more: Option<AbsPath>) -> Arc<dyn System> {
        let Some(folder) = &self.folder else { return system };
        let own = [&folder.own, &self.config, &self.data, &self.cache].into_iter().cloned();
        Arc::new(Within::new(system, own.chain(more).collect()))
    }

    /// Returns the system with which files of projects are read and written outside of a session.
    pub(crate) fn system(&self) -> Arc<dyn System> {
        self.within(Arc::new(LocalSystem::new()), None)
    }
}

#[cfg(test)]
impl Directories {
    /// Returns directories below one that a test created.
    pub(crate) fn below(root: AbsPath) -> Self {
        Self {
            settings: root.join("config.toml"),
            home: root.clone(),
            config: root.join("config"),
            data: root.join("data"),
            cache: root.join("cache"),
            temp: root,
            folder: None,
        }
    }
}

/// A command around calls, prompts or turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookOptions {
    pub(crate) event: Option<HookEvent>,
    pub(crate) command: Vec<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) timeout: Duration,
    pub(crate) confined: bool,
    /// The project's description of this hook, if it comes from the project's file.
    pub(crate) project_hook: Option<ProjectHook>,
}

/// A hook that a project brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectHook {
    /// Its name in the project's file.
    pub(crate) name: String,
    /// Whether it is trusted.
    pub(crate) trusted: bool,
}

impl Default for HookOptions {
    fn default() -> Self {
        let timeout = HOOK_TIMEOUT;
        Self {
            event: None,
            command: Vec::new(),
            tools: Vec::new(),
            timeout,
            confined: true,
            project_hook: None,
        }
    }
}

/// Services whose functions can be called, and the web. Their permissions are part of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Integrations {
    /// Whether models get the functions as tools of their own, not only through scripts.
    pub(crate) native_tools: bool,
    /// Which integrations are enabled or disabled, by name.
    pub(crate) enabled: BTreeMap<String, bool>,
    /// Fetching pages and searching.
    pub(crate) web: Web,
}

/// The tool for searches of the web.
const WEB_SEARCH: &str = "web_search";

/// Whether the user's login shell is run to read variables such as `PATH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AskLoginShell {
    /// Only when this process was started from the desktop.
    #[default]
    Auto,
    Always,
    Never,
}

impl AskLoginShell {
    /// The values in settings files.
    pub(crate) const ALL: [(&str, Self); 3] =
        [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)];
}

/// Where commands run when the client has terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Terminal {
    #[default]
    Client,
    Local,
}

/// On which machine the tools act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tools {
    /// The same machine when the editor started the agent itself; two machines when it connected
    /// over a
    /// network.
    #[default]
    Auto,
    Transparent,
    Ide,
    Off,
}

impl Options {
    /// The defaults, before any layer of settings.
    pub(crate) fn built_in(directories: Directories) -> Self {
        Self {
            session: SessionDefaults::default(),
            permissions: PermissionOptions {
                denied_tools: Vec::new(),
                blocked_paths: Vec::new(),
                allowed_paths: vec![directories.temp.clone()],
                rules: PermissionRules::default(),
                offers: BTreeMap::new(),
            },
            commands: CommandOptions {
                sandbox: SandboxLevel::default(),
                network: NetworkOptions::default(),
                files: CommandFiles::default(),
                secrets: Secrets::Read,
                resource_limits: ResourceLimits::default(),
                secret_files: Vec::new(),
                keep_variables: Vec::new(),
                ask_login_shell: AskLoginShell::default(),
                login: LoginShell::default(),
            },
            providers: Providers::default(),
            integrations: Integrations::default(),
            client: ClientOptions::default(),
            serve: ServeSettings::default(),
            served: None,
            record: None,
            directories,
        }
    }

    /// Returns the addresses that a server's user reaches although they are not public; `None` for
    /// everybody who reaches every address.
    pub(crate) fn addresses_of_user(&self) -> Option<&NamedAddresses> {
        self.user_folder()?;
        Some(&self.served.as_ref()?.addresses)
    }

    /// Returns the folder that the user of a server stays in, if there is one.
    pub(crate) fn user_folder(&self) -> Option<&UserFolder> {
        self.directories.folder.as_ref()
    }

    /// Returns the hook of a name, after adding it if it is new.
    pub(crate) fn hook(&mut self, name: &str) -> &mut HookOptions {
        self.session.hooks.entry(name.to_owned()).or_default()
    }

    /// Returns the permissions of an MCP server, after adding them if they are new.
    pub(crate) fn server(&mut self, name: &str) -> &mut ServerRule {
        self.permissions.rules.servers.servers.entry(server_name(name)).or_default()
    }

    /// Returns the permissions of an integration, after adding them if they are new.
    ///
    /// # Errors
    /// If the name is invalid.
    pub(crate) fn integration(&mut self, name: &str) -> Result<&mut ServerRule, IntegrationNameError> {
        if integration_name(name).as_deref() != Some(name) {
            return Err(IntegrationNameError(name.to_owned()));
        }
        Ok(self.permissions.rules.integrations.servers.entry(name.to_owned()).or_default())
    }

    /// Converts the settings of integrations into the form of the `integrations` crate.
    pub(crate) fn switches(&self) -> Switches {
        let permission = |answer: Answer| match answer {
            Answer::Allow => Permission::Allow,
            Answer::Ask => Permission::Ask,
            Answer::Deny => Permission::Deny,
        };
        let rules = &self.permissions.rules.integrations;
        let mut switches = Switches { default: permission(rules.default), ..Switches::default() };
        for (name, rule) in &rules.servers {
            let (read, write) = (rule.read.map(permission), rule.write.map(permission));
            switches.each.insert(name.clone(), Permissions { enabled: false, read, write });
        }
        for (name, enabled) in &self.integrations.enabled {
            switches.each.entry(name.clone()).or_default().enabled = *enabled;
        }
        switches
    }

    /// Whether there is a key for a provider of models.
    pub(crate) fn has_key_of(&self, provider: &str) -> bool {
        let provider = match provider {
            "openai" => Some(&self.providers.openai),
            "anthropic" => Some(&self.providers.anthropic),
            "gemini" => Some(&self.providers.gemini),
            name => self.providers.custom.get(name),
        };
        provider.is_some_and(|provider| provider.api_key.is_some())
    }

    /// Returns every key that is sent to a provider of models or searches.
    pub(crate) fn keys(&self) -> Vec<String> {
        let search = self.integrations.web.keys.values().map(|key| key.reveal().to_owned());
        self.providers.keys().into_iter().chain(search).collect()
    }

    /// Returns whether models may use the web search that their vendor hosts. No call passes the
    /// gate then, so a rule that denies the tool or asks about it applies here.
    pub(crate) fn allows_hosted_search(&self) -> bool {
        let PermissionOptions { denied_tools, rules, .. } = &self.permissions;
        let restricts = rules.deny.iter().chain(&rules.ask).any(|rule| rule.is_about_all_of(WEB_SEARCH));
        self.integrations.web.search == SearchChoice::Hosted
            && !restricts
            && !denied_tools.iter().any(|tool| tool == WEB_SEARCH)
    }

    /// Appends to the text that is added to the system prompt.
    pub(crate) fn append_prompt(&mut self, text: &str) {
        match &mut self.session.prompt.append_system_prompt {
            Some(before) => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }
}
