//! The files that describe servers, and which of them count.

use crate::config::{Origin, ServerConfig, parse};
use agent::{FolderTrust, Trust};
use system::{AbsPath, System};

/// The files of a project, later ones before earlier ones where both describe a server of a name.
pub const PROJECT_FILES: [&str; 3] = [".vscode/mcp.json", ".cursor/mcp.json", ".mcp.json"];

/// What the files say.
#[derive(Debug, Default)]
pub struct Found {
    /// The servers that may be used, disabled ones among them; one of a name.
    pub servers: Vec<ServerConfig>,
    /// Servers of the project that wait for its folder to be trusted.
    pub untrusted: Vec<ServerConfig>,
    /// What is wrong, or stands in the way, in words.
    pub problems: Vec<String>,
}

/// Reads the user's file and those of the project in `cwd`. Those of a project count only where `trust` says so, and then with the bytes that
/// were trusted.
pub async fn find(system: &dyn System, user: &AbsPath, trust: &FolderTrust, cwd: &AbsPath) -> Found {
    let mut found = Found::default();
    let (of_user, trust) = futures::join!(system.read(user), trust.of(cwd));
    match of_user {
        Ok(bytes) => found.take(&bytes, user.as_str(), &Origin::User, true),
        Err(error) if error.is_not_found() => {}
        Err(error) => found.problems.push(error.to_string()),
    }
    let (content, trusted) = match &trust {
        Trust::Empty => return found,
        Trust::Trusted(content) => (content, true),
        Trust::Untrusted(content) | Trust::Changed(content) => (content, false),
        Trust::Unknown(_) => {
            found.problems.extend(trust.problem().map(|why| format!("MCP servers of the project: {why}")));
            return found;
        }
    };
    for name in PROJECT_FILES {
        if let Some(bytes) = content.file(name) {
            found.take(bytes, name, &Origin::Project(name), trusted);
        }
    }
    if let Some(problem) = trust.problem().filter(|_| !found.untrusted.is_empty()) {
        let names: Vec<_> = found.untrusted.iter().map(|server| server.name.as_str()).collect();
        found
            .problems
            .push(format!("MCP servers of the project are not started ({}): {problem}", names.join(", ")));
    }
    found
}

impl Found {
    fn take(&mut self, bytes: &[u8], file: &str, origin: &Origin, trusted: bool) {
        let servers = match parse(&String::from_utf8_lossy(bytes), origin) {
            Ok(servers) => servers,
            Err(error) => return self.problems.push(format!("{file}: {error}")),
        };
        for (name, server) in servers {
            match server {
                Ok(server) => {
                    let list = if trusted { &mut self.servers } else { &mut self.untrusted };
                    list.retain(|known| known.name != name);
                    list.push(server);
                }
                Err(error) => self.problems.push(format!("{file}: {error}")),
            }
        }
    }
}
