//! Decides which operations go to the client: those it advertised, minus those that proved
//! unsupported, subject to the settings.

use super::learned::Learned;
use crate::{ClientTools, TerminalPlace, facts::Terminal};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use system::{Route, Routes};

/// The client capabilities that a session uses.
#[derive(Clone)]
pub(crate) struct Share {
    /// The capabilities that the client advertised.
    pub(crate) advertised: Advertised,
    /// The capabilities that proved unsupported.
    pub(crate) demoted: Arc<Demoted>,
    /// How the client behaves where the protocol is open.
    pub(crate) learned: Arc<Learned>,
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
pub(crate) struct Demoted {
    read: AtomicBool,
    write: AtomicBool,
    terminal: AtomicBool,
    confinement: AtomicBool,
}

/// Which tools act on which machine in a session. Can change at any time.
#[derive(Debug, Default)]
pub(crate) struct ToolSet(AtomicUsize);

impl Share {
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
        self.advertised.read && !self.demoted.read.load(Ordering::Relaxed)
    }

    /// Returns whether the client writes text.
    pub(crate) fn writes(&self) -> bool {
        self.advertised.write && !self.demoted.write.load(Ordering::Relaxed)
    }

    /// Returns whether commands in the client's terminals may be confined there: it has not failed
    /// yet.
    pub(crate) fn confines(&self) -> bool {
        self.routes().spawn == Route::Client && !self.demoted.confinement.load(Ordering::Relaxed)
    }

    /// Returns whether the client has usable terminals.
    pub(crate) fn runs(&self) -> bool {
        self.advertised.terminal
            && !self.demoted.terminal.load(Ordering::Relaxed)
            && self.learned.terminal() != Terminal::Unsafe
    }
}

impl Advertised {
    /// Returns whether any capability is advertised.
    pub(crate) fn anything(self) -> bool {
        self.read || self.write || self.terminal
    }
}

impl Demoted {
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
            tracing::warn!(why, "commands in the client's terminal are not confined from now on, and ask");
        }
    }

    /// Stops using the client's terminals.
    pub(crate) fn terminal(&self, method: &str) {
        demote(&self.terminal, method);
    }
}

/// Stops using a capability, and logs that once.
fn demote(flag: &AtomicBool, method: &str) {
    if !flag.swap(true, Ordering::Relaxed) {
        tracing::warn!(method, "the client advertised this but does not do it; done without it from now on");
    }
}

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
