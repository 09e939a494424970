//! Which implementation stands behind which seam. All that this program assumes of the other crates' constructors is here.

use crate::options::Options;
use agent::Runtime;
use anyhow::{Result, bail};
use std::sync::Arc;
use system::{LocalSystem, System};

/// Where sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    OnDisk,
    InMemory,
}

/// The runtime behind every surface.
pub(crate) fn runtime(_options: &Options, _keep: Keep) -> Result<Arc<Runtime>> {
    bail!("this build has no session store yet")
}

/// The machine this process runs on.
pub(crate) fn local_system() -> Arc<dyn System> {
    Arc::new(LocalSystem::new())
}

/// Serves the protocol on stdin and stdout until the client hangs up.
pub(crate) async fn serve(_runtime: &Arc<Runtime>, _options: &Options) -> Result<()> {
    bail!("this build serves no protocol yet")
}
