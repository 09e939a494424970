//! Chooses the implementation behind each trait. All calls of the other crates' constructors are
//! here.

use crate::{
    args::{Events, Protocol},
    config, extensions, hidden_paths, limits,
    options::{self, HookOptions, Network, Options, Provider, Terminal, Tools, Wire},
    services::Services,
    settings::{DirectorySettings, Settings, TrustedHooks},
    stdio, trust,
};
use acp::{AcpOptions, ClientTools, TerminalPlace};
use agent::{
    Hook, HookOrigin, Hooks, Redactor, Runtime, RuntimeOptions, SandboxOptions, SessionStore, ToolProviders,
};
use anyhow::Result;
use providers::{Catalog, LocalOptions, ProvidersOptions, Secret, VendorOptions, pilot::OfflinePilot};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};
use store::SqliteStore;
use system::{AbsPath, LocalSystem, LoginShell, System};
use tokio_util::sync::CancellationToken;

/// A runtime, with the values that must live as long as it does.
pub(crate) struct App {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) catalog: Arc<Catalog>,
    /// The temporary directory of sessions that are not kept.
    _temporary: Option<system::TemporaryDirectory>,
}

/// Where sessions are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionStorage {
    /// In the data directory.
    InData,
    /// In a temporary directory that is removed at the end of the run.
    ForThisRun,
}

/// Creates the runtime for every user interface. Uses no network; the database is opened in the
/// background.
pub(crate) fn wire(
    settings: &Arc<Settings>,
    options: &Options,
    keep: SessionStorage,
    tool_providers: ToolProviders,
) -> Result<App> {
    let temporary = match keep {
        SessionStorage::InData => None,
        SessionStorage::ForThisRun => Some(system::TemporaryDirectory::new()?),
    };
    let directory = match &temporary {
        None => options.directories.data.clone(),
        Some(directory) => AbsPath::from_os(directory.path())?,
    };
    let store: Arc<dyn SessionStore> =
        Arc::new(SqliteStore::open_in_background(sessions_file(&directory).as_std())?);
    let catalog = settings.catalog(options);
    let settings = Arc::new(DirectorySettings(Arc::clone(settings)));
    let models = Arc::clone(&catalog) as Arc<_>;
    let runtime = Runtime::with_settings(store, models, settings, tool_providers);
    Ok(App { runtime, catalog, _temporary: temporary })
}

/// The path of the session database in a data directory.
pub(crate) fn sessions_file(data: &AbsPath) -> AbsPath {
    data.join("sessions.db")
}

/// Creates the model catalogue for these options. Recordings are named relative to `cwd`.
pub(crate) fn catalog(options: &Options, redactor: &Redactor, cwd: &AbsPath) -> Catalog {
    let pilot = Arc::new(OfflinePilot::default());
    Catalog::new(providers(options, redactor, cwd), local_system(options), pilot)
}

/// The first argument when this program is run as the launcher that confines a command.
pub(crate) const LAUNCHER: &str = "__sandbox-exec";

/// The first arguments when this program is run in a terminal of the editor, where it confines
/// itself and becomes a command. The path of a socket follows.
pub(crate) const IN_TERMINAL: [&str; 2] = ["sandbox", "run"];

/// Creates the local system for these options.
pub(crate) fn local_system(options: &Options) -> Arc<dyn System> {
    local(options.keep_variables.clone(), options.keys(), options.login.clone())
}

/// Creates the local system. Commands get no variable with one of `secret_values`, and none with a
/// name like that of a secret, except `keep_variables`.
pub(crate) fn local(
    keep_variables: Vec<String>,
    secret_values: Vec<String>,
    login: LoginShell,
) -> Arc<dyn System> {
    Arc::new(LocalSystem::with_options(system::LocalOptions {
        launcher: launcher(),
        terminal_launcher: terminal_launcher(),
        hide_secrets: true,
        secret_values,
        keep_variables,
        login,
    }))
}

/// The command line of this program as the launcher of commands.
fn launcher() -> Vec<String> {
    let program = match cfg!(target_os = "linux") {
        // This names the running program even after an update replaced its file.
        true => Some("/proc/self/exe".to_owned()),
        false => own_path(),
    };
    program.into_iter().flat_map(|program| [program, LAUNCHER.to_owned()]).collect()
}

/// The path of this program.
#[expect(clippy::disallowed_methods, reason = "the one place that knows which program this is")]
fn own_path() -> Option<String> {
    std::env::current_exe().ok()?.to_str().map(str::to_owned)
}

/// The command line of this program by its path, for terminals that the editor opens.
fn terminal_launcher() -> Vec<String> {
    let words = |path| std::iter::once(path).chain(IN_TERMINAL.map(str::to_owned));
    own_path().into_iter().flat_map(words).collect()
}

/// The options for calls that are made outside of a turn.
#[cfg(feature = "extensions")]
pub(crate) fn outside(options: &Options, cwd: &AbsPath, force: bool) -> agent::DirectCaller {
    agent::DirectCaller {
        options: sessions(options, cwd, &mut TrustedHooks::new()),
        system: local_system(options),
        cwd: cwd.clone(),
        force,
    }
}

/// Serves the protocol on stdin and stdout until the client disconnects or `stop` is cancelled.
///
/// Both cancel what runs; open prompts are answered.
pub(crate) async fn serve(
    app: &App,
    options: &Options,
    cwd: &AbsPath,
    protocol: Protocol,
    events: Events,
    services: Services,
    stop: CancellationToken,
) -> Result<()> {
    let mut acp = AcpOptions::new(local_system(options), env!("CARGO_PKG_VERSION"), cwd.clone());
    acp.protocol = match protocol {
        Protocol::Auto => acp::Protocol::Auto,
        Protocol::V1 => acp::Protocol::V1,
        #[cfg(feature = "v2")]
        Protocol::V2 => acp::Protocol::V2,
    };
    acp.mcp = extensions::PRESENT;
    acp.events = match events {
        Events::Auto => acp::Events::Auto,
        Events::Off => acp::Events::Off,
        Events::Tiller => acp::Events::Tiller,
        Events::Kosmokrator => acp::Events::Kosmokrator,
    };
    acp.services = Arc::new(services);
    acp.terminal = match options.terminal {
        Terminal::Client => TerminalPlace::Client,
        Terminal::Local => TerminalPlace::Local,
    };
    acp.client_tools = match options.tools {
        // The process that writes to our stdin started us, so there is one machine.
        Tools::Auto | Tools::Transparent => ClientTools::Transparent,
        Tools::Ide => ClientTools::Ide,
        Tools::Off => ClientTools::Off,
    };
    // Discovers local models before the editor asks for the list. This opens a few connections to
    // loopback, which are refused where no server runs; it starts after the editor's first requests
    // are answered. Code that needs the list earlier discovers them itself.
    let catalog = Arc::clone(&app.catalog);
    let looking = tokio::spawn(async move {
        tokio::time::sleep(limits::DISCOVERY_DELAY).await;
        catalog.watch().await;
    });
    let (output, failure) = stdio::output();
    let (closed, stopped, failing) = (acp.output_closed.clone(), stop.clone(), failure.clone());
    let watching = tokio::spawn(async move {
        tokio::select! {
            () = failing.happened() => {}
            () = stopped.cancelled() => {}
        }
        closed.cancel();
    });
    let input = stdio::StoppableReader::new(stdio::input(), stop);
    let served = acp::serve(Arc::clone(&app.runtime), input, output, acp).await;
    looking.abort();
    watching.abort();
    match failure.is_hung_up()? {
        true => Ok(()),
        false => Ok(served?),
    }
}

/// Returns the session options for a directory.
pub(crate) fn sessions(options: &Options, cwd: &AbsPath, trusted_hooks: &mut TrustedHooks) -> RuntimeOptions {
    RuntimeOptions {
        mode: options.mode,
        permission_mode: options.permission_mode,
        model: options.model.clone(),
        append_system_prompt: options.append_system_prompt.clone(),
        allowed_paths: options.allowed_paths.clone(),
        blocked_paths: options.blocked_paths.clone(),
        denied_tools: options.denied_tools.clone(),
        rules: options.rules.clone(),
        sandbox: sandbox(options),
        hooks: hooks(options, cwd, trusted_hooks),
        tool_providers: ToolProviders::default(),
        limits: options.limits.clone(),
        calls_as_text: options.calls_as_text,
    }
}

/// Creates the hooks of the settings. They run on this machine; a hook of the project in `cwd` runs
/// only while it is trusted.
fn hooks(options: &Options, cwd: &AbsPath, trusted_hooks: &mut TrustedHooks) -> Hooks {
    let mut hook_origin = |hook: &HookOptions| {
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
            origin: hook_origin(hook),
        })
    };
    let hooks: Vec<_> = options.hooks.iter().filter_map(hook).collect();
    if hooks.is_empty() { Hooks::default() } else { Hooks::new(hooks, local_system(options)) }
}

/// Returns the sandbox options of commands.
pub(crate) fn sandbox(options: &Options) -> SandboxOptions {
    let directories = &options.directories;
    let own = [directories.config.clone(), directories.data.clone()];
    SandboxOptions {
        level: options.sandbox,
        network: options.network == Network::On,
        writable: options.writable_paths.clone(),
        shared: shared_temp(&directories.temp),
        temp: system::private_temp(),
        limits: options.resource_limits,
        hidden: hidden_paths::below(&directories.home).chain([directories.data.clone()]).collect(),
        guarded: own.to_vec(),
    }
}

/// The temporary directories that all programs share: the one of the environment, and `/tmp`,
/// which many programs use without asking.
fn shared_temp(temp: &AbsPath) -> Vec<AbsPath> {
    let usual = AbsPath::new("/tmp").expect("it is absolute");
    let differs = &usual != temp;
    std::iter::once(temp.clone()).chain(differs.then_some(usual)).collect()
}

fn providers(options: &Options, redactor: &Redactor, cwd: &AbsPath) -> ProvidersOptions {
    ProvidersOptions {
        openai: vendor(&options.openai),
        anthropic: vendor(&options.anthropic),
        gemini: vendor(&options.gemini),
        custom: vendors(options),
        local: local_servers(options),
        silence: options.silence,
        catalogue_file: Some(options.directories.cache.join("models.json")),
        tool_profile: options.tool_profile,
        default_model: options.model.clone(),
        record_to: options.record.clone(),
        redactor: redactor.clone(),
        replay_base: Some(cwd.clone()),
        ..ProvidersOptions::default()
    }
}

/// Applies new settings of providers to the catalogue, with the default model for sessions that
/// choose none.
pub(crate) fn reconfigure(catalog: &Catalog, options: &Options) {
    catalog.reconfigure(|known| {
        known.openai = vendor(&options.openai);
        known.anthropic = vendor(&options.anthropic);
        known.gemini = vendor(&options.gemini);
        known.custom = vendors(options);
        known.local = local_servers(options);
        known.silence = options.silence;
        known.tool_profile = options.tool_profile;
        known.default_model.clone_from(&options.model);
    });
}

fn local_servers(options: &Options) -> LocalOptions {
    let options::Local { discover, ollama, urls, silence } = options.local.clone();
    LocalOptions { discover, ollama, urls, silence }
}

fn vendors(options: &Options) -> BTreeMap<String, VendorOptions> {
    options.custom.iter().map(|(name, provider)| (name.clone(), vendor(provider))).collect()
}

fn vendor(provider: &Provider) -> VendorOptions {
    VendorOptions {
        api_key: provider.api_key.as_ref().map(|key| Secret::new(key.reveal())),
        base_url: provider.base_url.clone(),
        wire: match provider.wire {
            Wire::Auto => providers::Wire::Auto,
            Wire::Chat => providers::Wire::Chat,
            Wire::Responses => providers::Wire::Responses,
            Wire::Anthropic => providers::Wire::Anthropic,
            Wire::Gemini => providers::Wire::Gemini,
        },
        silence: provider.silence,
    }
}
