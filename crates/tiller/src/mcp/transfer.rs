//! `tiller mcp import` and `export`: servers in the files of other programs.

use super::{
    CommandContext, file,
    rows::{ExportedServers, ImportedServers},
};
use crate::answer::{Answer, Failure, Kind};
use ::mcp::{Origin, ServerTransport};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use system::AbsPath;

impl CommandContext<'_> {
    pub(super) async fn import(&self, from: &AbsPath, project: bool) -> Result<Answer> {
        let text = self.system.read_text(from, None).await?;
        let bad = |why: &dyn std::fmt::Display| {
            Failure::new(Kind::Config, format!("{from} cannot be imported: {why}"))
        };
        ::mcp::parse(&text, &Origin::User).map_err(|why| bad(&why))?;
        let given: Value = serde_json::from_str(&text).map_err(|why| bad(&why))?;
        let given = ["mcpServers", "servers"].iter().find_map(|key| given[*key].as_object());
        let given = given.ok_or_else(|| bad(&"it has neither `mcpServers` nor `servers`"))?;
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        file::change(self.system.as_ref(), &self.file(project), |servers| {
            for (name, server) in given {
                match file::key(servers, name) {
                    Some(_) => left.push(name.clone()),
                    None => {
                        servers.insert(name.clone(), server.clone());
                        taken.push(name.clone());
                    }
                }
            }
            Ok(())
        })
        .await?;
        let mut text = match taken.is_empty() {
            true => "Nothing was taken.\n".to_owned(),
            false => format!("taken: {}\n", taken.join(", ")),
        };
        if !left.is_empty() {
            let _ = writeln!(text, "already there and unchanged: {}", left.join(", "));
        }
        Ok(Answer::new(ImportedServers { taken, left }, text))
    }

    pub(super) async fn export(&self) -> Result<Answer> {
        let found = self.find_servers().await;
        let mut servers = Map::new();
        for server in &found.servers {
            let described = match &server.transport {
                ServerTransport::Stdio { command, args, env } => {
                    json!({ "command": command, "args": args, "env": export_pairs(env) })
                }
                ServerTransport::Http { url, headers, sse } => {
                    let kind = if *sse { "sse" } else { "http" };
                    json!({ "type": kind, "url": url, "headers": export_pairs(headers) })
                }
            };
            servers.insert(server.name.clone(), described);
        }
        let whole = ExportedServers { servers };
        let text = format!("{:#}\n", json!(whole));
        Ok(Answer::new(whole, text))
    }
}

/// Exports references as they are; any other value is replaced by a placeholder, since it may be a
/// secret.
fn export_pairs(pairs: &[(String, String)]) -> Value {
    let value = |(name, value): &(String, String)| {
        let rest = value.strip_prefix("Bearer ").unwrap_or(value);
        let reference = rest.starts_with('$') || rest.starts_with("@secret:");
        let shown =
            if reference { value.clone() } else { format!("${{{}}}", name.replace('-', "_").to_uppercase()) };
        (name.clone(), json!(shown))
    };
    Value::Object(pairs.iter().map(value).collect())
}
