//! Chooses the implementation behind each trait. The constructors of the other crates are called
//! here and in the files of this directory.

mod clients;
mod local;
mod models;
mod sessions;

pub(crate) use clients::{clients, guarded_clients, service_clients};
pub(crate) use local::{
    IN_TERMINAL, LAUNCHER, WATCHER, command, command_network, local, local_system, watcher,
};
pub(crate) use models::{catalog, reconfigure};
pub(crate) use sessions::{TrustedHooks, outside, sessions, shared_temp};

use crate::{
    args::{Events, Protocol},
    directories::sessions_file,
    limits,
    options::{Options, Terminal, Tools},
    services::Services,
    settings::{DirectorySettings, Settings},
    stdio,
};
use acp::{AcpOptions, ClientTools, TerminalPlace};
use agent::{Operator, Runtime, SessionStore, ToolProviders};
use anyhow::{Context as _, Result};
use providers::Catalog;
use std::sync::Arc;
use store::{Database, SqliteStore, StoreAddress, janitor::Janitor, nodes::Nodes};
use system::AbsPath;
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
    let store = Arc::new(SqliteStore::open_in_background(sessions_file(&directory).as_std())?);
    Ok(App { _temporary: temporary, ..wire_to(store, settings, options, tool_providers, None) })
}

/// Creates the runtime on a store that is open, with the operator that decides what its sessions
/// may begin.
pub(crate) fn wire_to(
    store: Arc<dyn SessionStore>,
    settings: &Arc<Settings>,
    options: &Options,
    tool_providers: ToolProviders,
    operator: Option<Arc<dyn Operator>>,
) -> App {
    let catalog = settings.catalog(options);
    // The settings of a server are not its users'.
    let keeps_rules = operator.is_none();
    let settings = Arc::new(DirectorySettings { settings: Arc::clone(settings), keeps_rules });
    let models = Arc::clone(&catalog) as Arc<_>;
    let runtime = Runtime::operated(store, models, settings, tool_providers, operator);
    App { runtime, catalog, _temporary: None }
}

/// The session store of a server.
pub(crate) struct ServerStore {
    pub(crate) store: Arc<dyn SessionStore>,
    /// The nodes that share it, if it can be shared.
    pub(crate) nodes: Option<Arc<dyn Nodes>>,
    /// What deletes from it.
    pub(crate) janitor: Arc<dyn Janitor>,
}

/// Opens the session store of a server: at an address, or that of the data directory.
pub(crate) async fn session_store(options: &Options, address: Option<&StoreAddress>) -> Result<ServerStore> {
    match address {
        Some(address) => {
            let database = Database::open(address).await;
            let database = database.with_context(|| format!("cannot open the session store {address}"))?;
            let (nodes, janitor) = (database.nodes(), database.janitor());
            if let (Some(nodes), Some(folders)) = (&nodes, &options.serve.nodes().folders) {
                nodes.set_folders(folders.clone());
            }
            Ok(ServerStore { store: database.into_store(), nodes, janitor })
        }
        None => {
            let file = sessions_file(&options.directories.data);
            let store = SqliteStore::open_in_background(file.as_std())?;
            let janitor = store.janitor();
            Ok(ServerStore { store: Arc::new(store), nodes: None, janitor })
        }
    }
}

/// Returns the options with which the protocol is served.
pub(crate) fn acp_options(
    options: &Options,
    cwd: &AbsPath,
    protocol: Protocol,
    events: Events,
    services: Services,
) -> AcpOptions {
    let mut acp = AcpOptions::new(local::session_system(options), env!("CARGO_PKG_VERSION"), cwd.clone());
    acp.protocol = match protocol {
        Protocol::Auto => acp::Protocol::Auto,
        Protocol::V1 => acp::Protocol::V1,
        Protocol::V2 => acp::Protocol::V2,
    };
    acp.events = match events {
        Events::Auto => acp::Events::Auto,
        Events::Off => acp::Events::Off,
        Events::Tiller => acp::Events::Tiller,
        Events::Kosmokrator => acp::Events::Kosmokrator,
    };
    acp.services = Arc::new(services);
    acp.machines.terminal = match options.client.terminal {
        Terminal::Client => TerminalPlace::Client,
        Terminal::Local => TerminalPlace::Local,
    };
    acp.machines.client_tools = match options.client.tools {
        // The process that writes to our stdin started us, so there is one machine.
        Tools::Auto | Tools::Transparent => ClientTools::Transparent,
        Tools::Ide => ClientTools::Ide,
        Tools::Off => ClientTools::Off,
    };
    acp.machines.folder = options.user_folder().map(|folder| folder.own.clone());
    acp
}

/// Serves the protocol on stdin and stdout until the client disconnects or `stop` is cancelled.
///
/// Both cancel what runs; open prompts are answered.
pub(crate) async fn serve(app: &App, acp: AcpOptions, stop: CancellationToken) -> Result<()> {
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
