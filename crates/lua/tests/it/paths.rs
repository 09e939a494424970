//! The paths by which scripts call functions, and the samples in the docs.

use agent::{AnyCall, AnyTool, Effect, ToolError, ToolResult, ToolSpec};
use async_trait::async_trait;
use lua::{
    Account, Docs, Function, FunctionKind, Functions, Native, NoHost, Report, Script, ScriptHost, run,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A function that has only a specification.
struct NamedTool(ToolSpec);

impl AnyTool for NamedTool {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Err(ToolError::message("the host calls it"))
    }
}

/// Returns the name of the called tool, and refuses arguments that do not match its schema.
struct EchoHost;

#[async_trait]
impl ScriptHost for EchoHost {
    async fn native(&self) -> Native {
        NoHost.native().await
    }

    async fn call_native(&self, name: &str, arguments: Value) -> Result<ToolResult, String> {
        NoHost.call_native(name, arguments).await
    }

    async fn call(&self, tool: Arc<dyn AnyTool>, arguments: Value) -> Result<ToolResult, String> {
        let spec = tool.spec();
        let needed = spec.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for name in needed {
            let (given, wanted) = (&arguments[name], &spec.parameters["properties"][name]);
            let fits = match wanted["type"].as_str() {
                Some("integer") => given.is_i64(),
                Some("array") => given.is_array(),
                Some("object") => given.is_object(),
                _ => given.is_string(),
            };
            if !fits {
                return Err(format!("{name} is {given}, and should be {wanted}"));
            }
        }
        Ok(ToolResult::ok(spec.name))
    }
}

struct TestFunctions(Vec<Function>);

#[async_trait]
impl Functions for TestFunctions {
    fn list(&self) -> Vec<Function> {
        self.0.clone()
    }

    async fn explain(&self, _kind: FunctionKind, path: &[String]) -> Option<String> {
        (path[0] == "down").then(|| "MCP server 'down' is not running: it ended.".to_owned())
    }
}

fn tool(server: &str, name: &str) -> Function {
    let parameters = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer" }, "x-y": { "type": "array", "items": { "type": "string" } },
            "end": { "type": "object" }, "more": { "type": "string" },
        },
        "required": ["a", "x-y", "end"],
    });
    let spec = ToolSpec {
        name: format!("mcp__{server}__{name}"),
        description: "Sums.\nMore.".to_owned(),
        parameters,
    };
    Function {
        kind: FunctionKind::Mcp,
        namespace: server.to_owned(),
        account: Account::Default,
        name: name.to_owned(),
        spec: spec.clone(),
        tool: Some(Arc::new(NamedTool(spec))),
        unready: None,
    }
}

const NAMES: [&str; 9] = ["get-sum", "get_sum", "a.b", "a b", "a/b", "2fa", "end", "größe\"]", "fine"];

fn functions() -> Vec<Function> {
    let mut functions: Vec<_> = NAMES.iter().map(|name| tool("everything", name)).collect();
    functions.extend([tool("2nd", "local"), tool("repeat", "x")]);
    for account in ["work-1", "1"] {
        let own = Account::Named(account.to_owned());
        functions.push(Function { kind: FunctionKind::Integration, account: own, ..tool("plane", "end") });
    }
    let why = Some("Integration 'plane' lacks api_key.".to_owned());
    functions.push(Function { kind: FunctionKind::Integration, unready: why, ..tool("plane", "list") });
    functions
}

async fn script(code: &str) -> Report {
    let script = Script { name: "s".to_owned(), code: code.to_owned(), ..Script::default() };
    run(script, Arc::new(TestFunctions(functions())), Arc::new(EchoHost), &CancellationToken::new()).await
}

/// Asserts the name of the tool that a call reaches, or the error.
async fn check(call: &str, expected: &str) {
    let report = script(&format!("return {call}")).await;
    assert_eq!(report.value.or(report.error).unwrap(), expected, "{call}");
}

const ARGUMENTS: &str = "{a = 1, [\"x-y\"] = {\"t\"}, [\"end\"] = {}}";

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_called_by_their_own_names_and_by_names_that_lua_can_write() {
    for (path, name) in [
        ("everything.get_sum_2", "everything__get-sum"),
        ("everything[\"get-sum\"]", "everything__get-sum"),
        ("everything.get_sum", "everything__get_sum"),
        ("everything.a_b", "everything__a b"),
        ("everything.a_b_2", "everything__a.b"),
        ("everything[\"a.b\"]", "everything__a.b"),
        ("everything[\"a/b\"]", "everything__a/b"),
        ("everything._2fa", "everything__2fa"),
        ("everything.end_", "everything__end"),
        ("everything.fine", "everything__fine"),
        ("_2nd.local_", "2nd__local"),
        ("[\"2nd\"][\"local\"]", "2nd__local"),
        ("repeat_.x", "repeat__x"),
        ("Repeat.x", "repeat__x"),
    ] {
        let dot = if path.starts_with('[') { "" } else { "." };
        check(&format!("app.mcp{dot}{path}{ARGUMENTS}"), &format!("mcp__{name}")).await;
    }
    check(&format!("mcp.call('everything', 'get-sum', {ARGUMENTS})"), "mcp__everything__get-sum").await;
    check(&format!("mcp.call('everything', 'get_sum_2', {ARGUMENTS})"), "mcp__everything__get-sum").await;
    check(&format!("app.integrations.plane.work_1.end_{ARGUMENTS}"), "mcp__plane__end").await;
    check(&format!("app.integrations.plane[\"work-1\"][\"end\"]{ARGUMENTS}"), "mcp__plane__end").await;
    check(&format!("app.integrations.plane._1.end_{ARGUMENTS}"), "mcp__plane__end").await;
    check("mcp.schema('everything', 'a_b_2').type", "object").await;
    check("mcp.tools('2nd')[1].path", "app.mcp._2nd.local_").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_about_missing_or_unready_functions_say_what_to_do() {
    check(
        "app.mcp.everything.getSum{}",
        "Unknown function: app.mcp.everything.getSum. Did you mean app.mcp.everything.get_sum_2? Use lua_list_docs to discover \
         available functions.",
    )
    .await;
    check(
        "app.mcp.everything[\"fin-e\"]{}",
        "Unknown function: app.mcp.everything[\"fin-e\"]. Did you mean app.mcp.everything.fine? Use lua_list_docs to discover \
         available functions.",
    )
    .await;
    check("app.mcp.down.x{}", "MCP server 'down' is not running: it ended.").await;
    check("mcp.tools('down')", "MCP server 'down' is not running: it ended.").await;
    check("app.integrations.plane.list{}", "Integration 'plane' lacks api_key.").await;
    check(
        "app.mcp.nobody.x{}",
        "Unknown function: app.mcp.nobody.x. Use lua_list_docs to discover available functions.",
    )
    .await;
    assert!(
        Docs::new(Native::NoTurn, functions())
            .read("integrations.plane")
            .contains("**Not ready:** Integration 'plane' lacks")
    );
}

/// Returns every call below `app` that a text shows in backquotes, and every Lua code block in it.
fn samples(text: &str) -> Vec<String> {
    let inline = text.split('`').filter(|span| span.starts_with("app.") && span.contains(['{', '(']));
    let blocks = text.split("```lua\n").skip(1).filter_map(|rest| rest.split("```").next());
    inline.chain(blocks).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sample_in_the_docs_runs_unchanged() {
    let docs = Docs::new(Native::NoTurn, functions());
    let mut texts = vec![docs.search("sums", Some(50)), docs.search("get-sum", None)];
    texts.extend(["mcp.everything", "mcp._2nd", "mcp.2nd", "mcp.repeat_"].map(|page| docs.list(Some(page))));
    for function in functions().iter().filter(|function| function.unready.is_none()) {
        let account =
            if let Account::Named(name) = &function.account { format!(".{name}") } else { String::new() };
        let page = docs.read(&format!("{}.{}{account}.{}", function.kind, function.namespace, function.name));
        assert!(page.contains("```lua"), "{page}");
        texts.push(page);
    }
    let mut ran = 0;
    for sample in texts.iter().flat_map(|text| samples(text)) {
        // Samples of functions that are not ready cannot run.
        if sample.contains("plane.list") {
            continue;
        }
        let report = script(&sample).await;
        assert_eq!(report.error, None, "{sample}");
        ran += 1;
    }
    assert!(ran > 30, "{ran}");
    assert_eq!(docs.read("mcp.everything[\"a.b\"]"), docs.read("app.mcp.everything.a_b_2"));
    assert!(docs.read("mcp.everything.get-sum").contains("`app.mcp.everything[\"get-sum\"]`"));
}
