//! The files that describe servers, and the choice of those that may be used.

use crate::config::{Origin, ServerConfig, ServerEntry, parse};
use agent::{CheckedItem, FolderTrust};
use futures::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use system::{AbsPath, System};

/// The files of a project. If two describe a server of the same name, the later one wins.
pub const PROJECT_FILES: [&str; 3] = [".vscode/mcp.json", ".cursor/mcp.json", ".mcp.json"];

/// The user's file of servers, and the decision about a project's files.
#[derive(Clone)]
pub struct ServerFiles {
    /// The user's own file of servers.
    pub user: AbsPath,
    /// Decides whether a project's files may be used.
    pub trust: FolderTrust,
}

/// The servers found in the files.
#[derive(Debug, Default)]
pub struct FoundServers {
    /// The servers that may be used, including disabled ones; names are unique.
    pub servers: Vec<ServerConfig>,
    /// Servers of the project that are not trusted yet.
    pub untrusted: Vec<ServerConfig>,
    /// Problems in the files, as text for the user.
    pub problems: Vec<String>,
}

/// A server of the project, with the decision about its trust.
#[derive(Debug)]
pub struct ProjectServer {
    /// The description.
    pub config: ServerConfig,
    /// The item that trust was asked for, and the decision.
    pub judged: CheckedItem,
}

/// Reads the user's file and those of the project in `cwd`. A server of the project is used only if
/// its trust allows it.
pub async fn find(system: &dyn System, files: &ServerFiles, cwd: &AbsPath) -> FoundServers {
    let ServerFiles { user, trust } = files;
    let mut found = FoundServers::default();
    let (user_file, (project_servers, problems)) =
        futures::join!(system.read(user), project_servers(trust, cwd));
    match user_file {
        Ok(bytes) => {
            for server in read(&bytes, user.as_str(), &Origin::User, &mut found.problems) {
                found.problems.extend(server.hint().filter(|_| server.enabled));
                add_or_replace(&mut found.servers, server);
            }
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => found.problems.push(error.to_string()),
    }
    found.problems.extend(problems);
    let mut untrusted_names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ProjectServer { config, judged } in project_servers {
        let is_of_user = |known: &&ServerConfig| known.name == config.name && known.origin == Origin::User;
        let of_user = found.servers.iter().find(is_of_user).map(|known| known.enabled);
        match judged.state.problem() {
            // A disabled one of the user's disables the project's.
            None if of_user == Some(true) => found.problems.push(format!(
                "MCP server '{}' of the project is not started: your own server has this name",
                config.name
            )),
            None if of_user == Some(false) => {}
            None => add_or_replace(&mut found.servers, config),
            Some(why) => {
                untrusted_names.entry(why).or_default().insert(config.name.clone());
                add_or_replace(&mut found.untrusted, config);
            }
        }
    }
    for (why, names) in untrusted_names {
        let names = Vec::from_iter(names).join(", ");
        found.problems.push(format!("MCP servers of the project are not started ({names}): {why}"));
    }
    found
}

/// Returns the project's servers, trusted or not, in the order of their files, and the problems in
/// these files.
pub async fn project_servers(trust: &FolderTrust, cwd: &AbsPath) -> (Vec<ProjectServer>, Vec<String>) {
    let (mut configs, mut problems) = (Vec::new(), Vec::new());
    let texts = PROJECT_FILES.map(|name| async move { (name, trust.file(cwd, name).await) });
    for (name, text) in join_all(texts).await {
        match text {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let mut of_file = Vec::new();
                for server in read(&bytes, name, &Origin::Project(name), &mut problems) {
                    add_or_replace(&mut of_file, server);
                }
                configs.extend(of_file);
            }
            Err(why) => problems.push(format!("MCP servers of the project: {why}")),
        }
    }
    let items = configs.iter().map(ServerConfig::trust_item).collect();
    let judged = trust.check(cwd, items).await;
    let servers = configs.into_iter().zip(judged);
    (servers.map(|(config, judged)| ProjectServer { config, judged }).collect(), problems)
}

/// Parses the servers of a file. Adds a problem for the file, or for each server that is wrong.
fn read(bytes: &[u8], file: &str, origin: &Origin, problems: &mut Vec<String>) -> Vec<ServerConfig> {
    let servers = match parse(&String::from_utf8_lossy(bytes), origin) {
        Ok(servers) => servers,
        Err(error) => {
            problems.push(format!("{file}: {error}"));
            return Vec::new();
        }
    };
    let valid = |(_, server): ServerEntry| match server {
        Ok(server) => Some(server),
        Err(error) => {
            problems.push(format!("{file}: {error}"));
            None
        }
    };
    servers.into_iter().filter_map(valid).collect()
}

/// Adds a server, replacing one of the same name.
fn add_or_replace(list: &mut Vec<ServerConfig>, server: ServerConfig) {
    list.retain(|known| known.name != server.name);
    list.push(server);
}
