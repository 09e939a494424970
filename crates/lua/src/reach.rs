//! The seam to what a script reaches beyond itself.

use agent::{AnyTool, ToolResult, ToolSpec};
use async_trait::async_trait;
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// Functions that come from elsewhere: those of servers and of integrations.
#[async_trait]
pub trait Functions: Send + Sync {
    /// Finds out what can be called, where that takes time. Comes before [`Functions::list`], and only in a run that asks for functions.
    async fn prepare(&self) {}

    /// The functions that can be called now. Asked once a run, and for the docs.
    fn list(&self) -> Vec<Function>;

    /// What servers call those of the session's tools that models know under other names: by the
    /// name that models know.
    fn own_names(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Why there is nothing at a path below `app.mcp` or `app.integrations`, and what to do: a
    /// server that did not start, an integration that is switched off. `None` where nothing is
    /// known of it.
    async fn explain(&self, _kind: FunctionKind, _path: &[String]) -> Option<String> {
        None
    }

    /// What asks a server for what else it has, resources and prompts, and with which arguments: called like a function, it gives JSON. An error says
    /// what is wrong, and what to do.
    async fn query(&self, server: &str, _query: Query) -> Result<(Arc<dyn AnyTool>, Value), String> {
        Err(format!("MCP server '{server}' has neither resources nor prompts here."))
    }
}

/// A function below `app.mcp` or `app.integrations`.
#[derive(Clone)]
pub struct Function {
    /// Where it is.
    pub kind: FunctionKind,
    /// The server or the provider.
    pub namespace: String,
    /// On whose behalf it is called.
    pub account: Account,
    /// Its name there, as the server or the provider has it.
    pub name: String,
    /// What it does and takes. Its name is what the gate knows it by.
    pub spec: ToolSpec,
    /// What is called: it declares its accesses, and the gate decides about them. The session's own tool of the specification's name when
    /// `None`.
    pub tool: Option<Arc<dyn AnyTool>>,
    /// What is missing before it can be called, and how that is given; `None` where nothing is.
    pub unready: Option<String>,
}

/// Where a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionKind {
    /// `app.mcp.SERVER.TOOL`.
    Mcp,
    /// `app.integrations.PROVIDER.FUNCTION`.
    Integration,
}

/// On whose behalf a function of an integration is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Account {
    /// `app.integrations.PROVIDER.FUNCTION`, and with `.default.` between.
    #[default]
    Default,
    /// `app.integrations.PROVIDER.ACCOUNT.FUNCTION`.
    Named(String),
}

/// What can be asked of a server beside calling its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Its resources.
    Resources,
    /// One of them.
    ReadResource {
        /// Its address.
        uri: String,
    },
    /// Its prompts.
    Prompts,
    /// One of them, filled in.
    GetPrompt {
        /// Its name.
        name: String,
        /// Its arguments, an object.
        arguments: Value,
    },
}

/// Carries out what a script calls.
#[async_trait]
pub trait Reach: Send + Sync {
    /// The tools of the agent's turn that the script is part of; [`Native::NoTurn`] elsewhere.
    async fn native(&self) -> Native;

    /// Calls one of them. An error is a refusal: the tool did not run. A tool that ran and failed says so in its result.
    async fn call_native(&self, name: &str, arguments: Value) -> Result<ToolResult, String>;

    /// Calls a function of a server or an integration. An error is a refusal, as above.
    async fn call(&self, tool: Arc<dyn AnyTool>, arguments: Value) -> Result<ToolResult, String>;
}

/// What begins the name of a tool that belongs to a server.
const MCP: &str = "mcp__";

/// The tools below `app.tools`.
#[derive(Debug, Clone, PartialEq)]
pub enum Native {
    /// There is no turn.
    NoTurn,
    /// These.
    Tools(Vec<ToolSpec>),
}

/// The reach of a script that is part of no turn and may call nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

#[async_trait]
impl Reach for Alone {
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

/// No functions at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn list(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl Function {
    /// The session's tools that belong to servers: `mcp__SERVER__TOOL`.
    pub(crate) fn of_servers(tools: &[ToolSpec], own_names: &BTreeMap<String, String>) -> Vec<Self> {
        let function = |spec: &ToolSpec| {
            let (server, name) = spec.name.strip_prefix(MCP)?.split_once("__")?;
            let (kind, account) = (FunctionKind::Mcp, Account::Default);
            let name = own_names.get(&spec.name).map_or(name, String::as_str);
            let (namespace, name) = (server.to_owned(), name.to_owned());
            Some(Self { kind, namespace, account, name, spec: spec.clone(), tool: None, unready: None })
        };
        tools.iter().filter_map(function).collect()
    }

    /// What models call it below its server, where that is not its own name.
    pub(crate) fn name_of_models(&self) -> Option<&str> {
        self.spec.name.strip_prefix(MCP)?.split_once("__").map(|(_, name)| name)
    }
}

impl Native {
    /// All of them.
    pub(crate) fn all(&self) -> &[ToolSpec] {
        match self {
            Self::NoTurn => &[],
            Self::Tools(tools) => tools,
        }
    }

    /// Those that belong to no server and no integration, and do not run scripts themselves.
    pub(crate) fn own(&self) -> impl Iterator<Item = &ToolSpec> {
        let foreign = |name: &str| name.starts_with(MCP) || name.starts_with("integration__");
        self.all().iter().filter(move |tool| !foreign(&tool.name) && !tool.name.contains("lua"))
    }
}

impl FunctionKind {
    /// The one of a word below `app`.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
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
