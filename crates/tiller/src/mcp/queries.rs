//! The commands that start MCP servers and send requests to them.

use super::{
    CommandContext, names,
    rows::{OneTool, Prompts, Resources, ServerStatus, ServerStatusList, ToolList, ToolResult, ToolRow},
    source, unknown,
};
use crate::{
    answer::{Answer, Failure, Kind},
    args::Called,
    failure::usage,
};
use ::mcp::{Client, ListedTool, ServerConfig, server_name, tool_name};
use anyhow::Result;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, io, time::Instant};

impl CommandContext<'_> {
    /// Returns the enabled servers, or only the one of that name.
    pub(super) async fn chosen(&self, name: Option<&str>) -> Result<Vec<ServerConfig>> {
        let found = self.find_servers().await;
        let Some(name) = name else {
            return Ok(found.servers.into_iter().filter(|server| server.enabled).collect());
        };
        let wanted = server_name(name);
        let named = |server: &ServerConfig| server.name == wanted;
        // A server that needs trust must not hide a usable one of the same name.
        if !found.servers.iter().any(named)
            && let Some(untrusted) = found.untrusted.iter().find(|server| named(server))
        {
            if self.force {
                return Ok(vec![untrusted.clone()]);
            }
            let what = format!(
                "Project MCP server '{wanted}' is not trusted. Run `tiller mcp trust {wanted}` after reviewing the project's files, or call it with --force in trusted automation."
            );
            return Err(Failure::new(Kind::Denied, what).next(format!("tiller mcp trust {wanted}")).into());
        }
        match found.servers.iter().find(|server| named(server)) {
            Some(server) => Ok(vec![server.clone()]),
            None => {
                let known = found.servers.iter().chain(&found.untrusted);
                Err(unknown(name, known.map(|server| server.name.as_str())))
            }
        }
    }

    async fn connect(&self, server: &ServerConfig) -> Result<Client> {
        Client::connect(
            server,
            &self.servers,
            &crate::wiring::outside(self.options, self.cwd, false).programs(),
            Default::default(),
        )
        .await
        .map_err(|error| anyhow::anyhow!("MCP server '{}': {error}", server.name))
    }

    async fn one(&self, name: &str) -> Result<(ServerConfig, Client)> {
        let server = self.chosen(Some(name)).await?.remove(0);
        let client = self.connect(&server).await?;
        Ok((server, client))
    }

    pub(super) async fn status(&self, name: Option<&str>) -> Result<Answer> {
        let servers = self.chosen(name).await?;
        let rows = join_all(servers.iter().map(async |server| {
            let began = Instant::now();
            let tools = match self.connect(server).await {
                Ok(client) => {
                    let tools = if client.has("tools") { client.tools().await } else { Ok(Vec::new()) };
                    client.close().await;
                    tools.map_err(|why| format!("MCP server '{}': {why}", server.name))
                }
                Err(error) => Err(format!("{error:#}")),
            };
            (server, tools, began.elapsed())
        }))
        .await;
        let failed = rows.iter().any(|(_, tools, _)| tools.is_err());
        let mut text = String::new();
        let mut states = Vec::new();
        for (server, tools, took) in rows {
            let state = match &tools {
                Ok(tools) => format!("ok, {} tools", tools.len()),
                Err(why) => format!("failed: {why}"),
            };
            let _ = writeln!(text, "{:<24} {state} ({} ms)", server.name, took.as_millis());
            states.push(ServerStatus {
                name: server.name.clone(),
                source: source(server),
                running: tools.is_ok(),
                ms: took.as_millis() as u64,
                tools: tools.as_ref().map_or(0, Vec::len),
                error: tools.err(),
            });
        }
        if states.is_empty() {
            text.push_str(super::NO_SERVER);
        }
        Ok(Answer::new(ServerStatusList { servers: states }, text)
            .failed_if(failed, "a server does not work"))
    }

    pub(super) async fn tools(&self, name: Option<&str>) -> Result<Answer> {
        let servers = self.chosen(name).await?;
        let lists = join_all(servers.iter().map(async |server| self.tool_rows(server).await)).await;
        let (mut rows, mut problems, mut text) = (Vec::new(), Vec::new(), String::new());
        for list in lists {
            match list {
                Ok(list) => rows.extend(list),
                Err(error) => problems.push(format!("{error:#}")),
            }
        }
        for row in &rows {
            let first = row.description.lines().next().unwrap_or_default();
            let ToolRow { function, operation, .. } = row;
            let _ = writeln!(text, "{function:<48} {operation:<6} {}", agent::one_line(first));
        }
        for problem in &problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        if servers.is_empty() {
            text.push_str(super::NO_SERVER);
        }
        let why = problems.join("; ");
        Ok(Answer::new(ToolList { tools: rows, problems }, text).failed_if(!why.is_empty(), &why))
    }

    async fn tool_rows(&self, server: &ServerConfig) -> Result<Vec<ToolRow>> {
        let client = self.connect(server).await?;
        let tools = if client.has("tools") { client.tools().await } else { Ok(Vec::new()) };
        client.close().await;
        let tools = tools.map_err(|why| anyhow::anyhow!("MCP server '{}': {why}", server.name))?;
        Ok(tool_rows(server, &tools))
    }

    /// Returns the server and the tool that a name refers to.
    async fn tool(&self, function: &str) -> Result<(ServerConfig, ToolRow)> {
        let server = names::server_of(function).ok_or_else(|| {
            let what = format!("a tool is SERVER.TOOL or mcp__SERVER__TOOL, not {function:?}");
            Failure::new(Kind::Usage, what).next("tiller mcp tools")
        })?;
        let config = self.chosen(Some(&server)).await?.remove(0);
        let mut rows = self.tool_rows(&config).await?;
        match names::resolve(rows.iter(), function) {
            Some(at) => Ok((config, rows.swap_remove(at))),
            None => {
                let nearest = names::nearest(rows.iter(), function);
                let hint = nearest.map(|name| format!(". Did you mean {name}?")).unwrap_or_default();
                let name = &config.name;
                let what = format!(
                    "MCP server '{name}' has no tool for {function:?}{hint}; see `tiller mcp tools {name}`"
                );
                Err(Failure::new(Kind::NotFound, what).next(format!("tiller mcp tools {name}")).into())
            }
        }
    }

    pub(super) async fn schema(&self, function: &str) -> Result<Answer> {
        let (_, tool) = self.tool(function).await?;
        let text = format!("{:#}\n", json!(tool));
        Ok(Answer::new(OneTool { tool }, text))
    }

    pub(super) async fn call(&self, called: Called) -> Result<Answer> {
        let arguments = match &called.input {
            Some(input) => serde_json::from_str(input)
                .map_err(|error| usage(format!("--input is not a JSON object: {error}")))?,
            None => arguments(&called.arguments)?,
        };
        let (server, row) = self.tool(&called.function).await?;
        let ToolRow { function, name, .. } = row;
        if self.denied(&function) {
            let what = format!("Tool '{function}' is denied by the setting tools.denied_tools.");
            return Err(Failure::new(Kind::Denied, what).into());
        }
        let began = Instant::now();
        let client = self.connect(&server).await?;
        // Progress goes to stderr: stdout is for the result.
        let show = |text: String| {
            if let Some(last) = text.lines().next_back() {
                let line = format!("{}\n", self.environment.redactor().shown(last));
                // A closed stderr is not an error.
                let _ = io::Write::write_all(&mut crate::streams::stderr(), line.as_bytes());
            }
        };
        let result = client.call_with_progress(&name, Value::Object(arguments), &show).await;
        client.close().await;
        let ms = began.elapsed().as_millis() as u64;
        let result = result.map_err(|why| anyhow::anyhow!("MCP server '{}': {why}", server.name))?;
        let result = serde_json::to_value(result)?;
        let failed = result["isError"] == true;
        let data = data(&result);
        let text = match &data {
            Value::String(text) => format!("{}\n", text.trim_end()),
            data => format!("{data:#}\n"),
        };
        let error = failed.then(|| text.trim_end().to_owned());
        Ok(Answer::new(ToolResult { function, data, duration_ms: ms, error }, text)
            .failed_if(failed, "the tool reported an error"))
    }

    pub(super) async fn resources(&self, server: &str, uri: Option<&str>) -> Result<Answer> {
        let (server, client) = self.one(server).await?;
        let answer = match uri {
            Some(uri) => client.read(uri).await.map(|contents| json!(contents)),
            None => client.resources().await.map(|resources| json!(resources)),
        };
        client.close().await;
        let answer = answer.map_err(|why| anyhow::anyhow!("MCP server '{}': {why}", server.name))?;
        let line = |row: &Value| match uri {
            Some(_) => row["text"].as_str().map_or_else(|| format!("{row:#}"), str::to_owned),
            None => format!(
                "{} {}",
                row["uri"].as_str().unwrap_or_default(),
                row["name"].as_str().unwrap_or_default()
            ),
        };
        let text = answer.as_array().into_iter().flatten().map(|row| line(row) + "\n").collect::<String>();
        let answer = match uri {
            Some(_) => Resources { contents: Some(answer), resources: None },
            None => Resources { resources: Some(answer), contents: None },
        };
        Ok(Answer::new(answer, text))
    }

    pub(super) async fn prompts(
        &self,
        server: &str,
        prompt: Option<&str>,
        given: &[String],
    ) -> Result<Answer> {
        let given = super::pairs(given)?;
        let (server, client) = self.one(server).await?;
        let answer = match prompt {
            Some(prompt) => client
                .prompt(prompt, given)
                .await
                .map(|filled| Prompts { prompt: Some(json!(filled)), prompts: None }),
            None => {
                client.prompts().await.map(|prompts| Prompts { prompts: Some(json!(prompts)), prompt: None })
            }
        };
        client.close().await;
        let answer = answer.map_err(|why| anyhow::anyhow!("MCP server '{}': {why}", server.name))?;
        let text = match answer.prompts.as_ref().and_then(Value::as_array) {
            Some(prompts) => {
                let line = |row: &Value| {
                    let about = agent::one_line(row["description"].as_str().unwrap_or_default());
                    format!("{} {about}\n", row["name"].as_str().unwrap_or_default())
                };
                prompts.iter().map(line).collect()
            }
            None => format!("{:#}\n", json!(answer.prompt)["messages"]),
        };
        Ok(Answer::new(answer, text))
    }
}

/// Parses arguments by name; a value that is valid JSON is taken as JSON.
fn arguments(given: &[String]) -> Result<Map<String, Value>> {
    let mut arguments = super::pairs(given)?;
    for value in arguments.values_mut() {
        if let Some(read) = value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            *value = read;
        }
    }
    Ok(arguments)
}

/// Returns the rows of a server's tools.
pub(super) fn tool_rows(server: &ServerConfig, tools: &[ListedTool]) -> Vec<ToolRow> {
    let mut rows: Vec<_> = tools.iter().map(|tool| tool_row(server, tool)).collect();
    names::add_paths(&server.name, &mut rows);
    rows
}

fn tool_row(server: &ServerConfig, tool: &ListedTool) -> ToolRow {
    ToolRow {
        server: server.name.clone(),
        name: tool.name().to_owned(),
        function: tool_name(&server.name, tool.name()),
        description: agent::sanitise(tool.description()),
        operation: if tool.is_read_only() { "read" } else { "write" },
        schema: tool.schema(),
        ..ToolRow::default()
    }
}

/// Returns the data of a call's result: a single text (parsed if it is JSON), else the list of
/// contents; structured content only if there are no contents.
pub(super) fn data(result: &Value) -> Value {
    match result["content"].as_array().map(Vec::as_slice) {
        Some([only]) if only["type"] == "text" => {
            let text = only["text"].as_str().unwrap_or_default();
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        Some([]) | None => result["structuredContent"].clone(),
        Some(_) => result["content"].clone(),
    }
}
