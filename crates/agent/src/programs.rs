//! The programs that a session starts for its project by itself: git, hooks and the project's
//! servers. They run in the sandbox of the session's commands, because what is in the project
//! decides what they do.

use std::sync::Arc;
use system::{AbsPath, Confined, Sandbox, SandboxLevel, System};

/// The place in which a session's own programs run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPrograms {
    /// The session's directory.
    cwd: AbsPath,
    sandbox: Sandbox,
}

impl ProjectPrograms {
    /// Returns a place in a directory, with this sandbox.
    pub(crate) fn new(cwd: AbsPath, sandbox: Sandbox) -> Self {
        Self { cwd, sandbox }
    }

    /// Returns a place without a sandbox.
    pub fn unconfined(cwd: AbsPath) -> Self {
        Self { cwd, sandbox: Sandbox { level: SandboxLevel::Off, ..Sandbox::default() } }
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

    /// Returns this place with the network of this machine.
    pub fn with_network(mut self) -> Self {
        self.sandbox.network = true;
        self
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
        let mut sandbox = self.sandbox.clone();
        for root in &mut sandbox.view.roots {
            *root = system.resolve(root).await.unwrap_or_else(|_| root.clone());
        }
        if let Some(home) = &mut sandbox.view.home {
            home.at = system.resolve(&home.at).await.unwrap_or_else(|_| home.at.clone());
        }
        Arc::new(Confined::new(system, sandbox))
    }
}
