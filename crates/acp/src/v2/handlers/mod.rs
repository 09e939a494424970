//! One file a method: each decodes, hands over to the runtime, and answers. What needs no more than an answer of this version's is in the
//! dispatcher.

mod initialize;
mod list;
mod login;
mod new;
mod prompt;
mod resume;
mod set_config_option;
mod status;

pub(crate) use initialize::initialize;
pub(crate) use list::list;
pub(crate) use login::{auth_status, auth_word, login, logout};
pub(crate) use new::{fork, new};
pub(crate) use prompt::prompt;
pub(crate) use resume::resume;
pub(crate) use set_config_option::set_config_option;
pub(crate) use status::status;
