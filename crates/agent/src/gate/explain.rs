//! Explains the policy's decision about a hypothetical call, for `tiller permissions explain`.

use crate::{
    Access, Destination, Effect, Lifetime, RuntimeOptions,
    gate::hypothesis::{self, Question},
    policy::network::{NetworkDecision, NetworkGrants, NetworkPolicy, WEB_PORTS, decide},
    policy::pushes,
};
use std::sync::Arc;
use system::{AbsPath, System};

/// One rule of the policy's chain and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name of the rule.
    pub rule: String,
    /// The rule's outcome in words; the last step is the decision.
    pub says: String,
}

/// What a hypothetical call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainedAs {
    /// A command that is run.
    Command,
    /// A path that is read or written.
    Path,
    /// A URL that is fetched.
    Url,
    /// A host that a command connects to.
    Host,
}

/// Evaluates the policy's chain for a command, a path or a URL, or the decision about a host.
///
/// `what` is a host, optionally with a port, if it looks like one and names nothing that exists in
/// the directory. It is a URL if it begins with `http://` or `https://` and contains no whitespace.
/// It is a path if it contains no whitespace and either contains a slash or begins with a dot, or
/// if it names something that exists in the directory. The path is read, or written if `write` is
/// set.
pub async fn explain(
    options: &RuntimeOptions,
    system: Arc<dyn System>,
    cwd: &AbsPath,
    what: &str,
    write: bool,
) -> Vec<Step> {
    if let ExplainedAs::Host = explained_as(system.as_ref(), cwd, what, write).await
        && let Some(destination) = host(what)
    {
        return vec![Step { rule: "network".to_owned(), says: network(options, &destination) }];
    }
    let steps =
        hypothesis::explain(options, system.as_ref(), cwd, asked(system.as_ref(), cwd, what, write).await)
            .await;
    let mut steps: Vec<_> =
        steps.into_iter().map(|(rule, says)| Step { rule: rule.to_owned(), says }).collect();
    if let Some(decision) = steps.last_mut().filter(|last| last.says.starts_with("allow") && pushes(what)) {
        decision
            .says
            .push_str("; the push is asked about when it reaches the network, unless a rule allows it");
    }
    steps
}

/// Returns what `what` is explained as.
pub async fn explained_as(system: &dyn System, cwd: &AbsPath, what: &str, write: bool) -> ExplainedAs {
    let is_one_word = !what.contains(char::is_whitespace);
    let is_url = ["http://", "https://"].iter().any(|scheme| what.starts_with(scheme));
    if is_one_word && is_url && !write {
        return ExplainedAs::Url;
    }
    let looks_like_path = is_one_word && (what.contains('/') || what.starts_with('.'));
    let is_path =
        write || looks_like_path || (!what.contains('\0') && system.metadata(&cwd.join(what)).await.is_ok());
    match is_path {
        true => ExplainedAs::Path,
        false if host(what).is_some() => ExplainedAs::Host,
        false => ExplainedAs::Command,
    }
}

/// Returns the destination that a word names, if it looks like the name of a host: with a dot, and
/// with letters only behind the last one.
fn host(what: &str) -> Option<Destination> {
    let (name, port) = match what.split_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (what, WEB_PORTS[0]),
    };
    let (_, last) = name.rsplit_once('.')?;
    let is_name = last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_alphabetic());
    Destination::host(name, port).filter(|_| is_name)
}

/// Describes the decision about a connection of a command.
fn network(options: &RuntimeOptions, destination: &Destination) -> String {
    let policy = NetworkPolicy {
        options: &options.sandbox.network,
        permission_mode: options.start.permission_mode,
        rules: &options.permissions.rules.network,
        grants: &NetworkGrants::default(),
    };
    match decide(&policy, destination) {
        NetworkDecision::Allow { rule } => format!("allow ({rule})"),
        NetworkDecision::Ask { by_rule: true, .. } => "ask; the setting permissions.ask names it".to_owned(),
        NetworkDecision::Ask { scope, .. } => format!("ask; the rule {} would allow it", scope.rule()),
        NetworkDecision::Deny { reason } => format!("deny: {reason}"),
    }
}

async fn asked(system: &dyn System, cwd: &AbsPath, what: &str, write: bool) -> Question<'static> {
    let (tool, effect, access) = match explained_as(system, cwd, what, write).await {
        ExplainedAs::Path if write => ("file_write", Effect::Writes, Access::Write(cwd.join(what))),
        ExplainedAs::Path => ("file_read", Effect::Reads, Access::Read(cwd.join(what))),
        ExplainedAs::Url => ("web_fetch", Effect::Reads, Access::Fetch(what.to_owned())),
        ExplainedAs::Command | ExplainedAs::Host => {
            let (command, cwd) = (what.to_owned(), cwd.clone());
            (
                "bash",
                Effect::Executes,
                Access::Execute {
                    command,
                    cwd,
                    unconfined: false,
                    reason: None,
                    lifetime: Lifetime::Session,
                },
            )
        }
    };
    Question { tool, effect, accesses: vec![access] }
}
