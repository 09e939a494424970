//! `tiller serve` and `tiller connect`: the protocol over sockets.

mod application;
mod connect;
mod listeners;
mod oidc;

pub(crate) use application::ServedProtocol;
pub(crate) use connect::connect;

use crate::{
    directories::tokens_file, environment::Environment, exit::Exit, failure::usage, limits, options::Options,
    signals, streams, wiring::App,
};
use ::serve::{
    Access, ServeOptions, Server,
    auth::{Credentials, FileTokens, TokenStore, wall_clock},
};
use anyhow::{Context as _, Result};
use std::{io::Write as _, sync::Arc};
use system::System;
use tokio_util::sync::CancellationToken;

/// Serves clients until a signal ends the server in order.
pub(crate) async fn serve(
    app: &App,
    options: &Options,
    environment: &Environment,
    system: Arc<dyn System>,
    protocol: ServedProtocol,
) -> Result<Exit> {
    let tokens: Arc<dyn TokenStore> =
        Arc::new(FileTokens::new(system, wall_clock(), tokens_file(&options.directories.data)));
    let places = listeners::places(&options.serve, environment, &options.directories)?;
    let identities = oidc::verifier(options.serve.oidc(), wall_clock())?;
    listeners::check_safety(&places, &options.serve, &*tokens, identities.is_some()).await?;
    let listeners = listeners::bind(places, &options.serve).await?;
    let mut credentials = Credentials::new(tokens, wall_clock());
    if let Some(identities) = identities {
        credentials = credentials.with_verifier(Arc::new(identities));
    }
    let access = Access::new(Arc::new(credentials), user_name);
    let serve_options = ServeOptions {
        resume_grace: options.serve.resume_grace,
        unix_users: options.serve.unix_users.clone(),
        ..ServeOptions::default()
    };
    let server = Server::new(Arc::new(protocol), access, serve_options)
        .context("the operating system has no random bytes")?;
    for listener in listeners {
        writeln!(streams::stderr(), "listening on {}", listener.place())?;
        server.listen(listener);
    }
    signals::end_in_order();
    let stop = CancellationToken::new();
    let run = server.run(stop.clone());
    tokio::pin!(run);
    let exit = tokio::select! {
        () = &mut run => Exit::Ok,
        exit = signals::next() => {
            stop.cancel();
            if tokio::time::timeout(limits::STOP, run).await.is_err() {
                tracing::warn!("connections did not close in time");
            }
            exit
        }
    };
    if tokio::time::timeout(limits::HANG_UP, app.runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    Ok(exit)
}

/// Returns the name of a user of this machine, who connected to the Unix socket.
fn user_name(uid: u32) -> String {
    format!("uid-{uid}")
}

/// The refusal of a server that would not be safe.
fn refuse(message: String) -> anyhow::Error {
    usage(message).into()
}
