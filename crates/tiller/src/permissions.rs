//! `tiller permissions`: explains a decision, and lists the decisions of a session.

use crate::{
    answer::{Answer, Console, Page, numbered},
    args::PermissionsCommand,
    exit::Exit,
    options::Options,
    sessions::resolve_session_id,
    used_host::UsedHost,
    wiring::{self, App},
};
use agent::{
    ExplainedAs, NetworkUse, PermissionOutcome, Runtime, SessionEvent, SessionId, ToolCallId, explain,
    explained_as,
};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::HashMap, sync::Arc};
use system::AbsPath;

/// How the rules decide.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Explained {
    /// What would be done: read, write, fetch, connect or run.
    action: &'static str,
    /// The path, the URL, the host or the command.
    subject: String,
    /// What each rule says, in the order in which they are asked.
    steps: Vec<ExplainedStep>,
}

/// What one rule says.
#[derive(Debug, Serialize, JsonSchema)]
struct ExplainedStep {
    /// The name of the rule.
    rule: String,
    /// What it says; `-` if it has no opinion.
    says: String,
}

/// A decision of a session, or the use of a host by its commands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Decision {
    /// The id of the session.
    session_id: String,
    /// The id of the tool call.
    call: String,
    /// The title of the tool call.
    title: String,
    /// The decision: allowed, always, refused, never or cancelled. For a host: connected or
    /// refused.
    outcome: &'static str,
    /// The rule that decided. For a host that was refused: the reason.
    rule: String,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<UsedHost>,
}

/// Runs `tiller permissions`.
pub(crate) async fn run(
    console: &Console,
    app: &App,
    options: &Options,
    cwd: &AbsPath,
    command: PermissionsCommand,
) -> Result<Exit> {
    match command {
        PermissionsCommand::Explain { what, write } => {
            let system = wiring::local_system(options);
            let settings = app.runtime.settings_in(cwd).await?;
            let chain = explain(&settings, Arc::clone(&system), cwd, &what, write).await;
            let kind = explained_as(system.as_ref(), cwd, &what, write).await;
            let (id, verb) = match kind {
                ExplainedAs::Path if write => ("write", "write the file"),
                ExplainedAs::Path => ("read", "read the file"),
                ExplainedAs::Url => ("fetch", "fetch the URL"),
                ExplainedAs::Host => ("connect", "connect a command to"),
                ExplainedAs::Command => ("run", "run the command"),
            };
            let mut text = format!("{:<18} {verb} {what}\n", "subject");
            for step in &chain {
                text += &format!("{:<18} {}\n", step.rule, step.says);
            }
            let steps = chain.into_iter().map(|step| ExplainedStep { rule: step.rule, says: step.says });
            let explained = Explained { action: id, subject: what, steps: steps.collect() };
            console.print(Answer::new(explained, text))
        }
        PermissionsCommand::Log { session, limit, pages } => {
            let session = session.as_deref().unwrap_or("last");
            let id = resolve_session_id(&app.runtime, session, cwd).await?;
            let skipped = numbered(pages.after.as_deref())?;
            log(console, &app.runtime, &id, (skipped, limit as usize)).await
        }
    }
}

async fn log(
    console: &Console,
    runtime: &Runtime,
    id: &SessionId,
    (skipped, limit): (usize, usize),
) -> Result<Exit> {
    let mut titles: HashMap<ToolCallId, String> = HashMap::new();
    let mut found = Vec::new();
    let entry = |call: &ToolCallId, title: String, outcome, rule: &str, network| Decision {
        session_id: id.to_string(),
        call: call.to_string(),
        title,
        outcome,
        rule: rule.to_owned(),
        network,
    };
    runtime
        .replay(id, &mut |event| match event {
            SessionEvent::ToolCall(update) => {
                if let Some(title) = &update.display.title {
                    titles.insert(update.id.clone(), title.clone());
                }
            }
            SessionEvent::PermissionResolved { id: call, outcome, rule } => {
                let title = titles.get(call).cloned().unwrap_or_default();
                found.push(entry(call, title, word(*outcome), rule, None));
            }
            SessionEvent::NetworkUsed(NetworkUse { call, hosts }) => {
                for host in hosts {
                    let title = format!("{}: {}", host.destination, host.summary());
                    let (outcome, rule) = match (&host.refused, &host.rule) {
                        (Some(reason), _) => ("refused", reason.as_str()),
                        (None, rule) => ("connected", rule.as_deref().unwrap_or_default()),
                    };
                    found.push(entry(call, title, outcome, rule, Some(host.into())));
                }
            }
            _ => {}
        })
        .await?;
    let line = |decision: &Decision| {
        let Decision { call, outcome, rule, title, .. } = decision;
        format!("{call:<9} {outcome:<13} {rule:<17} {title}\n")
    };
    console.page(Page::ranked(found, skipped, limit), Decision::clone, line)
}

fn word(outcome: PermissionOutcome) -> &'static str {
    match outcome {
        PermissionOutcome::AllowOnce => "allowed",
        PermissionOutcome::AllowAlways => "always",
        PermissionOutcome::AllowForUser => "everywhere",
        PermissionOutcome::RejectOnce => "refused",
        PermissionOutcome::RejectAlways => "never",
        PermissionOutcome::Cancelled => "cancelled",
    }
}
