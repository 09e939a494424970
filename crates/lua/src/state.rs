//! Creates a fresh interpreter: its globals, its restrictions and its limits.

use crate::{
    Docs, Function, FunctionKind, Functions, Native, Query, ScriptHost, bytes, convert, display,
    limits::{HOOK_INSTRUCTIONS, MOVE_ELEMENTS, PRINT_BYTES},
    listing::{Entry, Listing},
    names,
    run_clock::{EndReason, RunClock},
    strings,
};
use agent::ToolResult;
use mlua::{
    HookTriggers, Lua, LuaOptions, LuaString, MultiValue, StdLib, Table, Value as Lv, Variadic, VmState,
};
use serde_json::{Map, Value, json};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    sync::Arc,
};
use tokio::runtime::Handle;

/// Globals that are removed because they reach outside the interpreter or circumvent the limits.
const REMOVED: [&str; 4] = ["dofile", "loadfile", "require", "collectgarbage"];

/// The context of a run besides its interpreter. Lives on the interpreter's thread.
pub(crate) struct RunContext {
    run_clock: Rc<RunClock>,
    functions: Arc<dyn Functions>,
    host: Arc<dyn ScriptHost>,
    handle: Handle,
    callables: OnceCell<Rc<Callables>>,
    output: RefCell<Output>,
    calls: Cell<u64>,
}

/// What can be called, as of the script's first use.
struct Callables {
    native: Native,
    listing: Listing,
}

#[derive(Default)]
struct Output {
    text: String,
    left_out: usize,
}

/// Creates an interpreter with all its globals and limits.
pub(crate) fn new_interpreter(
    context: &Rc<RunContext>,
    globals: &BTreeMap<String, Value>,
) -> mlua::Result<Lua> {
    let libraries = StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::UTF8 | StdLib::MATH;
    let lua = Lua::new_with(libraries, LuaOptions::new())?;
    let all = lua.globals();
    for name in REMOVED {
        all.raw_set(name, Lv::Nil)?;
    }
    all.get::<Table>("string")?.raw_set("dump", Lv::Nil)?;
    strings::install(&lua, &context.run_clock)?;
    all.raw_set("regex", strings::regex(&lua, &context.run_clock)?)?;
    define_printing(&lua, context)?;
    for (name, value) in globals {
        if !is_name(name) {
            let text = format!("'{name}' cannot be a global: names are letters, digits and underscores");
            return Err(mlua::Error::RuntimeError(text));
        }
        all.raw_set(name.as_str(), convert::from_json(&lua, value)?)?;
    }
    let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
    prelude.call::<()>(bridge(&lua, context)?)?;
    lua.set_memory_limit(context.run_clock.limits().memory)?;
    install_limit_hook(&lua, &context.run_clock, HOOK_INSTRUCTIONS)?;
    Ok(lua)
}

impl RunContext {
    pub(crate) fn new(
        run_clock: Rc<RunClock>,
        functions: Arc<dyn Functions>,
        host: Arc<dyn ScriptHost>,
        handle: Handle,
    ) -> Self {
        let (callables, output, calls) = Default::default();
        Self { run_clock, functions, host, handle, callables, output, calls }
    }

    pub(crate) fn run_clock(&self) -> &RunClock {
        &self.run_clock
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    /// Takes the printed text.
    pub(crate) fn take_output(&self) -> String {
        let Output { mut text, left_out } = self.output.take();
        if left_out > 0 {
            text.push_str(&format!("… ({left_out} more bytes)\n"));
        }
        text
    }

    fn print(&self, line: &str) {
        let mut output = self.output.borrow_mut();
        if output.left_out == 0 && output.text.len() + line.len() <= PRINT_BYTES {
            output.text.push_str(line);
        } else {
            output.left_out += line.len();
        }
    }

    /// Blocks this thread on a future until a limit is exceeded or the run is cancelled.
    fn wait<T>(&self, what: impl Future<Output = T>) -> mlua::Result<T> {
        self.run_clock.check()?;
        let cancelled = self.run_clock.cancel().cancelled();
        let waiting = async {
            tokio::select! {
                biased;
                () = cancelled => Err(EndReason::Cancelled),
                done = what => Ok(done),
                () = tokio::time::sleep(self.run_clock.remaining()) => Err(EndReason::Wall),
            }
        };
        self.run_clock.outside(|| self.handle.block_on(waiting)).map_err(|end| self.run_clock.end(end))
    }

    fn callables(&self) -> mlua::Result<Rc<Callables>> {
        if let Some(callables) = self.callables.get() {
            return Ok(callables.clone());
        }
        let native = self.wait(self.host.native())?;
        self.wait(self.functions.prepare())?;
        let mut functions = self.functions.list();
        functions.extend(Function::from_session_tools(native.all(), &self.functions.server_tool_names()));
        let listing = Listing::new(functions);
        Ok(self.callables.get_or_init(|| Rc::new(Callables { native, listing })).clone())
    }

    fn docs(&self) -> mlua::Result<Docs> {
        let callables = self.callables()?;
        Ok(Docs::from_listing(callables.native.clone(), callables.listing.clone()))
    }

    /// Carries out a call below `app`.
    fn call(&self, lua: &Lua, kind: &str, path: &[String], given: &[Lv]) -> mlua::Result<CallResult> {
        let named = || match given {
            [] => Ok(Value::Object(Map::new())),
            [Lv::Table(_) | Lv::Nil] => convert::to_arguments(&given[0]),
            _ => Err(format!("app.tools.{} takes a table: {{name = value}}", path.join("."))),
        };
        if kind == "tools" {
            let [name] = path else { return refused(lua, &unknown(kind, path, None)) };
            let name = &self.resolve_tool_name(name)?;
            let arguments = match named() {
                Ok(arguments) => arguments,
                Err(problem) => return refused(lua, &problem),
            };
            return match self.wait(self.host.call_native(name, arguments))? {
                Ok(result) => Ok((true, bytes::string(lua, result.text.as_bytes())?)),
                Err(refusal) => refused(lua, &refusal),
            };
        }
        let callables = self.callables()?;
        let function_kind = FunctionKind::from_name(kind);
        match function_kind.and_then(|kind| callables.listing.resolve(kind, path)) {
            None => {
                let why = self.unknown(function_kind, kind, path)?;
                refused(lua, &why)
            }
            Some(entry) => self.call_entry(lua, entry, given),
        }
    }

    /// Resolves a tool name given by a script: the names of MCP tools may be spelled as Lua names.
    fn resolve_tool_name(&self, given: &str) -> mlua::Result<String> {
        if !given.starts_with("mcp__") {
            return Ok(given.to_owned());
        }
        let callables = self.callables()?;
        let all = || callables.native.all().iter().map(|tool| tool.name.as_str());
        if all().any(|name| name == given) {
            return Ok(given.to_owned());
        }
        let spelled = names::lua_names(all());
        let meant = spelled.into_iter().find(|(_, lua_name)| lua_name == given);
        Ok(meant.map_or_else(|| given.to_owned(), |(name, _)| name))
    }

    /// Returns the message for a path at which there is nothing.
    fn unknown(
        &self,
        function_kind: Option<FunctionKind>,
        kind: &str,
        path: &[String],
    ) -> mlua::Result<String> {
        let callables = self.callables()?;
        if let Some(function_kind) = function_kind
            && let Some(why) = self.wait(self.functions.explain(function_kind, path))?
        {
            return Ok(why);
        }
        let nearest = function_kind.and_then(|kind| callables.listing.nearest(kind, path));
        Ok(unknown(kind, path, nearest.as_deref()))
    }

    fn call_entry(&self, lua: &Lua, entry: &Entry, given: &[Lv]) -> mlua::Result<CallResult> {
        let function = &entry.function;
        if let Some(why) = &function.unready {
            return refused(lua, why);
        }
        let arguments = match arguments(function, given) {
            Ok(arguments) => arguments,
            Err(problem) => return refused(lua, &format!("app.{}: {problem}", entry.path())),
        };
        self.calls.set(self.calls.get() + 1);
        let called = match &function.tool {
            Some(tool) => self.wait(self.host.call(tool.clone(), arguments))?,
            None => self.wait(self.host.call_native(&function.spec.name, arguments))?,
        };
        result_value(lua, called)
    }

    /// Implements the functions of the global `mcp`, except `call`.
    fn query_servers(&self, lua: &Lua, what: &str, given: &[Lv]) -> mlua::Result<CallResult> {
        let text = |at: usize| match given.get(at) {
            Some(Lv::String(string)) => bytes::text(string),
            _ => String::new(),
        };
        let callables = self.callables()?;
        let mcp = FunctionKind::Mcp;
        let server = text(0);
        let named = callables.listing.namespace(mcp, &server);
        let found = match what {
            "servers" => {
                let server_entries = callables.listing.all().filter(|entry| entry.function.kind == mcp);
                let names: std::collections::BTreeSet<_> =
                    server_entries.map(|entry| entry.function.namespace.clone()).collect();
                Ok(json!(names))
            }
            "tools" => match named {
                Some(named) => Ok(callables.listing.functions_of(mcp, named).map(describe_tool).collect()),
                None => match self.wait(self.functions.explain(mcp, std::slice::from_ref(&server)))? {
                    Some(why) => Err(why),
                    None => Ok(json!([])),
                },
            },
            "schema" => {
                let path = [server.clone(), text(1)];
                match callables.listing.resolve(mcp, &path) {
                    Some(entry) => Ok(entry.function.spec.parameters.clone()),
                    None => Err(self.unknown(Some(mcp), "mcp", &path)?),
                }
            }
            query => {
                let query = match query {
                    "resources" => Query::Resources,
                    "read_resource" => Query::ReadResource { uri: text(1) },
                    "prompts" => Query::Prompts,
                    _ => Query::GetPrompt {
                        name: text(1),
                        arguments: given
                            .get(2)
                            .map_or(Ok(json!({})), convert::to_arguments)
                            .unwrap_or_default(),
                    },
                };
                match self.wait(self.functions.query(&server, query))? {
                    Ok((tool, arguments)) => {
                        return result_value(lua, self.wait(self.host.call(tool, arguments))?);
                    }
                    Err(problem) => Err(problem),
                }
            }
        };
        match found {
            Ok(value) => Ok((true, convert::from_json(lua, &value)?)),
            Err(problem) => refused(lua, &problem),
        }
    }
}

/// Whether the call succeeded, and its value or error message. The prelude raises the message as a
/// string error, which scripts can catch and read.
type CallResult = (bool, Lv);

fn refused(lua: &Lua, why: &str) -> mlua::Result<CallResult> {
    Ok((false, bytes::string(lua, why.as_bytes())?))
}

/// Converts the result of a function: to a value if it is JSON, else to a string.
fn result_value(lua: &Lua, called: Result<ToolResult, String>) -> mlua::Result<CallResult> {
    match called {
        Err(refusal) => refused(lua, &refusal),
        Ok(result) if result.is_error => refused(lua, &result.text),
        Ok(result) => Ok((
            true,
            match serde_json::from_str::<Value>(&result.text) {
                Ok(value) => convert::from_json(lua, &value)?,
                Err(_) => bytes::string(lua, result.text.as_bytes())?,
            },
        )),
    }
}

/// Describes a tool of a server, for scripts.
fn describe_tool(entry: &Entry) -> Value {
    let Function { name, spec, .. } = &entry.function;
    json!({ "name": name, "path": format!("app.{}", entry.path()), "description": spec.description })
}

fn unknown(kind: &str, path: &[String], nearest: Option<&str>) -> String {
    let path: String = path.iter().map(|name| names::path_step(name)).collect();
    let hint = nearest.map(|nearest| format!(" Did you mean app.{nearest}?")).unwrap_or_default();
    format!("Unknown function: app.{kind}{path}.{hint} Use lua_list_docs to discover available functions.")
}

/// Converts the arguments of a call: a table of named arguments is used as it is, positional ones
/// are assigned to the required parameters in order.
fn arguments(function: &Function, given: &[Lv]) -> Result<Value, String> {
    match given {
        [] | [Lv::Nil] => Ok(Value::Object(Map::new())),
        [Lv::Table(_)] => convert::to_arguments(&given[0]),
        given => {
            let required = function.spec.parameters["required"].as_array();
            let names: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
            if given.len() > names.len() {
                return Err(format!(
                    "{} arguments for {} required parameters; pass a table: {{name = value}}",
                    given.len(),
                    names.len()
                ));
            }
            let values = given.iter().map(convert::to_json).collect::<Result<Vec<_>, _>>()?;
            Ok(names.into_iter().map(str::to_owned).zip(values).collect::<Map<_, _>>().into())
        }
    }
}

fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && !name.starts_with("__") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Checks the limits every so many instructions. Once a limit is exceeded, every instruction fails,
/// so that `pcall` cannot keep the run alive.
fn install_limit_hook(lua: &Lua, run_clock: &Rc<RunClock>, every: u32) -> mlua::Result<()> {
    let clock = run_clock.clone();
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(every), move |lua, _| match clock.check() {
        Ok(()) => Ok(VmState::Continue),
        Err(over) => {
            install_limit_hook(lua, &clock, 1)?;
            Err(over)
        }
    })
}

fn define_printing(lua: &Lua, context: &Rc<RunContext>) -> mlua::Result<()> {
    let all = lua.globals();
    all.raw_set(
        "tostring",
        lua.create_function(|lua, value: Lv| match &value {
            Lv::String(_) => Ok(value),
            other => bytes::string(lua, display::format_value(other)?.as_bytes()),
        })?,
    )?;
    let printed = context.clone();
    all.raw_set(
        "print",
        lua.create_function(move |_, values: Variadic<Lv>| {
            let shown = values.iter().map(display::format_value).collect::<mlua::Result<Vec<_>>>()?;
            printed.print(&(shown.join("\t") + "\n"));
            Ok(())
        })?,
    )?;
    let printed = context.clone();
    all.raw_set(
        "dump",
        lua.create_function(move |_, value: Lv| {
            printed.print(&(display::format_value(&value)? + "\n"));
            Ok(value)
        })?,
    )
}

/// Creates the table of functions that the prelude uses to define its globals.
fn bridge(lua: &Lua, context: &Rc<RunContext>) -> mlua::Result<Table> {
    let bridge = lua.create_table()?;
    bridge.raw_set("most_moved", MOVE_ELEMENTS)?;
    bridge.raw_set("null", Lv::NULL)?;
    bridge.raw_set(
        "has_length",
        lua.create_function(|_, value: Lv| {
            let Lv::Table(table) = value else { return Ok(false) };
            let meta = table.metatable();
            Ok(meta.is_some_and(|meta| meta.raw_get::<Lv>("__len").is_ok_and(|length| !length.is_nil())))
        })?,
    )?;
    bridge.raw_set(
        "encode",
        lua.create_function(|lua, (value, pretty): (Lv, Option<bool>)| {
            let json = match convert::to_json(&value) {
                Ok(json) => json,
                Err(problem) => return refused(lua, &format!("json.encode: {problem}")),
            };
            let text = if pretty == Some(true) { format!("{json:#}") } else { json.to_string() };
            Ok((true, bytes::string(lua, text.as_bytes())?))
        })?,
    )?;
    bridge.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| {
            let decoded = serde_json::from_slice::<Value>(&text.as_bytes());
            match decoded {
                Ok(value) => Ok((true, convert::from_json(lua, &value)?)),
                Err(problem) => refused(lua, &format!("json.decode: {problem}")),
            }
        })?,
    )?;
    let called = context.clone();
    bridge.raw_set(
        "call",
        lua.create_function(move |lua, (kind, path, given): (LuaString, Vec<String>, MultiValue)| {
            let given: Vec<_> = given.into_iter().collect();
            called.call(lua, &bytes::text(&kind), &path, &given)
        })?,
    )?;
    let asked = context.clone();
    bridge.raw_set(
        "servers",
        lua.create_function(move |lua, (what, given): (LuaString, MultiValue)| {
            let given: Vec<_> = given.into_iter().collect();
            asked.query_servers(lua, &bytes::text(&what), &given)
        })?,
    )?;
    let docs = context.clone();
    bridge.raw_set(
        "docs",
        lua.create_function(move |lua, (what, about, limit): (LuaString, Option<String>, Option<usize>)| {
            let (docs, about) = (docs.docs()?, about.as_deref());
            let text = match bytes::text(&what).as_str() {
                "list" => docs.list(about),
                "search" => docs.search(about.unwrap_or_default(), limit),
                _ => docs.read(about.unwrap_or("overview")),
            };
            bytes::string(lua, text.as_bytes())
        })?,
    )?;
    Ok(bridge)
}
