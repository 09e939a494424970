//! The time that the tools of an MCP server add to a session's start, until the model's first
//! response: with many tools and with one.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, ask};
use crate::bench::child::Agent;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::time::Duration;

const MANY: usize = 500;

/// An MCP server in a few lines of shell. Its tool list is the content of its first argument.
const SERVER: &str = r#"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":' "$id"; cat "$1"; printf '}\n' ;;
    esac
done
"#;

/// The server's own start and responses are part of both times, so the difference is the cost of
/// the tools.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut opened = Figure::of(Quantity::ms("session/new with a server of 500 tools", 5.0));
    let mut added = Figure::of(Quantity::ms("what 500 tools add to a session's start", 20.0));
    let mut agent = bench.ready()?;
    start(bench, &mut agent, MANY)?;
    for _ in 0..bench.runs {
        let (_, one) = start(bench, &mut agent, 1)?;
        let (open, many) = start(bench, &mut agent, MANY)?;
        opened.add_time(open);
        added.add_time(many.saturating_sub(one));
    }
    Ok(vec![opened, added])
}

/// Returns the time of `session/new`, and the time including the first turn.
fn start(bench: &Bench<'_>, agent: &mut Agent, tools: usize) -> Result<(Duration, Duration)> {
    let file = format!("{}/tools-{tools}.json", agent.project());
    std::fs::write(&file, list(tools).to_string())?;
    let server =
        json!({ "name": "many", "command": "sh", "args": ["-c", SERVER, "server", file], "env": [] });
    let params = json!({ "cwd": agent.project(), "mcpServers": [server] });
    let reply = ask(agent, "session/new", &params)?;
    let session = reply.result["sessionId"].as_str().context("session/new answered without a sessionId")?;
    let (turn, events) = bench.turn(agent, session, Script::One)?;
    let own = turn.took().saturating_sub(super::model_time(&events));
    // Ensure that nothing of this session runs during the next sample.
    ask(agent, "session/close", &json!({ "sessionId": session }))?;
    Ok((reply.took(), reply.took() + own))
}

/// Returns typical tools: a description and a few arguments each.
fn list(tools: usize) -> Value {
    let text = |about: String| json!({ "type": "string", "description": about });
    let tool = |n: usize| {
        let properties = json!({
            "project": text(format!("The project that number {n} is about")),
            "query": text("Words to look for, in any order".to_owned()),
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20 },
        });
        json!({
            "name": format!("do_thing_{n}"),
            "description": format!("Does the thing number {n} to what the query finds and returns what came of it, newest first."),
            "inputSchema": { "type": "object", "properties": properties, "required": ["project"] },
        })
    };
    json!({ "tools": (0..tools).map(tool).collect::<Vec<_>>() })
}
