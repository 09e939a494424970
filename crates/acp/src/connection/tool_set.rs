//! Which tools act on which machine.

use crate::ClientTools;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which tools act on which machine in a session. Can change at any time.
#[derive(Debug, Default)]
pub(crate) struct ToolSet(AtomicUsize);

impl ToolSet {
    /// Creates a tool set.
    pub(crate) fn new(tools: ClientTools) -> Self {
        let set = Self::default();
        set.change(tools);
        set
    }

    /// Returns the current value.
    pub(crate) fn get(&self) -> ClientTools {
        ClientTools::ALL.get(self.0.load(Ordering::Relaxed)).copied().unwrap_or_default()
    }

    /// Changes the value.
    pub(crate) fn change(&self, tools: ClientTools) {
        let at = ClientTools::ALL.iter().position(|known| *known == tools).unwrap_or_default();
        self.0.store(at, Ordering::Relaxed);
    }
}
