//! Everything that can be set, resolved: what the rest of the program is given instead of files, variables and flags.

use crate::{
    extensions::{self, Offered},
    limits::HOOK_TIMEOUT,
};
use agent::{CallsAsText, HookEvent, Limits, Mode, PermissionMode, PermissionRules, ServerRule, ToolProfile};
use std::{collections::BTreeMap, fmt, time::Duration};
use system::{AbsPath, LoginShell, ResourceLimits, SandboxLevel};

/// Names of providers that are built in.
const BUILT_IN: [&str; 6] = ["openai", "anthropic", "gemini", "local", "offline", "replay"];

/// The resolved options of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub(crate) folders: Folders,
    /// The model of new sessions; the first one available when `None`.
    pub(crate) model: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) append_system_prompt: Option<String>,
    /// Whether calls that a model writes into its text are calls.
    pub(crate) calls_as_text: CallsAsText,
    /// Tools that are denied in every mode.
    pub(crate) denied_tools: Vec<String>,
    /// Path patterns that are denied in every mode, beside the built-in ones.
    pub(crate) blocked_paths: Vec<String>,
    /// Paths outside the project that are not asked about.
    pub(crate) allowed_paths: Vec<AbsPath>,
    /// Rules about tools, commands and paths.
    pub(crate) rules: PermissionRules,
    /// What MCP servers that the editor sends may ask of us, by their names.
    pub(crate) offers: BTreeMap<String, Vec<Offered>>,
    /// The user's own commands around calls, prompts and turns, by name.
    pub(crate) hooks: BTreeMap<String, HookOptions>,
    /// What commands of this machine are confined to.
    pub(crate) sandbox: SandboxLevel,
    /// Whether confined commands reach the network.
    pub(crate) network: Network,
    /// Folders outside the project that confined commands may write.
    pub(crate) writable_paths: Vec<AbsPath>,
    pub(crate) resource_limits: ResourceLimits,
    /// Variables that commands get although their names say that they hold a secret.
    pub(crate) keep_variables: Vec<String>,
    /// When the login shell's variables are read.
    pub(crate) ask_login_shell: AskLoginShell,
    /// The login shell whose variables commands get, if they do.
    pub(crate) login: LoginShell,
    pub(crate) openai: Provider,
    pub(crate) anthropic: Provider,
    pub(crate) gemini: Provider,
    /// Further providers, by the name that models of theirs begin with.
    pub(crate) custom: BTreeMap<String, Provider>,
    pub(crate) local: Local,
    /// How long any model's server may send nothing, where its own settings say nothing.
    pub(crate) silence: Option<Duration>,
    /// How many tools models get; decided by each model's size when `None`.
    pub(crate) tool_profile: Option<ToolProfile>,
    pub(crate) integrations: Integrations,
    pub(crate) terminal: Terminal,
    pub(crate) tools: Tools,
    /// Where the model's traffic is recorded.
    pub(crate) record: Option<AbsPath>,
    pub(crate) limits: Limits,
}

/// Where things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) home: AbsPath,
    pub(crate) config: AbsPath,
    pub(crate) data: AbsPath,
    pub(crate) cache: AbsPath,
    pub(crate) temp: AbsPath,
}

/// A vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    /// Where it is; the vendor's own address when `None`.
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key.
    pub(crate) api_key_env: String,
    /// The key, from that variable.
    pub(crate) api_key: Option<Secret>,
    pub(crate) wire: Wire,
    /// How long it may send nothing before a request is given up.
    pub(crate) silence: Option<Duration>,
}

/// A command around calls, prompts or turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookOptions {
    pub(crate) event: Option<HookEvent>,
    pub(crate) command: Vec<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) timeout: Duration,
    /// What is known of it where the project's file has it.
    pub(crate) of_project: Option<Brought>,
}

/// A hook of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Brought {
    /// Its name in the project's file.
    pub(crate) name: String,
    /// Whether it is trusted.
    pub(crate) trusted: bool,
}

impl Default for HookOptions {
    fn default() -> Self {
        let timeout = HOOK_TIMEOUT;
        Self { event: None, command: Vec::new(), tools: Vec::new(), timeout, of_project: None }
    }
}

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wire {
    /// The vendor's own. Of OpenAI's two, Responses at its own address and for models that need it, else Chat Completions; the
    /// other where the server says so.
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
    /// Whether the usual ports on loopback are looked at.
    pub(crate) discover: bool,
    /// The address of Ollama, where it is not the usual one.
    pub(crate) ollama: Option<String>,
    /// Further servers.
    pub(crate) urls: Vec<String>,
    /// How long any of them may send nothing before a request is given up.
    pub(crate) silence: Option<Duration>,
}

/// Services whose functions can be called. What may be done with them is among the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Integrations {
    /// Whether models are told of their functions without a script between.
    pub(crate) native_tools: bool,
    /// Which are switched on.
    pub(crate) enabled: BTreeMap<String, bool>,
}

/// What confined commands reach of the network; grows with strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Network {
    On,
    /// Some hosts. The kernel knows no hosts, so nothing can keep to it, and it comes to nothing at all.
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

/// Said where an allow list is asked for.
pub(crate) const NO_ALLOW_LIST: &str = "an allow list of hosts cannot be enforced for commands, so the network is off for them; set sandbox.network to \"off\" or \"on\"";

/// Whether the user's login shell is asked for the variables by which programs are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AskLoginShell {
    /// Where this process was started from the desktop.
    #[default]
    Auto,
    Always,
    Never,
}

impl AskLoginShell {
    /// The words in settings.
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

/// Which tools act where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tools {
    /// One machine where the editor started the agent itself, two where it reached it over a network.
    #[default]
    Auto,
    Transparent,
    Ide,
    Off,
}

impl Options {
    /// What holds when nobody says anything.
    pub(crate) fn built_in(folders: Folders) -> Self {
        Self {
            model: None,
            mode: Mode::default(),
            permission_mode: PermissionMode::default(),
            append_system_prompt: None,
            calls_as_text: CallsAsText::default(),
            denied_tools: Vec::new(),
            blocked_paths: Vec::new(),
            allowed_paths: vec![folders.temp.clone()],
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
            folders,
        }
    }

    /// The further provider of a name, made when it is new. Its key is in `NAME_API_KEY` unless another variable is named.
    pub(crate) fn custom(&mut self, name: &str) -> Result<&mut Provider, String> {
        if BUILT_IN.contains(&name) || name.is_empty() || name.contains('/') {
            return Err(format!("{name:?} cannot be the name of a provider of your own; choose another"));
        }
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let variable = name.chars().map(letter).collect::<String>() + "_API_KEY";
        Ok(self.custom.entry(name.to_owned()).or_insert_with(|| Provider::with_key_in(&variable)))
    }

    /// Every key that a provider has.
    pub(crate) fn keys(&self) -> Vec<String> {
        let vendors = [&self.openai, &self.anthropic, &self.gemini];
        let providers = vendors.into_iter().chain(self.custom.values());
        providers.filter_map(|provider| Some(provider.api_key.as_ref()?.reveal().to_owned())).collect()
    }

    /// The hook of a name, made when it is new.
    pub(crate) fn hook(&mut self, name: &str) -> &mut HookOptions {
        self.hooks.entry(name.to_owned()).or_default()
    }

    /// What an MCP server may do, made when it is new.
    pub(crate) fn server(&mut self, name: &str) -> &mut ServerRule {
        self.rules.servers.servers.entry(extensions::server_name(name)).or_default()
    }

    /// What an integration may do, made when it is new. The error says what is wrong with its name.
    pub(crate) fn integration(&mut self, name: &str) -> Result<&mut ServerRule, String> {
        if !extensions::is_integration_name(name) {
            return Err(format!(
                "{name:?} is no name of an integration; write it as `tiller integrations list` does"
            ));
        }
        Ok(self.rules.integrations.servers.entry(name.to_owned()).or_default())
    }

    /// Adds to the text that is added to the system prompt.
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

    /// The text itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
