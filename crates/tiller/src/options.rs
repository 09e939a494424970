//! The resolved options of a run: the rest of the program receives these instead of files,
//! variables and flags.

use crate::limits::HOOK_TIMEOUT;
use ::integrations::{Permission, Permissions, Switches, integration_name};
use ::mcp::{Offered, server_name};
use agent::{
    Answer, CallsAsText, HookEvent, Limits, Mode, PermissionMode, PermissionRules, ServerRule, ToolProfile,
};
use std::{collections::BTreeMap, fmt, time::Duration};
use system::{AbsPath, LoginShell, ResourceLimits, SandboxLevel};

/// A name that the user cannot give.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// It is reserved, or malformed.
    #[error("{0:?} cannot be the name of a custom provider; choose another")]
    Provider(String),
    /// No integration has such a name.
    #[error("{0:?} is not the name of an integration; write it as `tiller integrations list` does")]
    Integration(String),
}

/// The names of built-in providers.
pub(crate) const BUILT_IN: [&str; 6] = ["openai", "anthropic", "gemini", "local", "offline", "replay"];

/// The resolved options of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub(crate) directories: Directories,
    /// The model of new sessions; the first available one if `None`.
    pub(crate) model: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) append_system_prompt: Option<String>,
    /// Whether tool calls that a model writes into its text are run as calls.
    pub(crate) calls_as_text: CallsAsText,
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
    /// Hooks: commands around calls, prompts and turns, by name.
    pub(crate) hooks: BTreeMap<String, HookOptions>,
    /// The sandbox level of local commands.
    pub(crate) sandbox: SandboxLevel,
    /// Whether sandboxed commands have network access.
    pub(crate) network: Network,
    /// Directories outside the project that sandboxed commands may write to.
    pub(crate) writable_paths: Vec<AbsPath>,
    pub(crate) resource_limits: ResourceLimits,
    /// Variables that commands get although their names look like those of secrets.
    pub(crate) keep_variables: Vec<String>,
    /// When the login shell's variables are read.
    pub(crate) ask_login_shell: AskLoginShell,
    /// The login shell whose variables commands get, if any.
    pub(crate) login: LoginShell,
    pub(crate) openai: Provider,
    pub(crate) anthropic: Provider,
    pub(crate) gemini: Provider,
    /// Custom providers by name, which is the prefix of their models' ids.
    pub(crate) custom: BTreeMap<String, Provider>,
    pub(crate) local: Local,
    /// The default idle timeout of model servers; a provider's own setting takes precedence.
    pub(crate) silence: Option<Duration>,
    /// How many tools models get; chosen by the size of the model if `None`.
    pub(crate) tool_profile: Option<ToolProfile>,
    pub(crate) integrations: Integrations,
    pub(crate) terminal: Terminal,
    pub(crate) tools: Tools,
    /// The file to which the model's traffic is recorded.
    pub(crate) record: Option<AbsPath>,
    pub(crate) limits: Limits,
}

/// The directories of the program and of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directories {
    pub(crate) home: AbsPath,
    pub(crate) config: AbsPath,
    pub(crate) data: AbsPath,
    pub(crate) cache: AbsPath,
    pub(crate) temp: AbsPath,
}

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The base URL; the vendor's own if `None`.
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key.
    pub(crate) api_key_env: String,
    /// The key, from that variable or from the stored keys.
    pub(crate) api_key: Option<Secret>,
    pub(crate) wire: Wire,
    /// The idle timeout: how long the server may send nothing before the request fails.
    pub(crate) silence: Option<Duration>,
}

/// A command around calls, prompts or turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookOptions {
    pub(crate) event: Option<HookEvent>,
    pub(crate) command: Vec<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) timeout: Duration,
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
        Self { event: None, command: Vec::new(), tools: Vec::new(), timeout, project_hook: None }
    }
}

/// A secret that is never shown; `Debug` prints a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wire {
    /// The vendor's own.
    ///
    /// OpenAI has two: Responses is used at OpenAI's own address and for models that need it, else
    /// Chat Completions. If the server asks for the other one, that one is used.
    #[default]
    Auto,
    Chat,
    Responses,
    Anthropic,
    Gemini,
}

/// Model servers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Local {
    /// Whether the usual ports on loopback are probed.
    pub(crate) discover: bool,
    /// The address of Ollama, if it is not the default one.
    pub(crate) ollama: Option<String>,
    /// The URLs of further servers.
    pub(crate) urls: Vec<String>,
    /// The idle timeout of each of them.
    pub(crate) silence: Option<Duration>,
}

/// Services whose functions can be called. Their permissions are part of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Integrations {
    /// Whether models get the functions as tools of their own, not only through scripts.
    pub(crate) native_tools: bool,
    /// Which integrations are enabled or disabled, by name.
    pub(crate) enabled: BTreeMap<String, bool>,
}

/// The network access of sandboxed commands, in order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Network {
    On,
    /// Some hosts only. The kernel knows no host names, so this cannot be enforced and means no
    /// network.
    AllowList,
    Off,
}

impl Network {
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("off", Self::Off), ("on", Self::On), ("allow-list", Self::AllowList)];

    pub(crate) fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, network)| *network == self).map_or("", |(id, _)| id)
    }
}

/// The notice for users who configure an allow list.
pub(crate) const NO_ALLOW_LIST: &str = "an allow list of hosts cannot be enforced for commands, so the network is off for them; set sandbox.network to \"off\" or \"on\"";

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
            model: None,
            mode: Mode::default(),
            permission_mode: PermissionMode::default(),
            append_system_prompt: None,
            calls_as_text: CallsAsText::default(),
            denied_tools: Vec::new(),
            blocked_paths: Vec::new(),
            allowed_paths: vec![directories.temp.clone()],
            rules: PermissionRules::default(),
            offers: BTreeMap::new(),
            hooks: BTreeMap::new(),
            sandbox: SandboxLevel::default(),
            network: Network::Off,
            writable_paths: Vec::new(),
            resource_limits: ResourceLimits::default(),
            keep_variables: Vec::new(),
            ask_login_shell: AskLoginShell::default(),
            login: LoginShell::default(),
            openai: Provider::with_key_in("OPENAI_API_KEY"),
            anthropic: Provider::with_key_in("ANTHROPIC_API_KEY"),
            gemini: Provider::with_key_in("GEMINI_API_KEY"),
            custom: BTreeMap::new(),
            local: Local { discover: true, ollama: None, urls: Vec::new(), silence: None },
            silence: None,
            tool_profile: None,
            integrations: Integrations::default(),
            terminal: Terminal::default(),
            tools: Tools::default(),
            record: None,
            limits: Limits::default(),
            directories,
        }
    }

    /// Returns the custom provider of a name, after adding it if it is new.
    ///
    /// Its key is in the variable `NAME_API_KEY` unless another variable is configured.
    ///
    /// # Errors
    /// If the name is reserved or invalid.
    pub(crate) fn custom(&mut self, name: &str) -> Result<&mut Provider, NameError> {
        if BUILT_IN.contains(&name) || name.is_empty() || name.contains('/') {
            return Err(NameError::Provider(name.to_owned()));
        }
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let variable = name.chars().map(letter).collect::<String>() + "_API_KEY";
        Ok(self.custom.entry(name.to_owned()).or_insert_with(|| Provider::with_key_in(&variable)))
    }

    /// Returns the keys of all providers.
    pub(crate) fn keys(&self) -> Vec<String> {
        let vendors = [&self.openai, &self.anthropic, &self.gemini];
        let providers = vendors.into_iter().chain(self.custom.values());
        providers.filter_map(|provider| Some(provider.api_key.as_ref()?.reveal().to_owned())).collect()
    }

    /// Returns the hook of a name, after adding it if it is new.
    pub(crate) fn hook(&mut self, name: &str) -> &mut HookOptions {
        self.hooks.entry(name.to_owned()).or_default()
    }

    /// Returns the permissions of an MCP server, after adding them if they are new.
    pub(crate) fn server(&mut self, name: &str) -> &mut ServerRule {
        self.rules.servers.servers.entry(server_name(name)).or_default()
    }

    /// Returns the permissions of an integration, after adding them if they are new.
    ///
    /// # Errors
    /// If the name is invalid.
    pub(crate) fn integration(&mut self, name: &str) -> Result<&mut ServerRule, NameError> {
        if integration_name(name).as_deref() != Some(name) {
            return Err(NameError::Integration(name.to_owned()));
        }
        Ok(self.rules.integrations.servers.entry(name.to_owned()).or_default())
    }

    /// Converts the settings of integrations into the form of the `integrations` crate.
    pub(crate) fn switches(&self) -> Switches {
        let permission = |answer: Answer| match answer {
            Answer::Allow => Permission::Allow,
            Answer::Ask => Permission::Ask,
            Answer::Deny => Permission::Deny,
        };
        let rules = &self.rules.integrations;
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

    /// Appends to the text that is added to the system prompt.
    pub(crate) fn append_prompt(&mut self, text: &str) {
        match &mut self.append_system_prompt {
            Some(before) => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }
}

impl Provider {
    fn with_key_in(variable: &str) -> Self {
        Self {
            base_url: None,
            api_key_env: variable.to_owned(),
            api_key: None,
            wire: Wire::default(),
            silence: None,
        }
    }
}

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text itself, for the code that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
