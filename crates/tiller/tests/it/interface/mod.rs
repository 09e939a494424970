//! The terminal interface, driven in a real terminal.

mod colours;
#[cfg(target_os = "linux")]
mod costs;
mod ends;
mod failures;
mod first_run;
mod flags;
mod held;
mod history;
pub(crate) mod model;
mod pastes;
mod plain;
mod replay;
mod screens;
mod sessions;
mod settings;
mod sizes;
mod tmux;
mod turns;

use crate::home::Home;
use model::Model;
use tmux::Tmux;

/// Starts the interface in a window. The pilot answers.
fn open(home: &Home) -> Option<Tmux> {
    open_with(home, "")
}

/// Starts the interface with arguments in a window, and waits until it can be used.
fn open_with(home: &Home, arguments: &str) -> Option<Tmux> {
    let tmux = begin_with(home, arguments, &[])?;
    tmux.wait_for(READY);
    Some(tmux)
}

/// Starts the interface with arguments and variables in a window.
fn begin_with(home: &Home, arguments: &str, variables: &[(&str, &str)]) -> Option<Tmux> {
    let variables = [&[("TILLER", env!("CARGO_BIN_EXE_tiller"))], variables].concat();
    let tmux = Tmux::start(home, &variables)?;
    tmux.shell(&format!("stty -a > before; $TILLER {arguments}; echo over=$?"));
    Some(tmux)
}

/// Starts the interface with a model whose answers the test writes.
fn open_model() -> Option<(Model, Home, Tmux)> {
    let model = Model::start();
    let home = model.home();
    let tmux = open(&home)?;
    Some((model, home, tmux))
}

/// What the status row shows once a session is open.
const READY: &str = "guardian ·";

/// What the row about a running turn shows.
const RUNNING: &str = "esc: stop";
