//! The protocol behind the server: each connection is served like stdin and stdout.

use super::users::{Users, owner};
use crate::otel;
use ::serve::{Application, Carried, EndReason, Presence, Unreadable, auth::Source};
use acp::{AcpOptions, AfterEnd, Link, OnDisconnect, TraceContext};
use agent::{ContentHash, Principal, Scope, StoreError, principal::Operation};
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Span;

/// Serves the protocol on every connection, with the runtime of its user.
pub(super) struct ServedProtocol(pub(super) Arc<Users>);

#[async_trait]
impl Application for ServedProtocol {
    async fn serve(&self, connection: Carried) {
        let Carried { id, principal, source, reader, writer, presence, waiting, .. } = connection;
        let user = match self.0.of(&principal, source).await {
            Ok(user) => user,
            // Dropping the reader and the writer ends the connection.
            Err(error) => return tracing::error!(connection = %id, user = %principal.user, "{error:#}"),
        };
        let options = AcpOptions {
            output_closed: CancellationToken::new(),
            link: Arc::new(NetworkLink {
                presence,
                waiting,
                linger: self.0.linger(),
                goes_on: self.0.turns_go_on(),
            }),
            permits: permits(&principal, owner(&principal, source).is_none()),
            ..user.options(source)
        };
        tracing::info!(connection = %id, user = %principal.user, %source, "a connection begins");
        if let Err(error) = acp::serve(user.runtime().clone(), reader, writer, options).await {
            tracing::warn!(connection = %id, %error, "a connection failed");
        }
        tracing::info!(connection = %id, "a connection has ended");
    }

    async fn content(
        &self,
        principal: &Principal,
        source: Source,
        session: &str,
        hash: &str,
    ) -> Result<Option<Vec<u8>>, Unreadable> {
        let user = self.0.of(principal, source).await.map_err(|error| {
            tracing::error!(user = %principal.user, "{error:#}");
            Unreadable
        })?;
        match user.runtime().content(&session.into(), &ContentHash(hash.to_owned())).await {
            Ok(content) => Ok(content),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => {
                tracing::warn!(%error, "a content was not read");
                Err(Unreadable)
            }
        }
    }
}

/// Returns what a credential permits. The settings, keys and trust of the account that runs the
/// server are the base of all others, so that only administrators change them.
fn permits(
    principal: &Principal,
    is_the_servers: bool,
) -> Arc<dyn Fn(Operation) -> Result<(), Scope> + Send + Sync> {
    let scopes = principal.scopes;
    Arc::new(move |operation| {
        let shared = (is_the_servers && operation == Operation::ChangeSettings).then_some(Scope::Admin);
        let needed = operation.scopes().iter().copied().chain(shared);
        match needed.into_iter().find(|scope| !scopes.has(*scope)) {
            Some(missing) => Err(missing),
            None => Ok(()),
        }
    })
}

/// The way to a client over sockets that come and go.
struct NetworkLink {
    presence: watch::Receiver<Presence>,
    waiting: Arc<dyn Fn(usize) + Send + Sync>,
    linger: Duration,
    /// Whether turns go on, unless the client asks otherwise.
    goes_on: bool,
}

#[async_trait]
impl Link for NetworkLink {
    fn is_of_child(&self) -> bool {
        false
    }

    fn after_end(&self, wanted: Option<OnDisconnect>) -> AfterEnd {
        let stops =
            matches!(*self.presence.borrow(), Presence::Ended(EndReason::Deleted | EndReason::Stopped));
        let goes_on = wanted.map_or(self.goes_on, |wanted| wanted == OnDisconnect::Run);
        if goes_on && !stops { AfterEnd::GoOn(self.linger) } else { AfterEnd::Cancel }
    }

    fn waiting(&self, bytes: usize) {
        (self.waiting)(bytes);
    }

    fn turns_wait(&self) -> bool {
        false
    }

    async fn elapsed(&self, limit: Duration) {
        Carried::elapsed(self.presence.clone(), limit).await;
    }

    fn join_trace(&self, span: &Span, context: TraceContext<'_>) {
        otel::join_trace(span, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_decides_about_its_turns_and_the_setting_for_those_that_do_not() {
        let linger = Duration::from_secs(7);
        let end = |goes_on, reason, wanted| {
            let (_presence, presence) = watch::channel(Presence::Ended(reason));
            let link = NetworkLink { presence, waiting: Arc::new(drop), linger, goes_on };
            link.after_end(wanted)
        };
        let (run, cancel) = (Some(OnDisconnect::Run), Some(OnDisconnect::Cancel));
        for (goes_on, wanted, expected) in [
            (true, None, AfterEnd::GoOn(linger)),
            (false, None, AfterEnd::Cancel),
            (true, cancel, AfterEnd::Cancel),
            (false, run, AfterEnd::GoOn(linger)),
        ] {
            assert_eq!(end(goes_on, EndReason::Expired, wanted), expected, "{goes_on} {wanted:?}");
        }
        for stopped in [EndReason::Deleted, EndReason::Stopped] {
            assert_eq!(end(true, stopped, run), AfterEnd::Cancel);
        }
    }

    #[test]
    fn users_change_their_own_settings_and_only_administrators_those_of_the_server() {
        let all = Principal::local("ada");
        let others = all.scopes.iter().filter(|scope| *scope != Scope::Admin).collect();
        let user = Principal { scopes: others, ..all.clone() };
        assert_eq!(permits(&all, true)(Operation::ChangeSettings), Ok(()));
        assert_eq!(permits(&user, true)(Operation::ChangeSettings), Err(Scope::Admin));
        assert_eq!(permits(&user, false)(Operation::ChangeSettings), Ok(()));
        assert_eq!(permits(&user, true)(Operation::Prompt), Ok(()));
        let watcher = Principal { scopes: [Scope::Connect, Scope::SessionRead].into_iter().collect(), ..all };
        let permits = permits(&watcher, false);
        assert_eq!(permits(Operation::Load), Ok(()));
        assert_eq!(permits(Operation::Prompt), Err(Scope::SessionWrite));
        assert_eq!(permits(Operation::Answer), Err(Scope::SessionApprove));
        assert_eq!(permits(Operation::ChangeSettings), Err(Scope::SessionWrite));
    }
}
