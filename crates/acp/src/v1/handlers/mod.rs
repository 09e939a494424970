//! One file per method: each handler decodes the parameters, calls the runtime and responds.
//! Methods that only need a response type of this version are handled in the dispatcher.

mod authenticate;
mod fork;
mod initialize;
mod list;
mod load;
mod new;
mod prompt;
mod resume;
mod set_config_option;
mod set_mode;
mod set_model;
mod status;

pub(crate) use authenticate::{auth_status, authenticate, logout};
pub(crate) use fork::fork;
pub(crate) use initialize::initialize;
pub(crate) use list::list;
pub(crate) use load::load;
pub(crate) use new::new;
pub(crate) use prompt::prompt;
pub(crate) use resume::resume;
pub(crate) use set_config_option::set_config_option;
pub(crate) use set_mode::set_mode;
pub(crate) use set_model::set_model;
pub(crate) use status::status;

use super::{Peer, to_acp::available_commands};
use agent::SessionHandle;

/// Sends the slash commands of a session that has just been announced to the client.
fn send_commands(peer: &Peer, session: &SessionHandle) {
    peer.outbox.push(session.id(), vec![available_commands(&session.commands())]);
}
