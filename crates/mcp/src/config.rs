//! Descriptions of servers: the type, the parser of configuration files, the fingerprint.

use crate::{
    limits::{FILE_BYTES, SERVERS, TIMEOUT_MAX},
    names::server_name,
    offered::Offered,
};
use agent::{ClientServer, ClientServerKind, ItemKind, TrustItem};
use serde_json::{Map, Value};
use std::{fmt, time::Duration};

/// A server as it was described, before it is started.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name in tools and rules; see [`server_name`].
    pub name: String,
    /// The transport, with its program or address.
    pub transport: ServerTransport,
    /// False if the description disables the server.
    pub enabled: bool,
    /// The deadline for connecting and for each call; `None` means the defaults.
    pub timeout: Option<Duration>,
    /// The capabilities that the server may use; none unless the description offers them.
    pub offered: Vec<Offered>,
    /// Whether a program of the user's works in the project, and in its sandbox, as those of a
    /// project do.
    pub in_project: bool,
    /// The source of the description.
    pub origin: Origin,
}

/// The transport of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables; a value may be secret, or a reference to a secret.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP, or the older HTTP+SSE transport.
    Http {
        /// The URL.
        url: String,
        /// Headers of every request; a value may be secret, or a reference to a secret.
        headers: Vec<(String, String)>,
        /// Whether to use the older transport: an SSE stream, with messages sent by POST.
        sse: bool,
    },
}

/// The source of a server's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The user's own file.
    User,
    /// A file of the project, by its relative path.
    Project(&'static str),
    /// The client, for one session.
    Client,
}

/// An error in a description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl ServerConfig {
    /// Returns the description of a server that a client sent. Its values are taken literally:
    /// references are not resolved.
    pub fn from_client(given: ClientServer) -> Result<Self, ConfigError> {
        let transport = match given.how {
            ClientServerKind::Stdio { command, args, env } => ServerTransport::Stdio { command, args, env },
            ClientServerKind::Http { url, headers } => ServerTransport::Http { url, headers, sse: false },
            ClientServerKind::Sse { url, headers } => ServerTransport::Http { url, headers, sse: true },
        };
        let name = server_name(&given.name);
        Ok(Self {
            name,
            transport,
            enabled: true,
            timeout: None,
            offered: Vec::new(),
            in_project: false,
            origin: Origin::Client,
        })
    }

    /// Returns a hash of everything that decides what runs. Any changed byte changes the hash.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(&self.name);
        let pairs = match &self.transport {
            ServerTransport::Stdio { command, args, env } => {
                part("stdio");
                part(command);
                part(&args.len().to_string());
                args.iter().for_each(|arg| part(arg));
                env
            }
            ServerTransport::Http { url, headers, sse } => {
                part(if *sse { "sse" } else { "http" });
                part(url);
                headers
            }
        };
        for (name, value) in pairs {
            part(name);
            part(value);
        }
        self.offered.iter().for_each(|offered| part(offered.id()));
        if self.in_project {
            part("in the project");
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Returns why a program of the user's may not find the project, if it seems to look for it in
    /// its own directory.
    pub fn hint(&self) -> Option<String> {
        let ServerTransport::Stdio { args, .. } = &self.transport else { return None };
        let here = self.origin == Origin::User && !self.in_project && args.iter().any(|arg| arg == ".");
        here.then(|| {
            format!(
                "MCP server '{}': `.` is its own directory; write `{PROJECT}` for that of the project",
                self.name
            )
        })
    }

    /// Returns the server with the directory of the project in place of its name.
    pub(crate) fn in_directory(&self, project: &str) -> Self {
        let mut server = self.clone();
        if let (ServerTransport::Stdio { args, env, .. }, Origin::User) =
            (&mut server.transport, &self.origin)
        {
            let values = env.iter_mut().map(|(_, value)| value);
            args.iter_mut().chain(values).for_each(|text| *text = text.replace(PROJECT, project));
        }
        server
    }

    /// Returns the item that trust is granted to.
    ///
    /// What is shown includes the values of variables and headers, except where the name marks a
    /// secret and the value is no reference.
    pub fn trust_item(&self) -> TrustItem {
        let source = match self.origin {
            Origin::Project(file) => file.to_owned(),
            Origin::User | Origin::Client => String::new(),
        };
        let (mut words, mut shown) = (Vec::new(), Vec::new());
        let (pairs, kind) = match &self.transport {
            ServerTransport::Stdio { command, args, env } => {
                words.extend(std::iter::once(command).chain(args).cloned());
                let line: Vec<_> = words.iter().map(|word| quoted(word)).collect();
                shown.push(format!("runs: {}", line.join(" ")));
                (env, "variable")
            }
            ServerTransport::Http { url, headers, sse } => {
                let by = if *sse { " (by events, sse)" } else { "" };
                shown.push(format!("connects to: {url}{by}"));
                (headers, "header")
            }
        };
        for (name, value) in pairs {
            words.push(value.clone());
            let secret = system::is_secret_name(name) || name.eq_ignore_ascii_case("authorization");
            let hidden = secret && !is_reference(value);
            shown.push(format!("{kind}: {name}={}", if hidden { "(not shown)" } else { value.as_str() }));
        }
        if !self.offered.is_empty() {
            let offered: Vec<_> = self.offered.iter().map(|offered| offered.id()).collect();
            shown.push(format!("is offered: {}", offered.join(", ")));
        }
        // The offers are separate parts as well: in the fingerprint alone, a variable could imitate
        // one.
        let parts = std::iter::once(self.fingerprint());
        let parts = parts.chain(self.offered.iter().map(|offered| offered.id().to_owned())).collect();
        TrustItem { kind: ItemKind::Server, source, name: self.name.clone(), parts, words, tree: None, shown }
    }

    /// Returns the command or URL on one line, with the names of variables or headers and without
    /// their values.
    pub fn summary(&self) -> String {
        let names = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (what, kind, pairs) = match &self.transport {
            ServerTransport::Stdio { command, args, env } => {
                let words: Vec<_> = std::iter::once(command).chain(args).map(|word| quoted(word)).collect();
                (words.join(" "), "variables", env)
            }
            ServerTransport::Http { url, headers, .. } => (without_query(url).to_owned(), "headers", headers),
        };
        let with = if pairs.is_empty() { String::new() } else { format!(" ({kind}: {})", names(pairs)) };
        let offered: Vec<_> = self.offered.iter().map(|offered| offered.id()).collect();
        let offers =
            if offered.is_empty() { String::new() } else { format!(" (is offered: {})", offered.join(", ")) };
        agent::one_line(&format!("{what}{with}{offers}"))
    }
}

/// Prints names and never values.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{:?}]: {}", self.name, self.origin, self.summary())
    }
}

/// A server's name, with its description or the error in it.
pub type ServerEntry = (String, Result<ServerConfig, ConfigError>);

/// Parses a file with an object of servers in `mcpServers` or `servers`.
///
/// An error in one server is part of the result and does not affect the others.
///
/// # Errors
///
/// Fails if the file as a whole is too large, is no JSON, or describes too many servers.
pub fn parse(text: &str, origin: &Origin) -> Result<Vec<ServerEntry>, ConfigError> {
    if text.len() > FILE_BYTES {
        return Err(ConfigError::new(format!("it is larger than {FILE_BYTES} bytes")));
    }
    let file: Value = serde_json::from_str(text).map_err(|error| {
        ConfigError::new(format!("it is not valid JSON (line {}); correct it", error.line()))
    })?;
    let servers = match (file.get("mcpServers"), file.get("servers")) {
        (Some(Value::Object(servers)), _) | (None, Some(Value::Object(servers))) => servers,
        (None, None) => return Ok(Vec::new()),
        _ => return Err(ConfigError::new("`mcpServers` must be an object of servers by name")),
    };
    if servers.len() > SERVERS {
        return Err(ConfigError::new(format!("it describes more than {SERVERS} servers")));
    }
    Ok(servers.iter().map(|(name, described)| (server_name(name), server(name, described, origin))).collect())
}

fn server(name: &str, described: &Value, origin: &Origin) -> Result<ServerConfig, ConfigError> {
    let name = server_name(name);
    let wrong = |what: &str| ConfigError::new(format!("MCP server '{name}': {what}"));
    let Value::Object(described) = described else { return Err(wrong("it must be an object")) };
    let text = |keys: &[&str]| keys.iter().find_map(|key| described.get(*key)).map(Value::as_str);
    let url = text(&["url", "serverUrl"]);
    let kind = match text(&["type"]) {
        None | Some(Some("local")) => {
            if url.is_some() {
                "http"
            } else {
                "stdio"
            }
        }
        Some(Some(kind)) => kind,
        Some(None) => return Err(wrong("`type` must be a text")),
    };
    let transport = match kind {
        "stdio" => {
            let command = text(&["command"]).flatten().filter(|command| !command.trim().is_empty());
            let args = match described.get("args") {
                None => Vec::new(),
                Some(Value::Array(args)) => args
                    .iter()
                    .map(|arg| arg.as_str().map(str::to_owned))
                    .collect::<Option<_>>()
                    .ok_or_else(|| wrong("`args` must be a list of texts"))?,
                Some(_) => return Err(wrong("`args` must be a list of texts")),
            };
            let command = command.ok_or_else(|| wrong("it has no command"))?.to_owned();
            ServerTransport::Stdio {
                command,
                args,
                env: pairs(described, &["env", "environment"]).map_err(wrong)?,
            }
        }
        "http" | "streamable-http" | "streamableHttp" | "sse" => {
            let url = url.flatten().ok_or_else(|| wrong("it has no `url`"))?;
            if !url.starts_with("http://") && !url.starts_with("https://") && !is_reference(url) {
                return Err(wrong("its `url` must begin with http:// or https://"));
            }
            let headers = pairs(described, &["headers"]).map_err(wrong)?;
            ServerTransport::Http { url: url.to_owned(), headers, sse: kind == "sse" }
        }
        other => return Err(unsupported(&name, other)),
    };
    let flag = |key: &str| described.get(key).and_then(Value::as_bool);
    let enabled = flag("enabled").unwrap_or(true) && !flag("disabled").unwrap_or(false);
    let seconds = ["timeout", "timeoutSeconds"].iter().find_map(|key| described.get(*key));
    let timeout = match seconds {
        None => None,
        Some(seconds) => {
            let seconds = seconds.as_f64().filter(|seconds| *seconds > 0.0);
            let seconds = seconds.ok_or_else(|| wrong("`timeout` must be a number of seconds above 0"))?;
            Some(Duration::from_secs_f64(seconds.min(TIMEOUT_MAX.as_secs_f64())))
        }
    };
    let offered = offered(described).map_err(|what| wrong(&what))?;
    let is_project = |cwd: &str| ["project", PROJECT, "${workspaceFolder}"].contains(&cwd);
    let in_project = text(&["cwd"]).flatten().is_some_and(is_project);
    if matches!(origin, Origin::Project(_)) && flag("confined") == Some(false) {
        return Err(wrong(
            "a server of a project runs in the sandbox; `confined = false` is for your own file of servers",
        ));
    }
    Ok(ServerConfig { name, transport, enabled, timeout, offered, in_project, origin: origin.clone() })
}

/// What stands for the project's directory in the arguments and variables of the user's servers.
pub(crate) const PROJECT: &str = "${project}";

fn offered(described: &Map<String, Value>) -> Result<Vec<Offered>, String> {
    let given = match described.get("offer") {
        None => return Ok(Vec::new()),
        Some(Value::Array(given)) => given,
        Some(_) => return Err("`offer` must be a list".to_owned()),
    };
    let mut offered = Vec::new();
    for word in given {
        let known = Offered::named(word.as_str().ok_or("`offer` must be a list of words")?)?;
        if !offered.contains(&known) {
            offered.push(known);
        }
    }
    Ok(offered)
}

fn pairs(described: &Map<String, Value>, keys: &[&str]) -> Result<Vec<(String, String)>, &'static str> {
    match keys.iter().find_map(|key| described.get(*key)) {
        None => Ok(Vec::new()),
        Some(Value::Object(pairs)) => pairs
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name.clone(), text.clone())),
                Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
                _ => Err("variables and headers must be texts"),
            })
            .collect(),
        Some(_) => Err("variables and headers must be an object"),
    }
}

fn unsupported(name: &str, kind: &str) -> ConfigError {
    ConfigError::new(format!(
        "MCP server '{name}' uses unsupported transport '{}'; the supported ones are stdio, http (streamable HTTP) and sse",
        agent::one_line(kind)
    ))
}

fn is_reference(text: &str) -> bool {
    text.starts_with('$') || text.starts_with("@secret:")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("{word:?}"),
    }
}

/// Returns a URL without query and fragment, which often hold keys.
pub(crate) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(described: &str) -> Result<ServerConfig, String> {
        let text = format!("{{\"mcpServers\": {{\"My Server\": {described}}}}}");
        let mut servers = parse(&text, &Origin::User).unwrap();
        assert_eq!(servers.len(), 1);
        servers.remove(0).1.map_err(|error| error.to_string())
    }

    #[test]
    fn servers_are_read_as_other_programs_write_them() {
        for (described, summary) in [
            (r#"{"command": "npx", "args": ["-y", "a b"]}"#, "npx -y \"a b\""),
            (r#"{"type": "local", "command": "x", "env": {"N": 1}}"#, "x (variables: N)"),
            (r#"{"type": "stdio", "command": "x", "environment": {"A": "b"}}"#, "x (variables: A)"),
            (r#"{"url": "https://h/mcp?key=secret", "headers": {"X": "y"}}"#, "https://h/mcp (headers: X)"),
            (r#"{"type": "http", "serverUrl": "http://h/"}"#, "http://h/"),
        ] {
            let server = one(described).unwrap();
            assert_eq!(server.summary(), summary);
            assert_eq!((server.name.as_str(), server.enabled), ("my_server", true));
        }
        assert!(!one(r#"{"command": "x", "disabled": true}"#).unwrap().enabled);
        let timeout = one(r#"{"command": "x", "timeoutSeconds": 1.5}"#).unwrap().timeout;
        assert_eq!(timeout, Some(Duration::from_millis(1500)));
        assert_eq!(parse(r#"{"servers": {"a": {"command": "x"}}}"#, &Origin::User).unwrap().len(), 1);
        assert_eq!(parse("{}", &Origin::User).unwrap().len(), 0);
    }

    #[test]
    fn an_error_names_the_server_and_the_problem() {
        for (described, expected) in [
            ("{}", "it has no command"),
            (r#"{"command": " "}"#, "it has no command"),
            (r#"{"command": "x", "args": "y"}"#, "`args` must be a list of texts"),
            (r#"{"type": "http"}"#, "it has no `url`"),
            (r#"{"url": "file:///x"}"#, "must begin with http:// or https://"),
            (r#"{"command": "x", "timeout": -1}"#, "`timeout` must be a number"),
            (r#"{"type": "ws", "url": "http://h"}"#, "unsupported transport 'ws'"),
            ("7", "it must be an object"),
        ] {
            let error = one(described).unwrap_err();
            assert!(error.contains(expected) && error.contains("'my_server'"), "{described}: {error}");
        }
        assert!(parse("{", &Origin::User).unwrap_err().to_string().contains("not valid JSON (line 1)"));
    }

    #[test]
    fn s04_every_byte_that_decides_what_runs_is_in_the_fingerprint() {
        let all = [
            r#"{"command": "x"}"#,
            r#"{"command": "y"}"#,
            r#"{"command": "x", "args": ["a", "b"]}"#,
            r#"{"command": "x", "args": ["ab"]}"#,
            r#"{"command": "x", "env": {"A": "b"}}"#,
            r#"{"command": "x", "env": {"A": "c"}}"#,
            r#"{"command": "x", "offer": ["roots"]}"#,
            r#"{"command": "x", "offer": ["elicitation"]}"#,
            r#"{"command": "x", "offer": ["sampling"]}"#,
            r#"{"url": "http://x"}"#,
        ];
        let prints: std::collections::HashSet<_> =
            all.iter().map(|described| one(described).unwrap().fingerprint()).collect();
        assert_eq!(prints.len(), all.len());
    }

    #[test]
    fn s26_no_value_is_shown() {
        let server = one(r#"{"command": "x", "env": {"TOKEN": "canary"}}"#).unwrap();
        assert!(!format!("{server:?}").contains("canary"));
    }
}
