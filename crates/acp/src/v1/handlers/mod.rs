//! One file a method: each decodes, hands over to the runtime, and answers. What needs no more than an answer of this version's is in the
//! dispatcher.

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

pub(crate) use authenticate::{auth_status, auth_word, authenticate, logout};
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

/// Tells the slash commands of a session that the client has just been told of.
fn tell_commands(peer: &Peer, session: &SessionHandle) {
    peer.outbox.push(session.id(), vec![available_commands(&session.commands())]);
}
