//! Scripts in an agent's turn: calls to the session's tools, through the permission gate.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Access, AnyCall, AnyTool, Content, CreateSession, Description, Effect, LanguageModel, Message, Mode,
    PermissionMode, PermissionOutcome, Runtime, RuntimeOptions, SessionEvent, SessionStart, Surface,
    ToolContent, ToolContext, ToolError, ToolKind, ToolOutput, ToolProvider, ToolSpec, ToolStatus,
};
use async_trait::async_trait;
use lua::{Account, Function, FunctionKind, Functions, LuaTools, Query};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FakeSystem};

/// A function of an integration that returns its arguments.
struct Issues {
    read_only: bool,
}

impl AnyTool for Issues {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object", "required": ["project", "limit"] });
        let name = if self.read_only { "mcp__plane__list" } else { "mcp__plane__delete" };
        ToolSpec { name: name.to_owned(), description: "Issues".to_owned(), parameters }
    }

    fn effect(&self) -> Effect {
        Effect::Executes
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Ok(Box::new(IssuesCall { read_only: self.read_only, arguments }))
    }
}

struct IssuesCall {
    read_only: bool,
    arguments: Value,
}

#[async_trait]
impl AnyCall for IssuesCall {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        Description { title: "Issues".to_owned(), kind: ToolKind::Other, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: "plane.issues".to_owned(), read_only: self.read_only }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        assert_eq!(cx.nested_calls.tools().await, None, "what a script calls runs no scripts");
        match self.arguments["project"].as_str() {
            Some("missing") => Ok(ToolOutput::text("No such project.").failed()),
            Some("large") => {
                let text = json!(vec!["x".repeat(99); 2_000]).to_string();
                Ok(ToolOutput::text(agent::tools::cap(text, &cx.limits)))
            }
            _ => Ok(ToolOutput::text(json!({ "given": self.arguments }).to_string())),
        }
    }
}

struct Plane;

#[async_trait]
impl Functions for Plane {
    fn list(&self) -> Vec<Function> {
        let function = |name: &str, account, read_only| {
            let tool = Issues { read_only };
            Function {
                kind: FunctionKind::Integration,
                namespace: "plane".to_owned(),
                account,
                name: name.to_owned(),
                spec: tool.spec(),
                tool: Some(Arc::new(tool)),
                unready: None,
            }
        };
        vec![
            function("list", Account::Default, true),
            function("list", Account::Named("work".to_owned()), true),
            function("delete", Account::Default, false),
        ]
    }

    async fn query(&self, server: &str, query: Query) -> Result<(Arc<dyn AnyTool>, Value), String> {
        match server {
            "srv" => Ok((Arc::new(Issues { read_only: true }), json!({ "asked": format!("{query:?}") }))),
            "shy" => Ok((Arc::new(Issues { read_only: true }), json!({ "project": "missing" }))),
            _ => Err(format!("Unknown MCP server: {server}")),
        }
    }
}

struct TestTurn {
    mode: Mode,
    permission_mode: PermissionMode,
    answers: Vec<Option<PermissionOutcome>>,
}

impl Default for TestTurn {
    fn default() -> Self {
        Self {
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            answers: vec![Some(PermissionOutcome::AllowOnce)],
        }
    }
}

/// Runs a turn with some tool calls. Returns the texts that the model receives for them, in order,
/// and the events that the client receives.
async fn run_turn(settings: TestTurn, calls: &[(&str, Value)]) -> (Vec<String>, Vec<SessionEvent>) {
    let mut script: Vec<_> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    script.push(Reply::text("done"));
    let model = FakeModel::new(script);
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\ntwo\n");
    let client = FakeClient::new(settings.answers);
    let provider: Arc<dyn ToolProvider> = Arc::new(LuaTools::with(|_| Arc::new(Plane)));
    let options = RuntimeOptions {
        start: SessionStart {
            mode: settings.mode,
            permission_mode: settings.permission_mode,
            ..SessionStart::default()
        },
        tool_providers: [provider].into_iter().collect(),
        ..RuntimeOptions::default()
    };
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let surface = Surface { client: client.clone(), system: system.clone() };
    let session = runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("go")]).await.unwrap();
    let last = model.requests().pop().unwrap();
    let results = last.messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(said.calls().map(|call| call.result.text.clone())),
        Message::User(_) => None,
    });
    let results = results.flatten().collect();
    (results, client.events())
}

/// Runs a script in a turn and returns its value or error.
async fn outcome(settings: TestTurn, code: &str) -> String {
    let (mut results, _) = run_turn(settings, &[("execute_lua", json!({ "code": code }))]).await;
    let text = results.pop().unwrap();
    let text = text.split("\nExecution time: ").next().unwrap_or_default();
    text.strip_prefix("Return value: ").unwrap_or(text).to_owned()
}

#[tokio::test]
async fn a_script_calls_the_sessions_tools() {
    let code = "local text = app.tools.file_read{path = 'a.txt'}\n\
                app.tools.file_write{path = 'b.txt', content = 'new\\n'}\n\
                print(text:match('two'))\n\
                return app.tools.file_read{path = 'b.txt'}, app.tools.file_read{path = 'missing.txt'}";
    let (results, events) = run_turn(TestTurn::default(), &[("execute_lua", json!({ "code": code }))]).await;
    let [text] = results.as_slice() else { panic!("{results:?}") };
    assert!(text.starts_with("Output:\ntwo\nReturn value: 1\tnew"), "{text}");
    assert!(text.contains("not found") && text.contains("Memory: "), "{text}");
    // Clients see each of them as a tool call of its own.
    let ended: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCall(call) if call.result.is_some() => {
                Some((call.id.to_string(), call.name.clone(), call.status.unwrap()))
            }
            _ => None,
        })
        .collect();
    let row = |id: &str, name: &str, status| (id.to_owned(), name.to_owned(), status);
    assert_eq!(
        ended,
        [
            row("tool_0.1", "file_read", ToolStatus::Completed),
            row("tool_0.2", "file_write", ToolStatus::Completed),
            row("tool_0.3", "file_read", ToolStatus::Completed),
            row("tool_0.4", "file_read", ToolStatus::Failed),
            row("tool_0", "execute_lua", ToolStatus::Completed),
        ]
    );
}

#[tokio::test]
async fn the_gate_decides_about_what_a_script_calls() {
    let approval = "requires approval and cannot prompt from inside execute_lua. Call the tool directly, adjust permissions, or switch \
                    permission mode intentionally.";
    let rows = [
        (
            "app.tools.nothing{}",
            "Unknown native tool: nothing. Use lua_list_docs to discover available tools.".to_owned(),
        ),
        ("app.tools.bash{command = 'curl x'}", format!("Native tool 'bash' {approval}")),
        ("app.tools.file_read{path = '/etc/passwd'}", format!("Native tool 'file_read' {approval}")),
        ("app.tools.execute_lua{code = 'return 1'}", format!("Native tool 'execute_lua' {approval}")),
        (
            "app.tools.file_read{path = '.env'}",
            "Path '/w/.env' is blocked by policy: it may hold secrets or repository internals.".to_owned(),
        ),
        (
            "app.tools.bash{command = 'mkfs x'}",
            "Command matches the denied pattern 'mkfs*' and is never run. (The user can allow this exact line with the setting permissions.allow.)"
                .to_owned(),
        ),
        (
            "app.integrations.plane.delete{project = 'a'}",
            format!("Native tool 'mcp__plane__delete' {approval}"),
        ),
        ("mcp.resources('srv')", format!("Native tool 'mcp__plane__list' {approval}")),
    ];
    for (code, expected) in rows {
        assert_eq!(outcome(TestTurn::default(), code).await, format!("Error: {expected}"), "{code}");
    }
    let plan = || TestTurn { mode: Mode::Plan, ..TestTurn::default() };
    let code = "app.tools.file_write{path = 'b', content = 'x'}";
    assert_eq!(outcome(plan(), code).await, "Error: Native tool 'file_write' is not available in Plan mode.");
    let code = "app.tools.bash{command = 'touch x'}";
    let expected = "Error: Native tool 'bash' was blocked in Plan mode because it appears to modify state.";
    assert_eq!(outcome(plan(), code).await, expected);
    let ask = TestTurn { mode: Mode::Ask, answers: Vec::new(), ..TestTurn::default() };
    let expected = "Tool 'execute_lua' is not available in Ask mode. Switch to Edit mode to use write tools.";
    assert!(outcome(ask, "return 1").await.starts_with(expected));
}

#[tokio::test]
async fn functions_of_integrations_return_values_and_raise_errors() {
    let free = || TestTurn {
        permission_mode: PermissionMode::Prometheus,
        answers: Vec::new(),
        ..TestTurn::default()
    };
    for (code, expected) in [
        ("return app.integrations.plane.list{project = 'a'}.given.project", "a"),
        ("return json.encode(app.integrations.plane.list('a', 5).given)", r#"{"limit":5,"project":"a"}"#),
        ("return app.integrations.plane.default.list('a').given.project", "a"),
        ("return app.integrations.plane.work.list('b').given.project", "b"),
        ("return pcall(app.integrations.plane.list, {project = 'missing'})", "false\tNo such project."),
        (
            "app.integrations.plane.list(1, 2, 3)",
            "Error: app.integrations.plane.list: 3 arguments for 2 required parameters; pass a table: {name = value}",
        ),
        (
            "app.integrations.plane.home.list{}",
            "Error: Unknown function: app.integrations.plane.home.list. Use lua_list_docs to discover available functions.",
        ),
        (
            "return #docs.search('issues'), docs.read('overview'):match('^# Lua scripts')",
            "229\t# Lua scripts",
        ),
        ("return mcp.resources('srv').given.asked", "Resources"),
        ("return mcp.read_resource('srv', 'a:b').given.asked", r#"ReadResource { uri: "a:b" }"#),
        ("return mcp.get_prompt('srv', 'p', {a = 1}).given.asked:match('GetPrompt')", "GetPrompt"),
        ("return mcp.prompts('shy')", "Error: No such project."),
        ("return pcall(mcp.prompts, 'none')", "false\tUnknown MCP server: none"),
    ] {
        let found = outcome(free(), code).await;
        assert!(found.starts_with(expected), "{code}: {found}");
    }
    let code = "for i = 1, 3 do app.integrations.plane.list{project = 'a'} end";
    let (results, _) = run_turn(free(), &[("execute_lua", json!({ "code": code }))]).await;
    assert!(results[0].ends_with("\nIntegration calls: 3"), "{results:?}");
}

#[tokio::test]
async fn a_script_gets_a_whole_result_and_the_model_and_client_a_truncated_one() {
    let settings =
        TestTurn { permission_mode: PermissionMode::Prometheus, answers: Vec::new(), ..TestTurn::default() };
    let code =
        "local all = app.integrations.plane.list{project = 'large'}\nprint(json.encode(all))\nreturn #all";
    let (results, events) = run_turn(settings, &[("execute_lua", json!({ "code": code }))]).await;
    assert!(results[0].contains("\nReturn value: 2000\n"), "{}", &results[0][results[0].len() - 200..]);
    let limit = agent::ToolLimits::default().output_bytes;
    assert!(results[0].len() < limit, "{}", results[0].len());
    let ended = events.iter().filter_map(|event| match event {
        SessionEvent::ToolCall(call) => Some((call.result.as_ref()?, call.display.content.as_ref()?)),
        _ => None,
    });
    let ended: Vec<_> = ended.collect();
    assert_eq!(ended.len(), 2);
    for (result, shown) in ended {
        assert!(result.text.len() <= limit && format!("{shown:?}").len() < limit + 1_000);
    }
    // A result that exceeds the memory limit is a clear error.
    let settings =
        TestTurn { permission_mode: PermissionMode::Prometheus, answers: Vec::new(), ..TestTurn::default() };
    let code = "local all = {}\nfor i = 1, 9 do all[i] = app.integrations.plane.list{project = 'large'} end";
    let (results, _) =
        run_turn(settings, &[("execute_lua", json!({ "code": code, "memoryLimit": 1 }))]).await;
    assert!(results[0].starts_with("Error: Memory limit of 1 MB exceeded."), "{}", results[0]);
}

#[tokio::test]
async fn the_docs_tools_never_ask_for_approval() {
    let settings =
        TestTurn { permission_mode: PermissionMode::Argus, answers: Vec::new(), ..TestTurn::default() };
    let (results, _) = run_turn(
        settings,
        &[
            ("lua_list_docs", json!({})),
            ("lua_list_docs", json!({ "namespace": "integrations.plane" })),
            ("lua_search_docs", json!({ "query": "file read" })),
            ("lua_read_doc", json!({ "page": "tools.file_read" })),
            ("lua_read_doc", json!({})),
            ("execute_lua", json!({ "code": " " })),
        ],
    )
    .await;
    assert!(results[0].contains("`integrations.plane` (3 functions)"), "{}", results[0]);
    assert!(results[1].contains("app.integrations.plane.work.list"), "{}", results[1]);
    assert!(results[2].contains("app.tools.file_read{path"), "{}", results[2]);
    assert!(results[3].starts_with("# app.tools.file_read"), "{}", results[3]);
    assert!(results[4].starts_with("Missing required parameter \"page\"."), "{}", results[4]);
    assert!(results[5].starts_with("Missing required parameter \"code\"."), "{}", results[5]);
}

#[tokio::test]
async fn limits_can_be_given_with_a_call() {
    let code = "while true do end";
    let settings = || TestTurn {
        permission_mode: PermissionMode::Prometheus,
        answers: Vec::new(),
        ..TestTurn::default()
    };
    let arguments = json!({ "code": code, "cpuLimit": 0.05, "memoryLimit": 2 });
    let (results, _) = run_turn(settings(), &[("execute_lua", arguments)]).await;
    assert!(results[0].starts_with("Error: CPU limit of 0.05 s exceeded.\n"), "{results:?}");
    let arguments = json!({ "code": "return #('x'):rep(3 << 20)", "memoryLimit": 2 });
    let (results, _) = run_turn(settings(), &[("execute_lua", arguments)]).await;
    assert!(results[0].starts_with("Error: Memory limit of 2 MB exceeded.\n"), "{results:?}");
}
