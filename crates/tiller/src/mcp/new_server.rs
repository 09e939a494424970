//! Adds servers and secrets for a client of the native layer, in the files that `tiller mcp add`
//! and
//! `tiller mcp secret set` write.

use super::{Values, file};
use crate::secrets::Wanted;
use ::mcp::{McpOptions, Origin, server_name};
use anyhow::{Result, bail};
use serde_json::{Map, json};
use system::AbsPath;

/// A new stdio server.
pub(crate) struct NewServer<'a> {
    pub(crate) name: &'a str,
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    /// Environment variables. The values of secret ones are stored as secrets, and the file refers
    /// to
    /// them.
    pub(crate) env: Vec<(&'a str, &'a str)>,
    pub(crate) enabled: bool,
    /// The file: the project's `.mcp.json`, or the user's own.
    pub(crate) path: &'a AbsPath,
}

/// The key of a server's secret: `mcp.SERVER.KEY`.
pub(crate) fn secret_key(server: &str, key: &str) -> String {
    format!("mcp.{}.{key}", server_name(server))
}

/// Stores a secret.
pub(crate) async fn keep_secret(values: &Values, key: String, value: &str) -> Result<()> {
    values.set(&key, value, Wanted::Auto).await.map(drop)
}

/// Adds a server to the file, or replaces the one of that name.
pub(crate) async fn add(options: &McpOptions, values: &Values, new: NewServer<'_>) -> Result<()> {
    let NewServer { name, command, args, env, enabled, path } = new;
    let mut written = Map::new();
    for (variable, value) in env {
        let reference = value.starts_with('$') || value.starts_with("@secret:");
        let shown = if system::is_secret_name(variable) && !reference && !value.is_empty() {
            let key = secret_key(name, &format!("env.{variable}"));
            keep_secret(values, key.clone(), value).await?;
            format!("@secret:{key}")
        } else {
            value.to_owned()
        };
        written.insert(variable.to_owned(), json!(shown));
    }
    let server = json!({ "command": command, "args": args, "env": written, "enabled": enabled });
    // Only a description that can be parsed again is written.
    let whole = json!({ "mcpServers": { name: &server } }).to_string();
    match ::mcp::parse(&whole, &Origin::User)?.pop() {
        Some((_, read)) => drop(read?),
        None => bail!("a server needs a name"),
    }
    file::change(options.system.as_ref(), path, |servers| {
        let key = file::key(servers, name).unwrap_or_else(|| server_name(name));
        servers.insert(key, server);
        Ok(())
    })
    .await
}
