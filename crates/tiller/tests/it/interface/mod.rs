//! The terminal interface, driven in a real terminal.

mod driven;
mod screens;
mod tmux;

use crate::home::Home;
use tmux::Tmux;

/// Starts the interface in a window. The pilot answers.
fn open(home: &Home) -> Option<Tmux> {
    let tmux = Tmux::start(home, &[("TILLER", env!("CARGO_BIN_EXE_tiller"))])?;
    tmux.shell("stty -a > before; $TILLER; echo over=$?");
    tmux.wait_for("guardian ·");
    Some(tmux)
}
