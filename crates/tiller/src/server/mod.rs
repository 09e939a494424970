//! `tiller serve` and `tiller connect`: the protocol over sockets.

pub(crate) mod admin;
mod application;
mod connect;
mod departure;
mod housekeeping;
mod listeners;
mod nodes;
mod oidc;
mod service_manager;
mod steward;
pub(crate) mod stores;
mod user_place;
mod users;

pub(crate) use connect::connect;

use application::ServedProtocol;
use departure::{Departing, Departure};
use housekeeping::Housekeeping;
use nodes::Node;
use steward::Steward;
use users::Users;

use crate::{
    directories::sessions_file,
    environment::Environment,
    exit::Exit,
    failure::usage,
    limits,
    logging::LogFormat,
    options::Options,
    otel,
    settings::Settings,
    signals, streams,
    wiring::{self, ServerStore},
};
use ::serve::{
    Access, Load, Metrics, Operators, Probes, ServeOptions, Server,
    auth::{Credentials, Quotas, wall_clock},
};
use agent::{Principal, Scope, SessionStore};
use anyhow::{Context as _, Result};
use futures::FutureExt as _;
use std::{io::Write as _, sync::Arc};
use store::StoreAddress;
use system::{AbsPath, CommandDeadline};
use tokio_util::sync::CancellationToken;

/// What a server is started with.
pub(crate) struct Place {
    pub(crate) settings: Arc<Settings>,
    pub(crate) options: Options,
    pub(crate) environment: Environment,
    pub(crate) cwd: AbsPath,
    /// The store, if it is not the file of this machine.
    pub(crate) store: Option<StoreAddress>,
    /// How what the server prints is written.
    pub(crate) log_format: LogFormat,
}

/// Serves clients over a store until a signal ends the server in order.
pub(crate) async fn serve(place: Place, store: ServerStore) -> Result<Exit> {
    let ServerStore { store, nodes, janitor } = store;
    let Place { options, environment, log_format, .. } = &place;
    let log_format = *log_format;
    let (system, directories) = (wiring::local_system(options), &options.directories);
    let stores::AccessStores { tokens, audit, .. } =
        stores::open(system, directories, place.store.as_ref()).await?;
    let places = listeners::places(&options.serve, environment, directories)?;
    let identities = oidc::verifier(options.serve.oidc(), wall_clock())?;
    user_place::check_user_folders(options).map_err(|error| refuse(format!("{error:#}")))?;
    user_place::create_user_folders(options).await.map_err(|error| refuse(format!("{error:#}")))?;
    let metrics_place = listeners::metrics_place(&options.serve)?;
    let all: Vec<_> = places.iter().chain(&metrics_place).cloned().collect();
    let rows = tokens.list().await?;
    if let Some(danger) =
        listeners::dangers(&all, &options.serve, &rows, identities.is_some()).into_iter().next()
    {
        return Err(refuse(danger));
    }
    let others = identities.is_some() || !options.serve.unix_users.is_empty();
    if let Some(warning) = user_place::shared_files(options, &rows, others) {
        tracing::warn!("{warning}");
    }
    raise_open_files();
    if otel::start(options.serve.otel(), environment)? {
        tracing::info!("traces are exported");
    }
    let mut listeners = listeners::bind(places, &options.serve).await?;
    let metrics_listeners = listeners::bind(metrics_place.into_iter().collect(), &options.serve).await?;
    if let Some(nodes) = &nodes {
        // Commands end by themselves with the leases, also while this process hangs or is stopped.
        let deadline = CommandDeadline::install().context("there is no memory for a deadline")?;
        nodes.on_renewal(Box::new(move |until| deadline.set(until)));
    }
    let node = Node::bind(options.serve.nodes(), nodes).await?;
    let departing = Departing::new(node.as_ref().map(|node| node.nodes.clone()));
    let mut credentials = Credentials::new(tokens.clone(), wall_clock());
    if let Some(identities) = identities {
        credentials = credentials.with_verifier(Arc::new(identities));
    }
    let operation = options.serve.operation();
    let quotas = Quotas::new(operation.user.clone(), operation.tenant.clone());
    let access =
        Access::new(Arc::new(credentials), local_principal).audited(audit.clone()).limited(quotas.clone());
    let housekeeping =
        Housekeeping { janitor, audit: audit.clone(), clock: wall_clock(), retention: operation.retention };
    let metrics = Metrics::default();
    metrics.install().map_err(anyhow::Error::msg)?;
    let load = Load::new(probes(&store));
    let operators = Arc::new(
        Operators::new(quotas)
            .audited(audit)
            .with_load(load.clone())
            .going_on_after_death(options.serve.nodes().goes_on_after_death)
            .with_store(store.clone())
            .with_model_concurrency(operation.model_concurrency),
    );
    let serve_options = ServeOptions {
        resume_grace: options.serve.resume_grace,
        unix_users: options.serve.unix_users.clone(),
        ..ServeOptions::default()
    };
    let own_file = || StoreAddress::Sqlite(sessions_file(&directories.data).as_std().to_owned());
    let address = place.store.clone().unwrap_or_else(own_file);
    let users = Arc::new(Users::new(place, store, operators));
    let steward = Steward {
        users: users.clone(),
        tokens,
        store: address,
        listeners: listeners.iter().map(::serve::Listener::place).collect(),
        started: wall_clock()(),
        departing: departing.clone(),
    };
    let protocol = Arc::new(ServedProtocol(users.clone()));
    let mut cluster = None;
    let server = match node {
        None => Server::new(protocol, access, serve_options),
        Some(Node { nodes, listener, options, address }) => {
            nodes.announce(Some(address.clone()), false).await?;
            listeners.push(listener);
            cluster = Some((nodes, address));
            Server::of_nodes(protocol, access, serve_options, options)
        }
    };
    let server = server
        .context("the operating system has no random bytes")?
        .with_load(load)
        .with_metrics(metrics)
        .administered(Arc::new(steward));
    let departure =
        cluster.zip(server.drain()).map(|((nodes, address), drain)| Departure { nodes, drain, address });
    for listener in listeners {
        announce(log_format, &format!("listening on {}", listener.place()))?;
        server.listen(listener);
    }
    for listener in metrics_listeners {
        announce(log_format, &format!("metrics on {}", listener.place()))?;
        server.listen_for_metrics(listener);
    }
    service_manager::ready();
    signals::end_in_order_within(departing.longest());
    let housekeeping = tokio::spawn(housekeeping.run());
    let keep_alive = tokio::spawn(service_manager::keep_alive());
    let stop = CancellationToken::new();
    let run = server.run(stop.clone());
    let run = async {
        tokio::select! {
            () = run => {}
            () = async {
                stop.cancelled().await;
                tokio::time::sleep(limits::STOP).await;
            } => tracing::warn!("connections did not close in time"),
        }
    };
    let end = async {
        let adopt = async {
            if let Some(departure) = &departure {
                departure.adopt_orphans(&users).await;
            }
            std::future::pending().await
        };
        let exit = tokio::select! {
            exit = signals::next() => exit,
            () = departing.wished() => Exit::Ok,
            never = adopt => never,
        };
        service_manager::stopping();
        if let Some(departure) = &departure
            && tokio::time::timeout(Departure::LONGEST, departure.drain(&users)).await.is_err()
        {
            tracing::warn!("not all sessions were given away in time");
        }
        stop.cancel();
        exit
    };
    let ((), exit) = tokio::join!(run, end);
    housekeeping.abort();
    keep_alive.abort();
    if tokio::time::timeout(limits::HANG_UP, users.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    otel::finish().await;
    Ok(exit)
}

/// Returns what the server measures of this machine and of its store.
fn probes(store: &Arc<dyn SessionStore>) -> Probes {
    let (waiting, asked) = (Arc::clone(store), Arc::clone(store));
    Probes {
        memory: Arc::new(system::memory_use),
        store_wait: Arc::new(move || waiting.wait()),
        store: Arc::new(move || {
            let store = Arc::clone(&asked);
            async move { store.ready().await.map_err(|error| error.to_string()) }.boxed()
        }),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Returns the principal of a user of this machine, who connected to the Unix socket. Only the user
/// who runs the server administers it.
fn local_principal(uid: u32) -> Principal {
    let principal = Principal::local(format!("uid-{uid}"));
    if uid == rustix::process::geteuid().as_raw() {
        return principal;
    }
    let scopes = principal.scopes.iter().filter(|scope| !matches!(scope, Scope::Admin | Scope::Runner));
    Principal { scopes: scopes.collect(), ..principal }
}

/// Prints where the server is, whatever the level of the log.
fn announce(format: LogFormat, text: &str) -> Result<()> {
    let line = match format {
        LogFormat::Text => text.to_owned(),
        LogFormat::Json => {
            let timestamp = wall_clock()().to_string();
            serde_json::json!({ "timestamp": timestamp, "level": "INFO", "message": text, "target": module_path!() })
                .to_string()
        }
    };
    Ok(writeln!(streams::stderr(), "{line}")?)
}

/// Raises the limit of open files as far as the system permits: each socket is one, and many
/// systems start with 1,024.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files was not raised");
    }
}

/// The refusal of a server that would not be safe.
fn refuse(message: String) -> anyhow::Error {
    usage(message)
}
