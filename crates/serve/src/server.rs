//! A server: listeners, the connections that they open, and an orderly end.

use crate::{
    access::Access,
    admin::Administration,
    application::Application,
    auth::Source,
    connection::registry::Registry,
    http::{Arrival, Measured, Names, Site, router},
    limits::{RESUME_GRACE, SOCKETS, SWEEP_INTERVAL},
    listen::{Acceptor, Listener},
    load::Load,
    nodes::{Drain, Forwarding, NodeOptions},
    telemetry::Metrics,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{sync::Arc, time::Duration};
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// How long a connection lives without a socket.
    pub resume_grace: Duration,
    /// Sockets at a time.
    pub sockets: usize,
    /// Users of this machine, beside ours, that may connect to the Unix socket.
    pub unix_users: Vec<u32>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { resume_grace: RESUME_GRACE, sockets: SOCKETS, unix_users: Vec::new() }
    }
}

/// A server over an application.
pub struct Server {
    acceptor: Arc<Acceptor>,
    site: Site,
    /// The way to other nodes, if there are any.
    nodes: Option<Arc<Forwarding>>,
}

/// The way into a server for connections that it forwards to itself.
struct Entry {
    acceptor: Arc<Acceptor>,
    site: Site,
}

impl Entry {
    /// Serves a socket on which this process is its own client, until it ends.
    fn serve_forwarded(&self, stream: DuplexStream) {
        let arrival = Arrival {
            from_node: true,
            ..Arrival::new(Source::Address(std::net::Ipv4Addr::LOCALHOST.into()), None, false)
        };
        let (acceptor, routes) = (self.acceptor.clone(), router(self.site.clone()));
        self.acceptor.tasks.spawn(async move { acceptor.serve(stream, arrival, routes, None).await });
    }
}

impl Server {
    /// Creates a server that listens nowhere yet.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub fn new(
        application: Arc<dyn Application>,
        access: Access,
        options: ServeOptions,
    ) -> Result<Self, getrandom::Error> {
        Self::build(application, access, options, CancellationToken::new())
    }

    /// Creates a server that is one of several nodes, and listens nowhere yet.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub fn of_nodes(
        application: Arc<dyn Application>,
        access: Access,
        options: ServeOptions,
        nodes: NodeOptions,
    ) -> Result<Self, getrandom::Error> {
        let draining = CancellationToken::new();
        let forwarding = Arc::new(Forwarding::new(application, nodes, draining.clone()));
        let mut server = Self::build(forwarding.clone(), access, options, draining)?;
        server.nodes = Some(forwarding);
        Ok(server)
    }

    /// Returns what moves the work of this node to the others; `None` if there are none.
    pub fn drain(&self) -> Option<Drain> {
        self.nodes.as_ref().map(|nodes| nodes.drain(self.site.clone()))
    }

    fn build(
        application: Arc<dyn Application>,
        access: Access,
        options: ServeOptions,
        draining: CancellationToken,
    ) -> Result<Self, getrandom::Error> {
        let mut random = [0; 6];
        getrandom::fill(&mut random)?;
        let closing = CancellationToken::new();
        let acceptor = Acceptor::new(options.sockets, options.unix_users, closing);
        let (sockets, most) = (acceptor.sockets.clone(), options.sockets);
        let access = Arc::new(access);
        let site = Site {
            registry: Registry::new(application, access.clone(), options.resume_grace),
            access,
            names: Arc::default(),
            unparsed: Site::unparsed(),
            incarnation: URL_SAFE_NO_PAD.encode(random).into(),
            draining,
            load: Load::default(),
            measured: Measured {
                metrics: None,
                open_sockets: Arc::new(move || most.saturating_sub(sockets.available_permits())),
            },
            is_for_metrics: false,
            administration: None,
        };
        Ok(Self { acceptor, site, nodes: None })
    }

    /// Refuses new connections while a node has too much to do. The server watches the load while
    /// it [runs](Server::run). Call it before [`Server::listen`].
    #[must_use]
    pub fn with_load(mut self, load: Load) -> Self {
        self.site.load = load;
        self
    }

    /// Offers metrics at `/metrics`, on Unix sockets and on the listeners of
    /// [`Server::listen_for_metrics`]. Call it before [`Server::listen`].
    #[must_use]
    pub fn with_metrics(mut self, metrics: Metrics) -> Self {
        self.site.measured.metrics = Some(metrics);
        self
    }

    /// Accepts sockets of a listener that offers `/metrics`, `/health` and `/ready` only, until the
    /// server stops.
    pub fn listen_for_metrics(&self, listener: Listener) {
        // It needs a token, which no page of another site has, whatever host it names.
        let listener = Listener { names: Names::default(), ..listener };
        let site = Site { is_for_metrics: true, ..self.site.clone() };
        self.acceptor.tasks.spawn(self.acceptor.clone().accept(listener, site));
    }

    /// Answers administrators, on Unix sockets that are listened on after this.
    #[must_use]
    pub fn administered(mut self, administration: Arc<dyn Administration>) -> Self {
        self.site.administration = Some(administration);
        self
    }

    /// Accepts sockets of a listener until the server stops. Needs a tokio runtime with I/O and
    /// time.
    pub fn listen(&self, listener: Listener) {
        self.acceptor.tasks.spawn(self.acceptor.clone().accept(listener, self.site.clone()));
    }

    /// Serves until `stop` is cancelled. Then new connections are refused, the application settles,
    /// the last messages are sent, and sockets are closed.
    pub async fn run(&self, stop: CancellationToken) {
        if let Some(nodes) = &self.nodes {
            let entry = Entry { acceptor: self.acceptor.clone(), site: self.site.clone() };
            nodes.enter_by(Box::new(move |stream| entry.serve_forwarded(stream)));
        }
        let sweeping = async {
            loop {
                tokio::time::sleep(SWEEP_INTERVAL).await;
                self.site.registry.sweep();
                self.site.access.sweep();
            }
        };
        let following = async {
            match &self.nodes {
                Some(nodes) => nodes.follow_nodes().await,
                None => std::future::pending().await,
            }
        };
        let serving = async {
            stop.run_until_cancelled(futures::future::join(sweeping, following)).await;
            self.site.draining.cancel();
            self.site.registry.stop().await;
            self.acceptor.closing.cancel();
            self.acceptor.settle().await;
        };
        tokio::select! {
            () = serving => {}
            () = self.site.load.watch(|| self.site.registry.free_memory()) => {}
        }
    }

    /// Serves one socket that was accepted elsewhere, until it ends. For tests and for sockets that
    /// are handed over.
    pub fn serve_socket(
        &self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        source: Source,
    ) {
        let Ok(permit) = self.acceptor.sockets.clone().try_acquire_owned() else { return };
        let arrival = Arrival::new(source, None, false);
        let (acceptor, routes) = (self.acceptor.clone(), router(self.site.clone()));
        self.acceptor.tasks.spawn(async move { acceptor.serve(stream, arrival, routes, Some(permit)).await });
    }
}
