//! Edits files that configure servers. All other members of a file are preserved.

use crate::secrets::read;
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use system::{AbsPath, System};

/// Edits the servers of a file.
pub(super) async fn change(
    system: &dyn System,
    path: &AbsPath,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<()>,
) -> Result<()> {
    let mut file = read(system, path).await?;
    let key = if file.contains_key("servers") && !file.contains_key("mcpServers") {
        "servers"
    } else {
        "mcpServers"
    };
    let servers = file.entry(key).or_insert_with(|| json!({}));
    let Value::Object(servers) = servers else { bail!("{path}: `{key}` is not an object; correct it") };
    change(servers)?;
    if let Some(directory) = path.parent() {
        system.create_dir_all(&directory).await?;
    }
    Ok(system.write(path, format!("{:#}\n", Value::Object(file)).as_bytes()).await?)
}

/// Returns the key of a server; the name may be as written or normalised as in tool names.
pub(super) fn key(servers: &Map<String, Value>, name: &str) -> Option<String> {
    let wanted = ::mcp::server_name(name);
    servers.keys().find(|key| ::mcp::server_name(key) == wanted).cloned()
}
