//! Parses the MCP servers that a client supplies for a session.

use super::errors::invalid_params;
use crate::limits::NAME_CHARS;
use agent::{ClientServer, ClientServerKind};
use agent_client_protocol::Error;
use serde_json::Value;

/// Parses a list of servers; `None` if there is none.
///
/// A list or an entry of the wrong shape is an error that names it. An unknown kind of server is
/// skipped: clients may know more kinds, and one server should not cost the session.
pub(super) fn servers(given: &Value) -> Result<Option<Vec<ClientServer>>, Error> {
    let list = match given {
        Value::Null => return Ok(None),
        Value::Array(list) => list,
        _ => return Err(invalid_params("mcpServers must be a list of servers")),
    };
    let mut servers = Vec::new();
    for (at, given) in list.iter().enumerate() {
        let wrong = |why: String| invalid_params(format!("mcpServers[{at}]{why}"));
        servers.extend(server(given).map_err(wrong)?);
    }
    Ok(Some(servers))
}

/// Parses one server; `None` if its kind is unknown. The error continues after the entry's index in
/// the list.
fn server(given: &Value) -> Result<Option<ClientServer>, String> {
    if !given.is_object() {
        return Err(" must be an object".to_owned());
    }
    let kind = match &given["type"] {
        Value::Null => "stdio",
        Value::String(kind) => kind,
        _ => return Err(".type must be a string: stdio or http".to_owned()),
    };
    if !matches!(kind, "stdio" | "http" | "sse") {
        tracing::warn!(kind, "the client sent an MCP server of an unknown kind; ignored");
        return Ok(None);
    }
    let name = agent::label(text(given, "name")?, NAME_CHARS);
    if name.is_empty() {
        return Err(".name contains no visible text".to_owned());
    }
    let how = match kind {
        "http" => ClientServerKind::Http { url: url(given)?, headers: pairs(given, "headers")? },
        "sse" => ClientServerKind::Sse { url: url(given)?, headers: pairs(given, "headers")? },
        _ => {
            let command = text(given, "command")?.to_owned();
            ClientServerKind::Stdio { command, args: texts(given, "args")?, env: pairs(given, "env")? }
        }
    };
    Ok(Some(ClientServer { name, how }))
}

fn text<'a>(given: &'a Value, key: &str) -> Result<&'a str, String> {
    given[key].as_str().filter(|text| !text.is_empty()).ok_or_else(|| format!(".{key} must be a string"))
}

fn url(given: &Value) -> Result<String, String> {
    let url = text(given, "url")?;
    match url.starts_with("http://") || url.starts_with("https://") {
        true => Ok(url.to_owned()),
        false => Err(".url must begin with http:// or https://".to_owned()),
    }
}

/// Parses a list of strings; empty if it is missing.
fn texts(given: &Value, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!(".{key} must be a list of strings");
    match &given[key] {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}

/// Parses a list of names and values; empty if it is missing. Errors contain no value, because it
/// may be secret.
fn pairs(given: &Value, key: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!(".{key} must be a list of objects, each with a name and a value that are strings");
    let pair = |pair: &Value| {
        let (name, value) = (pair["name"].as_str(), pair["value"].as_str());
        name.zip(value).map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(wrong)
    };
    match &given[key] {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(pair).collect(),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_are_parsed_and_an_unknown_kind_is_skipped() {
        let given = json!([
            { "name": "a", "command": "/bin/a", "args": ["x"], "env": [{ "name": "K", "value": "canary" }] },
            { "type": "stdio", "name": "b", "command": "b", "args": null },
            { "type": "http", "name": "c", "url": "https://c/mcp", "headers": [{ "name": "H", "value": "canary" }] },
            { "type": "sse", "name": "d\u{202e}", "url": "http://d", "headers": [] },
            { "type": "unheard-of", "name": "f" },
        ]);
        let servers = servers(&given).unwrap().unwrap();
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert!(matches!(&servers[0].how, ClientServerKind::Stdio { env, .. } if env[0].1 == "canary"));
        assert!(!format!("{servers:?}").contains("canary"), "values are not shown");
        assert_eq!(super::servers(&Value::Null).unwrap(), None);
        assert_eq!(super::servers(&json!([])).unwrap(), Some(Vec::new()));
    }

    #[test]
    fn a_server_of_the_wrong_shape_is_named() {
        let env = json!([{ "name": "K", "value": 7, "secret": "canary" }]);
        for (given, says) in [
            (json!({}), "mcpServers must be a list"),
            (json!("a"), "mcpServers must be a list"),
            (json!(7), "mcpServers must be a list"),
            (json!({ "a": { "command": "x" } }), "mcpServers must be a list"),
            (json!(["x"]), "mcpServers[0] must be an object"),
            (json!([null]), "mcpServers[0] must be an object"),
            (json!([{ "command": "x" }]), "mcpServers[0].name must be a string"),
            (json!([{ "name": "\u{202e}", "command": "x" }]), "mcpServers[0].name contains no visible text"),
            (
                json!([{ "name": "a", "command": "a" }, { "name": "b" }]),
                "mcpServers[1].command must be a string",
            ),
            (json!([{ "name": "a", "command": ["x"] }]), "mcpServers[0].command must be a string"),
            (json!([{ "name": "a", "command": "x", "args": "-y" }]), "mcpServers[0].args must be a list"),
            (json!([{ "name": "a", "command": "x", "args": [1] }]), "mcpServers[0].args must be a list"),
            (json!([{ "name": "a", "command": "x", "env": { "K": "canary" } }]), "mcpServers[0].env must be"),
            (json!([{ "name": "a", "command": "x", "env": env }]), "mcpServers[0].env must be a list"),
            (json!([{ "type": "http", "name": "a" }]), "mcpServers[0].url must be a string"),
            (json!([{ "type": "http", "name": "a", "url": "file:///a" }]), "mcpServers[0].url must begin"),
            (json!([{ "type": 7, "name": "a" }]), "mcpServers[0].type must be a string"),
        ] {
            let error = servers(&given).unwrap_err();
            assert_eq!(i32::from(error.code), -32602, "{given}");
            assert!(error.message.starts_with(says), "{given}: {}", error.message);
            assert!(!error.message.contains("canary"), "{}", error.message);
        }
    }
}
