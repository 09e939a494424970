//! Decides which operations go to the client: those it advertised, minus those that proved
//! unsupported, subject to the settings.

use super::behaviour::ClientBehaviour;
use crate::{ClientTools, TerminalPlace, client_facts::Terminal, connection::ToolSet};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use system::{Route, Routes};

/// The client capabilities that a session uses.
#[derive(Clone)]
pub(crate) struct UsedCapabilities {
    /// The capabilities that the client advertised.
    pub(crate) advertised: Advertised,
    /// The capabilities that proved unsupported.
    pub(crate) withdrawn: Arc<WithdrawnCapabilities>,
    /// How the client behaves where the protocol is open.
    pub(crate) behaviour: Arc<ClientBehaviour>,
    /// Where commands run when the client has terminals.
    pub(crate) place: TerminalPlace,
    /// Which tools act on which machine.
    pub(crate) tools: Arc<ToolSet>,
}

/// The capabilities that the client advertised. They are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Advertised {
    /// `fs/read_text_file`.
    pub(crate) read: bool,
    /// `fs/write_text_file`.
    pub(crate) write: bool,
    /// `terminal/*`.
    pub(crate) terminal: bool,
}

/// The capabilities that proved unsupported, for the rest of the connection.
#[derive(Debug, Default)]
pub(crate) struct WithdrawnCapabilities {
    read: AtomicBool,
    write: AtomicBool,
    terminal: AtomicBool,
    confinement: AtomicBool,
    /// Whether the client has opened a terminal on this connection.
    opened: AtomicBool,
}

impl UsedCapabilities {
    /// Returns where the agent's own tools act.
    pub(crate) fn routes(&self) -> Routes {
        if self.tools.get() != ClientTools::Transparent {
            return Routes::LOCAL;
        }
        let route = |client: bool| if client { Route::Client } else { Route::Local };
        Routes {
            read_text: route(self.reads()),
            write_text: route(self.writes()),
            spawn: route(self.runs() && self.place == TerminalPlace::Client),
        }
    }

    /// Returns whether the client reads text.
    pub(crate) fn reads(&self) -> bool {
        self.advertised.read && !self.withdrawn.read.load(Ordering::Relaxed)
    }

    /// Returns whether the client writes text.
    pub(crate) fn writes(&self) -> bool {
        self.advertised.write && !self.withdrawn.write.load(Ordering::Relaxed)
    }

    /// Returns whether commands in the client's terminals may be confined there: it has not failed
    /// yet.
    pub(crate) fn confines(&self) -> bool {
        self.routes().spawn == Route::Client && !self.withdrawn.confinement.load(Ordering::Relaxed)
    }

    /// Returns whether the client has usable terminals.
    pub(crate) fn runs(&self) -> bool {
        self.advertised.terminal
            && !self.withdrawn.terminal.load(Ordering::Relaxed)
            && self.behaviour.terminal() != Terminal::Unsafe
    }
}

impl Advertised {
    /// Returns whether any capability is advertised.
    pub(crate) fn anything(self) -> bool {
        self.read || self.write || self.terminal
    }
}

impl WithdrawnCapabilities {
    /// Stops using the client's reads.
    pub(crate) fn read(&self, method: &str) {
        demote(&self.read, method);
    }

    /// Stops using the client's writes.
    pub(crate) fn write(&self, method: &str) {
        demote(&self.write, method);
    }

    /// Stops confining commands in the client's terminals.
    pub(crate) fn confinement(&self, why: &str) {
        if !self.confinement.swap(true, Ordering::Relaxed) {
            tracing::warn!(why, "commands in the client's terminal are no longer confined and need approval");
        }
    }

    /// Records that the client opened a terminal.
    pub(crate) fn terminal_opened(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }

    /// Returns whether the client has opened a terminal, so that it cannot have none.
    pub(crate) fn has_opened_terminals(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    /// Stops using the client's terminals.
    pub(crate) fn terminal(&self, method: &str) {
        demote(&self.terminal, method);
    }
}

/// Stops using a capability, and logs that once.
fn demote(flag: &AtomicBool, method: &str) {
    if !flag.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            method,
            "the client advertised this capability but does not support it; no longer used"
        );
    }
}
