//! The sign-in in the browser, which gives a key.

use super::SetupContext;
use crate::{
    browser,
    failure::{Failure, Kind},
    options::Secret,
    screen,
};
use ::providers::{BrowserLogin, LoginError, known_provider};
use anyhow::Result;
use std::io::Write as _;

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
