//! The servers that a client gives a session.

use agent::{ClientServer, ClientServerKind};
use serde_json::Value;

/// The servers of a list; `None` where there is no list. What is not understood is passed over: a session is worth more than one server.
pub(super) fn servers(given: &Value) -> Option<Vec<ClientServer>> {
    let list = given.as_array()?;
    let server = |given: &Value| {
        let server = server(given);
        if server.is_none() {
            let name = given["name"].as_str().unwrap_or_default();
            tracing::warn!(name, "an MCP server that the client gave is not understood; it is passed over");
        }
        server
    };
    Some(list.iter().filter_map(server).collect())
}

fn server(given: &Value) -> Option<ClientServer> {
    let text = |key: &str| given[key].as_str().map(str::to_owned);
    let url = || text("url").filter(|url| url.starts_with("http://") || url.starts_with("https://"));
    let how = match given.get("type").map(Value::as_str) {
        None | Some(Some("stdio") | None) => ClientServerKind::Stdio {
            command: text("command").filter(|command| !command.is_empty())?,
            args: given["args"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|arg| Some(arg.as_str()?.to_owned()))
                .collect(),
            env: pairs(&given["env"]),
        },
        Some(Some("http")) => ClientServerKind::Http { url: url()?, headers: pairs(&given["headers"]) },
        Some(Some("sse")) => ClientServerKind::Sse { url: url()?, headers: pairs(&given["headers"]) },
        Some(Some(_)) => return None,
    };
    Some(ClientServer { name: text("name")?, how })
}

/// A list of names and values.
fn pairs(given: &Value) -> Vec<(String, String)> {
    let pair = |pair: &Value| Some((pair["name"].as_str()?.to_owned(), pair["value"].as_str()?.to_owned()));
    given.as_array().into_iter().flatten().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_understood_is_taken_and_the_rest_is_passed_over() {
        let given = json!([
            { "name": "a", "command": "/bin/a", "args": ["x"], "env": [{ "name": "K", "value": "canary" }] },
            { "type": "stdio", "name": "b", "command": "b" },
            { "type": "http", "name": "c", "url": "https://c/mcp", "headers": [{ "name": "H", "value": "canary" }] },
            { "type": "sse", "name": "d", "url": "http://d", "headers": [] },
            { "type": "http", "name": "e", "url": "file:///e" },
            { "type": "unheard-of", "name": "f" },
            { "command": "nameless" },
            7,
        ]);
        let servers = servers(&given).unwrap();
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert!(matches!(&servers[0].how, ClientServerKind::Stdio { env, .. } if env[0].1 == "canary"));
        assert!(!format!("{servers:?}").contains("canary"), "values are not shown");
        assert_eq!(super::servers(&Value::Null), None);
        assert_eq!(super::servers(&json!([])), Some(Vec::new()));
    }
}
