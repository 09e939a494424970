//! Checks that take a request or start a process, and are made only when asked for.

use super::super::{report::Check, subject::Subject};
use crate::{environment, limits::STARTUP_WAIT};
use futures::future::join_all;
use system::{LocalSystem, Piped, PipedCommand, System as _};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    time::{Instant, timeout},
};

/// Asks each provider that is set up for its list of models.
pub(crate) async fn online(subject: &Subject<'_>) -> Vec<Check> {
    let rows = crate::providers::rows(subject.options, subject.environment, subject.catalog, subject.stores);
    let usable = rows.into_iter().filter(|row| row.usable && row.auth_mode != "none");
    let asked = usable.map(async |row| {
        let check = subject.catalog.check_provider(&row.name).await;
        let milliseconds = check.latency.as_millis();
        match (check.error, check.models) {
            (Some(error), _) => Check::error("online", "request", format!("{}: {error}", row.name))
                .next(format!("tiller providers doctor {}", row.name)),
            (None, Some(models)) => {
                Check::ok("online", "request", format!("{}: {models} models, {milliseconds} ms", row.name))
            }
            (None, None) => Check::ok("online", "request", format!("{}: {milliseconds} ms", row.name)),
        }
    });
    match join_all(asked).await {
        checks if checks.is_empty() => vec![Check::skipped("online", "request", "no provider is set up")],
        checks => checks,
    }
}

/// Starts this program as an editor does, and waits for its first answer.
pub(crate) async fn startup(subject: &Subject<'_>) -> Check {
    const TITLE: &str = "start";
    let Some(own) = environment::program() else {
        return Check::skipped("startup", TITLE, "the path of this program is unknown");
    };
    let begin = Instant::now();
    let answered = timeout(STARTUP_WAIT, initialize(subject, own.to_string())).await;
    let milliseconds = begin.elapsed().as_millis();
    match answered {
        Ok(Ok(())) => Check::ok("startup", TITLE, format!("`tiller acp` answered after {milliseconds} ms")),
        Ok(Err(problem)) => Check::error("startup", TITLE, problem).next("TILLER_LOG=debug tiller acp"),
        Err(_elapsed) => Check::error(
            "startup",
            TITLE,
            format!("`tiller acp` did not answer within {} s", STARTUP_WAIT.as_secs()),
        )
        .next("TILLER_LOG=debug tiller acp"),
    }
}

async fn initialize(subject: &Subject<'_>, program: String) -> Result<(), String> {
    let command = PipedCommand {
        program,
        args: vec!["acp".to_owned()],
        cwd: subject.cwd.clone(),
        inherit: subject.environment.names(),
        env: Vec::new(),
        error_limit: 4096,
        confinement: system::Confinement::Lifted,
        apart_from: Vec::new(),
    };
    let problem = |error: &dyn std::fmt::Display| format!("`tiller acp` did not start: {error}");
    let piped = LocalSystem::new().spawn_piped(command).await.map_err(|error| problem(&error))?;
    let Piped { mut input, output, mut process } = piped;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
    input.write_all(format!("{request}\n").as_bytes()).await.map_err(|error| problem(&error))?;
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line).await;
    drop(input);
    process.kill().await;
    read.map_err(|error| problem(&error))?;
    let answer: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
    match answer["result"]["protocolVersion"].is_number() {
        true => Ok(()),
        false => Err("`tiller acp` ended without an answer".to_owned()),
    }
}
