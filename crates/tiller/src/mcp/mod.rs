//! The commands of `tiller mcp`. The output contains no secrets, and failures give a non-zero exit
//! code.

mod direct;
mod examples;
mod file;
mod login;
mod names;
mod new_server;
mod options;
mod pins;
mod preset;
mod queries;
pub(crate) mod rows;
mod script;
mod secret;
mod serve;
mod transfer;
mod trusted;
mod values;

pub(crate) use direct::{DirectServers, DirectTool, ToolLookupError};
pub(crate) use new_server::{NewServer, add, keep_secret, secret_key};
pub(crate) use options::mcp_options;
use rows::{ServerChange, ServerCheck, ServerList, ServerRow};

pub(crate) use crate::secrets::Values;
pub(crate) use script::{DirectHost, ServerFunctions, SessionFunctions};

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::{Add, Edited, McpCommand},
    environment::Environment,
    exit::Exit,
    failure::usage,
    options::Options,
    wiring,
};
use ::mcp::{FoundServers, McpOptions, Origin, ServerConfig, server_name};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, sync::Arc};
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
        // What is to be reviewed is printed with the failure, too.
        McpCommand::Trust(trusted) => return context.trust(trusted).await,
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
            McpCommand::Trust(_) => bail!("trust is given elsewhere"),
            McpCommand::Examples => Ok(examples::answer()),
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
            text.push_str(NO_SERVER);
        }
        for problem in &found.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        let servers = rows.into_iter().map(|(server, trusted)| ServerRow::of(server, trusted)).collect();
        Answer::new(ServerList { servers, problems: found.problems }, text)
    }

    async fn doctor(&self) -> Answer {
        let found = self.find_servers().await;
        let count = found.servers.iter().filter(|server| server.enabled).count();
        let mut text = format!("{count} MCP servers can be started here\n");
        for problem in &found.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        let why = found.problems.join("; ");
        let user_file = self.servers.files.user.to_string();
        Answer::new(ServerCheck { servers: count, user_file, issues: found.problems }, text)
            .failed_if(!why.is_empty(), &why)
    }

    /// Returns the file that a change is written to.
    fn file(&self, project: bool) -> AbsPath {
        if project { self.cwd.join(".mcp.json") } else { self.servers.files.user.clone() }
    }

    async fn report_change(&self, project: bool, name: &str, done: &'static str) -> Result<Answer> {
        let (change, text) = self.change(project, name, done).await;
        Ok(Answer::new(change, text))
    }

    /// Describes a change of a file, for programs and for people.
    async fn change(&self, project: bool, name: &str, done: &'static str) -> (ServerChange, String) {
        let path = self.file(project);
        let waits = self.find_servers().await.untrusted.iter().any(|server| server.name == server_name(name));
        let note = match project && waits {
            true => " It is used once it is trusted: `tiller mcp trust`.",
            false => "",
        };
        let name = server_name(name);
        let text = format!("{name} is {done} in {path}.{note}\n");
        (ServerChange { name, path: path.to_string(), done, needs: None }, text)
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
                let what = format!("there is a server '{known}' already; remove it first");
                return Err(Failure::new(Kind::Usage, what)
                    .next(format!("tiller mcp remove {known}"))
                    .into());
            }
            servers.insert(add.name.clone(), server);
            Ok(())
        })
        .await?;
        self.report_change(project, &add.name, "added").await
    }

    async fn remove(&self, Edited { name, scope }: Edited) -> Result<Answer> {
        file::change(self.system.as_ref(), &self.file(scope.project), |servers| {
            let known = || servers.keys().map(String::as_str);
            let key = file::key(servers, &name).ok_or_else(|| unknown(&name, known()))?;
            // Unlike `remove`, this keeps the order of the others.
            servers.retain(|known, _| *known != key);
            Ok(())
        })
        .await?;
        self.report_change(scope.project, &name, "removed").await
    }

    async fn switch(&self, Edited { name, scope }: Edited, on: bool) -> Result<Answer> {
        file::change(self.system.as_ref(), &self.file(scope.project), |servers| {
            let known = || servers.keys().map(String::as_str);
            let key = file::key(servers, &name).ok_or_else(|| unknown(&name, known()))?;
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

    /// Whether the settings deny a tool. No other rule applies: the user who types a call has
    /// decided.
    fn denied(&self, function: &str) -> bool {
        self.options.permissions.denied_tools.iter().any(|tool| tool == function)
    }
}

/// The text of a list without servers.
const NO_SERVER: &str = "No MCP server is configured. Add one with `tiller mcp add NAME -- COMMAND`.\n";

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> anyhow::Error {
    let name = server_name(name);
    Failure::new(Kind::NotFound, format!("no MCP server is called '{name}'"))
        .meant(agent::closest(&name, known, |known| known))
        .next("tiller mcp list")
        .into()
}

fn source(server: &ServerConfig) -> &'static str {
    match server.origin {
        Origin::User => "yours",
        Origin::Project(file) => file,
        Origin::Client => "the editor",
    }
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
