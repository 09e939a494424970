//! The connection of a client that has not said yet which version of the protocol it speaks.

#[cfg(feature = "v2")]
use crate::v2::V2;
use crate::{
    AcpOptions, Protocol,
    connection::{Connection, Dispatcher, Wire},
    transport::Gauge,
    v1::V1,
};
use agent::Runtime;
use agent_client_protocol::{Agent, Builder, Client, ConnectTo, Error};
use std::sync::Arc;

/// One connection as each version would serve it; the client's first message decides which of them does.
#[derive(Clone)]
pub(crate) struct Connections {
    first: Arc<Connection<V1>>,
    #[cfg(feature = "v2")]
    second: Arc<Connection<V2>>,
}

impl Connections {
    /// A connection whose client has not introduced itself yet.
    pub(crate) fn new(runtime: Arc<Runtime>, options: AcpOptions, gauge: Arc<Gauge>) -> Self {
        Self {
            #[cfg(feature = "v2")]
            second: Connection::new(runtime.clone(), options.clone(), gauge.clone()),
            first: Connection::new(runtime, options, gauge),
        }
    }

    /// Serves the client over `transport`, in the version it asks for if `protocol` leaves a choice.
    #[cfg(feature = "v2")]
    pub(crate) async fn serve(
        &self,
        protocol: Protocol,
        transport: impl ConnectTo<Agent> + 'static,
    ) -> Result<(), Error> {
        match protocol {
            // Past the router: each message takes two steps less.
            Protocol::First => component(&self.first).connect_to(transport).await,
            Protocol::Second => {
                Agent.protocol_router().with_v2(component(&self.second)).connect_to(transport).await
            }
            Protocol::Auto => {
                let router = Agent.protocol_router().with_v1(component(&self.first));
                router.with_v2(component(&self.second)).connect_to(transport).await
            }
        }
    }

    /// Serves the client over `transport`.
    #[cfg(not(feature = "v2"))]
    pub(crate) async fn serve(
        &self,
        protocol: Protocol,
        transport: impl ConnectTo<Agent> + 'static,
    ) -> Result<(), Error> {
        match protocol {
            Protocol::Auto | Protocol::First => component(&self.first).connect_to(transport).await,
        }
    }

    /// Cancels what this client asked for.
    pub(crate) fn cancel(&self) {
        self.first.cancel();
        #[cfg(feature = "v2")]
        self.second.cancel();
    }

    /// Cancels what this client asked for, closes every session that nobody else is told of, and waits until every request is answered.
    pub(crate) async fn settle(&self) {
        self.first.settle().await;
        #[cfg(feature = "v2")]
        self.second.settle().await;
    }
}

fn component<W: Wire>(connection: &Arc<Connection<W>>) -> impl ConnectTo<Client> + 'static {
    let closing = connection.clone();
    Builder::new_with(Agent, Dispatcher(connection.clone())).name("tiller").on_close(async move |_client| {
        closing.settle().await;
        Ok(())
    })
}
