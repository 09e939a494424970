//! A runtime for each user, over a store that shows only the user's sessions.

use super::{Place, user_place::UserPlace};
use crate::{
    args::{Events, Protocol},
    environment::Environment,
    extensions::Extensions,
    options::{Options, Tools},
    redacting_writer::RedactingWriter,
    services::Services,
    sessions::transfer,
    settings::Settings,
    wiring::{self, App},
};
use ::serve::{Abandoned, Operators, auth::Source};
use acp::{AcpOptions, ClientTools};
use agent::{Owner, Principal, Runtime, SessionHandle, SessionId, SessionStore, StoreError, scoped};
use anyhow::Result;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::nodes::Orphan;
use system::AbsPath;

/// The users of a server.
pub(super) struct Users {
    place: Place,
    store: Arc<dyn SessionStore>,
    operators: Arc<Operators>,
    /// The runtime of each user; `None` is the user who runs the server, on this machine.
    open: Mutex<HashMap<Option<Owner>, Arc<User>>>,
}

/// A user with a runtime. No session of another user exists in it.
pub(super) struct User {
    app: App,
    options: AcpOptions,
    /// Whether the settings say which tools act on the client's machine.
    tools_are_set: bool,
}

/// Returns whose sessions a principal has; `None` are those of the command line, which belong to
/// the user who runs the server.
pub(super) fn owner(principal: &Principal, source: Source) -> Option<Owner> {
    let own = rustix::process::geteuid().as_raw();
    (source != Source::Unix(own)).then(|| principal.owner())
}

/// Returns as whom a session is opened elsewhere when its owner has no client.
fn acting_for(owner: Option<&Owner>) -> (Principal, Source) {
    match owner {
        None => (Principal::local(""), Source::Unix(rustix::process::geteuid().as_raw())),
        Some(Owner { tenant, user }) => {
            let principal = Principal { tenant: tenant.clone(), ..Principal::local(user.as_str()) };
            (principal, Source::Address(std::net::Ipv4Addr::LOCALHOST.into()))
        }
    }
}

impl Users {
    /// Creates the users of a server over a store. The operators decide what they may begin.
    pub(super) fn new(place: Place, store: Arc<dyn SessionStore>, operators: Arc<Operators>) -> Self {
        Self { place, store, operators, open: Mutex::default() }
    }

    /// Returns a principal's user. The one who runs the server has the sessions of the command
    /// line, which have no owner.
    ///
    /// # Errors
    /// If the user's directories cannot be used.
    pub(super) async fn of(&self, principal: &Principal, source: Source) -> Result<Arc<User>> {
        let owner = owner(principal, source);
        if let Some(user) = self.open().get(&owner) {
            return Ok(user.clone());
        }
        if let Some(owner) = &owner {
            self.operators.restore(&owner.tenant, self.store.as_ref()).await;
        }
        let user = self.open_user(owner.as_ref()).await?;
        Ok(self.open().entry(owner).or_insert_with(|| Arc::new(user)).clone())
    }

    /// Returns whose a stored session is; `None` if it belongs to the user who runs the server.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub(super) async fn owner_of(&self, session: &SessionId) -> Result<Option<Owner>, StoreError> {
        Ok(self.store.get(session).await?.listing.owner)
    }

    /// Returns the conversation of a user's session as Markdown, without secrets.
    pub(super) async fn exported(&self, owner: Option<&Owner>, session: &SessionId) -> Result<String> {
        let (principal, source) = acting_for(owner);
        let user = self.of(&principal, source).await?;
        let mut text = Vec::new();
        let redactor = self.place.environment.redactor().clone();
        transfer::as_markdown(user.runtime(), session, &mut RedactingWriter::data(&mut text, redactor))
            .await?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns how long a session with neither a client nor a turn stays open.
    pub(super) fn linger(&self) -> Duration {
        self.place.options.serve.linger
    }

    /// Whether turns go on without their clients, unless a client asks otherwise.
    pub(super) fn turns_go_on(&self) -> bool {
        self.place.options.serve.turns_go_on
    }

    /// Whether turns go on by themselves after the death of their node.
    pub(super) fn go_on_after_death(&self) -> bool {
        self.place.options.serve.nodes().goes_on_after_death
    }

    /// Looks at a session whose node died. Returns it if its turn is to go on now.
    pub(super) async fn settle_orphan(&self, orphan: Orphan) -> Result<Option<Abandoned>, String> {
        let (principal, source) = acting_for(orphan.owner.as_ref());
        let user = self.of(&principal, source).await.map_err(|error| format!("{error:#}"))?;
        let cwd = user.runtime().settle_orphan(&orphan.id).await.map_err(|error| error.to_string())?;
        let session = orphan.id.to_string();
        Ok(cwd.map(|cwd| Abandoned { principal, source, session, cwd: cwd.to_string() }))
    }

    /// Returns the number of users with a runtime.
    pub(super) fn count(&self) -> usize {
        self.open().len()
    }

    /// Returns the open sessions with their users; `None` is the user who runs the server.
    pub(super) fn open_sessions(&self) -> Vec<(Option<Owner>, SessionHandle)> {
        let users: Vec<_> = self.open().iter().map(|(owner, user)| (owner.clone(), user.clone())).collect();
        let sessions = users.into_iter().map(|(owner, user)| {
            let open = user.app.runtime.open_sessions().into_iter();
            open.map(move |session| (owner.clone(), session))
        });
        sessions.flatten().collect()
    }

    /// Closes every session of every user.
    pub(super) async fn shutdown(&self) {
        let users: Vec<_> = self.open().values().cloned().collect();
        futures::future::join_all(users.iter().map(|user| user.app.runtime.shutdown())).await;
    }

    /// Ends every session of every user so that other nodes can go on with it. Returns those that a
    /// turn goes on in without a client.
    pub(super) async fn suspend(&self, patience: Duration) -> Vec<Abandoned> {
        let users: Vec<_> = self.open().iter().map(|(owner, user)| (owner.clone(), user.clone())).collect();
        let suspended = users.iter().map(async |(owner, user)| {
            let (principal, source) = acting_for(owner.as_ref());
            let left = user.app.runtime.suspend(patience).await.into_iter();
            let abandoned = move |(session, cwd): (SessionId, AbsPath)| Abandoned {
                principal: principal.clone(),
                source,
                session: session.to_string(),
                cwd: cwd.to_string(),
            };
            left.map(abandoned).collect::<Vec<_>>()
        });
        futures::future::join_all(suspended).await.into_iter().flatten().collect()
    }

    async fn open_user(&self, owner: Option<&Owner>) -> Result<User> {
        let place = &self.place;
        let Some(owner) = owner else {
            let (store, environment) = (self.store.clone(), &place.environment);
            return Ok(self.wired(store, None, &place.settings, &place.options, environment, &place.cwd));
        };
        let UserPlace { settings, environment, cwd } = UserPlace::of(place, owner).await?;
        let (snapshot, problem) = settings.read_or_defaults(&cwd).await?;
        if let Some(problem) = problem {
            tracing::warn!(user = %owner.user, "the user's settings cannot be used: {problem}");
        }
        let store = scoped(&self.store, owner);
        Ok(self.wired(store, Some(owner), &settings, &snapshot.options, &environment, &cwd))
    }

    fn wired(
        &self,
        store: Arc<dyn SessionStore>,
        owner: Option<&Owner>,
        settings: &Arc<Settings>,
        options: &Options,
        environment: &Environment,
        cwd: &AbsPath,
    ) -> User {
        let extensions = Extensions::new(settings, options, environment);
        let operator = Some(self.operators.of(owner.cloned()));
        let app = wiring::wire_to(store, settings, options, extensions.tool_providers(), operator);
        let services = Services::new(
            app.runtime.clone(),
            app.catalog.clone(),
            settings.clone(),
            options,
            environment,
            extensions,
        );
        User {
            options: wiring::acp_options(options, cwd, Protocol::Auto, Events::Auto, services),
            app,
            tools_are_set: options.client.tools != Tools::Auto,
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Option<Owner>, Arc<User>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl User {
    /// Returns the runtime.
    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        &self.app.runtime
    }

    /// Returns the protocol's options for a connection.
    pub(super) fn options(&self, source: Source) -> AcpOptions {
        let mut options = self.options.clone();
        options.bounds.line_bytes = ::serve::limits::MESSAGE_BYTES;
        if !self.tools_are_set {
            options.machines.client_tools = match source {
                Source::Unix(_) => ClientTools::Transparent,
                // The client is on another machine.
                Source::Address(_) => ClientTools::Ide,
            };
        }
        options
    }
}
