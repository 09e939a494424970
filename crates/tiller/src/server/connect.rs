//! `tiller connect`: stdin and stdout, carried to a server.

use super::listeners::own_socket;
use crate::{
    args::ConnectArgs, environment::Environment, exit::Exit, failure::usage, options::Directories, stdio,
};
use ::serve::connect::{self, ConnectError, ConnectOptions, Target};
use anyhow::{Context as _, Result, anyhow};
use providers::verified_tls;
use std::{sync::Arc, time::Duration};
use system::{AbsPath, System};

/// The variable that holds a server's token.
const TOKEN: &str = "TILLER_TOKEN";

/// Connects an editor to a server until the editor closes its side.
pub(crate) async fn connect(
    args: ConnectArgs,
    environment: &Environment,
    directories: &Directories,
    system: Arc<dyn System>,
    cwd: &AbsPath,
) -> Result<Exit> {
    let target = match &args.server {
        Some(url) => Target::parse(url).map_err(|error| usage(error.to_string()))?,
        None => Target::Unix(own_socket(environment, directories)),
    };
    let token = match &args.token_file {
        Some(path) => Some(read_token(&*system, &cwd.join(path.to_string_lossy())).await?),
        None => environment.get(TOKEN).map(str::to_owned),
    };
    if token.is_some() && target.is_exposed() {
        return Err(usage(
            "the token would cross the network without encryption; use wss://, or a tunnel to ws://127.0.0.1",
        ));
    }
    let is_own = args.server.is_none();
    let tls = match target.is_tls() {
        true => Some(Arc::new(verified_tls().map_err(|error| anyhow!(error))?)),
        false => None,
    };
    let (dial, host, path) = target.dial(tls);
    let authorization = token.map(|token| format!("Bearer {token}"));
    let options = ConnectOptions {
        dial,
        host,
        path,
        authorization: Arc::new(move || authorization.clone()),
        give_up: Duration::from_secs(args.give_up),
    };
    let (output, failure) = stdio::output();
    match connect::connect(options, stdio::input(), output).await {
        Ok(()) => Ok(Exit::Ok),
        // The editor went first.
        Err(ConnectError::Io(_)) if failure.is_hung_up()? => Ok(Exit::Ok),
        Err(error @ ConnectError::Unreachable { .. }) if is_own => {
            Err(anyhow!("{error}; start a server on this machine with: tiller serve"))
        }
        Err(error) => Err(error.into()),
    }
}

async fn read_token(system: &dyn System, path: &AbsPath) -> Result<String> {
    let bytes = system.read(path).await.with_context(|| format!("--token-file {path}"))?;
    let text = String::from_utf8(bytes).map_err(|_| usage(format!("--token-file {path}: it is not text")))?;
    Ok(text.trim().to_owned())
}
