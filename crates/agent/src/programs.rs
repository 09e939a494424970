//! The programs that a session starts for its project by itself: git, hooks and the project's
//! servers. They run in the sandbox of the session's commands, because what is in the project
//! decides what they do.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use system::{AbsPath, Confined, Network, Sandbox, SandboxLevel, System};

/// The network of the servers that a session's project brings along.
pub(crate) trait ServerNetworks: Debug + Send + Sync {
    /// Lets a server, which is started by a command line, use the network. Returns the directory
    /// for its temporary files, by which its connections are recognized, and a value that ends
    /// this when it is dropped.
    fn open(&self, server: &str, line: &str) -> (AbsPath, Attached);

    /// Returns the time for which a connection of a server may wait for the user.
    fn ask_wait(&self) -> Duration;
}

/// A part in a session that ends when this is dropped.
pub type Attached = Box<dyn Any + Send + Sync>;

/// The place in which a session's own programs run.
#[derive(Debug, Clone)]
pub struct ProjectPrograms {
    /// The session's directory.
    cwd: AbsPath,
    sandbox: Sandbox,
    /// The network of servers, if the session decides about it.
    servers: Option<Arc<dyn ServerNetworks>>,
}

impl ProjectPrograms {
    /// Returns a place in a directory, with this sandbox.
    pub(crate) fn new(cwd: AbsPath, sandbox: Sandbox) -> Self {
        Self { cwd, sandbox, servers: None }
    }

    /// Returns a place without a sandbox.
    pub fn unconfined(cwd: AbsPath) -> Self {
        Self::new(cwd, Sandbox { level: SandboxLevel::Off, ..Sandbox::default() })
    }

    /// Returns the directory in which they start.
    pub fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    /// Returns this place with further directories that programs can write to.
    pub(crate) fn with_roots(mut self, roots: impl IntoIterator<Item = AbsPath>) -> Self {
        self.sandbox.view.roots.extend(roots);
        self
    }

    /// Returns this place with further files that programs can read.
    pub(crate) fn with_readable(mut self, files: impl IntoIterator<Item = AbsPath>) -> Self {
        self.sandbox.view.readable.extend(files);
        self
    }

    /// Returns this place with a network for each server of the project.
    pub(crate) fn with_servers(mut self, servers: Option<Arc<dyn ServerNetworks>>) -> Self {
        self.servers = servers;
        self
    }

    /// Returns the place of a server of the project, which is started by a command line, and a
    /// value that is kept while it runs. The server reaches what commands reach, and the user is
    /// asked about other hosts. Where no session decides, it has the network of this machine.
    pub fn of_server(&self, server: &str, line: &str) -> (Self, Option<Attached>) {
        let mut place = self.clone();
        let attached = match &self.servers {
            Some(servers) => {
                let (temp, attached) = servers.open(server, line);
                place.sandbox.view.temp = Some(temp);
                Some(attached)
            }
            None => {
                place.sandbox.network = Network::Open;
                None
            }
        };
        (place, attached)
    }

    /// Returns the time for which a server of the project may wait for the user when it starts.
    pub fn ask_wait(&self) -> Duration {
        self.servers.as_ref().map_or(Duration::ZERO, |servers| servers.ask_wait())
    }

    /// Returns whether a system confines what is started in this place.
    pub async fn is_confined_by(&self, system: &dyn System) -> bool {
        self.sandbox.level != SandboxLevel::Off && system.sandbox_support().await.holds()
    }

    /// Returns a system that confines programs with [`system::Confinement::Session`], where the
    /// machine can.
    pub async fn on(&self, system: Arc<dyn System>) -> Arc<dyn System> {
        if !self.is_confined_by(system.as_ref()).await {
            return system;
        }
        let sandbox = self.resolved(system.as_ref()).await;
        Arc::new(Confined::new(system, sandbox))
    }

    /// Returns the sandbox with the links of its roots resolved, also in what is guarded in them.
    async fn resolved(&self, system: &dyn System) -> Sandbox {
        let mut sandbox = self.sandbox.clone();
        for root in &mut sandbox.view.roots {
            let real = system.resolve(root).await.unwrap_or_else(|_| root.clone());
            let protected = &mut sandbox.protected;
            let single = protected.compared.iter_mut().chain(&mut protected.copied);
            for path in protected.guarded.iter_mut().chain(&mut protected.reserved).chain(single) {
                if let Some(below) = path.relative_to(root) {
                    *path = real.join(below);
                }
            }
            *root = real;
        }
        if let Some(home) = &mut sandbox.view.home {
            home.at = system.resolve(&home.at).await.unwrap_or_else(|_| home.at.clone());
        }
        sandbox
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    #[tokio::test]
    async fn what_is_guarded_is_where_a_link_to_the_project_leads() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let system = FakeSystem::new();
        system.add_dir("/real");
        system.add_link("/link", "/real");
        let mut sandbox = Sandbox::default();
        sandbox.view.roots.push(path("/link"));
        sandbox.protected.guarded.extend([path("/link/.vscode"), path("/settings")]);
        sandbox.protected.reserved.push(path("/link/.idea"));
        sandbox.protected.compared.push(path("/link/.envrc"));
        sandbox.protected.copied.push(path("/link/.vscode"));
        let resolved = ProjectPrograms::new(path("/link"), sandbox).resolved(&system).await;
        assert_eq!(resolved.view.roots, [path("/real")]);
        assert_eq!(resolved.protected.guarded, [path("/real/.vscode"), path("/settings")]);
        assert_eq!(resolved.protected.reserved, [path("/real/.idea")]);
        assert_eq!(resolved.protected.compared, [path("/real/.envrc")]);
        assert_eq!(resolved.protected.copied, [path("/real/.vscode")]);
    }
}
