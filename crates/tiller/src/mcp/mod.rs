//! The commands of `tiller mcp`. The output contains no secrets, and failures give a non-zero exit
//! code.

mod direct;
mod file;
mod login;
mod names;
mod new_server;
mod options;
mod pins;
mod preset;
mod queries;
mod script;
mod serve;
mod values;

pub(crate) use direct::{DirectServers, DirectTool, ToolLookupError};
pub(crate) use new_server::{NewServer, add, keep_secret, secret_key};
pub(crate) use options::mcp_options;
use pins::Pins;

pub(crate) use crate::secrets::Values;
pub(crate) use script::{DirectHost, ServerFunctions, SessionFunctions};

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::{Add, Edited, McpCommand, SecretCommand, Trusted},
    environment::Environment,
    exit::Exit,
    failure::usage,
    options::Options,
    trust, wiring,
};
use ::mcp::{FoundServers, McpOptions, Origin, ServerConfig, ServerTransport, server_name};
use agent::ItemKind;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, io::Read as _, sync::Arc};
use system::{AbsPath, System};

/// The state that the commands share.
struct CommandContext<'a> {
    console: &'a Console,
    options: &'a Options,
    servers: Arc<McpOptions>,
    system: Arc<dyn System>,
    environment: &'a Environment,
    cwd: &'a AbsPath,
    /// Whether to use servers of an untrusted project.
    force: bool,
}

/// Runs the command and prints its answer.
pub(crate) async fn run(
    console: &Console,
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: McpCommand,
) -> Result<Exit> {
    let servers = mcp_options(options, environment);
    let force = matches!(&command, McpCommand::Call(called) if called.force);
    let context = CommandContext {
        console,
        options,
        servers,
        system: wiring::local_system(options),
        environment,
        cwd,
        force,
    };
    let command = match command {
        // Stdout belongs to the protocol.
        McpCommand::Serve(serve) => return serve::run(&context, serve).await,
        command => command,
    };
    console.print(context.carry_out(command).await?)
}

impl CommandContext<'_> {
    async fn carry_out(&self, command: McpCommand) -> Result<Answer> {
        match command {
            McpCommand::List => Ok(self.list().await),
            McpCommand::Add(add) => self.add(add).await,
            McpCommand::Remove(edited) => self.remove(edited).await,
            McpCommand::Enable(edited) => self.switch(edited, true).await,
            McpCommand::Disable(edited) => self.switch(edited, false).await,
            McpCommand::Status(named) => self.status(named.server.as_deref()).await,
            McpCommand::Tools(named) => self.tools(named.server.as_deref()).await,
            McpCommand::Schema(called) => self.schema(&called.function).await,
            McpCommand::Call(called) => self.call(called).await,
            McpCommand::Lua(_) => bail!("scripts are run elsewhere"),
            McpCommand::Serve(_) => bail!("serving is done elsewhere"),
            McpCommand::Login(login) => self.login(login).await,
            McpCommand::Logout { server } => self.logout(&server).await,
            McpCommand::Preset(command) => self.preset(command).await,
            McpCommand::Resource { server, uri, .. } => self.resources(&server, Some(&uri)).await,
            McpCommand::Prompt { server, prompt, arguments, .. } => {
                self.prompts(&server, Some(&prompt), &arguments).await
            }
            McpCommand::Trust(trusted) => self.trust(trusted).await,
            McpCommand::Doctor => Ok(self.doctor().await),
            McpCommand::Resources { server, uri, .. } => self.resources(&server, uri.as_deref()).await,
            McpCommand::Prompts { server, prompt, arguments, .. } => {
                self.prompts(&server, prompt.as_deref(), &arguments).await
            }
            McpCommand::Secret(command) => self.secret(command).await,
            McpCommand::Import { file, edited } => {
                let file = crate::environment::absolute(self.cwd, &file)?;
                crate::environment::check_file("FILE", &file)?;
                self.import(&file, edited.project).await
            }
            McpCommand::Export => self.export().await,
        }
    }

    async fn find_servers(&self) -> FoundServers {
        let McpOptions { system, files, .. } = &*self.servers;
        ::mcp::find(system.as_ref(), files, self.cwd).await
    }

    async fn list(&self) -> Answer {
        let found = self.find_servers().await;
        let mut text = String::new();
        let rows = found.servers.iter().map(|server| (server, true));
        let rows: Vec<_> = rows.chain(found.untrusted.iter().map(|server| (server, false))).collect();
        for (server, trusted) in &rows {
            let state = match (trusted, server.enabled) {
                (false, _) => "not trusted",
                (true, false) => "disabled",
                (true, true) => "enabled",
            };
            let _ =
                writeln!(text, "{:<24} {state:<12} {:<17} {}", server.name, source(server), server.summary());
        }
        if rows.is_empty() {
            text.push_str("No MCP server is configured. Add one with `tiller mcp add NAME -- COMMAND`.\n");
        }
        for problem in &found.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        let rows: Vec<_> = rows.into_iter().map(|(server, trusted)| server_row(server, trusted)).collect();
        Answer::new(json!({ "servers": rows, "problems": found.problems }), text)
    }

    async fn doctor(&self) -> Answer {
        let found = self.find_servers().await;
        let count = found.servers.iter().filter(|server| server.enabled).count();
        let mut text = format!("{count} MCP servers can be started here\n");
        for problem in &found.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        let why = found.problems.join("; ");
        let json = json!({ "servers": count, "user_file": self.servers.files.user.as_str(), "issues": found.problems });
        Answer::new(json, text).failed_if(!why.is_empty(), &why)
    }

    /// Returns the file that a change is written to.
    fn file(&self, project: bool) -> AbsPath {
        if project { self.cwd.join(".mcp.json") } else { self.servers.files.user.clone() }
    }

    async fn report_change(&self, project: bool, name: &str, what: &str) -> Result<Answer> {
        let (json, text) = self.change(project, name, what).await;
        Ok(Answer::new(json, text))
    }

    /// Describes a change of a file, as JSON and as a text.
    async fn change(&self, project: bool, name: &str, what: &str) -> (Value, String) {
        let path = self.file(project);
        let waits = self.find_servers().await.untrusted.iter().any(|server| server.name == server_name(name));
        let note = match project && waits {
            true => " It is used once it is trusted: `tiller mcp trust`.",
            false => "",
        };
        let json = json!({ "name": server_name(name), "path": path.as_str(), "done": what });
        (json, format!("{} is {what} in {path}.{note}\n", server_name(name)))
    }

    async fn add(&self, add: Add) -> Result<Answer> {
        let mut server = Map::new();
        match &add.url {
            Some(url) => {
                server.insert("type".to_owned(), json!(if add.sse { "sse" } else { "http" }));
                server.insert("url".to_owned(), json!(url));
                if !add.header.is_empty() {
                    server.insert("headers".to_owned(), json!(pairs(&add.header)?));
                }
            }
            None => {
                let (program, args) =
                    add.command.split_first().ok_or_else(|| {
                        usage("nothing to add: write the server's address as --url URL, or its command after `--`: tiller mcp add NAME -- COMMAND ARGS")
                    })?;
                server.insert("command".to_owned(), json!(program));
                server.insert("args".to_owned(), json!(args));
                if !add.env.is_empty() {
                    server.insert("env".to_owned(), json!(pairs(&add.env)?));
                }
            }
        }
        server.extend(add.timeout.map(|seconds| ("timeout".to_owned(), json!(seconds))));
        let server = Value::Object(server);
        let whole = json!({ "mcpServers": { add.name.as_str(): server } }).to_string();
        // Only a description that can be parsed again is written.
        ::mcp::parse(&whole, &Origin::User)?.remove(0).1?;
        let project = add.scope.project;
        file::change(self.system.as_ref(), &self.file(project), |servers| {
            if let Some(known) = file::key(servers, &add.name) {
                bail!("there is a server '{known}' already; remove it first");
            }
            servers.insert(add.name.clone(), server);
            Ok(())
        })
        .await?;
        self.report_change(project, &add.name, "added").await
    }

    async fn remove(&self, Edited { name, scope }: Edited) -> Result<Answer> {
        file::change(self.system.as_ref(), &self.file(scope.project), |servers| {
            let key = file::key(servers, &name).ok_or_else(|| unknown(&name))?;
            // Unlike `remove`, this keeps the order of the others.
            servers.retain(|known, _| *known != key);
            Ok(())
        })
        .await?;
        self.report_change(scope.project, &name, "removed").await
    }

    async fn switch(&self, Edited { name, scope }: Edited, on: bool) -> Result<Answer> {
        file::change(self.system.as_ref(), &self.file(scope.project), |servers| {
            let key = file::key(servers, &name).ok_or_else(|| unknown(&name))?;
            let Some(Value::Object(server)) = servers.get_mut(&key) else {
                bail!("'{key}' is not an object; correct it")
            };
            server.remove("disabled");
            server.insert("enabled".to_owned(), json!(on));
            Ok(())
        })
        .await?;
        self.report_change(scope.project, &name, if on { "enabled" } else { "disabled" }).await
    }

    async fn trust(&self, Trusted { named, yes, .. }: Trusted) -> Result<Answer> {
        let found = self.find_servers().await;
        let wanted = named.server.as_deref().map(server_name);
        let of_project = |server: &ServerConfig| matches!(server.origin, Origin::Project(_));
        let all = || found.untrusted.iter().chain(&found.servers);
        let shown: Vec<_> = all()
            .filter(|server| of_project(server) && wanted.as_ref().is_none_or(|name| *name == server.name))
            .collect();
        if let Some(wanted) = &wanted
            && !all().any(|server| server.name == *wanted)
        {
            return Err(unknown(wanted));
        }
        if wanted.is_none() || !shown.is_empty() {
            let only: Vec<_> = wanted.iter().cloned().collect();
            let choice = trust::TrustSelection { only: &only, kind: Some(ItemKind::Server), yes };
            let (directories, redactor) = (&self.options.directories, self.environment.redactor());
            let answers = trust::terminal(self.console);
            // With `--json` the user would not see what is to be trusted.
            let mut out: Box<dyn std::io::Write> = match self.console.is_json() {
                true if !yes => return Err(Console::missing("a review of the servers", "--yes").into()),
                true => Box::new(std::io::sink()),
                false => Box::new(crate::streams::stdout()),
            };
            trust::review_and_trust(directories, self.cwd, &choice, redactor, answers, &mut out).await?;
        }
        let mut text = String::new();
        let now = self.find_servers().await;
        let trusted = |server: &ServerConfig| now.servers.contains(server);
        if let Some(wanted) = &wanted
            && now.servers.iter().any(|server| server.name == *wanted)
            && Pins::new(self.system.clone(), &self.options.directories).forget(wanted).await?
        {
            let _ = writeln!(text, "The next tool definitions of {wanted} are accepted.");
        }
        let servers: Vec<_> = shown.iter().map(|server| server_row(server, trusted(server))).collect();
        Ok(Answer::new(json!({ "folder": self.cwd.as_str(), "servers": servers }), text))
    }

    async fn secret(&self, command: SecretCommand) -> Result<Answer> {
        let values = Values::new(self.environment.clone(), self.system.clone(), &self.options.directories);
        let mut secrets = values.secrets().await?;
        match command {
            SecretCommand::Set { key } => {
                let mut value = String::new();
                std::io::stdin()
                    .lock()
                    .read_to_string(&mut value)
                    .context("the secret is read from stdin")?;
                let value = value.trim_end_matches(['\n', '\r']).to_owned();
                anyhow::ensure!(!value.is_empty(), "the secret on stdin is empty");
                secrets.insert(key.clone(), value);
                values.store(&secrets).await?;
                Ok(Answer::new(json!({ "key": key, "configured": true }), format!("{key} is set\n")))
            }
            SecretCommand::List => {
                let keys: Vec<_> = secrets.into_keys().collect();
                let text = keys.iter().map(|key| format!("{key}\n")).collect::<String>();
                Ok(Answer::new(json!({ "keys": keys }), text))
            }
            SecretCommand::Unset { key } => {
                anyhow::ensure!(secrets.remove(&key).is_some(), "no secret is called {key:?}");
                values.store(&secrets).await?;
                Ok(Answer::new(json!({ "key": key, "configured": false }), format!("{key} is forgotten\n")))
            }
        }
    }

    async fn import(&self, from: &AbsPath, project: bool) -> Result<Answer> {
        let text = self.system.read_text(from, None).await?;
        ::mcp::parse(&text, &Origin::User)?;
        let given: Value = serde_json::from_str(&text)?;
        let given = ["mcpServers", "servers"].iter().find_map(|key| given[*key].as_object());
        let given = given.with_context(|| format!("{from} contains no servers"))?;
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        file::change(self.system.as_ref(), &self.file(project), |servers| {
            for (name, server) in given {
                match file::key(servers, name) {
                    Some(_) => left.push(name.clone()),
                    None => {
                        servers.insert(name.clone(), server.clone());
                        taken.push(name.clone());
                    }
                }
            }
            Ok(())
        })
        .await?;
        let mut text = format!("taken: {}\n", taken.join(", "));
        if !left.is_empty() {
            let _ = writeln!(text, "already there and unchanged: {}", left.join(", "));
        }
        Ok(Answer::new(json!({ "taken": taken, "left": left }), text))
    }

    async fn export(&self) -> Result<Answer> {
        let found = self.find_servers().await;
        let mut servers = Map::new();
        for server in &found.servers {
            let described = match &server.transport {
                ServerTransport::Stdio { command, args, env } => {
                    json!({ "command": command, "args": args, "env": export_pairs(env) })
                }
                ServerTransport::Http { url, headers, sse } => {
                    let kind = if *sse { "sse" } else { "http" };
                    json!({ "type": kind, "url": url, "headers": export_pairs(headers) })
                }
            };
            servers.insert(server.name.clone(), described);
        }
        let whole = json!({ "mcpServers": servers });
        Ok(Answer::new(whole.clone(), format!("{whole:#}\n")))
    }

    /// Whether the settings deny a tool. No other rule applies: the user who types a call has
    /// decided.
    fn denied(&self, function: &str) -> bool {
        self.options.permissions.denied_tools.iter().any(|tool| tool == function)
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let what = format!("no MCP server is called '{}'; see `tiller mcp list`", server_name(name));
    Failure::new(Kind::NotFound, what).next("tiller mcp list").into()
}

fn source(server: &ServerConfig) -> &'static str {
    match server.origin {
        Origin::User => "yours",
        Origin::Project(file) => file,
        Origin::Client => "the editor",
    }
}

fn server_row(server: &ServerConfig, trusted: bool) -> Value {
    let kind = match server.transport {
        ServerTransport::Stdio { .. } => "stdio",
        ServerTransport::Http { sse: true, .. } => "sse",
        ServerTransport::Http { sse: false, .. } => "http",
    };
    json!({
        "name": server.name, "type": kind, "enabled": server.enabled, "trusted": trusted, "source": source(server),
        "summary": server.summary(), "fingerprint": server.fingerprint(),
    })
}

/// Parses `NAME=VALUE` pairs.
fn pairs(given: &[String]) -> Result<Map<String, Value>> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once('=').ok_or_else(|| usage(format!("{text:?} is not NAME=VALUE")))?;
        Ok((name.to_owned(), json!(value)))
    };
    given.iter().map(pair).collect()
}

/// Exports references as they are; any other value is replaced by a placeholder, since it may be a
/// secret.
fn export_pairs(pairs: &[(String, String)]) -> Value {
    let value = |(name, value): &(String, String)| {
        let rest = value.strip_prefix("Bearer ").unwrap_or(value);
        let reference = rest.starts_with('$') || rest.starts_with("@secret:");
        let shown =
            if reference { value.clone() } else { format!("${{{}}}", name.replace('-', "_").to_uppercase()) };
        (name.clone(), json!(shown))
    };
    Value::Object(pairs.iter().map(value).collect())
}
