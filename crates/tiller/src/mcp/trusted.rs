//! `tiller mcp trust`: shows the servers of a project and trusts them.

use super::{
    CommandContext,
    pins::Pins,
    rows::{ServerRow, TrustedServers},
    unknown,
};
use crate::{
    answer::{Answer, Failure, Kind},
    args::Trusted,
    exit::Exit,
    trust,
};
use ::mcp::{Origin, ServerConfig, server_name};
use agent::ItemKind;
use anyhow::Result;

impl CommandContext<'_> {
    /// Shows the project's servers, asks for trust in those that lack it, and prints the result. A
    /// program gets the servers with the failure if they need a review.
    pub(super) async fn trust(&self, Trusted { named, yes, .. }: Trusted) -> Result<Exit> {
        let found = self.find_servers().await;
        let wanted = named.server.as_deref().map(server_name);
        let all = || found.untrusted.iter().chain(&found.servers);
        let shown: Vec<_> = all()
            .filter(|server| matches!(server.origin, Origin::Project(_)))
            .filter(|server| wanted.as_ref().is_none_or(|name| *name == server.name))
            .collect();
        if let Some(wanted) = &wanted
            && !all().any(|server| server.name == *wanted)
        {
            return Err(unknown(wanted, all().map(|server| server.name.as_str())));
        }
        let given = match wanted.is_none() || !shown.is_empty() {
            true => self.review(wanted.as_deref(), yes).await,
            false => Ok(()),
        };
        let now = self.find_servers().await;
        let mut text = String::new();
        if given.is_ok()
            && let Some(wanted) = &wanted
            && now.servers.iter().any(|server| server.name == *wanted)
            && Pins::new(self.system.clone(), &self.options.directories).forget(wanted).await?
        {
            text = format!("The next tool definitions of {wanted} are accepted.\n");
        }
        let trusted = |server: &ServerConfig| now.servers.contains(server);
        let servers = shown.iter().map(|server| ServerRow::of(server, trusted(server))).collect();
        let answer = Answer::new(TrustedServers { folder: self.cwd.to_string(), servers }, text);
        match given {
            Ok(()) => self.console.print(answer),
            Err(error) => self.console.print_failed(answer, error),
        }
    }

    /// Shows the servers that lack trust, and trusts those that the user accepts.
    async fn review(&self, wanted: Option<&str>, yes: bool) -> Result<()> {
        let only: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let choice = trust::TrustSelection { only: &only, kind: Some(ItemKind::Server), yes };
        let (directories, redactor) = (&self.options.directories, self.environment.redactor());
        let answers = trust::terminal(self.console);
        // A program gets them in the answer.
        let mut out: Box<dyn std::io::Write> = match self.console.is_json() {
            true => Box::new(std::io::sink()),
            false => Box::new(crate::streams::stdout()),
        };
        let given =
            trust::review_and_trust(directories, self.cwd, &choice, redactor, answers, &mut out).await;
        given.map_err(|error| match (error.downcast_ref::<Failure>(), wanted) {
            (Some(failure), name) if failure.kind == Kind::Denied => {
                let name = name.map(|name| format!(" {name}")).unwrap_or_default();
                let what = "nothing is trusted: there is no terminal to ask on; review what is shown, then pass --yes";
                Failure::new(Kind::Denied, what).next(format!("tiller mcp trust{name} --yes")).into()
            }
            _ => error,
        })
    }
}
