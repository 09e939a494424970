//! `tiller` in a terminal: connects the interface to the runtime and to the user's files.

mod appearance;
mod clipboard;
mod history;
mod host;

use crate::{
    answer::Console,
    environment::Environment,
    exit::Exit,
    limits,
    options::{Options, ScreenChoice},
    signals,
    wiring::{self, App},
};
use agent::{ListQuery, SessionId};
use anyhow::{Context as _, Result};
use host::TerminalHost;
use std::sync::Arc;
use system::AbsPath;
use tui::{driver::request::Which, run::Start, terminal::device::restore};

/// What the command line asks of the interface.
#[derive(Debug, Default)]
pub(crate) struct InterfaceOptions {
    /// The prompt that is sent at once.
    pub(crate) prompt: Option<String>,
    /// The session to open.
    pub(crate) session: FirstSession,
    /// Whether to take a session over from another process.
    pub(crate) take_over: bool,
    /// The screen, if a flag names one.
    pub(crate) screen: Option<ScreenChoice>,
    /// Whether signs of progress must not move.
    pub(crate) no_animation: bool,
}

/// The session that the interface opens first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum FirstSession {
    /// A new one.
    #[default]
    New,
    /// The most recent one of the directory.
    Last,
    /// The one with this id.
    This(SessionId),
    /// The one that the user chooses from a list.
    Chosen,
}

/// What the interface is connected to.
pub(crate) struct Connected<'a> {
    pub(crate) app: &'a App,
    pub(crate) options: &'a Options,
    pub(crate) cwd: &'a AbsPath,
    pub(crate) environment: &'a Environment,
}

/// Opens the interface; returns when the user leaves it.
///
/// # Errors
///
/// Fails if there is no terminal to use, or no session to continue.
pub(crate) async fn run(
    options: InterfaceOptions,
    connected: Connected<'_>,
    console: &Console,
) -> Result<Exit> {
    let Connected { app, options: settings, cwd, environment } = connected;
    let runtime = Arc::clone(&app.runtime);
    let session = match &options.session {
        FirstSession::New | FirstSession::Chosen => Which::New,
        FirstSession::This(id) => Which::Stored { id: id.clone(), take_over: options.take_over },
        FirstSession::Last => {
            let query = ListQuery { cwd: Some(cwd.clone()), limit: 1, ..ListQuery::default() };
            let last = runtime.list(query).await?.sessions.into_iter().next();
            let id = last.with_context(|| format!("no session to continue in {cwd}"))?.id;
            Which::Stored { id, take_over: options.take_over }
        }
    };
    let system = wiring::local_system(settings);
    let host = TerminalHost {
        options: settings.clone(),
        environment: environment.clone(),
        cwd: cwd.clone(),
        system,
    };
    let (app_options, terminal) = appearance::of(settings, environment, &options)?;
    let start = Start {
        app: app_options,
        terminal,
        session,
        prompt: options.prompt,
        choose: options.session == FirstSession::Chosen,
        watcher: wiring::watcher(),
    };
    signals::end_in_order();
    restore_on_panic();
    // For an end that does not wait for the terminal's thread.
    let _restored = signals::before_exit(restore);
    let mut exit = Exit::Ok;
    let stop = async { exit = signals::next().await };
    let last = tui::run::run(Arc::clone(&runtime), Arc::new(host), start, stop).await;
    if tokio::time::timeout(limits::SETTLE, runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    if let Some(id) = last? {
        console.note(&format!("to continue: tiller --session {id}"));
    }
    Ok(exit)
}

/// Has a panic of any thread give the terminal back before its text is printed.
fn restore_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        print(panic);
    }));
}
