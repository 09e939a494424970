//! `tiller` in a terminal: connects the interface to the runtime and to the user's files.

mod appearance;
mod clipboard;
mod history;
mod host;
mod panics;
mod remembered;
mod settings;

use crate::{
    answer::Console,
    environment::Environment,
    exit::Exit,
    limits,
    opening::Opening,
    options::{Options, ScreenChoice},
    settings::Settings,
    signals,
    wiring::{self, App},
};
use agent::{Runtime, SessionEvent, SessionId};
use anyhow::Result;
use host::{Followed, TerminalHost};
use panics::Panics;
use settings::InterfaceFlags;
use std::sync::{Arc, Mutex, atomic::AtomicBool};
use system::AbsPath;
use tui::{
    app::FirstMessage,
    driver::reply::Attachment,
    options::AppOptions,
    run::{RunError, Start},
    terminal::device::restore,
};

/// What the command line asks of the interface.
#[derive(Debug)]
pub(crate) struct InterfaceOptions {
    /// The prompt that is sent at once.
    pub(crate) prompt: Option<String>,
    /// Images that go with it.
    pub(crate) images: Vec<Attachment>,
    /// The session to open.
    pub(crate) session: Opening,
    /// Whether the user chooses another one from a list first.
    pub(crate) chooses: bool,
    /// The screen, if a flag names one.
    pub(crate) screen: Option<ScreenChoice>,
    /// Whether signs of progress must not move.
    pub(crate) no_animation: bool,
}

/// What the interface is connected to.
pub(crate) struct Connected<'a> {
    pub(crate) app: &'a App,
    pub(crate) settings: &'a Arc<Settings>,
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
    let Connected { app, options: resolved, settings, cwd, environment } = connected;
    let runtime = Arc::clone(&app.runtime);
    let flags = InterfaceFlags::of(&options);
    let (app_options, terminal) = appearance::of(resolved, environment, flags, cwd).await?;
    let app_options = AppOptions { everywhere: remembered::read(resolved).await.everywhere, ..app_options };
    // A session that does not exist is an error of the command line.
    let stored = options.session.find(&runtime, cwd).await?;
    options.session.rebind(&runtime, console, cwd, stored.as_ref()).await?;
    let host = TerminalHost {
        options: resolved.clone(),
        followed: Followed {
            settings: Arc::clone(settings),
            flags,
            keeps_history: AtomicBool::new(resolved.client.interface.switches.history),
        },
        environment: environment.clone(),
        cwd: cwd.clone(),
        system: wiring::local_system(resolved),
        runtime: Arc::clone(&runtime),
        opening: options.session,
        stored,
        taken: Mutex::default(),
    };
    let (panics, messages) = Panics::keep();
    let start = Start {
        app: app_options,
        terminal,
        first: FirstMessage { prompt: options.prompt, images: options.images },
        choose: options.chooses,
        watcher: wiring::watcher(),
    };
    signals::end_in_order();
    // For an end that does not wait for the terminal's thread.
    let _restored = signals::before_exit(|| drop(restore()));
    let mut exit = Exit::Ok;
    let stop = async { exit = signals::next().await };
    let last = tui::run::run(Arc::clone(&runtime), Arc::new(host), start, messages, stop).await;
    let panicked = panics.end();
    if tokio::time::timeout(limits::SETTLE, runtime.shutdown()).await.is_err() {
        tracing::warn!("sessions did not close in time");
    }
    let (session, ended) = match last {
        Ok(session) => (session, Ok(exit)),
        Err(RunError::Panicked { text, session }) => {
            let text = panicked.unwrap_or(text);
            (session.clone(), Err(RunError::Panicked { text, session }.into()))
        }
        Err(error) => (None, Err(error.into())),
    };
    if let Some(id) = session
        && has_prompt(&runtime, &id).await
    {
        console.note(&format!("to continue: tiller --session {id}"));
    }
    ended
}

/// Whether a session has a message of the user. One without is not listed and not continued.
async fn has_prompt(runtime: &Runtime, id: &SessionId) -> bool {
    let mut after = 0;
    // A failure to read hides nothing.
    while let Ok(page) = runtime.events(id, after).await {
        let Some((last, _)) = page.last() else { return false };
        if page.iter().any(|(_, event)| matches!(event, SessionEvent::UserMessage { .. })) {
            return true;
        }
        after = *last;
    }
    true
}
