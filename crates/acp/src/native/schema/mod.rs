//! The JSON Schema of the native layer, generated from its types: every event, every request and
//! its result. Only tests build this module; the product contains the text that they check
//! ([`super::SCHEMA`]).
//!
//! Events are described by the types that are sent. Parameters are parsed by `Fields`, which
//! produces the error messages that the KosmoKrator wire defines, and results come from
//! [`super::NativeServices`]; so both are described by separate types, which tests compare with
//! real messages.

mod operations;
mod params;
mod results;

pub(crate) use operations::{IntegrationOperation, McpOperation};

use super::{Prefix, event::Envelope, event::VERSION};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Returns the schema as one document: `events` by type, `requests` by method (without prefixes),
/// each with `params` and `result`; shared types in `$defs`.
fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12;
    let mut sent = settings().for_serialize().into_generator();
    let mut taken = settings().for_deserialize().into_generator();
    let events = events(&mut sent);
    let mut requests = Map::new();
    for method in METHODS {
        let described = json!({
            "description": method.about,
            "ownPrefixOnly": method.own,
            "params": (method.params)(&mut taken),
            "result": (method.result)(&mut sent),
        });
        requests.insert(method.name.to_owned(), described);
    }
    let mut definitions = sent.take_definitions(true);
    for (name, definition) in taken.take_definitions(true) {
        let other = definitions.insert(name, definition.clone()).filter(|other| *other != definition);
        debug_assert_eq!(other, None, "two types have one name");
    }
    sorted(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The native layer of Tiller",
        "version": VERSION,
        "prefixes": Prefix::ALL.map(Prefix::text),
        "events": events,
        "requests": requests,
        "$defs": definitions,
    }))
}

/// Returns the schema of each event: its own fields and those common to all events.
fn events(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let envelope = schemars::Schema::to_value(generator.root_schema_for::<Envelope<'_>>());
    let common = |member: &str| envelope.get(member).cloned().unwrap_or_default();
    let variants = envelope["oneOf"].as_array().cloned().unwrap_or_default();
    let mut events = Map::new();
    for mut event in variants {
        let Some(name) = event["properties"]["type"]["const"].as_str().map(str::to_owned) else { continue };
        if let (Value::Object(own), Value::Object(shared)) = (&mut event["properties"], common("properties"))
        {
            own.extend(shared);
        }
        if let (Value::Array(own), Value::Array(shared)) = (&mut event["required"], common("required")) {
            own.extend(shared);
        }
        events.insert(name, event);
    }
    events
}

/// A request.
struct Method {
    name: &'static str,
    /// One sentence about what it does.
    about: &'static str,
    /// Whether it is served only under `_tiller/`.
    own: bool,
    params: fn(&mut SchemaGenerator) -> Value,
    result: fn(&mut SchemaGenerator) -> Value,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

const fn method<P: JsonSchema, R: JsonSchema>(name: &'static str, about: &'static str) -> Method {
    Method { name, about, own: false, params: of::<P>, result: of::<R> }
}

const fn own<P: JsonSchema, R: JsonSchema>(name: &'static str, about: &'static str) -> Method {
    Method { own: true, ..method::<P, R>(name, about) }
}

/// All requests of the native layer.
const METHODS: &[Method] = &[
    method::<params::Nothing, results::Capabilities>("capabilities", "Returns the capabilities."),
    method::<params::SetRuntime, super::event::RuntimeState>(
        "runtime/set",
        "Changes the settings of a session.",
    ),
    method::<params::SetSetting, results::SettingSet>("settings/set", "Stores a setting."),
    method::<params::ConfigureProvider, results::ProviderConfigured>(
        "providers/configure",
        "Stores the configuration of a provider.",
    ),
    method::<params::ListFunctions, results::Functions>(
        "integrations/list",
        "Lists functions of integrations.",
    ),
    method::<params::NamedFunction, results::Function>("integrations/describe", "Describes a function."),
    method::<params::CallFunction, results::FunctionCalled>("integrations/call", "Calls a function."),
    method::<params::ConfigureIntegration, results::IntegrationConfigured>(
        "integrations/configure",
        "Stores an integration's credentials, permissions and whether it is enabled.",
    ),
    method::<params::Forced, results::Servers>("mcp/list_servers", "Lists the MCP servers of a session."),
    method::<params::ListTools, results::Tools>("mcp/list_tools", "Lists tools of MCP servers."),
    method::<params::ForcedFunction, results::Tool>("mcp/schema", "Describes a tool of an MCP server."),
    method::<params::CallTool, results::ToolCalled>("mcp/call_tool", "Calls a tool of an MCP server."),
    method::<params::AddServer, results::ServerAdded>("mcp/add_stdio_server", "Stores an MCP server."),
    method::<params::SetSecret, results::SecretSet>("mcp/set_secret", "Stores a secret of an MCP server."),
    method::<params::ExecuteLua, results::LuaExecuted>("lua/execute", "Runs a script."),
    own::<params::Search, results::Hits>("sessions/search", "Searches stored sessions."),
    own::<params::Export, results::Exported>("sessions/export", "Exports a stored session."),
    own::<params::Named, results::Checkpoints>("sessions/checkpoints", "Lists the turns that changed files."),
    own::<params::Rewind, results::Rewound>("sessions/rewind", "Reverts changes of files."),
    own::<params::Explain, results::Explained>("permissions/explain", "Explains permission decisions."),
    own::<params::Named, results::Decisions>("permissions/log", "Lists permission decisions."),
    own::<params::Named, results::Trust>("trust/list", "Lists the items of a project and their trust."),
    own::<params::GiveTrust, results::Trust>("trust/give", "Trusts items as shown."),
    own::<params::TakeTrust, results::Trust>("trust/take", "Revokes trust in items."),
    own::<params::ListMemories, results::Memories>(
        "memories/list",
        "Lists the memories that are visible in the session's project.",
    ),
    own::<params::SaveMemory, results::Memory>("memories/save", "Saves a memory, or changes one."),
    own::<params::ForgetMemory, results::Memory>("memories/forget", "Deletes a memory."),
    own::<params::Named, results::Subagents>("subagents/list", "Lists the subagents of a session."),
    own::<params::NamedSubagent, results::Subagent>("subagents/get", "Returns what a subagent did."),
    own::<params::CancelSubagent, results::SubagentsCancelled>(
        "subagents/cancel",
        "Cancels a subagent and its own, or all subagents.",
    ),
    own::<params::Named, results::Tasks>("tasks/list", "Lists the tasks of a session."),
    own::<params::Named, results::GoalResult>("goal/get", "Returns the goal of a session."),
    own::<params::SetGoal, results::GoalResult>("goal/set", "Sets, pauses, resumes or removes the goal."),
    own::<params::Named, results::Shells>("shells/list", "Lists the background commands of a session."),
    own::<params::NamedShell, results::Shells>("shells/stop", "Stops a background command, or all."),
    own::<params::NamedShell, results::ShellOutput>(
        "shells/output",
        "Returns the last output of a background command.",
    ),
    own::<params::Named, results::Usage>("usage/get", "Returns the usage of a session."),
    own::<params::Nothing, results::Report>("doctor", "Checks the environment and the configuration."),
];

/// Sorts the members of all objects by name: features of other crates can change their order.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

mod tests {
    use super::*;

    /// The command that regenerates the schema.
    const RENEW: &str = "TILLER_RENEW=1 cargo nextest run -p acp -p tiller golden";

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a variable of the tests' own says whether to renew")]
    fn the_golden_schema_matches_the_types() {
        let made = schema();
        if std::env::var_os("TILLER_RENEW").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/schema/native.json");
            std::fs::write(path, format!("{made:#}\n")).unwrap();
        } else {
            let kept: Value = serde_json::from_str(crate::native::SCHEMA).unwrap();
            assert!(made == kept, "clients/schema/native.json differs from the types; renew it: {RENEW}");
        }
    }

    #[test]
    fn the_schema_has_every_event_and_resolves_every_reference() {
        let schema = schema();
        let events = schema["events"].as_object().unwrap();
        assert_eq!(events.len(), 24, "{:?}", events.keys());
        for (name, event) in events {
            for field in ["type", "sessionId", "runId", "timestamp", "protocolVersion"] {
                assert!(event["properties"].get(field).is_some(), "{name} lacks {field}");
                assert!(event["required"].as_array().unwrap().contains(&json!(field)), "{name}: {field}");
            }
        }
        let text = schema.to_string();
        for reference in text.split("\"#/$defs/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schema["$defs"].get(name).is_some(), "{name}");
        }
        assert_eq!(schema["requests"].as_object().unwrap().len(), METHODS.len());
        let required = &schema["$defs"]["CallTool"]["required"];
        assert_eq!(required, &json!(["sessionId", "function"]));
    }
}
