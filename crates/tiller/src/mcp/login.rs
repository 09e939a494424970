//! `tiller mcp login` and `logout`: sign-in to servers by OAuth in the user's browser.

use super::{
    CommandContext,
    rows::{SignedIn, SignedOut},
};
use crate::{
    answer::Answer,
    args::Login,
    browser,
    failure::{Failure, Kind},
};
use ::mcp::{LoginOptions, Revocation, SignIn, server_name};
use anyhow::{Result, anyhow};
use std::io::Write as _;

impl CommandContext<'_> {
    pub(super) async fn login(&self, login: Login) -> Result<Answer> {
        let server = self.chosen(Some(&login.server)).await?.remove(0);
        let how = LoginOptions { client_id: login.client_id, scope: login.scope };
        let mut opening = None;
        let show = |page: SignIn| {
            // For people, so on stderr, also with `--json`. A closed stderr is not an error.
            let _ = writeln!(crate::screen::stderr(), "Sign in at {}:\n{}", page.host, page.url);
            if !login.no_browser {
                opening = browser::open(self.environment, self.options, self.cwd, &page.url);
            }
        };
        let signed_in = ::mcp::login(&server, &self.servers, how, show).await;
        if let Some(opening) = opening {
            opening.abort();
        }
        signed_in.map_err(|why| anyhow!("MCP server '{}': {why}", server.name))?;
        let text = format!("You are signed in to {}.\n", server.name);
        Ok(Answer::new(SignedIn { name: server.name, signed_in: true }, text))
    }

    pub(super) async fn logout(&self, name: &str) -> Result<Answer> {
        let name = server_name(name);
        let revoked = ::mcp::logout(&self.servers, &name).await.map_err(|why| anyhow!(why))?;
        let revoked = revoked.ok_or_else(|| {
            Failure::new(Kind::NotFound, format!("not signed in to '{name}'")).next("tiller auth status")
        })?;
        let (taken_back, text) = match &revoked {
            Revocation::Done => (true, "is revoked there".to_owned()),
            Revocation::NotOffered => (
                false,
                "may stay valid there until it expires: the server names no way to revoke it".to_owned(),
            ),
            Revocation::Failed(why) => (false, format!("may stay valid there until it expires: {why}")),
        };
        let why = match revoked {
            Revocation::Failed(why) => Some(why),
            Revocation::Done | Revocation::NotOffered => None,
        };
        let text = format!("The grant of {name} is deleted here, and {text}.\n");
        Ok(Answer::new(SignedOut { name, signed_in: false, revoked: taken_back, reason: why }, text))
    }
}
