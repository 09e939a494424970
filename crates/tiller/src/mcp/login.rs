//! `tiller mcp login` and `logout`: sign-in to servers by OAuth in the user's browser.

use super::CommandContext;
use crate::{answer::Answer, args::Login, limits::BROWSER_OUTPUT_BYTES, wiring};
use ::mcp::{LoginOptions, Revocation, SignIn, server_name};
use anyhow::{Context, Result, anyhow};
use serde_json::json;
use std::{io::Write as _, sync::Arc};
use system::{AbsPath, Command, Confinement, System};

impl CommandContext<'_> {
    pub(super) async fn login(&self, login: Login) -> Result<Answer> {
        let server = self.chosen(Some(&login.server)).await?.remove(0);
        let how = LoginOptions { client_id: login.client_id, scope: login.scope };
        let mut opening = None;
        let show = |page: SignIn| {
            // For people, so on stderr, also with `--json`. A closed stderr is not an error.
            let _ = writeln!(crate::screen::stderr(), "Sign in at {}:\n{}", page.host, page.url);
            if !login.no_browser && self.has_browser() {
                opening = browser(&page.url).map(|argv| tokio::spawn(open(self.options_for_browser(), argv)));
            }
        };
        let signed_in = ::mcp::login(&server, &self.servers, how, show).await;
        if let Some(opening) = opening {
            opening.abort();
        }
        signed_in.map_err(|why| anyhow!("MCP server '{}': {why}", server.name))?;
        let json = json!({ "name": server.name, "signed_in": true });
        Ok(Answer::new(json, format!("You are signed in to {}.\n", server.name)))
    }

    pub(super) async fn logout(&self, name: &str) -> Result<Answer> {
        let name = server_name(name);
        let revoked = ::mcp::logout(&self.servers, &name).await.map_err(|why| anyhow!(why))?;
        let revoked = revoked.with_context(|| format!("not signed in to '{name}'"))?;
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
        let json = json!({ "name": name, "signed_in": false, "revoked": taken_back, "reason": why });
        Ok(Answer::new(json, format!("The grant of {name} is deleted here, and {text}.\n")))
    }

    /// Whether a display exists on which a browser could open.
    fn has_browser(&self) -> bool {
        let set = |name| self.environment.get(name).is_some_and(|value| !value.is_empty());
        cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
    }

    fn options_for_browser(&self) -> (Arc<dyn System>, AbsPath) {
        (wiring::local_system(self.options), self.cwd.clone())
    }
}

/// Returns the command that opens a web URL in the system's browser, as separate words and never as
/// a
/// shell line; `None` for every other URL.
fn browser(url: &str) -> Option<Vec<String>> {
    let of_the_web = url.starts_with("https://") || url.starts_with("http://");
    if !of_the_web || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return None;
    }
    // `setsid` detaches the opener, so that a browser that it starts does not end with this
    // process.
    let opener: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["setsid", "-f", "xdg-open"] };
    Some(opener.iter().copied().chain([url]).map(str::to_owned).collect())
}

/// Runs the opener. Failures are ignored: the URL was printed.
async fn open((system, cwd): (Arc<dyn System>, AbsPath), argv: Vec<String>) {
    let mut words = argv.into_iter();
    let command = Command {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        cwd,
        env: Vec::new(),
        output_limit: BROWSER_OUTPUT_BYTES,
        confinement: Confinement::Lifted,
        input: None,
        interactive: false,
    };
    match system.spawn(command).await {
        Ok(mut process) => drop(process.wait().await),
        Err(error) => tracing::debug!(%error, "no browser was opened"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s29_only_web_urls_are_opened_and_as_a_single_argument() {
        let argv = browser("https://auth.example/a?b=c&d=$(touch%20x);e").unwrap();
        assert_eq!(argv.last().unwrap(), "https://auth.example/a?b=c&d=$(touch%20x);e");
        assert!(!argv.iter().any(|word| word.ends_with("sh") || word == "-c"), "{argv:?}");
        for url in ["file:///etc/passwd", "javascript:alert(1)", "--help", "https://a b", "https://a\nb", ""]
        {
            assert_eq!(browser(url), None, "{url}");
        }
    }
}
