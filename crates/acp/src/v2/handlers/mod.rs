//! One file per method: each handler decodes the parameters, calls the runtime and responds.
//! Methods that only need a response type of this version are handled in the dispatcher.

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
pub(crate) use login::{auth_status, login, logout};
pub(crate) use new::{fork, new};
pub(crate) use prompt::prompt;
pub(crate) use resume::resume;
pub(crate) use set_config_option::set_config_option;
pub(crate) use status::status;
