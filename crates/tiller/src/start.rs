//! Dispatches the command line to the module that implements each command.

mod prompt;
mod setting_up;

use crate::{
    answer::{Console, Failure, failure_of, schemas},
    args::{
        AcpArgs, Cli, Command, CompleteArgs, CompletedKind, Instead, IntegrationsCommand, LuaCommand,
        McpCommand, ModelsCommand, ProvidersCommand, SchemaCommand, ServeArgs, ServeCommand, ServePlace,
        SessionArgs, SessionsCommand, SetupArgs, wishes,
    },
    caches, completions,
    config::{self, Flags, PromptFlags},
    demo, directories,
    environment::{self, Environment},
    exit::Exit,
    extensions::Extensions,
    failure::usage,
    help, install, integrations, keys, limits, logging, man, mcp, memory,
    options::{Directories, Options},
    permissions, screen,
    scripts::{self, Callable},
    server,
    services::Services,
    session_stores::{self, Addresses},
    sessions,
    settings::{Settings, Snapshot},
    signals, skills,
    streams::{self, StdoutError},
    token, trust, update, web,
    wiring::{self, SessionStorage},
};
use agent::{PermissionMode, ToolProviders};
use anyhow::{Context as _, Result};
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};
use system::{AbsPath, LoginShell, System};
use tokio_util::sync::CancellationToken;

/// The options of a run and its working directory.
struct Resolved {
    settings: Arc<Settings>,
    options: Options,
    cwd: AbsPath,
}

/// Runs the command line and returns the exit code.
pub(crate) fn run() -> Result<Exit> {
    let mut environment = Environment::read();
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(Instead::Help(text)) => {
            screen::stdout().write_all(text.as_bytes())?;
            return Ok(Exit::Ok);
        }
        Err(Instead::Error(failure)) => {
            return Console::new(wishes(environment::arguments()), &environment).fail(failure.into());
        }
    };
    let entered =
        environment::enter(&mut environment, cli.globals.cwd.as_deref(), cli.globals.config.as_deref());
    let console = Console::new(cli.wishes(), &environment);
    if let Err(error) = entered {
        return console.fail(error);
    }
    let reader = match &cli.command {
        Some(Command::Serve(args)) if args.command.is_some() => logging::Reader::Terminal,
        Some(Command::Acp(_) | Command::Serve(_) | Command::Connect(_)) => logging::Reader::Log,
        _ => logging::Reader::Terminal,
    };
    let format = match &cli.command {
        Some(Command::Serve(args)) => args.log_format,
        _ => logging::LogFormat::default(),
    };
    if let Err(error) = logging::init(&environment, reader, format, cli.globals.quiet) {
        return console.fail(error);
    }
    // One thread runs everything: sessions wait far more than they compute, and a process that
    // starts in milliseconds has few threads. The event loop checks for I/O often, so that a cancel
    // does not wait for one round over all busy sessions.
    let mut builder = match &cli.command {
        // A server computes for many: TLS, frames and the events of all users.
        Some(Command::Serve(args)) if args.command.is_none() => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder
        .event_interval(limits::EVENT_INTERVAL)
        .global_queue_interval(limits::EVENT_INTERVAL)
        .enable_all()
        .build()?;
    let code = runtime.block_on(async {
        tokio::select! {
            biased;
            code = dispatch(cli, &environment, &console) => code,
            exit = signals::next_to_drop() => Ok(exit),
        }
    });
    // A read of stdin may still block its thread; it ends with the process.
    runtime.shutdown_background();
    code.or_else(|error| match StdoutError::caused(&error) {
        true => Err(error),
        false => console.fail(error),
    })
}

async fn dispatch(cli: Cli, environment: &Environment, console: &Console) -> Result<Exit> {
    match cli.command {
        Some(Command::Acp(args)) => acp(args, console, environment).await,
        Some(Command::Serve(args)) => serve(*args, console, environment).await,
        Some(Command::Connect(args)) => {
            let Machine { system, directories, cwd } = machine(environment)?;
            server::connect(args, environment, &directories, system, &cwd).await
        }
        Some(Command::Demo(args)) => demo::run(args, environment).await,
        // The damaged store must not be opened before its repair.
        Some(Command::Sessions(SessionsCommand::Repair { check })) => {
            let Resolved { options, .. } =
                resolve_settings_or_defaults(environment, Flags::default()).await?;
            sessions::repair::run(&options.directories, check, console)
        }
        // It opens the stores that it is given, and not the one of this machine.
        Some(Command::Sessions(SessionsCommand::Migrate(args))) => {
            let machine = machine(environment)?;
            session_stores::migrate(console, &machine.addresses(environment), args).await
        }
        Some(Command::Store(command)) => {
            let machine = machine(environment)?;
            session_stores::run(console, &machine.addresses(environment), command).await
        }
        Some(Command::Sessions(command)) => {
            let settled = match &command {
                // Rewinding writes files of the project, which settings may forbid.
                SessionsCommand::Rewind { .. } => resolve_settings(environment, Flags::default()).await?,
                _ => resolve_settings_or_defaults(environment, Flags::default()).await?,
            };
            let Resolved { settings, options, cwd, .. } = settled;
            let app = wiring::wire(&settings, &options, SessionStorage::InData, ToolProviders::default())?;
            let system = wiring::local_system(&options);
            sessions::run(console, &app.runtime, system, &cwd, environment.redactor(), command).await
        }
        Some(Command::Memory(command)) => {
            let Resolved { settings, options, cwd, .. } =
                resolve_settings_or_defaults(environment, Flags::default()).await?;
            let app = wiring::wire(&settings, &options, SessionStorage::InData, ToolProviders::default())?;
            memory::run(console, &app.runtime, &options, environment, &cwd, command).await
        }
        Some(Command::Doctor(args)) => setting_up::doctor(console, environment, &args).await,
        Some(Command::Permissions(command)) => {
            let Resolved { settings, options, cwd, .. } =
                resolve_settings(environment, Flags::default()).await?;
            let app = wiring::wire(&settings, &options, SessionStorage::InData, ToolProviders::default())?;
            permissions::run(console, &app, &options, &cwd, command).await
        }
        Some(Command::Trust(args)) => {
            // Trust can also be revoked for a directory that no longer exists.
            let cwd = match &args.revoke {
                Some(_) => path(args.path.as_deref())?,
                None => directory("PATH", args.path.as_deref())?,
            };
            let directories = directories::resolve(environment, &cwd)?;
            trust::run(console, &directories, &cwd, &args, environment.redactor()).await
        }
        Some(Command::Skills(command)) => {
            let cwd = environment::current_dir()?;
            let directories = directories::resolve(environment, &cwd)?;
            skills::run(console, &directories, &cwd, command).await
        }
        Some(Command::Mcp(command)) => {
            let Resolved { options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
            match command {
                McpCommand::Lua(script) => {
                    scripts::run(console, &options, environment, &cwd, Callable::Servers, script).await
                }
                command => mcp::run(console, &options, environment, &cwd, command).await,
            }
        }
        Some(Command::Integrations(command)) => {
            let Resolved { options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
            match command {
                IntegrationsCommand::Lua(script) => {
                    scripts::run(console, &options, environment, &cwd, Callable::AllFunctions, script).await
                }
                command => integrations::run(console, &options, environment, &cwd, command).await,
            }
        }
        Some(Command::Web(command)) => {
            let Resolved { options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
            web::run(console, &options, environment, &cwd, command).await
        }
        Some(Command::Lua(LuaCommand::Run(script))) => {
            let Resolved { options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
            scripts::run(console, &options, environment, &cwd, Callable::AllFunctions, script).await
        }
        Some(Command::Settings(command)) => setting_up::settings(console, environment, command).await,
        Some(Command::Config(command)) => setting_up::config(console, environment, command).await,
        Some(Command::Setup(args)) => setting_up::setup(console, environment, &args).await,
        Some(Command::Providers(command)) => setting_up::providers(console, environment, command).await,
        Some(Command::Auth(command)) => setting_up::auth(console, environment, command).await,
        Some(Command::Secrets(command)) => setting_up::secrets(console, environment, command).await,
        Some(Command::Caches(command)) => {
            let Machine { system, cwd, .. } = machine(environment)?;
            caches::run(console, &*system, &cwd, command).await
        }
        Some(Command::Token(command)) => {
            token::run(console, &machine(environment)?.addresses(environment), command).await
        }
        Some(Command::Schema(SchemaCommand::Native)) => {
            streams::stdout().write_all(acp::native::SCHEMA.as_bytes())?;
            Ok(Exit::Ok)
        }
        Some(Command::Schema(SchemaCommand::Settings)) => {
            streams::stdout().write_all(format!("{:#}\n", config::schema()).as_bytes())?;
            Ok(Exit::Ok)
        }
        Some(Command::Schema(SchemaCommand::Cli { command })) => {
            let schema = schemas::of(&command.join(" "))?;
            streams::stdout().write_all(format!("{schema:#}\n").as_bytes())?;
            Ok(Exit::Ok)
        }
        Some(Command::Models(args)) => {
            let command = match args.command {
                None => ProvidersCommand::Models(args.of),
                Some(ModelsCommand::Refresh { from }) => ProvidersCommand::RefreshModels { from },
            };
            setting_up::providers(console, environment, command).await
        }
        Some(Command::Install(args)) => {
            let Machine { system, directories, cwd } = machine(environment)?;
            install::run(&*system, environment, &directories, &cwd, console, &args).await
        }
        Some(Command::Completions(args)) => completions::run(console, args.shell),
        Some(Command::Man(args)) => {
            let Machine { system, cwd, .. } = machine(environment)?;
            man::run(&*system, &cwd, console, &args).await
        }
        Some(Command::Keys) => {
            let Resolved { options, .. } =
                resolve_settings_or_defaults(environment, Flags::default()).await?;
            keys::run(console, &options.client.interface.keys)
        }
        Some(Command::Help(args)) => {
            let bound = match help::is_about_keys(&args.words) {
                true => {
                    let Resolved { options, .. } =
                        resolve_settings_or_defaults(environment, Flags::default()).await?;
                    options.client.interface.keys
                }
                false => BTreeMap::new(),
            };
            help::run(console, &args.words, &bound)
        }
        Some(Command::Complete(args)) => complete(args, environment).await,
        Some(Command::Update(args)) => {
            let Machine { system, directories, .. } = machine(environment)?;
            let clients = wiring::guarded_clients();
            let place = update::Place {
                system: &*system,
                environment,
                directories: &directories,
                clients: &*clients,
            };
            update::run(place, console, &args).await
        }
        None => prompt::print(cli.print, environment, console).await,
    }
}

async fn acp(args: AcpArgs, console: &Console, environment: &Environment) -> Result<Exit> {
    let AcpArgs { session, protocol, events, setup: for_setup } = args;
    if for_setup {
        return setting_up::setup(console, environment, &SetupArgs::default()).await;
    }
    // The editor is served even if the settings are broken: it receives the error when it opens a
    // session, and sessions open once the file is fixed.
    let Resolved { settings, options, cwd, .. } =
        resolve_settings_or_defaults(environment, flags(&session, PromptFlags::default(), None)?).await?;
    let extensions = Extensions::new(&settings, &options, environment);
    let app = wiring::wire(&settings, &options, SessionStorage::InData, extensions.tool_providers())?;
    let services =
        Services::new(app.runtime.clone(), app.catalog.clone(), settings, &options, environment, extensions);
    signals::end_in_order();
    let stop = CancellationToken::new();
    let acp = wiring::acp_options(&options, &cwd, protocol, events, services);
    let serve = wiring::serve(&app, acp, stop.clone());
    tokio::pin!(serve);
    let code = tokio::select! {
        served = &mut serve => served.map(|()| Exit::Ok),
        exit = signals::next() => {
            // While the client is still connected: cancel what runs, end and release its terminals,
            // and answer the prompts.
            let end = async {
                tokio::select! {
                    _settled = tokio::time::timeout(limits::HANG_UP, app.runtime.shutdown()) => {}
                    served = &mut serve => return served,
                }
                // Then proceed as if the client had disconnected.
                stop.cancel();
                serve.await
            };
            match tokio::time::timeout(limits::STOP, end).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the client was not notified of the end"),
                Err(_elapsed) => tracing::warn!("the client did not read the last responses in time"),
            }
            Ok(exit)
        }
    };
    if tokio::time::timeout(limits::HANG_UP, app.runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    code
}

/// Serves the protocol over sockets, or administers the server.
async fn serve(args: ServeArgs, console: &Console, environment: &Environment) -> Result<Exit> {
    let ServeArgs { command, session, place, log_format, migrate } = args;
    match command {
        None => start_server(session, place, migrate, log_format, environment).await.map_err(not_started),
        Some(ServeCommand::Check(place)) => check_server(*place, console, environment).await,
        Some(command) => {
            let Resolved { options, cwd, .. } =
                resolve_settings_or_defaults(environment, Flags::default()).await?;
            let place = server::admin::AdminPlace {
                console,
                environment,
                directories: &options.directories,
                system: wiring::local_system(&options),
                cwd: &cwd,
                listen: &options.serve.listen,
            };
            server::admin::run(place, command).await
        }
    }
}

async fn start_server(
    session: SessionArgs,
    place: ServePlace,
    migrates: bool,
    log_format: logging::LogFormat,
    environment: &Environment,
) -> Result<Exit> {
    let machine = machine(environment)?;
    let addresses = machine.addresses(environment);
    let secret_files = addresses.secret_files(&place.store);
    let flags = Flags { secret_files, ..flags(&session, PromptFlags::default(), None)? };
    let Resolved { settings, mut options, cwd, .. } = resolve_settings(environment, flags).await?;
    let address = addresses.of(place.store.clone()).await?;
    if let Some(address) = address.as_ref().filter(|_| migrates) {
        session_stores::migrate_store(address).await.with_context(|| format!("--migrate: {address}"))?;
    }
    apply(place, &mut options, &cwd);
    let store = wiring::session_store(&options, address.as_ref()).await?;
    let environment = environment.clone();
    let place = server::Place { settings, options, environment, cwd, store: address, log_format };
    server::serve(place, store).await
}

async fn check_server(place: ServePlace, console: &Console, environment: &Environment) -> Result<Exit> {
    let (settings, cwd) = settings_in(environment, Flags::default())?;
    let (Snapshot { mut options, .. }, settings_problem) = settings.read_or_defaults(&cwd).await?;
    let machine = machine(environment)?;
    let store = machine.addresses(environment).of(place.store.clone()).await?;
    apply(place, &mut options, &cwd);
    let checked = server::admin::Checked {
        options: &options,
        environment,
        store: store.as_ref(),
        settings_problem: settings_problem.map(|problem| problem.to_string()),
    };
    server::admin::check(console, checked).await
}

/// Applies the options of the command line to the settings.
fn apply(place: ServePlace, options: &mut Options, cwd: &AbsPath) {
    let ServePlace { store: _, listen, tls_cert, tls_key, behind_proxy, metrics_listen, user_folders, node } =
        place;
    let text = |path: PathBuf| cwd.join(path.to_string_lossy()).to_string();
    let serve = &mut options.serve;
    if !listen.is_empty() {
        serve.listen = listen;
    }
    if metrics_listen.is_some() {
        serve.operation_mut().metrics_listen = metrics_listen;
    }
    if let Some(folders) = user_folders {
        serve.operation_mut().user_folders = Some(text(folders));
    }
    if !behind_proxy.is_empty() {
        serve.behind_proxy = behind_proxy;
    }
    if let (Some(certificate), Some(key)) = (tls_cert, tls_key) {
        (serve.tls_cert, serve.tls_key) = (Some(text(certificate)), Some(text(key)));
    }
    let nodes = serve.nodes_mut();
    nodes.listen = node.node_listen.or(nodes.listen.take());
    nodes.address = node.node_address.or(nodes.address.take());
    nodes.cert = node.node_cert.map(text).or(nodes.cert.take());
    nodes.key = node.node_key.map(text).or(nodes.key.take());
    nodes.ca = node.node_ca.map(text).or(nodes.ca.take());
    nodes.folders = node.node_folders.or(nodes.folders.take());
}

/// Gives the error of a server that did not start its exit code.
fn not_started(error: anyhow::Error) -> anyhow::Error {
    Failure { exit: Exit::Limit, ..failure_of(&error) }.into()
}

/// Answers a completion script. Settings that cannot be used are no reason to say so at a prompt.
async fn complete(args: CompleteArgs, environment: &Environment) -> Result<Exit> {
    let Resolved { options, cwd, .. } = resolve_settings_or_defaults(environment, Flags::default()).await?;
    let (setting, prefix) = match args.words.as_slice() {
        [setting, prefix] => (Some(setting.as_str()), prefix.as_str()),
        [word] if args.kind == CompletedKind::Values => (Some(word.as_str()), ""),
        [prefix] => (None, prefix.as_str()),
        _ => (None, ""),
    };
    let sources = completions::Sources { options: &options, environment, cwd: &cwd };
    let lines = completions::lines(&sources, args.kind, setting, prefix).await;
    streams::stdout().write_all(environment.redactor().shown(&lines).as_bytes())?;
    Ok(Exit::Ok)
}

/// What commands about the program itself need: no settings, so that they work with broken ones.
struct Machine {
    system: Arc<dyn System>,
    directories: Directories,
    cwd: AbsPath,
}

impl Machine {
    fn addresses<'a>(&'a self, environment: &'a Environment) -> Addresses<'a> {
        let Self { system, directories, cwd } = self;
        Addresses { environment, directories, system: system.clone(), cwd }
    }
}

fn machine(environment: &Environment) -> Result<Machine> {
    let cwd = environment::current_dir()?;
    let directories = directories::resolve(environment, &cwd)?;
    let system = wiring::local(Vec::new(), Vec::new(), LoginShell::default());
    Ok(Machine { system, directories, cwd })
}

/// Resolves the layers of settings and logs what was ignored.
async fn resolve_settings(environment: &Environment, flags: Flags) -> Result<Resolved> {
    let (settings, cwd) = settings_in(environment, flags)?;
    let snapshot = settings.read(&cwd).await?;
    Ok(Resolved::of(settings, cwd, snapshot))
}

/// Like [`resolve_settings`], for commands that are safe without the user's settings: unusable
/// files are omitted, and the problem is logged.
async fn resolve_settings_or_defaults(environment: &Environment, flags: Flags) -> Result<Resolved> {
    let (settings, cwd) = settings_in(environment, flags)?;
    let (snapshot, problem) = settings.read_or_defaults(&cwd).await?;
    if let Some(problem) = &problem {
        tracing::warn!("the settings cannot be used: {problem}");
    }
    Ok(Resolved::of(settings, cwd, snapshot))
}

fn settings_in(environment: &Environment, flags: Flags) -> Result<(Arc<Settings>, AbsPath)> {
    let cwd = environment::current_dir()?;
    Ok((Settings::new(environment, &cwd, flags)?, cwd))
}

impl Resolved {
    fn of(settings: Arc<Settings>, cwd: AbsPath, snapshot: Snapshot) -> Self {
        let Snapshot { options, notices, .. } = snapshot;
        for notice in &notices {
            tracing::warn!("{notice}");
        }
        Self { settings, options, cwd }
    }
}

/// Returns the directory of an option, or the current one.
fn directory(option: &str, given: Option<&Path>) -> Result<AbsPath> {
    let directory = path(given)?;
    if given.is_some() {
        environment::check_directory(option, &directory)?;
    }
    Ok(directory)
}

fn path(given: Option<&Path>) -> Result<AbsPath> {
    match given {
        Some(path) if path.is_absolute() => environment::absolute(&AbsPath::new("/")?, path),
        Some(path) => environment::absolute(&environment::current_dir()?, path),
        None => environment::current_dir(),
    }
}

fn flags(session: &SessionArgs, prompt: PromptFlags, max_turns: Option<u32>) -> Result<Flags> {
    let model = session.model.as_deref().map(config::check_model).transpose();
    let record = session.record.as_deref().map(|file| path(Some(file))).transpose()?;
    if let Some(record) = &record {
        environment::check_new_file("--record", record)?;
    }
    Ok(Flags {
        model: model.map_err(|problem| usage(format!("--model {problem}")))?,
        mode: session.mode,
        permission_mode: if session.yolo {
            Some(PermissionMode::Prometheus)
        } else {
            session.permission_mode
        },
        prompt,
        max_turns,
        record,
        ..Flags::default()
    })
}
