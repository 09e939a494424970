//! `tiller auth`: one view over the keys of providers and the logins to MCP servers.

mod status;

pub(crate) use status::AccountList;

use crate::{
    answer::Answer,
    args::{AuthCommand, AuthLogin, Login, McpCommand},
    browser,
    exit::Exit,
    failure::{Failure, Kind},
    mcp,
    options::Secret,
    providers::{ProvidersContext, with_stored_key},
    screen,
    setup::{self, ProviderSetup, SetupContext, SetupPlace},
};
use ::providers::{BrowserLogin, LoginError, known_provider};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write as _;

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
                let login = Login { server, client_id: None, scope: None, no_browser: login.no_browser };
                return run_mcp(context, McpCommand::Login(login)).await;
            }
        },
        AuthCommand::Logout { name } => match target(context, &name) {
            Target::Provider(name) => context.logout(&name).await?,
            Target::Server(server) => return run_mcp(context, McpCommand::Logout { server }).await,
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

async fn run_mcp(context: &ProvidersContext<'_>, command: McpCommand) -> Result<Exit> {
    mcp::run(context.console, context.options, context.environment, context.cwd, command).await
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
        (false, true) => Some(sign_in(&setup, name, !login.no_browser).await?),
        (false, false) => setup::ask_key(context.console, name)?,
    };
    let Some(key) = key else {
        return Err(Failure::new(Kind::Usage, "no key was given; nothing was changed").into());
    };
    let place = SetupPlace::new(&context.options.directories, context.cwd, false);
    let wanted = ProviderSetup { provider: name.to_owned(), key: Some(key), ..ProviderSetup::default() };
    let stored = setup::set_up(context.options, &context.values(), &place, &wanted, false).await;
    let stored = stored.map_err(Failure::from)?;
    let mut text = with_stored_key(context.options, name, stored.key.as_ref());
    text += &format!("Choose a model: tiller models {name}, then tiller setup --model {name}/MODEL\n");
    let body = LoggedIn {
        kind: "provider",
        name: name.to_owned(),
        method: if browser { "browser" } else { "api_key" },
        store: stored.key.map(|stored| stored.store.word()),
    };
    Ok(Answer::new(&body, text))
}

/// Signs the user in on the provider's page, and returns the key that it made.
///
/// # Errors
/// If the provider offers no such sign-in, or it is not completed.
pub(crate) async fn sign_in(context: &SetupContext<'_>, provider: &str, open: bool) -> Result<Secret> {
    let Some(known) = known_provider(provider).filter(|known| known.browser_login) else {
        let what = format!("{provider} publishes no sign-in for programs of others");
        return Err(Failure::new(Kind::NotAvailable, what)
            .hint("store a key instead")
            .next(format!("tiller setup --provider {provider} --api-key-stdin"))
            .into());
    };
    let configured = context.options.providers.custom.get(provider);
    let base_url = configured.and_then(|provider| provider.base_url.as_deref()).unwrap_or(known.base_url);
    let login = BrowserLogin::start(base_url).await.map_err(failure)?;
    // For people, so on stderr, also with `--json`. A closed stderr is not an error.
    let remote = context.environment.get("SSH_CONNECTION").is_some();
    let note = match remote {
        true => {
            "\nThe page calls back at this machine: open it in a browser here, or forward the port of\ncallback_url with `ssh -L PORT:localhost:PORT`."
        }
        false => "",
    };
    let _ = writeln!(screen::stderr(), "Sign in to {} at\n{}{note}", known.label, login.page());
    let opening = (open && !remote)
        .then(|| browser::open(context.environment, context.options, context.cwd, login.page()));
    let key = login.finish().await;
    if let Some(opening) = opening.flatten() {
        opening.abort();
    }
    let key = key.map_err(failure)?;
    context.environment.redactor().learn([key.clone()]);
    Ok(Secret::new(&key))
}

fn failure(error: LoginError) -> Failure {
    let kind = match error {
        LoginError::Start(_) => Kind::Internal,
        LoginError::TimedOut => Kind::Auth,
        LoginError::Refused(_) => Kind::Auth,
        LoginError::Network(_) => Kind::Network,
    };
    Failure::new(kind, error.to_string())
}
