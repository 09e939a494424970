//! `tiller permissions`: explains a decision, and lists the decisions of a session.

use crate::{
    answer::Console,
    args::PermissionsCommand,
    exit::Exit,
    options::Options,
    screen,
    sessions::resolve_session_id,
    wiring::{self, App},
};
use agent::{
    ExplainedAs, ListQuery, PermissionOutcome, Redactor, Runtime, SessionEvent, SessionId, explain,
    explained_as,
};
use anyhow::{Context, Result};
use serde_json::json;
use std::{collections::HashMap, io::Write, sync::Arc};
use system::AbsPath;

/// Runs `tiller permissions`.
pub(crate) async fn run(
    console: &Console,
    app: &App,
    options: &Options,
    cwd: &AbsPath,
    redactor: &Redactor,
    command: PermissionsCommand,
) -> Result<Exit> {
    match command {
        PermissionsCommand::Explain { what, write } => {
            let system = wiring::local_system(options);
            let settings = app.runtime.settings_in(cwd).await?;
            let chain = explain(&settings, Arc::clone(&system), cwd, &what, write).await;
            let mut stdout = screen::stdout();
            let kind = match explained_as(system.as_ref(), cwd, &what, write).await {
                ExplainedAs::Path if write => "write the file",
                ExplainedAs::Path => "read the file",
                ExplainedAs::Url => "fetch the URL",
                ExplainedAs::Command => "run the command",
            };
            writeln!(stdout, "{:<18} {kind} {}", "subject", redactor.shown(&what))?;
            for step in &chain {
                writeln!(stdout, "{:<18} {}", step.rule, step.says)?;
            }
            Ok(Exit::Ok)
        }
        PermissionsCommand::Log { session } => {
            let id = match session {
                Some(id) => resolve_session_id(&app.runtime, &id, cwd).await?,
                None => last(&app.runtime, cwd).await?,
            };
            log(&app.runtime, &id, redactor, console.is_json()).await
        }
    }
}

async fn last(runtime: &Arc<Runtime>, cwd: &AbsPath) -> Result<SessionId> {
    let page = runtime.list(ListQuery { cwd: Some(cwd.clone()), limit: 1, ..ListQuery::default() }).await?;
    Ok(page.sessions.into_iter().next().with_context(|| format!("no session in {cwd}; pass --session"))?.id)
}

async fn log(runtime: &Runtime, id: &SessionId, redactor: &Redactor, as_json: bool) -> Result<Exit> {
    let mut titles: HashMap<String, String> = HashMap::new();
    let mut lines = Vec::new();
    let session = id.as_str();
    runtime
        .replay(id, &mut |event| match event {
            SessionEvent::ToolCall(update) => {
                if let Some(title) = &update.display.title {
                    titles.insert(update.id.to_string(), title.clone());
                }
            }
            SessionEvent::PermissionResolved { id, outcome, rule } => {
                let call = id.to_string();
                let title = titles.get(&call).cloned().unwrap_or_default();
                let outcome_word = word(*outcome);
                lines.push(match as_json {
                    true => redactor
                        .json_line(json!({ "session_id": session, "call": call, "title": title, "outcome": outcome_word, "rule": rule })),
                    false => redactor.shown(&format!("{call:<9} {outcome_word:<13} {rule:<17} {title}")),
                });
            }
            _ => {}
        })
        .await?;
    let mut stdout = screen::stdout();
    // A closed stdout is not an error: the reader has taken as much as it wanted.
    lines.iter().try_for_each(|line| writeln!(stdout, "{line}")).ok();
    Ok(Exit::Ok)
}

fn word(outcome: PermissionOutcome) -> &'static str {
    match outcome {
        PermissionOutcome::AllowOnce => "allowed",
        PermissionOutcome::AllowAlways => "always",
        PermissionOutcome::RejectOnce => "refused",
        PermissionOutcome::RejectAlways => "never",
        PermissionOutcome::Cancelled => "cancelled",
    }
}
