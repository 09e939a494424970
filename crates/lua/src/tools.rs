//! The tools with which a model runs scripts and reads their documentation.

use crate::{
    Docs, Function, Functions, NoFunctions, RunLimits, Script, ScriptHost,
    limits::{CPU_MAX, MEGABYTE, MEMORY_MAX, MEMORY_MIN},
    run,
    session_host::SessionHost,
};
use agent::{
    Access, AnyCall, AnyTool, Content, Description, Effect, Offer, SessionScope, ToolContent, ToolContext,
    ToolError, ToolKind, ToolOutput, ToolProvider, ToolSource, ToolSpec,
    tools::{keep_whole, within},
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc, time::Duration};
use system::AbsPath;

/// Creates the functions that a session's scripts can call.
type SessionFunctions = dyn Fn(&SessionScope) -> Arc<dyn Functions> + Send + Sync;

/// Gives every session the tools `execute_lua`, `lua_list_docs`, `lua_search_docs` and
/// `lua_read_doc`.
pub struct LuaTools {
    functions: Box<SessionFunctions>,
}

impl LuaTools {
    /// Creates tools whose scripts can call the session's own tools, including MCP tools.
    pub fn new() -> Self {
        Self::with(|_| Arc::new(NoFunctions))
    }

    /// Creates tools whose scripts can also call additional functions, created for each session.
    pub fn with(functions: impl Fn(&SessionScope) -> Arc<dyn Functions> + Send + Sync + 'static) -> Self {
        Self { functions: Box::new(functions) }
    }
}

impl Default for LuaTools {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolProvider for LuaTools {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        let functions = (self.functions)(session);
        let tool = |kind| Arc::new(LuaTool { kind, functions: functions.clone() }) as Arc<dyn AnyTool>;
        Arc::new(Source(LuaToolKind::ALL.map(tool).to_vec()))
    }
}

struct Source(Vec<Arc<dyn AnyTool>>);

#[async_trait]
impl ToolSource for Source {
    fn grows(&self) -> bool {
        false
    }

    async fn offer(&self) -> Offer {
        Offer { tools: self.0.clone(), ..Offer::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LuaToolKind {
    List,
    Search,
    Read,
    Execute,
}

impl LuaToolKind {
    const ALL: [Self; 4] = [Self::List, Self::Search, Self::Read, Self::Execute];

    fn name(self) -> &'static str {
        match self {
            Self::List => "lua_list_docs",
            Self::Search => "lua_search_docs",
            Self::Read => "lua_read_doc",
            Self::Execute => "execute_lua",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::List => {
                "List what Lua scripts can call: guides, this session's tools, MCP servers and integrations; or the functions of one namespace."
            }
            Self::Search => "Search the docs of what Lua scripts can call; all words must occur.",
            Self::Read => {
                "Read a page of the Lua docs: a guide (overview, context, errors, examples), `tools`, a namespace such as `mcp.SERVER`, or a function."
            }
            Self::Execute => {
                "Runs a Lua 5.3 script without files, network or clock. app.tools.NAME{...} calls tools, app.mcp.SERVER.TOOL{...} MCP servers, \
                 app.integrations.PROVIDER.FUNCTION{...} integrations; print and return give text back. Calls that need the user's approval fail. For \
                 calls that feed each other. print(docs.list()) and print(docs.read('overview')) say more."
            }
        }
    }

    fn parameters(self) -> Value {
        match self {
            Self::List => json!({
                "type": "object",
                "properties": { "namespace": { "type": "string", "description": "A namespace, such as `mcp.github`; everything when absent." } },
            }),
            Self::Search => json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "Words to look for." },
                    "limit": { "type": "integer", "description": "Results at the most; 10 by default." },
                },
                "required": ["query"],
            }),
            Self::Read => json!({
                "type": "object",
                "properties": { "page": { "type": "string", "description": "The page's name." } },
                "required": ["page"],
            }),
            Self::Execute => json!({
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "memoryLimit": { "type": "integer", "description": "MB (default 32, at most 256)" },
                    "cpuLimit": { "type": "number", "description": "Seconds (default 30, at most 300)" },
                },
                "required": ["code"],
            }),
        }
    }
}

struct LuaTool {
    kind: LuaToolKind,
    functions: Arc<dyn Functions>,
}

impl AnyTool for LuaTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.kind.name().to_owned(),
            description: self.kind.description().to_owned(),
            parameters: self.kind.parameters(),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.kind.name())
    }

    /// Only `execute_lua` is offered: scripts can read the docs themselves, and models that know
    /// the names of the other tools can call them.
    fn is_offered(&self) -> bool {
        self.kind == LuaToolKind::Execute
    }

    fn effect(&self) -> Effect {
        match self.kind {
            LuaToolKind::Execute => Effect::Executes,
            _ => Effect::Reads,
        }
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        let name = self.kind.name();
        let missing = |parameter: &str, what: &str| {
            ToolError::message(format!("Missing required parameter \"{parameter}\". {what}"))
        };
        let arguments: Arguments = serde_json::from_value(arguments)
            .map_err(|error| ToolError::message(format!("Invalid arguments for '{name}': {error}")))?;
        match self.kind {
            LuaToolKind::Execute if arguments.code.as_deref().is_none_or(|code| code.trim().is_empty()) => {
                return Err(missing("code", "Pass the Lua script as a string."));
            }
            LuaToolKind::Search if arguments.query.is_none() => {
                return Err(missing("query", "Pass the words to look for."));
            }
            LuaToolKind::Read if arguments.page.is_none() => {
                return Err(missing("page", "Pass the name of a page, such as `overview`."));
            }
            _ => {}
        }
        Ok(Box::new(LuaCall { kind: self.kind, arguments, functions: self.functions.clone() }))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Arguments {
    namespace: Option<String>,
    query: Option<String>,
    limit: Option<usize>,
    page: Option<String>,
    code: Option<String>,
    memory_limit: Option<f64>,
    cpu_limit: Option<f64>,
}

impl Arguments {
    fn limits(&self) -> RunLimits {
        let default = RunLimits::default();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates, and the result is clamped"
        )]
        let memory =
            self.memory_limit.map_or(default.memory, |megabytes| (megabytes * MEGABYTE as f64) as usize);
        let cpu = self
            .cpu_limit
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(default.cpu);
        RunLimits { memory: memory.clamp(MEMORY_MIN, MEMORY_MAX), cpu: cpu.min(CPU_MAX), ..default }
    }
}

struct LuaCall {
    kind: LuaToolKind,
    arguments: Arguments,
    functions: Arc<dyn Functions>,
}

impl LuaCall {
    fn code(&self) -> &str {
        self.arguments.code.as_deref().unwrap_or_default()
    }

    async fn docs(&self, cx: &ToolContext) -> Docs {
        let native = SessionHost(cx.nested_calls.clone()).native().await;
        self.functions.prepare().await;
        let mut functions = self.functions.list();
        functions.extend(Function::from_session_tools(native.all(), &self.functions.server_tool_names()));
        Docs::new(native, functions)
    }
}

#[async_trait]
impl AnyCall for LuaCall {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let quoted = |what: &Option<String>| what.as_deref().unwrap_or_default().to_owned();
        let (title, kind) = match self.kind {
            LuaToolKind::List => ("List Lua docs".to_owned(), ToolKind::Read),
            LuaToolKind::Search => {
                (format!("Search Lua docs: {}", quoted(&self.arguments.query)), ToolKind::Search)
            }
            LuaToolKind::Read => (format!("Read Lua docs: {}", quoted(&self.arguments.page)), ToolKind::Read),
            LuaToolKind::Execute => {
                let lines = self.code().lines().count();
                let s = if lines == 1 { "" } else { "s" };
                (format!("Run a Lua script of {lines} line{s}"), ToolKind::Execute)
            }
        };
        Description { title, kind, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        // The accesses of a script are decided about when it makes its calls.
        match self.kind {
            LuaToolKind::Execute => {
                vec![Access::Call { function: self.kind.name().to_owned(), read_only: false }]
            }
            _ => Vec::new(),
        }
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(match self.kind {
            LuaToolKind::Execute => {
                vec![ToolContent::Content(Content::text(format!("```lua\n{}\n```", self.code())))]
            }
            _ => Vec::new(),
        })
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let page = async |text: String| Ok(ToolOutput::text(within(cx, text).await));
        match self.kind {
            LuaToolKind::List => page(self.docs(cx).await.list(self.arguments.namespace.as_deref())).await,
            LuaToolKind::Search => {
                let query = self.arguments.query.as_deref().unwrap_or_default();
                page(self.docs(cx).await.search(query, self.arguments.limit)).await
            }
            LuaToolKind::Read => {
                page(self.docs(cx).await.read(self.arguments.page.as_deref().unwrap_or_default())).await
            }
            LuaToolKind::Execute => {
                let script = Script {
                    name: "lua".to_owned(),
                    code: self.code().to_owned(),
                    limits: self.arguments.limits(),
                    ..Script::default()
                };
                let host = Arc::new(SessionHost(cx.nested_calls.clone()));
                let report = run(script, self.functions.clone(), host, &cx.cancel).await;
                let mut text = report.text(&cx.limits);
                let full_text = report.full_text();
                if text != full_text
                    && let Some(place) = keep_whole(cx, &full_text).await
                {
                    text.push_str(&format!("\n({place})"));
                }
                if report.cancelled {
                    return Err(ToolError::Cancelled(Some(text)));
                }
                let output = ToolOutput::text(text);
                Ok(if report.error.is_some() { output.failed() } else { output })
            }
        }
    }
}
