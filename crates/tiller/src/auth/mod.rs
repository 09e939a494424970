//! `tiller auth`: one view over the keys of providers and the logins to MCP servers.

mod status;

pub(crate) use status::AccountList;

use crate::{
    answer::{Answer, failure_of},
    args::{AuthCommand, AuthLogin, Login, McpCommand},
    exit::Exit,
    failure::{Failure, Kind},
    mcp,
    providers::ProvidersContext,
    setup::{self, ProviderSetup, SetupContext, SetupPlace},
};
use ::providers::{KNOWN_PROVIDERS, known_provider};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `tiller auth login` for a provider.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LoggedIn {
    /// The kind of the account: provider.
    kind: &'static str,
    /// The provider.
    name: String,
    /// How: browser or `api_key`.
    method: &'static str,
    /// Where the key is stored: keyring or file.
    store: Option<&'static str>,
}

/// Runs the command.
pub(crate) async fn run(context: &ProvidersContext<'_>, command: AuthCommand) -> Result<Exit> {
    let answer = match command {
        AuthCommand::Status { name } => status::status(context, name.as_deref()).await?,
        AuthCommand::Login(login) => match target(context, &login.name) {
            Target::Provider(name) => login_provider(context, &name, &login).await?,
            Target::Server(server) => {
                let AuthLogin { name, no_browser, .. } = login;
                let login = Login { server, client_id: None, scope: None, no_browser };
                return run_mcp(context, &name, McpCommand::Login(login)).await;
            }
        },
        AuthCommand::Logout { name } => match target(context, &name) {
            Target::Provider(name) => context.logout(&name).await?,
            Target::Server(server) => return run_mcp(context, &name, McpCommand::Logout { server }).await,
        },
    };
    context.console.print(answer)
}

/// What a name stands for.
enum Target {
    Provider(String),
    Server(String),
}

/// Resolves a name: `mcp:NAME` is a server; otherwise a provider of that name comes first.
fn target(context: &ProvidersContext<'_>, name: &str) -> Target {
    if let Some(server) = name.strip_prefix("mcp:") {
        return Target::Server(server.to_owned());
    }
    let name = if name == "google" { "gemini" } else { name };
    match known_provider(name).is_some() || context.options.providers.custom.contains_key(name) {
        true => Target::Provider(name.to_owned()),
        false => Target::Server(name.to_owned()),
    }
}

/// Runs a command on the server that was called `name`.
async fn run_mcp(context: &ProvidersContext<'_>, name: &str, command: McpCommand) -> Result<Exit> {
    let done = mcp::run(context.console, context.options, context.environment, context.cwd, command).await;
    done.map_err(|error| {
        if name.starts_with("mcp:") || failure_of(&error).kind != Kind::NotFound {
            return error;
        }
        let what = format!("neither a provider nor an MCP server is called '{}'", agent::one_line(name));
        let nearest = agent::closest(name, KNOWN_PROVIDERS, |known| known.name);
        Failure::new(Kind::NotFound, what)
            .meant(nearest.map(|known| known.name))
            .next("tiller providers list")
            .next("tiller mcp list")
            .into()
    })
}

async fn login_provider(context: &ProvidersContext<'_>, name: &str, login: &AuthLogin) -> Result<Answer> {
    let setup = SetupContext {
        console: context.console,
        options: context.options,
        environment: context.environment,
        cwd: context.cwd,
    };
    let browser = known_provider(name).is_some_and(|known| known.browser_login) && !login.api_key_stdin;
    let key = match (login.api_key_stdin, browser) {
        (true, _) => Some(setup::key_from_stdin()?),
        (false, true) => Some(setup::sign_in(&setup, name, !login.no_browser).await?),
        (false, false) => setup::ask_key(context.console, name)?,
    };
    let Some(key) = key else {
        return Err(Failure::new(Kind::Usage, "no key was given; nothing was changed").into());
    };
    let place = SetupPlace::new(&context.options.directories, context.cwd, false);
    let wanted = ProviderSetup { provider: name.to_owned(), key: Some(key), ..ProviderSetup::default() };
    let stored = setup::set_up(context.options, &context.values(), &place, &wanted, false).await;
    let stored = stored.map_err(Failure::from)?;
    let mut text = setup::with_stored_key(context.options, name, stored.key.as_ref());
    text += &format!("Choose a model: tiller models {name}, then tiller setup --model {name}/MODEL\n");
    let body = LoggedIn {
        kind: "provider",
        name: name.to_owned(),
        method: if browser { "browser" } else { "api_key" },
        store: stored.key.map(|stored| stored.store.word()),
    };
    Ok(Answer::new(&body, text))
}
