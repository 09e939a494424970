//! Which implementation stands behind which seam. All that this program assumes of the other crates' constructors is here.

use crate::{
    args::{Events, Protocol},
    config, extensions, hidden, limits,
    options::{self, HookOptions, Network, Options, Provider, Terminal, Tools, Wire},
    services::Services,
    settings::{CountedOn, OfFolders, Settings},
    stdio, trust,
};
use acp::{AcpOptions, ClientTools, TerminalPlace};
use agent::{
    Brought, Hook, Hooks, Redactor, Runtime, RuntimeOptions, SandboxOptions, SessionStore, ToolProviders,
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

/// A runtime with what must live as long as it does.
pub(crate) struct Wired {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) catalog: Arc<Catalog>,
    /// The folder of sessions that are not kept.
    _temporary: Option<system::TemporaryFolder>,
}

/// Where sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// In the data folder.
    InData,
    /// Nowhere, once the run has ended.
    ForThisRun,
}

/// The runtime behind every surface. Touches no network; the database is opened in the background.
pub(crate) fn wire(
    settings: &Arc<Settings>,
    options: &Options,
    keep: Keep,
    tool_providers: ToolProviders,
) -> Result<Wired> {
    let temporary = match keep {
        Keep::InData => None,
        Keep::ForThisRun => Some(system::TemporaryFolder::new()?),
    };
    let folder = match &temporary {
        None => options.folders.data.clone(),
        Some(folder) => AbsPath::from_os(folder.path())?,
    };
    let store: Arc<dyn SessionStore> =
        Arc::new(SqliteStore::open_in_background(sessions_file(&folder).as_std())?);
    let catalog = settings.catalog(options);
    let settings = Arc::new(OfFolders(Arc::clone(settings)));
    let models = Arc::clone(&catalog) as Arc<_>;
    let runtime = Runtime::with_settings(store, models, settings, tool_providers);
    Ok(Wired { runtime, catalog, _temporary: temporary })
}

/// The file of all sessions in a data folder.
pub(crate) fn sessions_file(data: &AbsPath) -> AbsPath {
    data.join("sessions.db")
}

/// The models, as settings have them; recordings are named from a folder.
pub(crate) fn catalog(options: &Options, redactor: &Redactor, cwd: &AbsPath) -> Catalog {
    let pilot = Arc::new(OfflinePilot::default());
    Catalog::new(providers(options, redactor, cwd), local_system(options), pilot)
}

/// The first argument of this program when it is to confine a command and nothing else.
pub(crate) const LAUNCHER: &str = "__sandbox-exec";

/// The first arguments of this program in a terminal of the editor, where it confines itself and becomes
/// a command; the path of a socket follows.
pub(crate) const IN_TERMINAL: [&str; 2] = ["sandbox", "run"];

/// The machine this process runs on, as the settings have it.
pub(crate) fn local_system(options: &Options) -> Arc<dyn System> {
    local(options.keep_variables.clone(), options.keys(), options.login.clone())
}

/// The machine this process runs on; commands get no variable that is, or looks like, one of these secrets.
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

/// This program as the launcher of commands.
fn launcher() -> Vec<String> {
    let program = match cfg!(target_os = "linux") {
        // This very program, also when its file was replaced by an update in the meantime.
        true => Some("/proc/self/exe".to_owned()),
        false => own_path(),
    };
    program.into_iter().flat_map(|program| [program, LAUNCHER.to_owned()]).collect()
}

/// Where this program is.
#[expect(clippy::disallowed_methods, reason = "the one place that knows which program this is")]
fn own_path() -> Option<String> {
    std::env::current_exe().ok()?.to_str().map(str::to_owned)
}

/// This program by its path, for terminals that the editor opens.
fn terminal_launcher() -> Vec<String> {
    let words = |path| std::iter::once(path).chain(IN_TERMINAL.map(str::to_owned));
    own_path().into_iter().flat_map(words).collect()
}

/// What holds for calls that no turn makes.
#[cfg(feature = "extensions")]
pub(crate) fn outside(options: &Options, cwd: &AbsPath, force: bool) -> agent::Outside {
    agent::Outside {
        options: sessions(options, cwd, &mut CountedOn::new()),
        system: local_system(options),
        cwd: cwd.clone(),
        force,
    }
}

/// Serves the protocol on stdin and stdout until the client hangs up or `stop` is cancelled. Both
/// cancel what runs; prompts are answered.
pub(crate) async fn serve(
    wired: &Wired,
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
        Protocol::First => acp::Protocol::First,
        #[cfg(feature = "v2")]
        Protocol::Second => acp::Protocol::Second,
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
        // Whoever writes to our stdin started us: there is one machine.
        Tools::Auto | Tools::Transparent => ClientTools::Transparent,
        Tools::Ide => ClientTools::Ide,
        Tools::Off => ClientTools::Off,
    };
    // So that the models of this machine are in the list by the time an editor asks for one. Begins with a few connections to loopback
    // that are refused where nothing runs; the editor's first questions are answered before. Whoever needs the list earlier looks by himself.
    let catalog = Arc::clone(&wired.catalog);
    let looking = tokio::spawn(async move {
        tokio::time::sleep(limits::HEAD_START).await;
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
    let input = stdio::Stoppable::new(stdio::input(), stop);
    let served = acp::serve(Arc::clone(&wired.runtime), input, output, acp).await;
    looking.abort();
    watching.abort();
    match failure.is_hung_up()? {
        true => Ok(()),
        false => Ok(served?),
    }
}

/// What sessions in a folder decide by.
pub(crate) fn sessions(options: &Options, cwd: &AbsPath, counted_on: &mut CountedOn) -> RuntimeOptions {
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
        hooks: hooks(options, cwd, counted_on),
        tool_providers: ToolProviders::default(),
        limits: options.limits.clone(),
        calls_as_text: options.calls_as_text,
    }
}

/// The hooks of the settings. They run on this machine; one of the project in `cwd` only while it is trusted.
fn hooks(options: &Options, cwd: &AbsPath, counted_on: &mut CountedOn) -> Hooks {
    let mut brought = |hook: &HookOptions| {
        let options::Brought { name, trusted } = hook.of_project.as_ref()?;
        Some(Brought {
            trust: trust::folder_trust(&options.folders),
            folder: cwd.clone(),
            item: config::hook_item(name, hook),
            counted_on: {
                let before = counted_on.entry(name.clone()).or_default();
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
            brought_by: brought(hook),
        })
    };
    let hooks: Vec<_> = options.hooks.iter().filter_map(hook).collect();
    if hooks.is_empty() { Hooks::default() } else { Hooks::new(hooks, local_system(options)) }
}

/// How commands are confined.
pub(crate) fn sandbox(options: &Options) -> SandboxOptions {
    let folders = &options.folders;
    let own = [folders.config.clone(), folders.data.clone()];
    SandboxOptions {
        level: options.sandbox,
        network: options.network == Network::On,
        writable: options.writable_paths.clone(),
        shared: shared_temp(&folders.temp),
        temp: system::private_temp(),
        limits: options.resource_limits,
        hidden: hidden::below(&folders.home).chain([folders.data.clone()]).collect(),
        guarded: own.to_vec(),
    }
}

/// The temporary directories that all programs share: the one of the environment, and the one that
/// programs name without asking.
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
        catalogue_file: Some(options.folders.cache.join("models.json")),
        tool_profile: options.tool_profile,
        default_model: options.model.clone(),
        record_to: options.record.clone(),
        redactor: redactor.clone(),
        replay_base: Some(cwd.clone()),
        ..ProvidersOptions::default()
    }
}

/// Reaches providers from now on as the options say, and takes their model for sessions that name
/// none.
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
