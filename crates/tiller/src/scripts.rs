//! `tiller lua` and `tiller mcp lua`: runs scripts without an agent.

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::ScriptArgs,
    environment::{self, Environment},
    exit::Exit,
    failure::usage,
    integrations::{IntegrationFunctions, Integrations},
    mcp::{DirectHost, DirectServers, ServerFunctions, mcp_options},
    options::Options,
    wiring,
};
use agent::AnyTool;
use anyhow::{Context, Result};
use async_trait::async_trait;
use lua::{Function, FunctionKind, Functions, MEGABYTE, Query, Report, RunLimits, Script};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use system::AbsPath;
use tokio_util::sync::CancellationToken;

/// The result of a script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScriptRun {
    /// What it printed.
    output: String,
    /// What it returned, as a text; null without a value.
    value: Option<String>,
    /// How long it took, in milliseconds.
    duration_ms: f64,
    /// The most memory that it held, in bytes.
    memory_bytes: u64,
}

/// Which functions a script can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callable {
    /// All functions that exist outside of a turn.
    AllFunctions,
    /// Those of MCP servers.
    Servers,
}

/// Runs a script and prints its output and its value. A script that fails gives exit code 1.
pub(crate) async fn run(
    console: &Console,
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    callable: Callable,
    given: ScriptArgs,
) -> Result<Exit> {
    let ScriptArgs { file, eval, memory, cpu, args, force } = given;
    let (name, code) = match (file, eval) {
        (Some(file), _) => {
            let path = cwd.join(&file);
            environment::check_file("FILE", &path)?;
            let system = wiring::local(Vec::new(), Vec::new(), system::LoginShell::default());
            let text = system.read_text(&path, None).await;
            let text = text.with_context(|| format!("the script {path} cannot be read"))?;
            (path.file_name().unwrap_or("lua").to_owned(), text)
        }
        (None, Some(code)) => ("eval".to_owned(), code),
        (None, None) => return Err(usage("nothing to run: name a file, or pass --eval CODE")),
    };
    let limits = RunLimits {
        memory: memory as usize * MEGABYTE,
        cpu: Duration::try_from_secs_f64(cpu).map_err(|_| usage("--cpu is a number of seconds"))?,
        ..RunLimits::default()
    };
    let globals = args.iter().map(|arg| global(arg)).collect::<Result<_>>()?;
    let script = Script { name, code, globals, limits };
    let outside = wiring::outside(options, cwd, force);
    let direct = DirectServers::new(mcp_options(options, environment), outside, None);
    let switches = Arc::new(options.switches());
    let functions = IntegrationFunctions::new(
        Integrations::new(options, environment),
        Arc::new(move || switches.clone()),
    );
    let report = run_script(&direct, callable, functions, script).await;
    direct.close().await;
    print(console, report)
}

/// Runs a script with the given servers and integrations. Dropping the future stops the script.
pub(crate) async fn run_script(
    direct: &Arc<DirectServers>,
    callable: Callable,
    integrations: IntegrationFunctions,
    script: Script,
) -> Report {
    let servers = ServerFunctions::new(direct.clone());
    let functions: Arc<dyn Functions> = match callable {
        Callable::Servers => Arc::new(servers),
        Callable::AllFunctions => Arc::new(AllFunctions { servers, integrations }),
    };
    let reach = Arc::new(DirectHost(direct.outside().clone()));
    lua::run(script, functions, reach, &CancellationToken::new()).await
}

/// The functions of servers and of integrations.
struct AllFunctions {
    servers: ServerFunctions,
    integrations: IntegrationFunctions,
}

#[async_trait]
impl Functions for AllFunctions {
    async fn prepare(&self) {
        futures::join!(self.servers.prepare(), self.integrations.prepare());
    }

    fn list(&self) -> Vec<Function> {
        let mut all = self.servers.list();
        all.extend(self.integrations.list());
        all
    }

    async fn explain(&self, kind: FunctionKind, path: &[String]) -> Option<String> {
        match kind {
            FunctionKind::Mcp => self.servers.explain(kind, path).await,
            FunctionKind::Integration => self.integrations.explain(kind, path).await,
        }
    }

    async fn query(&self, server: &str, query: Query) -> Result<(Arc<dyn AnyTool>, Value), String> {
        self.servers.query(server, query).await
    }
}

/// Parses `NAME=VALUE`; a value that is not valid JSON is text.
fn global(arg: &str) -> Result<(String, Value)> {
    let Some((name, value)) = arg.split_once('=') else {
        return Err(usage(format!("--arg is NAME=VALUE, not {arg:?}")));
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

/// Prints what a script printed and returned. Its output is also printed if it failed.
fn print(console: &Console, report: Report) -> Result<Exit> {
    let mut text = report.output.clone();
    if let Some(value) = &report.value {
        text += &format!("{value}\n");
    }
    let ran = ScriptRun {
        output: report.output,
        value: report.value,
        duration_ms: report.took.as_secs_f64() * 1e3,
        memory_bytes: report.memory as u64,
    };
    let answer = Answer::new(ran, text);
    match report.error {
        None => console.print(answer),
        Some(error) => console.print_failed(answer, Failure::new(Kind::Usage, error).into()),
    }
}
