//! The protocol behind the server: each connection is served like stdin and stdout.

use super::users::Users;
use ::serve::{Application, Carried, EndReason, Presence};
use acp::{AcpOptions, AfterEnd, Link};
use agent::{Principal, Scope, principal::Operation};
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Serves the protocol on every connection, with the runtime of its user.
pub(super) struct ServedProtocol(pub(super) Arc<Users>);

#[async_trait]
impl Application for ServedProtocol {
    async fn serve(&self, connection: Carried) {
        let Carried { id, principal, source, reader, writer, presence, waiting } = connection;
        let user = self.0.of(&principal, source).await;
        let options = AcpOptions {
            output_closed: CancellationToken::new(),
            link: Arc::new(NetworkLink { presence, waiting, linger: self.0.linger() }),
            permits: permits(&principal),
            ..user.options(source)
        };
        tracing::info!(connection = %id, user = %principal.user, %source, "a connection begins");
        if let Err(error) = acp::serve(user.runtime().clone(), reader, writer, options).await {
            tracing::warn!(connection = %id, %error, "a connection failed");
        }
        tracing::info!(connection = %id, "a connection has ended");
    }
}

/// Returns what a credential permits. Settings, keys and trust are shared by all users of the
/// server, so that only its administrators change them.
fn permits(principal: &Principal) -> Arc<dyn Fn(Operation) -> Result<(), Scope> + Send + Sync> {
    let scopes = principal.scopes;
    Arc::new(move |operation| {
        let shared = (operation == Operation::ChangeSettings).then_some(Scope::Admin);
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
    linger: Option<Duration>,
}

#[async_trait]
impl Link for NetworkLink {
    fn after_end(&self) -> AfterEnd {
        let stops =
            matches!(*self.presence.borrow(), Presence::Ended(EndReason::Deleted | EndReason::Stopped));
        match self.linger.filter(|_| !stops) {
            Some(linger) => AfterEnd::GoOn(linger),
            None => AfterEnd::Cancel,
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_administrators_change_what_all_users_share() {
        let all = Principal::local("ada");
        let others = all.scopes.iter().filter(|scope| *scope != Scope::Admin).collect();
        let user = Principal { scopes: others, ..all.clone() };
        assert_eq!(permits(&all)(Operation::ChangeSettings), Ok(()));
        assert_eq!(permits(&user)(Operation::ChangeSettings), Err(Scope::Admin));
        assert_eq!(permits(&user)(Operation::Prompt), Ok(()));
        let watcher = Principal { scopes: [Scope::Connect, Scope::SessionRead].into_iter().collect(), ..all };
        assert_eq!(permits(&watcher)(Operation::Load), Ok(()));
        assert_eq!(permits(&watcher)(Operation::Prompt), Err(Scope::SessionWrite));
        assert_eq!(permits(&watcher)(Operation::Answer), Err(Scope::SessionApprove));
    }
}
