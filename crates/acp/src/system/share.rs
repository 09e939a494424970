//! Which operations go to the client: what it advertised, less what it turned out not to do, as the settings have it.

use super::learned::Learned;
use crate::{ClientTools, TerminalPlace, facts::Terminal};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use system::{Route, Routes};

/// What of the client a session uses.
#[derive(Clone)]
pub(crate) struct Share {
    /// What the client says it can do.
    pub(crate) advertised: Advertised,
    /// What it turned out not to do.
    pub(crate) demoted: Arc<Demoted>,
    /// How it does what it does.
    pub(crate) learned: Arc<Learned>,
    /// Where commands run when the client has terminals.
    pub(crate) place: TerminalPlace,
    /// Which tools act where.
    pub(crate) tools: Arc<ToolSet>,
}

/// What the client says it can do. The flags are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Advertised {
    /// `fs/read_text_file`.
    pub(crate) read: bool,
    /// `fs/write_text_file`.
    pub(crate) write: bool,
    /// `terminal/*`.
    pub(crate) terminal: bool,
}

/// What the client turned out not to do, for the rest of the connection.
#[derive(Debug, Default)]
pub(crate) struct Demoted {
    read: AtomicBool,
    write: AtomicBool,
    terminal: AtomicBool,
    confinement: AtomicBool,
}

/// The tool set of a session, which can change at any time.
#[derive(Debug, Default)]
pub(crate) struct ToolSet(AtomicUsize);

impl Share {
    /// Who carries out what the agent's own tools do.
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

    /// Whether the client reads text.
    pub(crate) fn reads(&self) -> bool {
        self.advertised.read && !self.demoted.read.load(Ordering::Relaxed)
    }

    /// Whether the client writes text.
    pub(crate) fn writes(&self) -> bool {
        self.advertised.write && !self.demoted.write.load(Ordering::Relaxed)
    }

    /// Whether commands in the client's terminals may be confined there: not yet shown otherwise.
    pub(crate) fn confines(&self) -> bool {
        self.routes().spawn == Route::Client && !self.demoted.confinement.load(Ordering::Relaxed)
    }

    /// Whether the client has terminals.
    pub(crate) fn runs(&self) -> bool {
        self.advertised.terminal
            && !self.demoted.terminal.load(Ordering::Relaxed)
            && self.learned.terminal() != Terminal::Unsafe
    }
}

impl Advertised {
    /// Whether there is anything to use.
    pub(crate) fn anything(self) -> bool {
        self.read || self.write || self.terminal
    }
}

impl Demoted {
    /// No reads from now on.
    pub(crate) fn read(&self, method: &str) {
        demote(&self.read, method);
    }

    /// No writes from now on.
    pub(crate) fn write(&self, method: &str) {
        demote(&self.write, method);
    }

    /// No confined commands in terminals from now on.
    pub(crate) fn confinement(&self, why: &str) {
        if !self.confinement.swap(true, Ordering::Relaxed) {
            tracing::warn!(why, "commands in the client's terminal are not confined from now on, and ask");
        }
    }

    /// No terminals from now on.
    pub(crate) fn terminal(&self, method: &str) {
        demote(&self.terminal, method);
    }
}

/// Without the client from now on, with one line in the log.
fn demote(flag: &AtomicBool, method: &str) {
    if !flag.swap(true, Ordering::Relaxed) {
        tracing::warn!(method, "the client advertised this but does not do it; done without it from now on");
    }
}

impl ToolSet {
    /// A set to begin with.
    pub(crate) fn new(tools: ClientTools) -> Self {
        let set = Self::default();
        set.change(tools);
        set
    }

    /// The set in force.
    pub(crate) fn get(&self) -> ClientTools {
        ClientTools::ALL.get(self.0.load(Ordering::Relaxed)).copied().unwrap_or_default()
    }

    /// Puts another in force.
    pub(crate) fn change(&self, tools: ClientTools) {
        let at = ClientTools::ALL.iter().position(|known| *known == tools).unwrap_or_default();
        self.0.store(at, Ordering::Relaxed);
    }
}
