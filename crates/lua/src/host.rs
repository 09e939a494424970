//! The traits through which a script reaches anything outside its interpreter.

use agent::{AnyTool, ToolResult, ToolSpec};
use async_trait::async_trait;
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The functions of MCP servers and integrations.
#[async_trait]
pub trait Functions: Send + Sync {
    /// Loads what can be called, if that takes time. Called before [`Functions::list`], and only in
    /// a run that uses functions.
    async fn prepare(&self) {}

    /// Returns the functions that can be called now. Called once per run, and for the docs.
    fn list(&self) -> Vec<Function>;

    /// Returns the servers' original names of session tools that models know under other names. The
    /// key is the name that models know.
    fn server_tool_names(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Explains why there is nothing at a path below `app.mcp` or `app.integrations`, and what to
    /// do: a server failed to start, an integration is disabled. `None` if there is no such reason.
    async fn explain(&self, _kind: FunctionKind, _path: &[String]) -> Option<String> {
        None
    }

    /// Returns the tool that queries a server for its resources or prompts, and the arguments for
    /// it. It is called like a function and returns JSON.
    ///
    /// # Errors
    /// The problem, and what to do about it.
    async fn query(&self, server: &str, _query: Query) -> Result<(Arc<dyn AnyTool>, Value), String> {
        Err(format!("MCP server '{server}' has neither resources nor prompts here."))
    }
}

/// A function below `app.mcp` or `app.integrations`.
#[derive(Clone)]
pub struct Function {
    /// Whether it belongs to a server or an integration.
    pub kind: FunctionKind,
    /// The server or the provider.
    pub namespace: String,
    /// The account on whose behalf it is called.
    pub account: Account,
    /// The original name, as the server or the provider defines it.
    pub name: String,
    /// The description and parameters. The name in it is the one that the permission gate uses.
    pub spec: ToolSpec,
    /// The tool that is called; it declares its accesses, and the gate decides about them. `None`
    /// means the session's own tool with the name in `spec`.
    pub tool: Option<Arc<dyn AnyTool>>,
    /// What is missing before it can be called, and how to provide it; `None` if it is ready.
    pub unready: Option<String>,
}

/// The kind of a function, which determines its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionKind {
    /// `app.mcp.SERVER.TOOL`.
    Mcp,
    /// `app.integrations.PROVIDER.FUNCTION`.
    Integration,
}

/// The account on whose behalf a function of an integration is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Account {
    /// `app.integrations.PROVIDER.FUNCTION`, or with `.default.` before the function.
    #[default]
    Default,
    /// `app.integrations.PROVIDER.ACCOUNT.FUNCTION`.
    Named(String),
}

/// A query to an MCP server, other than a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Lists the resources.
    Resources,
    /// Reads a resource.
    ReadResource {
        /// The URI of the resource.
        uri: String,
    },
    /// Lists the prompts.
    Prompts,
    /// Fills in a prompt.
    GetPrompt {
        /// The name of the prompt.
        name: String,
        /// The arguments, a JSON object.
        arguments: Value,
    },
}

/// Carries out the calls of a script.
#[async_trait]
pub trait ScriptHost: Send + Sync {
    /// Returns the tools of the agent's turn that the script belongs to; [`Native::NoTurn`] outside
    /// a turn.
    async fn native(&self) -> Native;

    /// Calls one of these tools. An error means that the call was refused and the tool did not run;
    /// a tool that ran and failed reports this in its result.
    async fn call_native(&self, name: &str, arguments: Value) -> Result<ToolResult, String>;

    /// Calls a function of a server or an integration. An error means that the call was refused, as
    /// in [`ScriptHost::call_native`].
    async fn call(&self, tool: Arc<dyn AnyTool>, arguments: Value) -> Result<ToolResult, String>;
}

/// The prefix of the names of MCP tools.
const MCP: &str = "mcp__";

/// The tools below `app.tools`.
#[derive(Debug, Clone, PartialEq)]
pub enum Native {
    /// The script does not belong to a turn.
    NoTurn,
    /// The tools of the turn.
    Tools(Vec<ToolSpec>),
}

/// A [`ScriptHost`] outside of a turn, through which nothing can be called.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

#[async_trait]
impl ScriptHost for NoHost {
    async fn native(&self) -> Native {
        Native::NoTurn
    }

    async fn call_native(&self, _name: &str, _arguments: Value) -> Result<ToolResult, String> {
        Err("app.tools is available inside an agent turn only.".to_owned())
    }

    async fn call(&self, _tool: Arc<dyn AnyTool>, _arguments: Value) -> Result<ToolResult, String> {
        Err("Functions cannot be called here.".to_owned())
    }
}

/// No functions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn list(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl Function {
    /// Returns the session's tools that belong to servers: `mcp__SERVER__TOOL`.
    pub(crate) fn from_session_tools(
        tools: &[ToolSpec],
        server_tool_names: &BTreeMap<String, String>,
    ) -> Vec<Self> {
        let function = |spec: &ToolSpec| {
            let (server, name) = spec.name.strip_prefix(MCP)?.split_once("__")?;
            let (kind, account) = (FunctionKind::Mcp, Account::Default);
            let name = server_tool_names.get(&spec.name).map_or(name, String::as_str);
            let (namespace, name) = (server.to_owned(), name.to_owned());
            Some(Self { kind, namespace, account, name, spec: spec.clone(), tool: None, unready: None })
        };
        tools.iter().filter_map(function).collect()
    }

    /// Returns the name that models use for it, without the server.
    pub(crate) fn model_name(&self) -> Option<&str> {
        self.spec.name.strip_prefix(MCP)?.split_once("__").map(|(_, name)| name)
    }
}

impl Native {
    /// Returns all tools.
    pub(crate) fn all(&self) -> &[ToolSpec] {
        match self {
            Self::NoTurn => &[],
            Self::Tools(tools) => tools,
        }
    }

    /// Returns the tools that belong neither to a server nor to an integration, and do not run
    /// scripts themselves.
    pub(crate) fn session_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        let foreign = |name: &str| name.starts_with(MCP) || name.starts_with("integration__");
        self.all().iter().filter(move |tool| !foreign(&tool.name) && !tool.name.contains("lua"))
    }
}

impl Account {
    /// Returns the account's name, unless it is the default.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Default => None,
            Self::Named(name) => Some(name),
        }
    }
}

impl FunctionKind {
    /// Parses the name of a kind, which is a field of `app`.
    pub(crate) fn from_name(word: &str) -> Option<Self> {
        [Self::Mcp, Self::Integration].into_iter().find(|kind| kind.to_string() == word)
    }
}

impl fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mcp => "mcp",
            Self::Integration => "integrations",
        })
    }
}
