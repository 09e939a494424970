//! The answers of `tiller mcp`, for programs.

use ::mcp::{ServerConfig, ServerTransport};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The servers of a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerList {
    /// The servers.
    pub(super) servers: Vec<ServerRow>,
    /// What is wrong with the files that configure servers.
    pub(super) problems: Vec<String>,
}

/// A configured server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ServerRow {
    /// Its name in tools and permission rules.
    name: String,
    /// stdio, http or sse.
    r#type: &'static str,
    /// Whether it is enabled.
    enabled: bool,
    /// Whether it is trusted. Servers outside of the project always are.
    trusted: bool,
    /// Where it is configured: yours, the editor, or a file of the project.
    source: &'static str,
    /// Its command or address, with the names of its variables or headers.
    summary: String,
    /// The program and its arguments; empty for a server with an address.
    argv: Vec<String>,
    /// The names of its environment variables.
    env: Vec<String>,
    /// Its address, without the query.
    url: Option<String>,
    /// The hash of everything that decides what runs.
    fingerprint: String,
}

impl ServerRow {
    pub(super) fn of(server: &ServerConfig, trusted: bool) -> Self {
        let names = |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect();
        let (kind, argv, env, url) = match &server.transport {
            ServerTransport::Stdio { command, args, env } => {
                ("stdio", std::iter::once(command).chain(args).cloned().collect(), names(env), None)
            }
            ServerTransport::Http { url, sse, .. } => {
                let shown = url.split(['?', '#']).next().map(str::to_owned);
                (if *sse { "sse" } else { "http" }, Vec::new(), Vec::new(), shown)
            }
        };
        Self {
            name: server.name.clone(),
            r#type: kind,
            enabled: server.enabled,
            trusted,
            source: super::source(server),
            summary: server.summary(),
            argv,
            env,
            url,
            fingerprint: server.fingerprint(),
        }
    }
}

/// The check of the configuration of servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerCheck {
    /// How many servers can be started.
    pub(super) servers: usize,
    /// Your file of servers.
    pub(super) user_file: String,
    /// What is wrong.
    pub(super) issues: Vec<String>,
}

/// A change of a file of servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerChange {
    /// The server.
    pub(super) name: String,
    /// The file that was written.
    pub(super) path: String,
    /// added, removed, enabled or disabled.
    pub(super) done: &'static str,
    /// For a preset: what must be installed or done before the server works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) needs: Option<&'static str>,
}

/// The servers of a project, and whether they are trusted now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustedServers {
    /// The project.
    pub(super) folder: String,
    /// Its servers.
    pub(super) servers: Vec<ServerRow>,
}

/// The state of started servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerStatusList {
    /// The servers.
    pub(super) servers: Vec<ServerStatus>,
}

/// The state of a started server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ServerStatus {
    /// The server.
    pub(super) name: String,
    /// Where it is configured: yours, the editor, or a file of the project.
    pub(super) source: &'static str,
    /// Whether it started and answered.
    pub(super) running: bool,
    /// How long that took, in milliseconds.
    pub(super) ms: u64,
    /// The number of its tools.
    pub(super) tools: usize,
    /// Why it does not work.
    pub(super) error: Option<String>,
}

/// The tools of servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolList {
    /// The tools.
    pub(super) tools: Vec<ToolRow>,
    /// Why the tools of other servers cannot be listed.
    pub(super) problems: Vec<String>,
}

/// A tool and the schema of its arguments.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OneTool {
    /// The tool.
    pub(super) tool: ToolRow,
}

/// A tool of a server.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct ToolRow {
    /// The server.
    pub(super) server: String,
    /// The server's own name of the tool.
    pub(super) name: String,
    /// Its name for models and in permission rules.
    pub(super) function: String,
    /// What it does.
    pub(super) description: String,
    /// read or write.
    pub(super) operation: &'static str,
    /// The JSON Schema of its arguments.
    pub(super) schema: Value,
    /// Its name in scripts.
    pub(super) callable: String,
    /// Its path in scripts.
    pub(super) lua_path: String,
}

/// The result of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolResult {
    /// The tool, by its name for models.
    pub(super) function: String,
    /// A single text, or the value if it is JSON; else the list of contents.
    pub(super) data: Value,
    /// How long the call took, in milliseconds.
    pub(super) duration_ms: u64,
    /// What the tool reported if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// The resources of a server, or the contents of one.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Resources {
    /// Without a URI: the resources, as the server describes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resources: Option<Value>,
    /// With a URI: the contents of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contents: Option<Value>,
}

/// The prompts of a server, or one of them.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Prompts {
    /// Without a name: the prompts, as the server describes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompts: Option<Value>,
    /// With a name: the prompt with its arguments filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<Value>,
}

/// A secret, without its value.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretState {
    /// Its key.
    pub(super) key: String,
    /// Whether it is stored now.
    pub(super) configured: bool,
}

/// The keys of secrets.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretKeys {
    /// The keys, in order.
    pub(super) keys: Vec<String>,
}

/// The servers of another program's file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportedServers {
    /// Those that were added.
    pub(super) taken: Vec<String>,
    /// Those that were there already, unchanged.
    pub(super) left: Vec<String>,
}

/// The servers, as other programs read them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportedServers {
    /// The servers by name. Values that may be secret are replaced by the names of variables.
    #[serde(rename = "mcpServers")]
    pub(super) servers: Map<String, Value>,
}

/// A sign-in to a server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SignedIn {
    /// The server.
    pub(super) name: String,
    /// Always true.
    pub(super) signed_in: bool,
}

/// The end of a sign-in to a server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SignedOut {
    /// The server.
    pub(super) name: String,
    /// Always false.
    pub(super) signed_in: bool,
    /// Whether the server revoked the grant.
    pub(super) revoked: bool,
    /// Why the server did not revoke it, if it was asked.
    pub(super) reason: Option<String>,
}

/// The presets.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PresetList {
    /// The presets, by name.
    pub(super) presets: Vec<PresetRow>,
}

/// A preset.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OnePreset {
    /// The preset.
    pub(super) preset: PresetRow,
}

/// The configuration of a well-known server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PresetRow {
    /// Its name.
    pub(super) name: &'static str,
    /// What the server does.
    pub(super) description: &'static str,
    /// What must be installed or done before it works.
    pub(super) needs: &'static str,
    /// The configuration, as in a file.
    pub(super) server: Value,
}

/// Command lines and configurations to copy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct McpExamples {
    /// The examples.
    pub(super) examples: Vec<McpExample>,
}

/// An example.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct McpExample {
    /// What it does.
    pub(super) about: &'static str,
    /// What to type.
    pub(super) command: &'static str,
}
